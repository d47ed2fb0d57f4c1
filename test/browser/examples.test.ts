import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";
import { promisify } from "node:util";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SHOP_MODEL } from "../../src/simulation/assortment.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { complaintsOf, secrets, startShop, type TestWorker } from "./worker.ts";

const run = promisify(execFile);

it("node: learns each visitor's favourite", async () => {
  const { stdout } = await run(process.execPath, ["examples/node/recommend.ts"]);
  const [, right] = /(\d+) of the last 300 visitors/.exec(stdout) as RegExpExecArray;
  expect(Number(right)).toBeGreaterThan(250);
  expect(stdout).toMatch(/\d+ impressions are still pending\./);
});

describe("webhook", () => {
  let worker: TestWorker;
  beforeAll(async () => {
    worker = await startShop();
  });
  afterAll(() => worker?.harness.close());

  const send = (impressionId: string, env: Record<string, string> = {}) =>
    run(process.execPath, ["examples/webhook/send.ts", impressionId, "1001", new Date().toISOString()], {
      env: { ...process.env, AFTERCLICK_URL: worker.url.origin, AFTERCLICK_WEBHOOK_SECRET: secrets.AFTERCLICK_WEBHOOK_SECRET, ...env },
    });

  async function shown(): Promise<string> {
    const response = await fetch(new URL(`/v1/models/${SHOP_MODEL}/recommendations`, worker.url), {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${secrets.AFTERCLICK_PUBLISHABLE_KEY}` },
      body: JSON.stringify({ limit: 1 }),
    });
    const { actions } = (await response.json()) as { actions: { impressionId: string }[] };
    return actions[0].impressionId;
  }

  it("is taken by the worker", async () => {
    expect((await send(await shown())).stdout.trim()).toMatch(/^(applied|accepted)$/);
  });

  it("does not go on with what is refused", async () => {
    await expect(send("of another worker")).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/^4\d\d: /) });
    const wrong = { AFTERCLICK_WEBHOOK_SECRET: `whsec_${btoa("a secret of nobody's, and long")}` };
    await expect(send(await shown(), wrong)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("401") });
  });

  it("says how it is called", async () => {
    await expect(run(process.execPath, ["examples/webhook/send.ts"])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Usage"),
    });
  });
});

describeInChromium("browser", () => {
  let browser: Browser;
  let server: Server;
  beforeAll(async () => {
    browser = await launchChromium();
    const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm" };
    server = createServer(async (request, response) => {
      const path = new URL(request.url ?? "/", "http://static.example").pathname;
      const body = await readFile(`.${path.endsWith("/") ? `${path}index.html` : path}`).catch(() => undefined);
      response.writeHead(body ? 200 : 404, { "content-type": types[extname(path) || ".html"] ?? "text/plain" }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  it("learns from what is opened, under a strict policy", async () => {
    const page = await browser.newPage();
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/examples/browser/`);
    await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
    const complaints = complaintsOf(page, url);
    await page.goto(url.href);
    const status = page.getByRole("status");
    await expect.poll(() => status.innerText()).toBe("0 opened, 3 shown and not opened yet");
    await page.locator("li button").first().click();
    await page.locator("li button").first().click();
    await expect.poll(() => status.innerText()).toBe("1 opened, 2 shown and not opened yet");
    await page.getByRole("button", { name: "Show others" }).click();
    await expect.poll(() => status.innerText()).toBe("1 opened, 5 shown and not opened yet");
    await expect.poll(() => page.locator("li").count(), { timeout: 60_000 }).toBe(3);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("states the hash of its import map", async () => {
    const html = await readFile("examples/browser/index.html", "utf8");
    const [, map] = /<script type="importmap">([\s\S]*?)<\/script>/.exec(html) as RegExpExecArray;
    expect(html).toContain(`'sha256-${createHash("sha256").update(map).digest("base64")}'`);
  });
});
