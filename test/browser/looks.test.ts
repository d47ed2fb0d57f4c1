// Every page at two widths, in light, dark and forced colours: before anything, and after one click. Axe checks each.
// AFTERCLICK_SCREENSHOTS=DIR saves the screenshots in this folder.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadAxe, violations } from "../support/axe.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { startShop, type TestWorker } from "./worker.ts";

const folder = process.env.AFTERCLICK_SCREENSHOTS;

const widths = [
  [1280, 1000],
  [390, 844],
] as const;
const colours = {
  light: { colorScheme: "light", forcedColors: "none" },
  dark: { colorScheme: "dark", forcedColors: "none" },
  forced: { colorScheme: "light", forcedColors: "active" },
} as const;
const looks = widths.flatMap(([width, height]) => Object.entries(colours).map(([name, media]) => ({ width, height, name, media })));

/** Each page by its path, and an element that it shows once it has data. */
const pages = { shop: ["/#shop", ".error"], dashboard: ["/#dashboard", ".figures"], playground: ["/playground/", ".standings"] } as const;

describeInChromium("the pages", () => {
  let shop: TestWorker;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    if (folder) await mkdir(folder, { recursive: true });
    [shop, browser] = await Promise.all([startShop(), launchChromium()]);
    page = await browser.newPage({ reducedMotion: "reduce" });
    await page.goto(shop.url.href);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.harness.close();
  });

  /** Opens a page. The shop and the dashboard are one document, which keeps its state. */
  async function open(name: keyof typeof pages): Promise<void> {
    const [path, sign] = pages[name];
    await page.goto(new URL(path, shop.url).href);
    await page.locator(sign).first().waitFor();
    await loadAxe(page);
  }

  /** Looks at a page in every way, and collects what is wrong. */
  async function look(name: string, stage: string): Promise<string[]> {
    const wrong: string[] = [];
    for (const { width, height, name: colour, media } of looks) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ ...media, reducedMotion: "reduce" });
      const label = `${name}-${width}-${colour}-${stage}`;
      wrong.push(...(await violations(page)).map((violation) => `${label}: ${violation}`));
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (sideways > 0) wrong.push(`${label}: scrolls sideways by ${sideways} px`);
      if (folder) await page.screenshot({ path: join(folder, `${label}.png`) });
    }
    return wrong;
  }

  async function sendVisitors(): Promise<void> {
    await page.locator(".guide .primary").click();
    await page.getByText(/^\d+ visitors left$/).waitFor();
    await page.getByRole("button", { name: "Send 200 visitors" }).waitFor({ timeout: 120_000 });
  }

  it.each(["shop", "dashboard"] as const)("%s: nothing is wrong before anything", async (name) => {
    await open(name);
    expect(await look(name, "before")).toEqual([]);
  });

  it("shop and dashboard: nothing is wrong after one click", async () => {
    await open("shop");
    await sendVisitors();
    await page.getByText("All purchases are reported").waitFor({ timeout: 60_000 });
    const wrong = await look("shop", "one-click");
    await open("dashboard");
    wrong.push(...(await look("dashboard", "one-click")));
    await page.locator(".recents a").first().click();
    await page.getByRole("heading", { name: /^Why / }).waitFor();
    wrong.push(...(await look("explanation", "one-click")));
    expect(wrong).toEqual([]);
  }, 240_000);

  it("playground: nothing is wrong at first, and after another problem is chosen", async () => {
    await open("playground");
    const wrong = await look("playground", "before");
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole("radio", { name: "A dial" }).check();
    await page.locator("[role=status][data-state=done]").waitFor({ timeout: 60_000 });
    wrong.push(...(await look("playground", "one-click")));
    expect(wrong).toEqual([]);
  }, 120_000);

  it("the selection is seen in forced colours", async () => {
    await open("shop");
    await page.emulateMedia(colours.forced);
    const [chosen, other] = await page
      .locator(".choice")
      .first()
      .locator("span")
      .evaluateAll((labels) => labels.map((label) => getComputedStyle(label).backgroundColor));
    expect(chosen).not.toBe(other);
  });
});
