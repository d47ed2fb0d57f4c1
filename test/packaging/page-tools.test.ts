import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { started } from "../support/started.ts";
import { decidedIn, installProject, run, serve } from "./installation.ts";

// Tools that need a word in docs/browser.md: what they show without it, and that it is enough. Each comes from the npm registry.

let base: string;
const projects: Record<string, string> = {};
let inNode: object;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "afterclick-page-tools-"));
  for (const name of ["jest", "react-router", "bun"]) projects[name] = await installProject(base, name);
  const script = 'import("./decide.js").then(async ({ decide }) => console.log(JSON.stringify(await decide(await import("afterclick")))))';
  inNode = JSON.parse(run(projects.jest, process.execPath, ["-e", script]));
}, 600_000);
afterAll(() => rm(base, { recursive: true, force: true }));

const page = await readFile("docs/browser.md", "utf8");
/** Whether the document states a file of a project, apart from its comments. */
const states = async (file: string) =>
  page.includes((await readFile(join("test/packaging/projects", file), "utf8")).replaceAll(/^ *\/\/.*\n/gm, ""));

it("are configured as the document says", async () => {
  for (const file of ["jest/environment.js", "jest/jest.config.js"]) expect(await states(file), file).toBe(true);
  expect(page).toContain('optimizeDeps: { exclude: ["afterclick"] }');
  expect(page).toContain('import core from "afterclick/core.wasm";');
});

/** Runs Jest. Returns its report, whether it fails or not. */
async function jest(...options: string[]): Promise<string> {
  const args = ["--experimental-vm-modules", "node_modules/jest/bin/jest.js", ...options];
  const env = { ...process.env, NODE_OPTIONS: "", DECIDED: JSON.stringify(inNode) };
  const ran = promisify(execFile)(process.execPath, args, { cwd: projects.jest, env });
  const { stderr } = await ran.catch((error: { readonly stderr: string }) => error);
  return stderr;
}

it("decides in Jest with jsdom", async () => {
  expect(await jest()).toContain("Tests:       2 passed, 2 total");
});

it.each([
  ["decide.test.js", "ReferenceError: structuredClone is not defined"],
  ["create.test.js", "the core could not be loaded: put core.wasm there, or pass `module`: fetch is not defined"],
])("shows in Jest without that environment what the document says: %s", async (file, error) => {
  expect(await jest("--config", JSON.stringify({ transform: {}, testEnvironment: "jsdom" }), file)).toContain(error);
  expect(page).toContain(error.slice(error.lastIndexOf(": ") + 2));
});

describeInChromium("in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  it("decides in the development server of React Router", async () => {
    const site = await started(projects["react-router"], [
      "node_modules/@react-router/dev/bin.js",
      "dev",
      "--host",
      "127.0.0.1",
      "--port",
      "0",
    ]);
    try {
      // Vite finds packages while the first page loads, and then asks for another load.
      await fetch(site.url);
      const decided = await decidedIn(browser, site.url).catch(() => decidedIn(browser, site.url));
      expect(decided.decided).toEqual(inNode);
      expect(await (await fetch(site.url)).text()).toContain((inNode as { digest: string }).digest);
    } finally {
      await site.stop();
    }
  });

  // Bun is a program for one platform.
  it.runIf(process.platform === "linux" && process.arch === "x64")(
    "decides in a page of Bun that names the core, and says so in one that does not",
    async () => {
      const bun = join(projects.bun, "node_modules/@oven/bun-linux-x64/bin/bun");
      const site = await started(projects.bun, ["index.html", "beside.html", "--port=0"], {}, bun);
      try {
        expect((await decidedIn(browser, site.url)).decided).toEqual(inNode);
        expect((await decidedIn(browser, `${site.url}/beside`)).decided).toEqual({ code: "core-not-found" });
      } finally {
        await site.stop();
      }
      await promisify(execFile)(bun, ["build", "./index.html", "--outdir=built"], { cwd: projects.bun });
      const built = await serve({ "/": join(projects.bun, "built") });
      try {
        expect((await decidedIn(browser, `${built.url}/index.html`)).decided).toEqual(inNode);
      } finally {
        built.close();
      }
    },
  );
});
