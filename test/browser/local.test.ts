import { delayLinTs } from "afterclick";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { PublishedModel } from "../../src/local/index.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { type LocalShop, startLocalShop } from "./local-shop.ts";
import { secrets } from "./worker.ts";

// A shop's page that decides itself, with a worker's snapshots or with its own model.

const products = ["boots", "hat", "scarf"];
const soon = { timeout: 60_000, interval: 100 };
let models = 0;

interface Shown {
  readonly impressionId: string;
  readonly id: string;
  readonly mean: number;
  readonly probability?: number;
}

let shop: LocalShop;
let model: string;
beforeAll(async () => {
  shop = await startLocalShop();
});
afterAll(() => shop?.close());
beforeEach(async () => {
  model = `shop-${++models}`;
  await shop.call("PUT", `models/${model}`, { window: { ms: 3_600_000 }, local: true, publish: { ms: 1000 } });
  await shop.call("PUT", `models/${model}/actions`, { actions: products.map((id) => ({ id })) });
});

const counts = async () => (await shop.call("GET", `models/${model}`)).counts;

/** Converts one impression and waits until the model is published. Returns the estimates of all products. */
async function taught(): Promise<readonly Pick<Shown, "id" | "mean">[]> {
  const { actions } = await shop.call<{ actions: Shown[] }>("POST", `models/${model}/recommendations`, {
    context: { country: "PT" },
    limit: 2,
  });
  const [{ impressionId }] = actions;
  await expect.poll(counts, soon).toMatchObject({ impressions: 2 });
  await shop.convert(impressionId);
  await expect
    .poll(async () => {
      const { modelVersion, published } = await shop.call("GET", `models/${model}`);
      return modelVersion - published.version;
    }, soon)
    .toBe(0);
  const explained = await shop.call<{ candidates: { id: string; belief: Pick<Shown, "mean"> }[] }>("GET", `impressions/${impressionId}`);
  return explained.candidates.map(({ id, belief }) => ({ id, mean: belief.mean }));
}
const meansOf = (shown: readonly Pick<Shown, "id" | "mean">[]) => Object.fromEntries(shown.map(({ id, mean }) => [id, mean]));

it("decides in Node by the worker's own estimates, and registers what it shows", async () => {
  const candidates = await taught();
  const options = { url: shop.worker, model, key: secrets.AFTERCLICK_PUBLISHABLE_KEY, policies: [delayLinTs] };
  const local = await PublishedModel.open(options);
  const { actions } = local.recommend({ context: { country: "PT" }, limit: 3 });
  expect(meansOf(actions)).toEqual(meansOf(candidates));
  expect(await local.send()).toBe(0);
  local.close();
  expect(await counts()).toMatchObject({ impressions: 5 });
});

describeInChromium("in Chromium", () => {
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    context = await browser.newContext();
    complaints = [];
    page = await visit();
  });
  afterEach(() => context.close());

  async function visit(): Promise<Page> {
    const visited = await context.newPage();
    visited.on("console", (message) => complaints.push(message.text()));
    visited.on("pageerror", (error) => complaints.push(error.message));
    await visited.goto(shop.url);
    await visited.waitForFunction("globalThis.afterclick");
    return visited;
  }

  /** Runs code in the page with the opened `model` and its `reports`. */
  const withModel = (code: string, on = page) =>
    on.evaluate(`(async () => {
    const { PublishedModel, delayLinTs } = afterclick;
    globalThis.reports ??= [];
    globalThis.model ??= await PublishedModel.open({
      url: "${shop.worker}", model: "${model}", key: "${secrets.AFTERCLICK_PUBLISHABLE_KEY}", policies: [delayLinTs],
      conversions: "/conversions", report: (problem) => reports.push(problem.message),
    });
    ${code}
  })()`);
  it("decides by a worker's snapshot with no network, by the worker's own estimates", async () => {
    const candidates = await taught();
    await withModel("");
    await context.setOffline(true);
    const local = (await withModel('return model.recommend({ context: { country: "PT" }, limit: 3 }).actions')) as Shown[];
    expect(meansOf(local)).toEqual(meansOf(candidates));
    expect(new Set(local.map(({ mean }) => mean)).size).toBeGreaterThan(1);
    for (const { probability } of local) expect(probability).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
  });

  it("sends impressions and conversions of an offline visit once, whatever page sends them and however often", async () => {
    await withModel("");
    await context.setOffline(true);
    await withModel(`
      const ids = [1, 2, 3].map(() => model.recommend().actions[0].impressionId);
      for (const impressionId of [ids[0], ids[0], ids[1]]) model.convert({ impressionId });
      await model.send();`);
    expect(await counts()).toMatchObject({ impressions: 0, converted: 0 });
    await page.close();

    await context.setOffline(false);
    const again = await visit();
    await withModel("", again);
    await expect.poll(counts, soon).toMatchObject({ impressions: 3, converted: 2, pending: 1, applied: 2, orphan: 0 });
    await expect.poll(() => withModel("return await model.send()", again), soon).toBe(0);
    const third = await visit();
    await withModel("await model.send()", third);
    expect(await counts()).toMatchObject({ impressions: 3, applied: 2 });
    expect(await withModel("return reports", third)).toEqual([]);
  });

  it("sends what waits when the page is left", async () => {
    // Timers are off, so only leaving the page sends something.
    await withModel(
      "globalThis.setTimeout = () => 0; const { impressionId } = model.recommend().actions[0]; model.convert({ impressionId });",
    );
    await page.goto("about:blank");
    await expect.poll(counts, soon).toMatchObject({ impressions: 1, converted: 1 });
    page = await visit();
    await withModel("await model.send()");
    expect(await counts()).toMatchObject({ impressions: 1, converted: 1, applied: 1, conflict: 0 });
  });

  it("opens with the snapshot of an earlier visit if the worker does not answer, and says so if there is none", async () => {
    const version = await withModel("return model.version");
    await context.route(`${shop.worker}/**`, (route) => route.abort());
    const again = await visit();
    expect(await withModel("return model.version", again)).toBe(version);
    await expect.poll(() => withModel("return reports", again), soon).toEqual([expect.stringContaining("does not answer")]);

    await again.evaluate("(async () => { for (const { name } of await indexedDB.databases()) indexedDB.deleteDatabase(name); })()");
    await Promise.all([page.close(), again.close()]);
    const cleared = await visit();
    const problem = withModel("", cleared).catch(({ message }: Error) => message);
    expect(await problem).toContain("does not answer");
  });

  /** Runs code in a page with the device's own model as `own`. */
  const withOwn = (code: string, on = page) =>
    on.evaluate(`(async () => {
    const { OwnModel, otfLinUcb, Recommender } = afterclick;
    globalThis.reports ??= [];
    globalThis.own ??= await OwnModel.open({
      name: "news", policy: otfLinUcb({ dimension: 2 }), window: { ms: 3_600_000 }, report: (problem) => reports.push(problem.name),
    });
    const candidates = [[1, 0], [0, 1]].map((features) => ({ features }));
    const learn = async (reward) => {
      const { action } = await own.recommend({ candidates });
      return (await own.convert({ impressionId: action.impressionId, reward })).status;
    };
    const digest = async () => (await Recommender.restore(await own.snapshot(), { policies: [otfLinUcb] })).digest();
    ${code}
  })()`);

  it("learns on the device alone, over reloads", async () => {
    expect(await withOwn("return [await learn(1), await learn(0), await learn(1)]")).toEqual(["applied", "applied", "applied"]);
    const digest = await withOwn("return digest()");
    await page.reload();
    await page.waitForFunction("globalThis.afterclick");
    expect(await withOwn("return digest()")).toBe(digest);
    expect(await withOwn("return (await own.recommend({ candidates })).round")).toBe(4);
    expect(complaints).toEqual([]);
  });

  it("learns in all tabs together", async () => {
    const other = await visit();
    await Promise.all([
      withOwn("for (let i = 0; i < 5; i++) await learn(1)"),
      withOwn("for (let i = 0; i < 5; i++) await learn(1)", other),
    ]);
    expect(await withOwn("return (await own.recommend({ candidates })).round")).toBe(11);
    expect(await withOwn("return (await own.recommend({ candidates })).round", other)).toBe(12);
  });

  it("begins anew when its storage was cleared between visits", async () => {
    await withOwn("await learn(1)");
    await page.evaluate('indexedDB.deleteDatabase("afterclick own news")');
    await page.goto("about:blank");
    page = await visit();
    expect(await withOwn("return (await own.recommend({ candidates })).round")).toBe(1);
    expect(await withOwn("return reports")).toEqual([]);
  });
});
