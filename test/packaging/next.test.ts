import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { started } from "../support/started.ts";
import { decidedIn, installProject, run } from "./installation.ts";

// Builds and starts a Next.js project without configuration. Its own lock file holds Next.js, which comes from the npm registry.

const env = { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" };
const NEXT = "node_modules/next/dist/bin/next";

let base: string;
let site: Awaited<ReturnType<typeof started>>;
let inNode: unknown;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "afterclick-next-"));
  const cwd = await installProject(base, "next");
  const script = 'import("./decide.js").then(async ({ decide }) => console.log(JSON.stringify(await decide(await import("afterclick")))))';
  inNode = JSON.parse(run(cwd, process.execPath, ["-e", script]));
  await promisify(execFile)(process.execPath, [NEXT, "build"], { cwd, env: { ...process.env, ...env } });
  site = await started(cwd, [NEXT, "start", "--hostname", "127.0.0.1", "--port", "0"], env);
}, 600_000);
afterAll(async () => {
  await site?.stop();
  await rm(base, { recursive: true, force: true });
});

it.each(["node", "edge"])("decides in a route of the runtime %s", async (runtime) => {
  expect(await (await fetch(`${site.url}/${runtime}`)).json()).toEqual(inNode);
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
