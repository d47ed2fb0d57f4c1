import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { patient } from "../support/patient.ts";
import { installProject, run, serve } from "./installation.ts";
import { listWorker } from "./list-worker.ts";

// One app, built by Vite with each React. Its own lock file holds React, which comes from the npm registry.

const soon = { timeout: 60_000 };

describe.each(["18", "19"])("React %s", (major) => {
  let base: string;
  let project: string;
  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), "afterclick-react-"));
    project = await installProject(base, `react${major}`);
    await cp("test/packaging/projects/react-app", project, { recursive: true });
  }, 600_000);
  afterAll(() => rm(base, { recursive: true, force: true }));

  it.each(["typescript", "typescript-oldest"])("compiles in a strict project without skipLibCheck: %s", (compiler) => {
    expect(run(project, process.execPath, [resolve("node_modules", compiler, "bin/tsc"), "-p", "."])).toBe("");
  });

  describeInChromium("in Chromium", () => {
    it("asks once, and reports each item once", async () => {
      await build({ root: project, base: "./", logLevel: "error" });
      const [worker, site, browser] = await Promise.all([listWorker(), serve({ "/": join(project, "dist") }), launchChromium()]);
      try {
        const page = await browser.newPage();
        await patient(page);
        const complaints: string[] = [];
        // The tests' React is the one for development, which names its tools.
        page.on("console", (message) => void (message.type() === "info" || complaints.push(message.text())));
        page.on("pageerror", ({ message }) => complaints.push(message));
        await page.goto(`${site.url}/index.html?worker=${worker.url}`);
        await expect.poll(() => page.locator("li").allInnerTexts(), soon).toEqual(["The scarf", "The boots", "The hat"]);
        await page.locator("li a").first().click();
        await expect.poll(() => worker.seen.toSorted(), soon).toEqual(["1-boots", "1-hat", "1-scarf"]);
        expect(worker.questions).toEqual([{ context: { major: Number(major) }, limit: 3, defer: true, learn: true }]);
        expect([worker.reached, complaints]).toEqual([["1-scarf click"], []]);
      } finally {
        await browser.close();
        site.close();
        worker.close();
      }
    });
  });
});
