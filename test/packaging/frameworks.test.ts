import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { started } from "../support/started.ts";
import { decidedIn, installProject, run } from "./installation.ts";

// Builds projects of frameworks without configuration, and runs them. Their own lock files hold the frameworks, which come from the npm registry.

const NEXT = "node_modules/next/dist/bin/next";
const startNext = [NEXT, "start", "--hostname", "127.0.0.1", "--port", "0"];
const FRAMEWORKS = {
  "Next.js 15": { project: "next", build: [NEXT, "build"], start: startNext, routes: ["node", "edge"] },
  // Its builds are Turbopack's.
  "Next.js 16": { project: "next16", build: [NEXT, "build"], start: startNext, routes: ["node", "edge"] },
  "Nuxt 4": {
    project: "nuxt",
    build: ["node_modules/nuxt/bin/nuxt.mjs", "build"],
    start: [".output/server/index.mjs"],
    routes: ["decide"],
  },
};
const env = { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", NUXT_TELEMETRY_DISABLED: "1", HOST: "127.0.0.1", PORT: "0" };
const script = 'import("./decide.js").then(async ({ decide }) => console.log(JSON.stringify(await decide(await import("afterclick")))))';

let base: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "afterclick-frameworks-"));
});
afterAll(() => rm(base, { recursive: true, force: true }));

describe.each(Object.entries(FRAMEWORKS))("%s", (_, { project, build, start, routes }) => {
  let site: Awaited<ReturnType<typeof started>>;
  let inNode: unknown;
  beforeAll(async () => {
    const cwd = await installProject(base, project);
    if (project === "next16") await cp("test/packaging/projects/next/app", join(cwd, "app"), { recursive: true });
    inNode = JSON.parse(run(cwd, process.execPath, ["-e", script]));
    await promisify(execFile)(process.execPath, build, { cwd, env: { ...process.env, ...env } });
    site = await started(cwd, start, env);
  }, 600_000);
  afterAll(() => site?.stop());

  it.each(routes)("decides in the route %s", async (route) => {
    expect(await (await fetch(`${site.url}/${route}`)).json()).toEqual(inNode);
  });

  describeInChromium("in Chromium", () => {
    it("decides in a page", async () => {
      const browser = await launchChromium();
      try {
        expect(await decidedIn(browser, site.url)).toEqual({ decided: inNode, complaints: [] });
      } finally {
        await browser.close();
      }
    });
  });
});

it("tells an app of React Native, whose engine has no WebAssembly, to ask a worker, and has the client", { timeout: 600_000 }, async () => {
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
