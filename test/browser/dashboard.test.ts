import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import type { Delay, Metrics } from "../../worker/protocol/metrics-answer.ts";
import { loadAxe, violations } from "../support/axe.ts";
import { describeInChromium, launchChromium } from "../support/chromium.ts";
import { busy, examined, explained, idle } from "./report.ts";
import { complaintsOf, outside, secrets, startWorker, type TestWorker } from "./worker.ts";

const KEY = secrets.AFTERCLICK_SECRET_KEY;
const soon = { timeout: 60_000, interval: 50 };

/** Counts the pixels of a chart in each of a few colours. A blank chart, or one in the wrong colour scheme, then fails. */
function paint(page: Page, chart: string): Promise<Record<string, number>> {
  return page.locator(`figure[aria-labelledby=${chart}] canvas`).evaluate((canvas) => {
    const { width, height } = canvas as HTMLCanvasElement;
    const { data } = (canvas as HTMLCanvasElement).getContext("2d")!.getImageData(0, 0, width, height);
    const counts: Record<string, number> = {};
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] < 255) continue;
      const hex = `#${[data[i], data[i + 1], data[i + 2]].map((value) => value.toString(16).padStart(2, "0")).join("")}`;
      counts[hex] = (counts[hex] ?? 0) + 1;
    }
    return counts;
  });
}

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker("false");
});
afterAll(() => worker?.harness.close());

it("is one page, which no cache keeps, nobody frames, and no key is in", async () => {
  const response = await fetch(worker.url);
  expect(response.headers.get("content-type")).toBe("text/html; charset=UTF-8");
  expect(response.headers.get("cache-control")).toBe("no-store");
  const policy = response.headers.get("content-security-policy") ?? "";
  const [, nonce] = /script-src 'nonce-([^']+)'/.exec(policy) ?? [];
  expect(policy.split("; ").toSorted()).toEqual([
    "base-uri 'none'",
    ...["connect-src 'self'", "default-src 'none'", "form-action 'none'", "frame-ancestors 'none'", "img-src data:"],
    ...[`script-src 'nonce-${nonce}'`, `style-src 'nonce-${nonce}'`],
  ]);
  const html = await response.text();
  expect(html.match(/nonce="[^"]*"/g)).toEqual([`nonce="${nonce}"`, `nonce="${nonce}"`]);
  for (const secret of Object.values(secrets)) expect(html).not.toContain(secret);
  expect((await fetch(worker.url)).headers.get("content-security-policy")).not.toBe(policy);
});

it.each([
  ["/page/script.js", "text/javascript"],
  ["/page/style.css", "text/css"],
])("has its own %s, which no other site embeds", async (path, type) => {
  const { status, headers } = await fetch(new URL(path, worker.url));
  expect([status, headers.get("content-type")?.split(";")[0]]).toEqual([200, type]);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
});

describeInChromium("the dashboard of a deployed worker", () => {
  let browser: Browser;
  let page: Page;
  let complaints: readonly string[];
  /** The worker's report. A test may change it. */
  let shop: Metrics | undefined;
  let asked: string[];

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  beforeEach(async () => {
    shop = busy;
    asked = [];
    page = await browser.newPage({ viewport: { width: 1200, height: 900 }, colorScheme: "light" });
    complaints = complaintsOf(page, worker.url);
    // The reports are of this time, and the page compares clocks.
    await page.clock.setFixedTime(busy.now);
    await page.route("**/v1/**", (route) => {
      const { pathname } = new URL(route.request().url());
      asked.push(pathname);
      const answers: Record<string, unknown> = {
        "/v1/models": { models: [busy, idle].map(({ model, policy }) => ({ model, policy })) },
        "/v1/models/shop/metrics": shop,
        "/v1/models/blog/metrics": idle,
        [`/v1/impressions/${explained.impressionId}`]: explained,
        "/v1/impressions/other": explained,
        "/v1/models/shop/examination": examined,
      };
      const problem = (status: number, detail: string) => route.fulfill({ status, json: { status, detail } });
      if (route.request().headers().authorization !== `Bearer ${KEY}`) return problem(401, "a valid key or signature is needed");
      return answers[pathname] ? route.fulfill({ json: answers[pathname] }) : problem(404, "there is nothing here");
    });
    await page.goto(worker.url.href);
  });
  afterEach(() => page?.close());

  const enter = async (key: string) => {
    await page.getByLabel("Secret key").fill(key);
    await page.keyboard.press("Enter");
  };
  const title = (name: string) => page.getByRole("heading", { name, exact: true });

  it("asks for the key until the worker takes it, and says why", async () => {
    const alert = page.getByRole("alert");
    await enter(secrets.AFTERCLICK_PUBLISHABLE_KEY);
    await expect.poll(() => alert.innerText(), soon).toContain("refused this key");
    await page.route("**/v1/models", (route) => route.fulfill({ status: 503, json: { detail: "the store is full" } }), { times: 1 });
    await enter(KEY);
    await expect.poll(() => alert.innerText(), soon).toBe("The key could not be checked: the store is full.");
    // No header may hold such a key, so the browser does not send it.
    await enter("schlüssel–");
    await expect.poll(() => alert.innerText(), soon).toContain("refused this key");
    expect(await page.getByLabel("Secret key").getAttribute("type")).toBe("password");
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    // The browser itself logs refused requests.
    expect(complaints.filter((complaint) => !/401|503/.test(complaint))).toEqual([]);
    await page.unroute("**/v1/**");
    await page.reload();
    await enter("sk_of-another-worker");
    await expect.poll(() => alert.innerText(), soon).toContain("refused this key");
    await enter(` ${KEY} `);
    await title("No model yet").waitFor();
    expect(await page.locator("main").innerText()).toContain("PUT /v1/models/MODEL");
    expect(await page.locator(".problem[role=status]").innerText()).toBe("");
  });

  it("keeps the key in this tab alone, and forgets it when asked to", async () => {
    await enter(KEY);
    await title("Conversion rate").waitFor();
    const kept = await page.evaluate(() => ({ tab: Object.values(sessionStorage), local: localStorage.length, cookie: document.cookie }));
    expect(kept).toEqual({ tab: [KEY], local: 0, cookie: "" });
    expect(page.url() + (await page.content())).not.toContain(KEY);
    await page.reload();
    await title("Conversion rate").waitFor();
    await page.getByRole("button", { name: "Forget the key" }).click();
    await page.getByLabel("Secret key").waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    expect(await page.content()).not.toContain(KEY);
    await page.reload();
    await page.getByLabel("Secret key").waitFor();
    expect(complaints).toEqual([]);
  });

  it("asks for the key again when the worker no longer takes it", async () => {
    await page.evaluate(() => sessionStorage.setItem("afterclick.secret-key", "sk_of-last-year-000"));
    await page.reload();
    await expect.poll(() => page.getByRole("alert").innerText(), soon).toContain("refused this key");
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  });

  it("draws what the worker reports, and says it in words and numbers", async () => {
    await enter(KEY);
    await title("Conversion rate").waitFor();
    await expect.poll(() => page.getByRole("img", { name: /^Conversion rate\. .* can still rise\.$/ }).count(), soon).toBe(1);
    // Green is the policy's line, violet the holdout's, amber the pending part.
    expect(await paint(page, "rate")).toMatchObject({ "#0b7a5c": expect.any(Number), "#5a4fcf": expect.any(Number) });
    expect((await paint(page, "ages"))["#985a00"]).toBeGreaterThan(10_000);
    expect((await paint(page, "delays"))["#0b7a5c"]).toBeGreaterThan(5000);
    const figure = page.locator("figure[aria-labelledby=rate]");
    await figure.locator("summary").click();
    await expect.poll(() => figure.locator("tbody tr").count(), soon).toBe(busy.buckets.length);
    await figure.locator("summary").click();
    await expect.poll(() => figure.locator("table").count(), soon).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("draws how late conversions come, and says what is under the pointer", async () => {
    await enter(KEY);
    await title("How late conversions come").waitFor();
    // The curve and its band are the same green; the band is paler.
    const painted = await paint(page, "delay");
    expect(painted["#0b7a5c"]).toBeGreaterThan(500);
    expect(Object.entries(painted).filter(([hex, pixels]) => /^#(c|d|e)/.test(hex) && pixels > 2000)).toHaveLength(1);
    const pointed = async (chart: string, x: number, y: number) => {
      const figure = page.locator(`figure[aria-labelledby=${chart}]`);
      await figure.locator(".u-over").hover({ position: { x, y } });
      await expect.poll(() => figure.locator(".pointed").innerText(), soon).not.toBe("");
      return figure.locator(".pointed").innerText();
    };
    expect(await pointed("delay", 600, 100)).toBe("Within 49 min: 20 % arrived (15 % to 25 %). Not converted by then: 6.0 % still will");
    expect(await pointed("ages", 5, 60)).toBe("0 to 2 h old: 640, 11 %");
    expect(complaints).toEqual([]);
  });

  it("draws each goal by itself, chosen by keyboard, in a narrow window too", async () => {
    const delay = busy.delay as Delay;
    const windows = [1, 3, 7].map((days, i) => ({
      windowMs: days * 86_400_000,
      caught: (i + 1) / 3,
      low: 0.3 * i,
      high: 1,
      rate: 0.02 * i,
    }));
    const goals = [
      { goal: "click", windowMs: 3_600_000, currency: null, delay: { ...delay, window95Ms: 90_000 } },
      {
        goal: "purchase",
        windowMs: 14 * 86_400_000,
        currency: null,
        delay: { ...delay, windows, window95Ms: 5 * 86_400_000, followedMs: 14 * 86_400_000 },
      },
      { goal: "cart", windowMs: 3_600_000, currency: null, delay: null },
    ];
    shop = { ...busy, goals };
    await page.setViewportSize({ width: 390, height: 844 });
    await enter(KEY);
    await title("How late conversions come: click").waitFor();
    await page.getByRole("button", { name: "purchase", exact: true }).focus();
    await page.keyboard.press("Enter");
    await title("How late conversions come: purchase").waitFor();
    expect(await page.getByRole("button", { name: "purchase", exact: true }).getAttribute("aria-pressed")).toBe("true");
    await title("Shorter windows").waitFor();
    expect(await page.locator(".delay").innerText()).toContain("With the window of 14 d, 7.4 % of impressions convert.");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await loadAxe(page);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "cart", exact: true }).click();
    await title("How late conversions come: cart").waitFor();
    expect(complaints).toEqual([]);
  });

  it("estimates how visitors examine the places of a list, when asked to", async () => {
    await enter(KEY);
    await title("Examination of places").waitFor();
    const section = page.locator(".examination");
    expect(asked).not.toContain("/v1/models/shop/examination");
    await page.getByRole("button", { name: "Estimate from the log" }).focus();
    await page.keyboard.press("Enter");
    await section.locator(".candidates").waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await loadAxe(page);
    expect(await violations(page)).toEqual([]);
    expect(asked.filter((path) => path.endsWith("/examination"))).toHaveLength(1);
    await page.route("**/examination", (route) => route.abort(), { times: 1 });
    await page.getByRole("button", { name: "Estimate again" }).click();
    await expect.poll(() => section.locator("[role=status]").innerText(), soon).toContain("Not estimated: ");
    expect(await section.locator(".candidates").count()).toBe(1);
    // The browser itself logs the request that failed.
    expect(complaints.filter((complaint) => !complaint.includes("ERR_FAILED"))).toEqual([]);
  });

  it("says as an alert that conversions no longer get through, and stops when they do", async () => {
    const silent = { since: busy.now - 8_640_000, expected: 14.3, chance: 6.2e-7, alarm: true };
    const alarmed = { ...busy, delay: { ...(busy.delay as Delay), silence: silent } };
    shop = alarmed;
    await page.clock.install({ time: busy.now });
    await enter(KEY);
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").innerText()).toBe("Conversions of shop have stopped");
    shop = busy;
    await page.clock.fastForward(2000);
    await expect.poll(() => page.locator(".alarm").count(), soon).toBe(0);
    await expect.poll(() => page.locator("canvas").count(), soon).toBeGreaterThanOrEqual(4);
    expect(await page.locator("canvas").count()).toBe(4);
    expect(complaints).toEqual([]);
  });

  it("follows the colour scheme", async () => {
    await enter(KEY);
    await title("Pending by age").waitFor();
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(async () => (await paint(page, "ages"))["#e5a53f"], soon).toBeGreaterThan(10_000);
    expect((await paint(page, "ages"))["#985a00"]).toBeUndefined();
  });

  it("shows the model that the address names, and says what an idle one waits for", async () => {
    await enter(KEY);
    await page.getByRole("link", { name: "blog" }).click();
    await expect.poll(() => page.locator(".about").innerText(), soon).toMatch(/^blog: policy otf-lin-ts, served by its learner/);
    expect(new URL(page.url()).hash).toBe("#dashboard/blog");
    expect(await page.getByRole("link", { name: "blog" }).getAttribute("aria-current")).toBe("page");
    expect(await page.locator("main").innerText()).toContain("POST /v1/models/blog/recommendations");
    expect(await page.locator("canvas").count()).toBe(0);

    await page.reload();
    await expect.poll(() => page.locator(".about").innerText(), soon).toMatch(/^blog: /);
    await page.goBack();
    await expect.poll(() => page.locator(".about").innerText(), soon).toMatch(/^shop: /);
    await expect.poll(() => page.locator("canvas").count(), soon).toBeGreaterThanOrEqual(4);
    expect(await page.locator("canvas").count()).toBe(4);
    expect(complaints).toEqual([]);
  });

  it("explains an impression by click, by keyboard and by its pasted id", async () => {
    await enter(KEY);
    const why = title("Why boots");
    await page.locator(".recents a").first().click();
    await why.waitFor();
    expect(await why.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await page.locator(".candidates tbody tr").count()).toBe(6);
    await page.getByRole("link", { name: "Close" }).press("Enter");
    await why.waitFor({ state: "detached" });
    await page.locator(".recents a").first().press("Enter");
    await why.waitFor();
    await page.getByRole("link", { name: "Close" }).click();
    await why.waitFor({ state: "detached" });

    await page.getByLabel("Explain an impression by id").fill(` ${explained.impressionId} `);
    await page.keyboard.press("Enter");
    await why.waitFor();
    expect(complaints).toEqual([]);
    await page.getByLabel("Explain an impression by id").fill("forged");
    await page.getByRole("button", { name: "Explain" }).click();
    await title("No such impression").waitFor();
    // An explanation of another impression is not taken for this one's.
    await page.getByLabel("Explain an impression by id").fill("other");
    const explaining = page.waitForResponse("**/v1/impressions/other");
    await page.keyboard.press("Enter");
    await explaining;
    await page.waitForResponse("**/metrics");
    expect([await why.count(), await title("No such impression").count()]).toEqual([0, 0]);
  });

  it("says that the worker does not answer, keeps what it has, and goes on when it does", async () => {
    await page.clock.install({ time: busy.now });
    await enter(KEY);
    await title("Conversion rate").waitFor();
    const problem = page.locator(".problem");
    await page.route("**/metrics", (route) => route.abort(), { times: 1 });
    await page.clock.fastForward(2000);
    await expect.poll(() => problem.innerText(), soon).toBe("Not up to date: the worker does not answer. Retrying every 2 seconds.");
    await expect.poll(() => page.locator("canvas").count(), soon).toBeGreaterThanOrEqual(4);
    expect(await page.locator("canvas").count()).toBe(4);
    shop = { ...busy, counts: { ...busy.counts, pending: 6121 } };
    await page.clock.fastForward(2000);
    await expect.poll(() => problem.innerText(), soon).toBe("");
    expect(await page.locator(".figures .pending").innerText()).toBe("6,121");
  });

  it("needs no sideways scrolling with the longest names", async () => {
    const [model, goal, product] = ["m".repeat(64), "g".repeat(64), "p".repeat(128)];
    const delay = busy.delay as Delay;
    const alarmed = { ...delay, silence: { ...delay.silence, alarm: true } };
    const goals = [goal, `${goal.slice(1)}h`].map((each) => ({ goal: each, windowMs: 3_600_000, currency: null, delay: alarmed }));
    const lift = busy.lift && { ...busy.lift, goals: goals.map((each) => ({ ...busy.lift!.goals[0], goal: each.goal })) };
    const encoding = busy.encoding && { ...busy.encoding, alike: [[product, `${product.slice(1)}q`]] };
    const recent = busy.recent.map((each) => ({ ...each, action: product }));
    const candidates = explained.candidates?.map((each, i) => ({ ...each, id: i === 0 ? product : each.id })) ?? null;
    const decision = explained.decision && { ...explained.decision, shadows: { greedy: product } };
    const conversions = explained.conversions.map((each) => ({ ...each, goal }));
    const factors = [{ goal, mean: 0.1, low: 0.05, high: 0.2 }];
    const believed = explained.now && { ...explained.now, factors };
    const answers: Record<string, unknown> = {
      "/v1/models": { models: [model, `${model.slice(1)}n`].map((each) => ({ model: each, policy: "otf-lin-ts" })) },
      [`/v1/models/${model}/metrics`]: { ...busy, model, goals, lift, encoding, recent },
      [`/v1/impressions/${explained.impressionId}`]: {
        ...{ ...explained, model: `${model.slice(1)}n`, action: product, candidates, decision, conversions, now: believed },
      },
      [`/v1/models/${model}/examination`]: examined,
    };
    await page.route("**/v1/**", (route) => route.fulfill({ json: answers[new URL(route.request().url()).pathname] }));
    await page.setViewportSize({ width: 360, height: 800 });
    await enter(KEY);
    await page.locator(".recents a").first().click();
    await title(`Why ${product}`).waitFor();
    await page.getByRole("button", { name: "Estimate from the log" }).click();
    await page.locator(".examination .candidates").waitFor();
    for (const numbers of await page.locator("summary").all()) await numbers.click();
    expect(await outside(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    // A model without a holdout is named in the text.
    answers[`/v1/models/${model}/metrics`] = { ...busy, model, lift: null, buckets: [] };
    await page.evaluate(() => dispatchEvent(new Event("focus")));
    await page.getByText("This model has no holdout.").waitFor();
    expect(await outside(page)).toEqual([]);
    await page.goto(`${worker.url.href}#dashboard/${"x".repeat(64)}`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  });

  it("needs no sideways scrolling at 320 pixels, and draws its charts anew", async () => {
    const width = 320;
    const delay = busy.delay as Delay;
    shop = { ...busy, delay: { ...delay, silence: { ...delay.silence, alarm: true } } };
    await page.setViewportSize({ width, height: 800 });
    await enter(KEY);
    await page.locator(".recents a").first().click();
    await title("Why boots").waitFor();
    for (const numbers of await page.locator("summary").all()) await numbers.click();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    expect(await outside(page)).toEqual([]);
    await expect
      .poll(
        () =>
          page
            .locator("canvas")
            .first()
            .evaluate((canvas) => canvas.clientWidth),
        soon,
      )
      .toBeLessThan(width);
  });
});
