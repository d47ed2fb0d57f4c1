import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { products, SHOP_MODEL, shopActions, shopModel } from "../../worker/page/shop.ts";
import { hasChromium, launchChromium } from "../support/chromium.ts";

const secrets = {
  AFTERCLICK_SECRET_KEY: "sk_test",
  AFTERCLICK_PUBLISHABLE_KEY: "pk_test",
  AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  AFTERCLICK_TOKEN_KEY: "token-key",
};

async function startWorker(demo: "true" | "false"): Promise<{ harness: TestHarness; url: URL }> {
  const harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets: { ...secrets, AFTERCLICK_DEMO: demo } }] });
  return { harness, url: (await harness.listen()).url };
}

async function put(url: URL, path: string, json: unknown): Promise<void> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}` };
  const response = await fetch(new URL(path, url), { method: "PUT", headers, body: JSON.stringify(json) });
  if (!response.ok) throw new Error(await response.text());
}

async function startShop(): Promise<{ harness: TestHarness; url: URL }> {
  const shop = await startWorker("true");
  await put(shop.url, `/v1/models/${SHOP_MODEL}`, shopModel);
  await put(shop.url, `/v1/models/${SHOP_MODEL}/actions`, { actions: shopActions });
  return shop;
}

describe("the shop's backend", () => {
  let shop: { harness: TestHarness; url: URL };
  beforeAll(async () => {
    shop = await startShop();
  });
  afterAll(() => shop?.harness.close());

  const post = (json: string) =>
    fetch(new URL("/demo/purchases", shop.url), { method: "POST", headers: { "content-type": "application/json" }, body: json });

  it("reports a forged impression as unknown and learns nothing from it", async () => {
    const response = await post(JSON.stringify({ impressionIds: ["forged"] }));
    expect(await response.json()).toEqual({ conversions: [{ impressionId: "forged", status: "unknown" }] });
    const knowledge = await (await fetch(new URL("/demo/knowledge?profile=mira&impression=forged", shop.url))).json();
    expect(knowledge).toMatchObject({ counts: { applied: 0, converted: 0 }, impressions: [] });
  });

  it.each([
    ["no JSON", "{", 400],
    ["nothing bought", '{ "impressionIds": [] }', 422],
    ["something else", '{ "orders": [] }', 400],
    ["a body over the limit", `{ "impressionIds": ["${"x".repeat(300_000)}"] }`, 413],
  ])("refuses %s", async (_, body, status) => {
    const response = await post(body);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
  });

  it.each(["", "?profile=nobody", `?profile=mira${"&impression=x".repeat(21)}`])("refuses to tell of %j", async (query) => {
    const response = await fetch(new URL(`/demo/knowledge${query}`, shop.url));
    expect(response.status).toBe(422);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
  });
});

describe("where the demonstration is off", () => {
  let worker: { harness: TestHarness; url: URL };
  beforeAll(async () => {
    worker = await startWorker("false");
  });
  afterAll(() => worker?.harness.close());

  it("says so and gives no key away", async () => {
    const response = await fetch(worker.url);
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain("demonstration shop is off");
    for (const value of Object.values(secrets)) expect(text).not.toContain(value);
  });

  it("has no backend for it", async () => {
    expect((await fetch(new URL("/demo/knowledge?profile=mira", worker.url))).status).toBe(404);
    const body = JSON.stringify({ impressionIds: ["x"] });
    expect((await fetch(new URL("/demo/purchases", worker.url), { method: "POST", body })).status).toBe(404);
  });
});

describe.skipIf(!hasChromium)("the shop in Chromium", () => {
  let shop: { harness: TestHarness; url: URL };
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    [shop, browser] = await Promise.all([startShop(), launchChromium()]);
    page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "data:" && url.host !== shop.url.host) complaints.push(`asked ${url}`);
    });
    await page.goto(shop.url.href);
    await page.locator(".card").nth(2).waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await shop?.harness.close();
  });

  const count = async (status: string) => Number(await page.locator(`.counts [data-status=${status}] dd`).innerText());
  const mean = async (product: string) => Number.parseInt(await page.locator(`tr[data-product=${product}] .number`).innerText(), 10);
  const soon = { timeout: 20_000, interval: 100 };

  it("shows three products, each a pending impression, and what the model expects of every product", async () => {
    expect(await page.locator(".card").count()).toBe(3);
    expect(await page.locator(".card[data-status=pending]").count()).toBe(3);
    expect(await page.locator("tbody tr").count()).toBe(products.length);
    await expect.poll(() => count("pending"), soon).toBe(3);
  });

  it("turns a pending impression into a converted one when its webhook comes, and moves the estimate", async () => {
    const card = page.locator(".card").first();
    const name = await card.locator("h3").innerText();
    const { id } = products.find((product) => product.name === name) as (typeof products)[number];
    const before = await mean(id);
    await page.getByRole("radio", { name: "in 10 s" }).check();
    await card.getByRole("button", { name: `Buy ${name}` }).click();

    expect(await card.getAttribute("data-status")).toBe("bought");
    expect(await card.locator(".story").innerText()).toMatch(/webhook in 0:(10|09)/);
    expect(await count("converted")).toBe(0);
    await expect.poll(() => card.getAttribute("data-status"), soon).toBe("converted");
    await expect.poll(() => count("converted"), soon).toBe(1);
    expect(await count("pending")).toBe(2);
    expect(await mean(id)).toBeGreaterThan(before);
    expect(await page.locator(`tr[data-product=${id}] .change`).innerText()).toBe(`+${(await mean(id)) - before}`);
  });

  it("recommends to another visitor, by keyboard alone", async () => {
    const earlier = await page.locator(".card").first().elementHandle();
    await page.getByRole("radio", { name: "Mira" }).focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.locator("#shelf").innerText(), soon).toBe("Recommended for Jonas");
    await expect.poll(() => earlier?.evaluate((element) => element.isConnected), soon).toBe(false);
    await page.getByRole("button", { name: /^Buy / }).first().focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".card[data-status=bought]").count(), soon).toBe(1);
  });

  it("lets fifty visitors come, and learns from what they buy", async () => {
    await page.getByRole("button", { name: "Simulate 50 visitors" }).click();
    await expect.poll(() => count("converted"), soon).toBeGreaterThan(10);
    await expect.poll(() => page.locator('.change:not([data-sign="0"])').count(), soon).toBeGreaterThan(3);
    await expect.poll(async () => (await count("converted")) + (await count("pending")), soon).toBe(6 + 150);
  });

  it.each([320, 375])("needs no sideways scrolling at %i pixels", async (width) => {
    await page.setViewportSize({ width, height: 800 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    const outside = await page.evaluate(() =>
      Array.from(document.querySelectorAll("section *:not(.unseen *, .choice input)"))
        .filter((element) => {
          const section = element.closest("section")?.getBoundingClientRect();
          const { right } = element.getBoundingClientRect();
          return section !== undefined && right > section.right + 0.5;
        })
        .map((element) => element.outerHTML.slice(0, 80)),
    );
    expect(outside).toEqual([]);
  });

  it("has complained of nothing and asked nobody else", () => {
    expect(complaints).toEqual([]);
  });

  it("runs no script and no style but its own", async () => {
    const policy = (await fetch(shop.url)).headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; script-src 'nonce-[^']+'; style-src 'nonce-[^']+';/);
    expect(policy).not.toMatch(/unsafe|\*/);
    const blocked = await page.evaluate(async () => {
      const violations: string[] = [];
      document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => violations.push(effectiveDirective));
      const script = Object.assign(document.createElement("script"), { textContent: "globalThis.intruded = true" });
      const style = Object.assign(document.createElement("style"), { textContent: "body { display: none }" });
      document.body.append(script, style);
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { violations: violations.sort(), intruded: "intruded" in globalThis, display: getComputedStyle(document.body).display };
    });
    expect(blocked).toEqual({ violations: ["script-src-elem", "style-src-elem"], intruded: false, display: "block" });
  });
});
