import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { wrongLooks } from "../support/axe.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { started } from "../support/started.ts";
import { decidedIn, installProject, run } from "./installation.ts";
import { type ListWorker, listWorker } from "./list-worker.ts";

// Builds a project of a framework without configuration, and runs it. Its own lock file holds the framework, which comes from the npm registry.

const env = { NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1", NUXT_TELEMETRY_DISABLED: "1", HOST: "127.0.0.1", PORT: "0" };
const keys = { AFTERCLICK_SECRET_KEY: "sk", AFTERCLICK_PUBLISHABLE_KEY: "pk", SHOP_URL: "http://shop.example" };
const script = 'import("./decide.js").then(async ({ decide }) => console.log(JSON.stringify(await decide(await import("afterclick")))))';

export interface Framework {
  /** Folder in `projects`. */
  readonly project: string;
  /** Arguments of Node. */
  readonly build: readonly string[];
  readonly start: readonly string[];
  readonly routes: readonly string[];
  /** Path of its page that decides. */
  readonly page: string;
  /** Whether it also has `examples/next`, as its first page. */
  readonly hasExample?: boolean;
}

const NEXT = "node_modules/next/dist/bin/next";

/** Next.js as a project has it. */
export const nextIn = (project: string, hasExample = false): Framework => ({
  project,
  page: "/decides",
  hasExample,
  build: [NEXT, "build"],
  start: [NEXT, "start", "--hostname", "127.0.0.1", "--port", "0"],
  routes: ["node", "edge"],
});

/** Adds the example of docs/hour.md, whose types must be right. */
async function addExample(cwd: string): Promise<void> {
  await cp("examples/next/app", join(cwd, "app/(hour)"), { recursive: true });
  await cp("examples/next/tsconfig.json", join(cwd, "tsconfig.json"));
  await mkdir(join(cwd, "node_modules/@types"));
  for (const name of ["typescript", "@types/react", "@types/node"])
    await symlink(resolve("node_modules", name), join(cwd, "node_modules", name));
}

/** Its routes and its page must decide as Node does, to the bit. */
export function describeFramework(name: string, { project, build, start, routes, page, hasExample }: Framework): void {
  describe(name, () => {
    let base: string;
    let site: Awaited<ReturnType<typeof started>>;
    let inNode: unknown;
    let worker: ListWorker;
    const isNext = project.startsWith("next");
    beforeAll(async () => {
      base = await mkdtemp(join(tmpdir(), "afterclick-framework-"));
      const cwd = await installProject(base, project);
      if (isNext) await cp("test/packaging/projects/next-app", join(cwd, "app/(tests)"), { recursive: true });
      if (hasExample) await addExample(cwd);
      inNode = JSON.parse(run(cwd, process.execPath, ["-e", script]));
      await promisify(execFile)(process.execPath, build, { cwd, env: { ...process.env, ...env } });
      worker = await listWorker();
      site = await started(cwd, start, { ...env, ...keys, AFTERCLICK_URL: worker.url });
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
          expect(await decidedIn(browser, site.url + page)).toEqual({ decided: inNode, complaints: [] });
        } finally {
          await browser.close();
        }
      });

      if (!isNext) return;
      it("shows the list that a server component has asked for, and reports what is seen and clicked", async () => {
        const browser = await launchChromium();
        try {
          const { page, complaints } = await watchedPage(browser);
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

      if (!hasExample) return;
      it("shows the three cards of the example, and reports a click", async () => {
        const browser = await launchChromium();
        try {
          const { page, complaints } = await watchedPage(browser);
          await page.goto(site.url);
          await page.getByRole("button", { name: "Yes" }).click();
          await page.getByRole("button", { name: "Stop that" }).waitFor();
          // A busy machine answers late, and the page then has the shop's own list.
          const status = async () => {
            await page.reload();
            return page.locator(".cards").getAttribute("data-status");
          };
          await expect.poll(status, { timeout: 60_000 }).toBe("ready");
          const addresses = await page.locator(".cards a").evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).href));
          const nth = worker.questions.length;
          expect(addresses).toEqual(["scarf", "boots", "hat"].map((id) => `http://shop.example/products/${id}?impression=${nth}-${id}`));
          expect(worker.questions[nth - 1]).toMatchObject({ limit: 3, defer: true, learn: true });
          expect(await wrongLooks(page, "Next.js")).toEqual([]);
          await page.route("http://shop.example/**", (route) => route.fulfill({ body: "" }));
          await page.locator(".cards a").first().click();
          await expect.poll(() => worker.reached, { timeout: 30_000 }).toContain(`${nth}-scarf click`);
          expect(complaints).toEqual([]);
        } finally {
          await browser.close();
        }
      });
    });
  });
}

/** A page, and what its console and its errors say. */
async function watchedPage(browser: Browser): Promise<{ readonly page: Page; readonly complaints: readonly string[] }> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(`${message.text()} ${message.location().url}`));
  page.on("pageerror", ({ message }) => complaints.push(message));
  // Chromium asks for it while a router changes the head of a page.
  await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
  return { page, complaints };
}
