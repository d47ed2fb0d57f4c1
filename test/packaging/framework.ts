import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { started } from "../support/started.ts";
import { decidedIn, installProject, run } from "./installation.ts";
import { type ListWorker, listWorker } from "./list-worker.ts";

// Builds a project of a framework without configuration, and runs it. Its own lock file holds the framework, which comes from the npm registry.

const env = { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", NUXT_TELEMETRY_DISABLED: "1", HOST: "127.0.0.1", PORT: "0" };
const script = 'import("./decide.js").then(async ({ decide }) => console.log(JSON.stringify(await decide(await import("afterclick")))))';

export interface Framework {
  /** Folder in `projects`. */
  readonly project: string;
  /** Arguments of Node. */
  readonly build: readonly string[];
  readonly start: readonly string[];
  readonly routes: readonly string[];
}

const NEXT = "node_modules/next/dist/bin/next";

/** Next.js as a project has it. */
export const nextIn = (project: string): Framework => ({
  project,
  build: [NEXT, "build"],
  start: [NEXT, "start", "--hostname", "127.0.0.1", "--port", "0"],
  routes: ["node", "edge"],
});

/** Its routes and its page must decide as Node does, to the bit. */
export function describeFramework(name: string, { project, build, start, routes }: Framework): void {
  describe(name, () => {
    let base: string;
    let site: Awaited<ReturnType<typeof started>>;
    let inNode: unknown;
    let worker: ListWorker;
    const isNext = project.startsWith("next");
    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), "afterclick-framework-"));
      const cwd = await installProject(base, project);
      if (isNext) await cp("test/packaging/projects/next-app", join(cwd, "app"), { recursive: true });
      inNode = JSON.parse(run(cwd, process.execPath, ["-e", script]));
      await promisify(execFile)(process.execPath, build, { cwd, env: { ...process.env, ...env } });
      worker = await listWorker();
      site = await started(cwd, start, { ...env, AFTERCLICK_URL: worker.url });
    }, 600_000);
    afterAll(async () => {
      await site?.stop();
      worker?.close();
      await rm(base, { recursive: true, force: true });
    });

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

      it.runIf(isNext)("shows the list that a server component has asked for, and reports what is seen and clicked", async () => {
        const browser = await launchChromium();
        try {
          const page = await browser.newPage();
          const complaints: string[] = [];
          page.on("console", (message) => complaints.push(message.text()));
          page.on("pageerror", ({ message }) => complaints.push(message));
          expect(await (await page.goto(`${site.url}/react`))?.text()).toMatch(/ready.*The scarf.*The boots.*The hat/s);
          const titles = () => page.locator("li").allInnerTexts();
          await expect.poll(() => worker.seen.toSorted(), { timeout: 30_000 }).toEqual(["1-boots", "1-hat", "1-scarf"]);
          await page.getByText("elsewhere").click();
          await page.getByText("Another page.").waitFor();
          await page.goBack();
          await expect.poll(titles, { timeout: 30_000 }).toEqual(["The scarf", "The boots", "The hat"]);
          await page.locator("li a").first().click();
          await expect.poll(() => worker.reached, { timeout: 30_000 }).toEqual(["1-scarf click"]);
          expect(worker.questions).toEqual([{ limit: 3, defer: true, learn: true }]);
          expect([worker.seen.length, complaints]).toEqual([3, []]);
          // Each visit of a page that says nothing of visitors gets a list of its own too.
          for (const nth of [2, 3]) expect(await (await fetch(`${site.url}/undeclared`)).text()).toContain(`${nth}-scarf,${nth}-boots`);
        } finally {
          await browser.close();
        }
      });
    });
  });
}
