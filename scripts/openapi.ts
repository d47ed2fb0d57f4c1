// Writes the OpenAPI document that the worker serves at /openapi.json.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { document } from "../worker/openapi/document.ts";

const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
await mkdir("build", { recursive: true });
await writeFile("build/openapi.json", JSON.stringify(document(version)));
