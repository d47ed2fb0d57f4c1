// Things that may be missing or wrong on a visitor's device: each page says so in one sentence, and goes on where it can.
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { secrets, startShop, startWorker, type TestWorker } from "./worker.ts";

const HOUR_MS = 3_600_000;
const soon = { timeout: 60_000, interval: 100 };

describeInChromium("a page", () => {
  let shop: TestWorker;
  let deployed: TestWorker;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    [shop, deployed, browser] = await Promise.all([startShop(), startWorker("false"), launchChromium()]);
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([shop, deployed].map((worker) => worker?.harness.close()));
  });
  afterEach(() => page?.context().close());

  async function opened(options: BrowserContextOptions = {}): Promise<Page> {
    page = await (await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })).newPage();
    return page;
  }
  const go = (path: string, worker = shop) => page.goto(new URL(path, worker.url).href);
  const problem = () => page.locator(".problem").first().innerText();

  it.each([
    ["/", "This page needs JavaScript; the worker's API works without it."],
    ["/playground/", "This page needs JavaScript: it plays the match in your browser."],
  ])("without JavaScript, %s says so, and has its links", async (path, sentence) => {
    await opened({ javaScriptEnabled: false });
    await go(path);
    expect((await page.locator("main").innerText()).trim()).toBe(sentence);
    expect(await page.locator("header nav a").count()).toBeGreaterThanOrEqual(2);
  });

  it("without WebAssembly, the shop and the dashboard work: the worker decides", async () => {
    await opened();
    await page.addInitScript("delete globalThis.WebAssembly");
    await go("/");
    await expect.poll(() => page.locator(".card").count(), soon).toBe(3);
    await page.locator(".steps a").click();
    await page.locator(".figures").waitFor();
    expect(await problem().catch(() => "")).toBe("");
  });

  it("that forbids WebAssembly by its policy says so in the playground", async () => {
    await opened();
    await page.route("**/playground/background.js", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), "content-security-policy": "default-src 'self'" } });
    });
    await go("/playground/");
    const sentence =
      "The playground needs WebAssembly, and this browser or its policy forbids it. Allow WebAssembly, or use another browser.";
    await expect.poll(() => page.getByRole("alert").innerText(), soon).toBe(sentence);
  });

  it("that may store nothing keeps the key until it is reloaded, and says so", async () => {
    await opened();
    await page.addInitScript(() => {
      const refused = () => {
        throw new DOMException("The operation is insecure.", "SecurityError");
      };
      for (const name of ["sessionStorage", "localStorage"]) Object.defineProperty(window, name, { get: refused });
    });
    await go("/", deployed);
    await page.getByLabel("Secret key").fill(secrets.AFTERCLICK_SECRET_KEY);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "No model yet" }).waitFor();
    const sentence = "This browser refuses storage, so the page asks for the key again after a reload.";
    expect(await page.locator(".key .quiet").innerText()).toBe(sentence);
    await page.getByRole("button", { name: "Forget the key" }).click();
    await page.getByLabel("Secret key").waitFor();
    await go("/#shop");
    await expect.poll(() => page.locator(".card").count(), soon).toBe(3);
  });

  it("whose worker stops says so, keeps what it has, and reports the purchase once the worker is back", async () => {
    await opened();
    await go("/");
    await expect.poll(() => page.locator(".card[data-status=pending]").count(), soon).toBe(3);
    await page.getByRole("radio", { name: "at once" }).check();
    await page.route("**/{demo,v1}/**", (route) => route.abort());
    await page.locator(".card button").first().click();
    await expect.poll(problem, soon).toBe("The worker does not answer. Retrying.");
    expect(await page.locator(".card").count()).toBe(3);
    expect(await page.locator(".card").first().getAttribute("data-status")).toBe("bought");
    await page.locator(".steps a").click();
    await expect.poll(problem, soon).toBe("Not up to date: the worker does not answer. Retrying every 2 seconds.");
    await page.getByRole("link", { name: "Shop", exact: true }).click();
    await page.unroute("**/{demo,v1}/**");
    await expect.poll(() => page.locator(".card[data-status=converted]").count(), soon).toBe(1);
    await expect.poll(() => page.locator(".problem").first().textContent(), soon).toBe("");
  });

  it("opened while its worker is stopped fills itself once the worker is back", async () => {
    await opened();
    await page.route("**/{demo,v1}/**", (route) => route.abort());
    await go("/");
    await expect.poll(problem, soon).toBe("The worker does not answer. Retrying.");
    await page.unroute("**/{demo,v1}/**");
    await expect.poll(() => page.locator(".card").count(), soon).toBe(3);
  });

  it.each([
    ["ahead of", HOUR_MS],
    ["behind", -HOUR_MS],
  ])("on a device whose clock is an hour %s the worker's says so, and counts windows right", async (way, offMs) => {
    await opened();
    await page.clock.install({ time: Date.now() + offMs });
    await go("/");
    await expect.poll(() => page.locator(".card[data-status=pending]").count(), soon).toBe(3);
    const sentence = `This device's clock is 1 h ${way} the worker's. This page does not rely on it.`;
    await expect.poll(problem, soon).toBe(sentence);
    expect(await page.locator(".card .story").first().innerText()).toMatch(/^pending, (2:00|1:5\d) left$/);
    await page.getByRole("radio", { name: "at once" }).check();
    await page.locator(".card button").first().click();
    await expect.poll(() => page.locator(".card").first().getAttribute("data-status"), soon).toBe("converted");
    await page.locator(".steps a").click();
    await page.locator(".figures").waitFor();
    await expect.poll(problem, soon).toBe(sentence);
    await expect.poll(() => page.locator(".recents .quiet").first().innerText(), soon).toMatch(/just now|\d+(\.\d)? s ago/);
  });
});
