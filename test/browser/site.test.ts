import { execFile } from "node:child_process";
import { glob, readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { serve } from "../packaging/installation.ts";
import { loadAxe, violations } from "../support/axe.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";

// The site of the documents. Its build fails on a dead link or anchor.

const FOLDER = "build/site";
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png" };

describeInChromium("the documentation site", () => {
  let site: Awaited<ReturnType<typeof serve>>;
  let browser: Browser;
  let pages: string[];
  beforeAll(async () => {
    await promisify(execFile)("npm", ["run", "docs"], { shell: process.platform === "win32" });
    pages = (await readdir(FOLDER, { recursive: true })).filter((page) => page.endsWith(".html") && page !== "404.html").sort();
    [site, browser] = await Promise.all([serve({ "/": FOLDER }, { types }), launchChromium()]);
  }, 600_000);
  afterAll(async () => {
    await browser?.close();
    site?.close();
  });

  it("lists every document in its sidebar", async () => {
    const home = await readFile(`${FOLDER}/index.html`, "utf8");
    for await (const path of glob("docs/*.md")) expect(home).toContain(`href="/${path.replace(/\.md$/, ".html")}"`);
    expect(home).toContain('href="/examples/"');
  });

  it.each(["light", "dark"] as const)("has no page that axe complains of, in %s colours", async (colorScheme) => {
    expect(pages.length).toBeGreaterThan(25);
    const page = await browser.newPage({ colorScheme, reducedMotion: "reduce" });
    const wrong: string[] = [];
    for (const path of pages) {
      await page.goto(`${site.url}/${path}`);
      await loadAxe(page);
      wrong.push(...(await violations(page)).map((violation) => `${path}: ${violation}`));
    }
    expect(wrong).toEqual([]);
  });
});
