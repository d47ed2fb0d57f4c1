// A page's reports, while the page is hidden, left, cut off or without consent: each goal counts once.
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { createTestHarness, type TestHarness } from "wrangler";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { secrets } from "./worker.ts";

const HOUR_MS = 3_600_000;
const soon = { timeout: 20_000, interval: 100 };

describeInChromium("a page with a beacon", () => {
  let harness: TestHarness;
  let worker: string;
  let server: Server;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let models = 0;
  let model: string;
  let impressionId: string;
  /** Attributes of the beacon's script in the next page. */
  let attributes = "";

  async function call(method: string, path: string, body?: unknown) {
    const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}`, "content-type": "application/json" };
    const response = await fetch(`${worker}/v1/${path}`, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }
  /** Impressions that count, and goals that pages reported. */
  const counted = async () => {
    const { counts } = await call("GET", `models/${model}`);
    return [counts.impressions, counts.pageGoals];
  };
  const html = () => `<!doctype html><link rel="icon" href="data:,">
    <script defer src="/beacon-script.js" data-url="${worker}" data-key="${secrets.AFTERCLICK_PUBLISHABLE_KEY}" ${attributes}></script>
    <div data-afterclick="${impressionId}"><button data-afterclick-goal="click">Buy</button></div>
    <div style="margin-top: 300vh">the end</div>`;

  beforeAll(async () => {
    harness = createTestHarness({
      workers: [{ configPath: "wrangler.jsonc", secrets: { ...secrets, AFTERCLICK_ALLOWED_ORIGINS: "*" } }],
    });
    worker = (await harness.listen()).url.origin;
    const script = await readFile("dist/beacon-script.js");
    server = createServer(({ url }, response) => {
      response.setHeader("content-type", url === "/beacon-script.js" ? "text/javascript" : "text/html");
      response.end(url === "/beacon-script.js" ? script : url === "/other" ? "<title>another page</title>" : html());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
    await harness?.close();
  });
  beforeEach(async () => {
    model = `beacon-${++models}`;
    attributes = "";
    const goals = { click: { weight: 1, public: true }, purchase: { weight: 1 } };
    await call("PUT", `models/${model}`, { window: { ms: HOUR_MS }, serving: "edge", goals });
    await call("PUT", `models/${model}/actions`, { actions: [{ id: "tent" }] });
    const { actions } = await call("POST", `models/${model}/recommendations`, { defer: true });
    [{ impressionId }] = actions;
    context = await browser.newContext();
    page = await context.newPage();
  });
  afterEach(() => context?.close());

  const address = (path = "/") => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const click = () => page.locator("button").click();

  it("reports what was seen for a second, and a click once, however often", async () => {
    await page.goto(address());
    expect(await counted()).toEqual([0, 0]);
    await expect.poll(counted, soon).toEqual([1, 0]);
    await click();
    await click();
    await expect.poll(counted, soon).toEqual([1, 1]);
    await page.reload();
    await click();
    await page.waitForResponse("**/v1/beacon");
    expect(await counted()).toEqual([1, 1]);
  });

  it("reports a click of a page that is left at once", async () => {
    await page.goto(address());
    await click();
    await page.goto(address("/other"));
    await expect.poll(counted, soon).toEqual([1, 1]);
  });

  it("reports once if an answer is lost, and if the page is killed before it is sent again", async () => {
    await page.goto(address());
    await page.route("**/v1/beacon", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await click();
    await expect.poll(counted, soon).toEqual([1, 1]);
    await page.close({ runBeforeUnload: false });
    page = await context.newPage();
    const sent = page.waitForResponse("**/v1/beacon");
    await page.goto(address());
    expect(await (await sent).json()).toMatchObject({ reached: [{ status: "duplicate" }] });
    expect(await counted()).toEqual([1, 1]);
  });

  it("keeps a click while it is disconnected, for the next page", async () => {
    await page.goto(address());
    await context.setOffline(true);
    await click();
    await page.waitForTimeout(1000);
    await page.close();
    await context.setOffline(false);
    expect(await counted()).toEqual([0, 0]);
    page = await context.newPage();
    await page.goto(address());
    await expect.poll(counted, soon).toEqual([1, 1]);
  });

  it("sends and stores nothing without consent", async () => {
    attributes = 'data-consent="required"';
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(address());
    await click();
    await page.waitForTimeout(1500);
    expect(requests.filter((url) => url.startsWith(worker))).toEqual([]);
    expect(await page.evaluate("localStorage.length")).toBe(0);
    await page.evaluate("afterclick.consent(true)");
    await click();
    await expect.poll(counted, soon).toEqual([1, 1]);
    await page.evaluate("afterclick.consent(false)");
    expect(await page.evaluate("localStorage.length")).toBe(0);
  });
});
