// Writes the OpenAPI document. `pages/build.ts` makes it a static file, and the worker serves that at /openapi.json.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { document } from "../worker/openapi/document.ts";

const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
await mkdir("build", { recursive: true });
await writeFile("build/openapi.json", JSON.stringify(document(version)));
