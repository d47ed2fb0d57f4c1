import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { expect, it, onTestFinished } from "vitest";
import { describeFramework, nextIn } from "./framework.ts";
import { installProject } from "./installation.ts";

// Its builds are webpack's, and take as long as all other frameworks together.
describeFramework("Next.js 15", nextIn("next15"));
describeFramework("Nuxt 4", {
  project: "nuxt",
  build: ["node_modules/nuxt/bin/nuxt.mjs", "build"],
  start: [".output/server/index.mjs"],
  routes: ["decide"],
  page: "/",
});

it("tells an app of React Native, whose engine has no WebAssembly, to ask a worker, and has the client", { timeout: 600_000 }, async () => {
  const base = await mkdtemp(join(tmpdir(), "afterclick-react-native-"));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const cwd = await installProject(base, "react-native");
  // Metro keeps its caches in the folder for temporary files.
  await promisify(execFile)(process.execPath, ["bundle.cjs"], { cwd, env: { ...process.env, TMPDIR: base } });
  const asked: string[] = [];
  const app = createContext({ URL, Headers, fetch: async (url: URL) => asked.push(String(url)) });
  runInContext("delete globalThis.WebAssembly; globalThis.window = globalThis;", app);
  runInContext(await readFile(join(cwd, "app.js"), "utf8"), app);
  await expect(app.created).rejects.toMatchObject({
    code: "no-webassembly",
    message: "this host has no WebAssembly: ask a worker over HTTP, with afterclick(url, { key }) of afterclick/client",
  });
  await app.ask("https://shop.example");
  expect(asked).toEqual(["https://shop.example/v1/models/shop/recommendations"]);
});
