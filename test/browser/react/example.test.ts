// The example in React, on Vite's development server, against a worker: what it counts, how it looks, and that nothing moves.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { wrongLooks } from "../../support/axe.ts";
import { describeInChromium, launchChromium } from "../../support/chromium.ts";
import { patient } from "../../support/patient.ts";
import { started } from "../../support/started.ts";
import { secrets } from "../worker.ts";

const soon = { timeout: 60_000, interval: 50 };

describeInChromium("examples/react", () => {
  let harness: TestHarness;
  let worker: string;
  let site: Awaited<ReturnType<typeof started>>;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];
  beforeAll(async () => {
    const variables = { ...secrets, AFTERCLICK_ALLOWED_ORIGINS: "http://127.0.0.1:*" };
    harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets: variables }] });
    worker = (await harness.listen()).url.origin;
    const vite = ["node_modules/vite/bin/vite.js", "examples/react", "--host", "127.0.0.1", "--port", "0"];
    [site, browser] = await Promise.all([started(".", vite, { ...secrets, AFTERCLICK_URL: worker }), launchChromium()]);
    page = await browser.newPage();
    page.on("console", (message) => void (/^(error|warning)$/.test(message.type()) && complaints.push(message.text())));
    page.on("pageerror", ({ message }) => complaints.push(message));
    await patient(page);
    await page.addInitScript(`
      globalThis.shifts = [];
      new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value))).observe({ type: "layout-shift", buffered: true });
    `);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.stop();
    await harness?.close();
  });

  const ready = () => page.locator(".cards[data-status=ready]").waitFor();
  const counted = async () => {
    const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}` };
    const { counts } = await (await fetch(`${worker}/v1/models/react-shop`, { headers })).json();
    return { declined: counts.declined, shown: counts.impressions, clicked: counts.pageGoals };
  };

  it("counts nothing without consent", async () => {
    await page.goto(site.url);
    await ready();
    expect(await page.evaluate("shifts")).toEqual([]);
    await page.locator(".cards a").first().click();
    await expect.poll(counted, soon).toEqual({ declined: 3, shown: 0, clicked: 0 });
  });

  it("counts what a visitor with consent sees and clicks, and moves nothing", async () => {
    await page.getByRole("button", { name: "Yes" }).click();
    await page.goto(site.url);
    await ready();
    await page.locator(".cards a").first().click();
    await expect.poll(counted, soon).toEqual({ declined: 3, shown: 3, clicked: 1 });
    expect([await page.evaluate("shifts"), complaints]).toEqual([[], []]);
  });

  it("has nothing that axe complains of, at three widths, in light and dark, with the list and while it loads", async () => {
    const wrong: string[] = [];
    for (const state of ["ready", "loading"]) {
      if (state === "loading") await page.route("**/recommendations", () => undefined);
      await page.goto(site.url);
      await page.locator(`.cards[data-status=${state}]`).waitFor();
      wrong.push(...(await wrongLooks(page, state)));
    }
    expect(wrong).toEqual([]);
  });
});
