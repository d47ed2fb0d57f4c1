import { execFile } from "node:child_process";
import { glob, readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { serve } from "../packaging/installation.ts";
import { COLOUR_RULES, loadAxe, violations } from "../support/axe.ts";
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
    for await (const path of glob("docs/*.md"))
      expect(home).toContain(`href="/${path.replace(/README\.md$/, "").replace(/\.md$/, ".html")}"`);
    expect(home).toContain('href="/examples/"');
  });

  it("has no page that axe complains of, in light or dark colours", async () => {
    expect(pages.length).toBeGreaterThan(25);
    const page = await browser.newPage({ reducedMotion: "reduce" });
    const wrong: string[] = [];
    const look = async (path: string, scheme: string, rules?: readonly string[]) =>
      wrong.push(...(await violations(page, rules)).map((violation) => `${path}, ${scheme}: ${violation}`));
    // It is made as the reference of an entry is, and seven times as long.
    for (const path of pages.filter((page) => page !== "docs/reference/afterclick.html")) {
      await page.emulateMedia({ colorScheme: "light" });
      await page.goto(`${site.url}/${path}`);
      await loadAxe(page);
      await look(path, "light");
      // The two differ in colours alone.
      await page.emulateMedia({ colorScheme: "dark" });
      await page.locator("html.dark").waitFor();
      await look(path, "dark", COLOUR_RULES);
    }
    expect(wrong).toEqual([]);
  });
});
