import type { Page } from "playwright-core";
import { createTestHarness, type TestHarness } from "wrangler";
import { SHOP_MODEL, shopActions, shopModel } from "../../src/simulation/assortment.ts";

export const secrets = {
  AFTERCLICK_SECRET_KEY: "sk_of-the-browser-tests",
  AFTERCLICK_PUBLISHABLE_KEY: "pk_of-the-browser-tests",
  AFTERCLICK_WEBHOOK_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  AFTERCLICK_TOKEN_KEY: "token-key-of-the-browser-tests",
  AFTERCLICK_JOIN_KEY: "join-key-of-the-browser-tests",
};

// Hides wrangler's information in a passing run.
process.env.WRANGLER_LOG ??= "warn";

export interface TestWorker {
  readonly harness: TestHarness;
  readonly url: URL;
}

/** Starts an empty worker, with the demonstration on or off. */
export async function startWorker(demo: "true" | "false"): Promise<TestWorker> {
  const harness = createTestHarness({ workers: [{ configPath: "wrangler.jsonc", secrets: { ...secrets, AFTERCLICK_DEMO: demo } }] });
  return { harness, url: (await harness.listen()).url };
}

/** Starts a worker with the demonstration shop's model. */
export async function startShop(): Promise<TestWorker> {
  const shop = await startWorker("true");
  await put(shop.url, `/v1/models/${SHOP_MODEL}`, shopModel);
  await put(shop.url, `/v1/models/${SHOP_MODEL}/actions`, { actions: shopActions });
  return shop;
}

async function put(url: URL, path: string, json: unknown): Promise<void> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}` };
  const response = await fetch(new URL(path, url), { method: "PUT", headers, body: JSON.stringify(json) });
  if (!response.ok) throw new Error(await response.text());
}

/** Collects a page's console messages, exceptions, policy violations and requests to other hosts. */
export function complaintsOf(page: Page, worker: URL): readonly string[] {
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.host !== worker.host) complaints.push(`asked ${url}`);
  });
  return complaints;
}

/** Elements that overflow their section to the right. Tables that scroll on their own are left out. */
export function outside(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    Array.from(document.querySelectorAll("section *:not(.unseen, .unseen *, .choice input, .drawing *, .unbroken *)"))
      .filter((element) => {
        const section = element.closest("section")?.getBoundingClientRect();
        return section !== undefined && element.getBoundingClientRect().right > section.right + 0.5;
      })
      .map((element) => element.outerHTML.slice(0, 80))
      .slice(0, 10),
  );
}
