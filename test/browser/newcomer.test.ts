import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { type NewcomersPage, newcomer } from "./newcomer.ts";
import { complaintsOf, startShop, type TestWorker } from "./worker.ts";

function inPlaywright(page: Page): NewcomersPage {
  return {
    open: async (url) => void (await page.goto(url)),
    click: (selector) => page.locator(selector).first().click(),
    text: (selector) => page.locator(selector).first().innerText(),
    attribute: (selector, name) => page.locator(selector).first().getAttribute(name),
    count: (selector) => page.locator(selector).count(),
  };
}

describeInChromium("a newcomer", () => {
  let shop: TestWorker;
  let browser: Browser;

  beforeAll(async () => {
    [shop, browser] = await Promise.all([startShop(), launchChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.harness.close();
  });

  it("sees the estimates come nearer to the truth, a late purchase change one, and the same counts on the dashboard", async () => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const complaints = complaintsOf(page, shop.url);
    const { errors, waiting, shelves, late, change, shop: counts, dashboard } = await newcomer(inPlaywright(page), shop.url.href);
    // The mean of Mira's tastes: nothing is known, and the estimates are zero.
    expect(errors[0]).toBe(25);
    expect(errors.at(-1)).toBeLessThanOrEqual(errors[0] - 5);
    expect(new Set(waiting)).toEqual(new Set(["nothing known"]));
    expect(shelves[1]).not.toBe("");
    expect(late[1]).toBe(late[0]);
    expect(late[2]).not.toBe(late[0]);
    expect(change).toMatch(/^\+\d+$/);
    expect(counts.shown).toBeGreaterThanOrEqual(153);
    expect(dashboard).toEqual(counts);
    expect(complaints).toEqual([]);
  }, 180_000);
});
