// The example whose pages ask the worker: from the list through the product's page and the cart to the order, with and without consent.
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { started } from "../support/started.ts";
import { secrets } from "./worker.ts";

const TITLES: Readonly<Record<string, string>> = {
  boots: "Winter boots, 129.00 EUR",
  hat: "Felt hat, 19.99 EUR",
  scarf: "Long scarf, 34.50 EUR",
};

describeInChromium("shop-page", () => {
  let harness: TestHarness;
  let worker: string;
  let shop: Awaited<ReturnType<typeof started>>;
  let browser: Browser;
  beforeAll(async () => {
    const variables = { ...secrets, AFTERCLICK_ALLOWED_ORIGINS: "http://127.0.0.1:*" };
    harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets: variables }] });
    worker = (await harness.listen()).url.origin;
    shop = await started(".", ["examples/shop-page/shop.ts"], { ...secrets, PORT: "0", AFTERCLICK_URL: worker });
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.stop();
    await harness?.close();
  });

  /** A visitor with a browser of its own. */
  async function visitor(): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
    const context = await browser.newContext();
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => void complaints.push(message.text()));
    page.on("pageerror", (error) => void complaints.push(error.message));
    await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
    return { context, page, complaints };
  }

  /** Opens the shop. Returns the recommended products and their impression ids. */
  async function recommended(page: Page): Promise<{ id: string; impressionId: string | null; text: string }[]> {
    await page.goto(shop.url);
    await page.locator("#recommended[data-ready]").waitFor();
    const links = await page
      .locator("#recommended a")
      .evaluateAll((all) => all.map((link) => [(link as HTMLAnchorElement).href, link.textContent]));
    return links.map(([href, text]) => {
      const url = new URL(href as string);
      return { id: url.pathname.replace("/products/", ""), impressionId: url.searchParams.get("impression"), text: text ?? "" };
    });
  }

  /** Buys the first recommended product. */
  async function buy(page: Page): Promise<void> {
    await page.locator("#recommended a").first().click();
    await page.getByRole("button", { name: "Add to cart" }).click();
    await page.getByRole("button", { name: "Buy" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
  }

  const asked = async (path: string) => {
    const response = await fetch(`${worker}${path}`, { headers: { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}` } });
    return (await response.json()) as {
      status: string;
      reward: number;
      counts: { impressions: number; converted: number; declined: number };
    };
  };
  const countsOf = async () => (await asked("/v1/models/shop-page")).counts;

  it("carries the impression id of a visitor with consent to the order", async () => {
    const { context, page, complaints } = await visitor();
    await page.goto(shop.url);
    await page.getByRole("button", { name: "Yes" }).click();
    const [first, second] = await recommended(page);
    for (const { id, text } of [first, second]) expect(text).toBe(TITLES[id]);
    await buy(page);
    await expect.poll(async () => (await asked(`/v1/impressions/${first.impressionId}`)).status, { timeout: 60_000 }).toBe("converted");
    const price = Number(/[\d.]+(?= EUR)/.exec(first.text)?.[0]);
    expect((await asked(`/v1/impressions/${first.impressionId}`)).reward).toBeCloseTo(price, 3);
    expect((await asked(`/v1/impressions/${second.impressionId}`)).status).toBe("pending");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("keeps no id of a visitor without consent, and learns nothing from the list", async () => {
    const before = await countsOf();
    const { context, page, complaints } = await visitor();
    const [{ id, impressionId, text }] = await recommended(page);
    expect([text, impressionId]).toEqual([TITLES[id], expect.stringMatching(/^[\w-]+$/)]);
    await buy(page);
    const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));
    const cookies = await context.cookies();
    expect(cookies.map(({ name }) => name)).toEqual(["cart"]);
    expect(kept + JSON.stringify(cookies)).not.toContain(impressionId);
    await expect.poll(async () => (await countsOf()).declined, { timeout: 60_000 }).toBe(before.declined + 2);
    expect({ ...(await countsOf()), declined: before.declined }).toEqual(before);
    expect(await asked(`/v1/impressions/${impressionId}`)).toMatchObject({ status: 404, detail: expect.stringContaining("learn: false") });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("forgets the ids in the cart of a visitor who takes the consent back", async () => {
    const before = await countsOf();
    const { context, page } = await visitor();
    await page.goto(shop.url);
    await page.getByRole("button", { name: "Yes" }).click();
    const [{ impressionId }] = await recommended(page);
    await page.locator("#recommended a").first().click();
    await page.getByRole("button", { name: "Add to cart" }).click();
    await page.getByRole("button", { name: "Stop that" }).click();
    await page.goto(`${shop.url}/cart`);
    await page.getByRole("button", { name: "Buy" }).click();
    await page.getByRole("heading", { name: "Thank you" }).waitFor();
    await expect.poll(async () => (await asked(`/v1/impressions/${impressionId}`)).status, { timeout: 60_000 }).toBe("pending");
    expect((await countsOf()).converted).toBe(before.converted);
    await context.close();
  });

  it("shows the shop's own list while the worker does not answer", async () => {
    const { context, page } = await visitor();
    await page.route(`${worker}/**`, (route) => route.abort());
    const list = await recommended(page);
    expect(list).toEqual(["boots", "hat"].map((id) => ({ id, impressionId: null, text: TITLES[id] })));
    await buy(page);
    await context.close();
  });

  it("takes no product and no impression id that it could not have given", async () => {
    const order = (fields: Readonly<Record<string, string>>) =>
      fetch(`${shop.url}/cart`, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" });
    expect((await order({ product: "constructor" })).status).toBe(422);
    expect((await order({ product: "hat", impression: "<b>" })).status).toBe(303);
    expect(await (await fetch(`${shop.url}/products/hat?impression=%22%3E%3Cb%3E`)).text()).toContain('name="impression" value=""');
    expect((await fetch(`${shop.url}/products/constructor`)).status).toBe(404);
    expect((await fetch(`${shop.url}/orders`, { method: "POST" })).status).toBe(422);
  });
});
