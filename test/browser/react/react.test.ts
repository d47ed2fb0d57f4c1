// `afterclick/react` in a page, against a worker whose answers the tests choose, and against the real one.
import { build } from "esbuild";
import type { Browser, BrowserContext, Page, Route } from "playwright-core";
import { describe, test } from "vitest";
import { describeInChromium, launchChromium } from "../../support/chromium.ts";
import { patient } from "../../support/patient.ts";
import { secrets, startWorker, type TestWorker } from "../worker.ts";
import type { Props } from "./app.tsx";

const SHOP = "http://shop.example";
const SEEN_MS = 1000;
const soon = { timeout: 60_000, interval: 50 };

type List = Props["lists"][number];
interface Asked {
  readonly context?: { readonly page?: string };
  readonly limit: number;
  readonly learn: boolean;
  readonly defer: boolean;
}
interface Reported {
  readonly seen: readonly string[];
  readonly reached: readonly { readonly impressionId: string; readonly goal: string }[];
}

/** A page, and the requests of its app. */
class Shop {
  readonly page: Page;
  readonly asked: Asked[] = [];
  readonly reported: Reported[] = [];
  readonly aborted: string[] = [];
  readonly complaints: string[] = [];
  /** Answers a question. */
  answer = (route: Route, nth: number): Promise<void> => route.fulfill({ status: 201, json: this.listOf(nth, ["scarf", "boots", "hat"]) });

  constructor(page: Page) {
    this.page = page;
  }

  listOf(nth: number, ids: readonly string[]): object {
    return { actions: ids.map((id) => ({ id, impressionId: `${nth}-${id}`, score: 1 })) };
  }

  async open(code: Uint8Array, isPatient = true): Promise<void> {
    const { page } = this;
    page.on("console", (message) => void (message.type() === "error" && this.complaints.push(message.text())));
    page.on("pageerror", ({ message }) => this.complaints.push(message));
    page.on("requestfailed", (request) => this.aborted.push(request.failure()?.errorText ?? ""));
    await page.route("**/*", (route) => {
      const { pathname } = new URL(route.request().url());
      const contentType = pathname === "/app.js" ? "text/javascript" : "text/html";
      return route.fulfill({ contentType, body: pathname === "/app.js" ? Buffer.from(code) : DOCUMENT });
    });
    await page.route("**/v1/models/*/recommendations", (route) => {
      this.asked.push(route.request().postDataJSON());
      return this.answer(route, this.asked.length);
    });
    await page.route("**/v1/shown", (route) => {
      this.reported.push(JSON.parse(route.request().postData() as string));
      return route.fulfill({ status: 202, json: {} });
    });
    if (isPatient) await patient(page);
    await page.goto(`${SHOP}/list`);
  }

  show(changes: Partial<Props>): Promise<void> {
    return this.page.evaluate((given) => (globalThis as unknown as { show(props: object): void }).show(given), changes);
  }
  /** Shows one list, or several, to a visitor with consent. */
  start(...lists: readonly List[]): Promise<void> {
    return this.show({ url: SHOP, publishableKey: "pk", model: "shop", consent: true, lists });
  }
  status(nth = 0): Promise<string | null> {
    return this.page.locator("section").nth(nth).getAttribute("data-status");
  }
  error(): Promise<string | null> {
    return this.page.locator("section").getAttribute("data-error");
  }
  titles(): Promise<string[]> {
    return this.page.locator("li a").allInnerTexts();
  }
  stored(): Promise<number> {
    return this.page.evaluate("localStorage.length");
  }
  navigate(path: string, lists: readonly List[] = [{}]): Promise<void> {
    return this.page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`).then(() => this.show({ lists }));
  }
  get seen(): string[] {
    return this.reported.flatMap(({ seen }) => seen);
  }
  get reached(): string[] {
    return this.reported.flatMap(({ reached }) => reached.map(({ impressionId, goal }) => `${impressionId} ${goal}`));
  }
}

const DOCUMENT = `<!doctype html><title>shop</title><link rel="icon" href="data:,">
<style>li { height: 60px; overflow: hidden }</style>
<main></main><p>below the list</p>
<script>
  globalThis.shifts = [];
  new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value))).observe({ type: "layout-shift", buffered: true });
</script>
<script src="/app.js"></script>`;

const BOUGHT = ["The scarf", "The boots", "The hat"];
const OWN = ["The boots", "The hat", "The scarf"];

const suite = (): void => {
  let browser: Browser;
  let code: Uint8Array;
  test.beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: ["test/browser/react/app.tsx"],
      bundle: true,
      write: false,
      format: "iife",
      conditions: ["browser"],
      define: { "process.env.NODE_ENV": '"development"' },
    });
    code = outputFiles[0].contents;
    browser = await launchChromium();
  });
  test.afterAll(() => browser?.close());

  const it = test.extend<{ context: BrowserContext; shop: Shop }>({
    // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern which fixtures this one needs.
    context: async ({}, use) => {
      const context = await browser.newContext();
      await use(context);
      await context.close();
    },
    shop: async ({ context }, use) => {
      const shop = new Shop(await context.newPage());
      await shop.open(code);
      await use(shop);
    },
  });

  it("asks once, reports each item once as seen, and a click once", async ({ shop, expect }) => {
    await shop.start({ context: { page: "list" } });
    await expect.poll(() => shop.titles(), soon).toEqual(BOUGHT);
    await shop.start({ context: { page: "list" } });
    expect(await shop.status()).toBe("ready");
    await expect.poll(() => shop.seen.toSorted(), soon).toEqual(["1-boots", "1-hat", "1-scarf"]);
    // Neither the middle of a card nor the right button follows a link.
    await shop.page.locator("li p").first().click();
    await shop.page.locator("li a").first().click({ button: "right" });
    for (const _ of [1, 2]) await shop.page.locator("li a").nth(1).click();
    await expect.poll(() => shop.reached, soon).toEqual(["1-boots click"]);
    await shop.start({ context: { page: "list" } });
    await shop.page.waitForTimeout(2 * SEEN_MS);
    expect(shop.asked).toEqual([{ context: { page: "list" }, limit: 3, learn: true, defer: true }]);
    expect([shop.seen.length, shop.reached.length, shop.complaints]).toEqual([3, 1, []]);
  });

  it("asks once for two lists of one question, whatever the order of its fields, and again for another question", async ({
    shop,
    expect,
  }) => {
    await shop.start({ context: { a: 1, b: 2 } }, { context: { b: 2, a: 1 } }, { context: { a: 1, b: 3 } });
    await expect.poll(async () => [await shop.status(0), await shop.status(1), await shop.status(2)], soon).toEqual(Array(3).fill("ready"));
    expect(shop.asked.length).toBe(2);
  });

  it("moves nothing in the page, from the placeholders to the list", async ({ shop, expect }) => {
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    shop.answer = (route) => asked.then(() => route.fulfill({ status: 201, json: shop.listOf(1, ["scarf", "boots", "hat"]) }));
    await shop.start({});
    await expect.poll(() => shop.titles(), soon).toEqual(["...", "...", "..."]);
    expect(await shop.status()).toBe("loading");
    // A browser forgives what moves within half a second after an input.
    await shop.page.waitForTimeout(600);
    await shop.page.evaluate("shifts.length = 0");
    answer();
    await expect.poll(() => shop.titles(), soon).toEqual(BOUGHT);
    await shop.page.waitForTimeout(200);
    expect(await shop.page.evaluate("shifts")).toEqual([]);
    // It would have noticed.
    await shop.page.evaluate(`document.querySelector("ul").style.marginTop = "90px"`);
    await expect.poll(() => shop.page.evaluate<number[]>("shifts"), soon).not.toEqual([]);
  });

  it("hydrates the list of the server, and asks nothing", async ({ shop, expect }) => {
    const initial = { actions: ["hat", "boots"].map((id) => ({ id, impressionId: `server-${id}` })) };
    const props = { url: SHOP, publishableKey: "pk", model: "shop", consent: true, lists: [{ initial, limit: 2 }] };
    await shop.page.evaluate((given) => (globalThis as unknown as { hydrate(props: object): void }).hydrate(given), props);
    expect(await shop.page.evaluate("rendered")).toContain("server-hat");
    await expect.poll(() => shop.seen.toSorted(), soon).toEqual(["server-boots", "server-hat"]);
    expect(await shop.titles()).toEqual(["The hat", "The boots"]);
    expect([shop.asked, shop.complaints]).toEqual([[], []]);
    // Another question is one of the page.
    await shop.show({ lists: [{ initial, limit: 3 }] });
    await expect.poll(() => shop.titles(), soon).toEqual(BOUGHT);
    // And another answer of the server is one to this question.
    await shop.show({ lists: [{ initial: { actions: [initial.actions[1]] }, limit: 3 }] });
    await expect.poll(() => shop.titles(), soon).toEqual(["The boots"]);
    await shop.show({ lists: [{ initial: { actions: [], error: "it was down" }, limit: 3 }] });
    await expect.poll(() => shop.titles(), soon).toEqual(OWN);
    expect([await shop.error(), shop.asked.length]).toEqual(["it was down", 1]);
  });

  it("hydrates placeholders, and asks once", async ({ shop, expect }) => {
    const props = { url: SHOP, publishableKey: "pk", model: "shop", consent: true, lists: [{}] };
    await shop.page.evaluate((given) => (globalThis as unknown as { hydrate(props: object): void }).hydrate(given), props);
    await expect.poll(() => shop.titles(), soon).toEqual(BOUGHT);
    expect([shop.asked.length, shop.complaints]).toEqual([1, []]);
  });

  it("aborts the question of a list that is gone", async ({ shop, expect }) => {
    shop.answer = () => new Promise(() => undefined);
    await shop.start({});
    await expect.poll(() => shop.asked.length, soon).toBe(1);
    expect(shop.aborted).toEqual([]);
    await shop.start();
    await expect.poll(() => shop.aborted, soon).toEqual(["net::ERR_ABORTED"]);
    expect(shop.complaints).toEqual([]);
  });

  it("aborts a question for the next one, and ignores its answer", async ({ shop, expect }) => {
    const late: (() => Promise<void>)[] = [];
    const { answer } = shop;
    shop.answer = async (route, nth) => void (nth < 3 ? late.push(() => answer(route, nth)) : await answer(route, nth));
    for (const [i, page] of ["a", "b", "c"].entries()) {
      await shop.start({ context: { page } });
      await expect.poll(() => shop.asked.length, soon).toBe(i + 1);
    }
    await expect.poll(() => shop.page.locator("li p").allInnerTexts(), soon).toEqual(["3-scarf", "3-boots", "3-hat"]);
    expect(shop.aborted).toEqual(["net::ERR_ABORTED", "net::ERR_ABORTED"]);
    for (const each of late) await each().catch(() => undefined);
    await expect.poll(() => shop.seen.length, soon).toBe(3);
    expect(shop.seen.every((id) => id.startsWith("3-"))).toBe(true);
    expect(shop.asked.map(({ context }) => context?.page)).toEqual(["a", "b", "c"]);
  });

  it("shows the list of a page again when the visitor comes back, and asks for that of another page", async ({ shop, expect }) => {
    const ids = () => shop.page.locator("li p").first().innerText();
    await shop.start({});
    await expect.poll(ids, soon).toBe("1-scarf");
    // The list is mounted on every page, or is gone on one.
    await shop.navigate("/other");
    await expect.poll(ids, soon).toBe("2-scarf");
    await shop.navigate("/cart", []);
    await shop.page.goBack();
    await shop.show({ lists: [{}] });
    await expect.poll(ids, soon).toBe("2-scarf");
    await shop.page.goBack();
    await shop.show({ lists: [{}] });
    await expect.poll(ids, soon).toBe("1-scarf");
    await shop.show({ lists: [{ view: "a new visit" }] });
    await expect.poll(ids, soon).toBe("3-scarf");
    expect(shop.asked.length).toBe(3);
  });

  it("shows the list that a page had when the browser goes back to it", async ({ expect }) => {
    const keeping = await launchChromium({ ignoreDefaultArgs: ["--disable-back-forward-cache"] });
    try {
      const shop = new Shop(await keeping.newPage());
      await shop.open(code);
      await shop.start({});
      await expect.poll(() => shop.seen.length, soon).toBe(3);
      await shop.page.goto(`${SHOP}/other`);
      // It is not loaded again.
      await shop.page.goBack({ waitUntil: "commit" });
      await expect.poll(() => shop.titles(), soon).toEqual(BOUGHT);
      await shop.page.locator("li a").first().click();
      await expect.poll(() => shop.reached, soon).toEqual(["1-scarf click"]);
      expect([shop.asked.length, shop.seen.length]).toEqual([1, 3]);
    } finally {
      await keeping.close();
    }
  });

  describe("consent", () => {
    it("is needed to watch, to store, to report and to learn", async ({ shop, expect }) => {
      await shop.start({});
      await shop.show({ consent: false });
      await shop.start();
      await shop.show({ consent: false, lists: [{ context: { page: "next" } }] });
      await expect.poll(() => shop.titles(), soon).toEqual(BOUGHT);
      await shop.page.locator("li a").first().click();
      await shop.page.waitForTimeout(SEEN_MS + 1000);
      expect(shop.asked.at(-1)).toMatchObject({ learn: false, context: { page: "next" } });
      expect([shop.reported, await shop.stored()]).toEqual([[], 0]);
    });

    it("counts from when it is given", async ({ shop, expect }) => {
      await shop.start();
      await shop.show({ consent: false, lists: [{}] });
      await shop.page.locator("li a").first().click();
      await shop.page.waitForTimeout(SEEN_MS + 1000);
      expect(shop.reported).toEqual([]);
      await shop.show({ consent: true });
      await expect.poll(() => shop.seen.length, soon).toBe(3);
      await shop.page.locator("li a").first().click();
      await expect.poll(() => shop.reached.length, soon).toBe(1);
      // The page view has its list already.
      expect(shop.asked.map(({ learn }) => learn)).toEqual([false]);
    });

    it("deletes what waits, and ends all reports, when it is withdrawn", async ({ shop, expect }) => {
      await shop.page.route("**/v1/shown", (route) => route.abort());
      await shop.start({});
      await expect.poll(() => shop.titles(), soon).toEqual(BOUGHT);
      await shop.page.locator("li a").first().click();
      await expect.poll(() => shop.stored(), soon).toBe(1);
      await shop.show({ consent: false });
      await expect.poll(() => shop.stored(), soon).toBe(0);
      await shop.page.unroute("**/v1/shown");
      const requests: string[] = [];
      shop.page.on("request", (request) => requests.push(request.url()));
      await shop.page.locator("li a").nth(1).click();
      await shop.page.waitForTimeout(SEEN_MS + 1000);
      expect([requests, await shop.stored()]).toEqual([[], 0]);
    });
  });

  it("reports nothing of the shop's own list", async ({ shop, expect }) => {
    shop.answer = (route) => route.abort();
    await shop.start({});
    await expect.poll(() => shop.status(), soon).toBe("fallback");
    await shop.page.locator("li a").first().click();
    await shop.page.waitForTimeout(SEEN_MS + 600);
    expect(shop.reported).toEqual([]);
  });

  describe("the shop's own list is shown", () => {
    it.for<[string, Shop["answer"], string | RegExp]>([
      ["an error", (route) => route.fulfill({ status: 503, body: "busy" }), "the worker answered 503: busy"],
      [
        "a page",
        (route) => route.fulfill({ status: 200, body: "<html>" }),
        "expected a list of recommendations from the worker, got <html>",
      ],
      ["another form", (route) => route.fulfill({ status: 201, json: { actions: [{ id: 7 }] } }), /^expected a list/],
      ["no list", (route) => route.fulfill({ status: 201, json: null }), /^expected a list/],
      ["no network", (route) => route.abort(), /^Failed to fetch/],
      [
        "no product of the page",
        (route) => route.fulfill({ status: 201, json: { actions: [{ id: "tent", impressionId: "1" }] } }),
        /^the worker recommended no product/,
      ],
    ])("after %s", async ([, answer, error], { shop, expect }) => {
      shop.answer = answer;
      await shop.start({ limit: 2 });
      await expect.poll(() => shop.status(), soon).toBe("fallback");
      expect([await shop.titles(), await shop.error()]).toEqual([["The boots", "The hat"], expect.stringMatching(error)]);
      expect(shop.asked.length).toBe(1);
    });
  });

  it("shows the shop's own list after a second of silence", async ({ context, expect }) => {
    const shop = new Shop(await context.newPage());
    await shop.open(code, false);
    shop.answer = () => new Promise(() => undefined);
    await shop.start({});
    await expect.poll(() => shop.error(), soon).toBe("the worker did not answer within 1000 ms");
    expect([await shop.status(), await shop.titles()]).toEqual(["fallback", OWN]);
  });

  it("drops ids that the shop does not have", async ({ shop, expect }) => {
    shop.answer = (route) => route.fulfill({ status: 201, json: shop.listOf(1, ["tent", "hat", "constructor"]) });
    await shop.start({});
    await expect.poll(() => shop.titles(), soon).toEqual(["The hat"]);
  });

  it("reports from a portal, from a component, by another goal or none, and gives the element to the ref", async ({ shop, expect }) => {
    await shop.start({ portal: true, goal: "open" }, { goal: null, context: { page: "other" } });
    await expect.poll(() => shop.page.locator("li").count(), soon).toBe(6);
    await expect.poll(() => shop.status(1), soon).toBe("ready");
    await shop.page.locator("body > section li p").nth(1).dispatchEvent("pointerdown");
    expect(await shop.page.locator("[data-card]").count()).toBe(3);
    expect(await shop.page.locator("body > section li").first().getAttribute("data-first")).toBe("");
    for (const place of ["main", "body >"]) await shop.page.locator(`${place} section li a`).first().click();
    await expect.poll(() => shop.reached, soon).toEqual([expect.stringMatching(/-scarf open$/)]);
    await shop.page.waitForTimeout(SEEN_MS);
    expect(shop.reached.length).toBe(1);
  });

  it("names what is missing", async ({ shop, expect }) => {
    await shop.start({});
    const thrown = (props: object, alone = false) =>
      shop.page.evaluate(
        ([given, isAlone]) => (globalThis as unknown as { thrown(props: unknown, alone: unknown): string }).thrown(given, isAlone),
        [props, alone],
      );
    for (const [props, message] of [
      [{ url: null }, "TypeError: <Afterclick>: url: expected a text, got null"],
      [{ url: "" }, 'TypeError: <Afterclick>: url: expected a text, got ""'],
      [{ publishableKey: null }, "TypeError: <Afterclick>: publishableKey: expected a text, got null"],
      [{ model: 7 }, "TypeError: <Afterclick>: model: expected a text, got 7"],
      [{ lists: [{ fallback: null }] }, "TypeError: useRecommendations: fallback: expected a list of ids or products, got null"],
    ] as const) {
      expect(await thrown(props)).toBe(message);
    }
    expect(await thrown({}, true)).toBe("TypeError: useRecommendations: expected <Afterclick> around it");
    expect(await thrown({})).toBe("nothing");
  });

  describe("with a worker", () => {
    let worker: TestWorker;
    test.beforeAll(async () => {
      worker = await startWorker("false");
    });
    test.afterAll(() => worker?.harness.close());

    const call = async (method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}`, "content-type": "application/json" };
      const response = await fetch(new URL(`/v1/models/${path}`, worker.url), { method, headers, body: JSON.stringify(body) });
      return (await response.json()) as { counts: { impressions: number; pageGoals: number; declined: number } };
    };

    it.for([true, false])("counts what was seen and clicked, with consent: %s", async (consent, { shop, expect }) => {
      const model = `react-${consent}`;
      await call("PUT", model, { window: { ms: 3_600_000 }, goals: { click: { weight: 1, public: true } } });
      await call("PUT", `${model}/actions`, { actions: ["boots", "hat", "scarf"].map((id) => ({ id })) });
      const counted = async () => {
        const { impressions, pageGoals, declined } = (await call("GET", model)).counts;
        return [impressions, pageGoals, declined];
      };
      const { page } = shop;
      for (const path of ["**/v1/models/*/recommendations", "**/v1/shown"]) await page.unroute(path);
      await page.route("**/v1/**", async (route) => {
        const { origin: _, ...headers } = await route.request().allHeaders();
        const { pathname } = new URL(route.request().url());
        return route.fulfill({ response: await route.fetch({ url: new URL(pathname, worker.url).href, headers }) });
      });
      await shop.show({ url: SHOP, publishableKey: secrets.AFTERCLICK_PUBLISHABLE_KEY, model, consent, lists: [{}] });
      await expect.poll(() => shop.status(), soon).toBe("ready");
      await page.locator("li a").first().click();
      await expect.poll(counted, soon).toEqual(consent ? [3, 1, 0] : [0, 0, 3]);
      // A page that closes before an answer is passed on would fail the run.
      await page.unrouteAll({ behavior: "wait" });
      expect(shop.complaints).toEqual([]);
    });
  });
};

describeInChromium("afterclick/react", suite, { concurrent: true });
