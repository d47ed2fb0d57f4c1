import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createApp } from "../../../worker/edge/app.ts";
import { type CallOptions, call, convert, createModel, describeModel, recommend, show, statusesOf } from "../support/client.ts";
import { exported, fieldsOf } from "../support/exported.ts";

// Impressions that are no visitors: they are served, and nothing learns from them.

const SHOP = "https://shop.example";
const key = env.AFTERCLICK_PUBLISHABLE_KEY as string;
const listed = { AFTERCLICK_ALLOWED_ORIGINS: SHOP };
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const goals = { click: { weight: 0.25, public: true }, purchase: { weight: 1 } };

/** A request of a page whose browser has this user agent. */
const browser = (userAgent: string): CallOptions => ({ key, headers: { origin: SHOP, "user-agent": userAgent }, env: listed });

describe.each(["edge", "learner"])("a model that is served by the %s", (serving) => {
  it.each([
    ["Googlebot", GOOGLEBOT, 0],
    ["a link preview", "facebookexternalhit/1.1", 0],
    ["a headless browser", FIREFOX.replace("Firefox", "HeadlessFirefox"), 0],
    ["a browser", FIREFOX, 2],
  ])("serves %s, and counts it where it belongs", async (_, userAgent, impressions) => {
    const model = await createModel({ serving, goals });
    const isolate = createApp();
    const learnt = { counts: { impressions, crawlers: 2 - impressions } };
    const [impressionId] = await recommend(model, { limit: 2 }, { ...browser(userAgent), isolate });
    expect(await describeModel(model)).toMatchObject({ ...learnt, incidents: { unsampled: 0, refused: 0 } });
    const backend = await recommend(model, { limit: 2, userAgent, defer: false }, { headers: { "user-agent": "node" }, isolate });
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 2 * impressions, crawlers: 2 * (2 - impressions) });
    for (const id of [impressionId, backend[0]]) {
      const [result] = (await convert({ impressionId: id, goal: "purchase", reward: 1 })).body.conversions;
      if (impressions > 0) expect(result).toMatchObject({ status: "applied" });
      else expect(result).toMatchObject({ status: "unlearnt", detail: expect.stringContaining("served to a crawler") });
    }
  });

  it("serves a request with learn: false, and learns nothing of it", async () => {
    const model = await createModel({ serving, goals, deferral: { ms: 60_000 } });
    const isolate = createApp();
    const { digest } = await describeModel(model);
    for (const defer of [false, true]) {
      const [impressionId] = await recommend(model, { learn: false, defer, keys: ["visitor-7"] }, { isolate });
      const { body } = await convert({ impressionId, goal: "purchase", reward: 1 });
      expect(body.conversions).toMatchObject([{ status: "unlearnt", detail: expect.stringContaining("learn: false") }]);
      expect((await call("POST", `/v1/impressions/${impressionId}/activate`)).body).toMatchObject({ status: "unlearnt" });
      const explained = await call("GET", `/v1/impressions/${impressionId}`);
      expect(explained).toMatchObject({ status: 404, body: { detail: expect.stringContaining("learn: false") } });
    }
    expect(statusesOf(await convert({ model, key: "visitor-7", goal: "purchase", reward: 1 }))).toEqual(["orphan"]);
    expect(await describeModel(model)).toMatchObject({ digest, counts: { impressions: 0, declined: 2, crawlers: 0 } });
  });
});

it.each([
  [{ "sec-purpose": "prefetch" }, 0],
  [{ "sec-purpose": "prefetch;prerender" }, 0],
  [{ purpose: "prefetch" }, 0],
  [{ "x-moz": "prefetch" }, 0],
  [{ "x-purpose": "preview" }, 0],
  [{ "sec-fetch-mode": "cors" }, 1],
])("a list that is fetched with %j counts once it is shown, by a page or by a backend", async (headers, impressions) => {
  for (const options of [{}, { key }]) {
    const model = await createModel({ serving: "edge" });
    const [impressionId] = await recommend(model, {}, { ...options, headers });
    expect((await describeModel(model)).counts).toMatchObject({ impressions });
    await call("POST", `/v1/impressions/${impressionId}/activate`);
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 1 });
  }
});

it("a registration of a crawler is answered and not learnt, by its page or by a backend", async () => {
  const model = await createModel({ local: true });
  const items = [{ id: "shown-1", action: "mug", shownAt: Date.now() }];
  const register = async (body: object[], options: CallOptions = {}) =>
    (await call("POST", `/v1/models/${model}/impressions`, body, options)).body.impressions.map(({ status }: { status: string }) => status);
  expect(await register(items, browser(GOOGLEBOT))).toEqual(["unlearnt"]);
  expect(await register([{ ...items[0], userAgent: GOOGLEBOT }])).toEqual(["unlearnt"]);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 0, crawlers: 2 });
  expect(await register([{ ...items[0], userAgent: FIREFOX }])).toEqual(["registered"]);
  const [declined] = await recommend(model, { learn: false });
  const { action, shownAt } = { action: "mug", shownAt: Date.now() };
  expect((await call("POST", `/v1/models/${model}/impressions`, [{ id: declined, action, shownAt }])).status).toBe(422);
  const [id] = await show(model, {});
  expect((await call("GET", `/v1/impressions/${id}`)).body.status).toBe("pending");
});

it("a report of a crawler shows nothing and reaches nothing", async () => {
  const model = await createModel({ goals });
  const [deferred] = await recommend(model, { defer: true });
  const [unlearnt] = await recommend(model, { defer: true, userAgent: GOOGLEBOT });
  const body = { key, seen: [deferred, unlearnt], reached: [{ impressionId: deferred, goal: "click" }] };
  const crawled = await call("POST", "/v1/shown", body, { ...browser(GOOGLEBOT), key: null });
  expect(crawled.body.seen.map(({ status }: { status: string }) => status)).toEqual(["unlearnt", "unlearnt"]);
  expect(crawled.body.reached).toMatchObject([{ status: "unlearnt", detail: expect.stringContaining("crawler") }]);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 0, crawlers: 2, pageGoals: 0 });
  const seen = await call("POST", "/v1/shown", body, { ...browser(FIREFOX), key: null });
  expect(seen.body).toMatchObject({ seen: [{ status: "activated" }, { status: "unlearnt" }], reached: [{ status: "applied" }] });
});

it("a program's own user agent says nothing about the visitor, and tests on the own machine are visitors", async () => {
  const model = await createModel();
  for (const options of [{ headers: { "user-agent": "python-requests/2.32" } }, { key, headers: { "user-agent": "okhttp/4.12.0" } }])
    await recommend(model, {}, options);
  const common = { authorization: `Bearer ${key}`, origin: "http://localhost:8787" };
  for (const userAgent of [FIREFOX.replace("Firefox", "HeadlessFirefox"), "node"]) {
    const headers = { ...common, "user-agent": userAgent };
    const request = new Request(`http://localhost:8787/v1/models/${model}/recommendations`, { method: "POST", headers, body: "{}" });
    expect((await createApp().fetch(request, env, { waitUntil() {}, passThroughOnException() {} } as never)).status).toBe(201);
  }
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 4, crawlers: 0 });
});

it("finds the same rate in two countries whose visitors consent to 0.9 and to 0.4", async () => {
  const VISITORS = 100;
  const model = await createModel();
  const orders: string[] = [];
  for (const [country, consenting] of Object.entries({ PT: 0.9, DE: 0.4 })) {
    for (let n = 0; n < VISITORS; n++) {
      // A fifth of all buy, whether they consent or not.
      const [impressionId] = await recommend(model, { context: { country }, learn: n % 10 < 10 * consenting });
      if (Math.floor(n / 10) % 5 === 0) orders.push(impressionId);
    }
  }
  const statuses = statusesOf(await convert(orders.map((impressionId) => ({ impressionId, reward: 1 }))));
  expect(Map.groupBy(statuses, (status) => status).get("unlearnt")).toHaveLength(14);
  const lines = (await exported(model)).map(fieldsOf) as {
    type: string;
    id?: string;
    context?: { country: string };
    impression?: string;
  }[];
  const bought = new Set(lines.flatMap(({ type, impression }) => (type === "conversion" ? impression : [])));
  const rates = ["PT", "DE"].map((country) => {
    const shown = lines.filter(({ type, context }) => type === "impression" && context?.country === country);
    return [shown.length, shown.filter(({ id }) => bought.has(id)).length / shown.length];
  });
  expect(rates).toEqual([
    [90, 0.2],
    [40, 0.2],
  ]);
  expect((await describeModel(model)).counts).toMatchObject({ declined: 70 });
});

describe("an impression that several visitors share", () => {
  const amounts = { purchase: { weight: 1, value: { currency: "EUR" } } };
  const order = (impressionId: string, timestamp: number) => ({ impressionId, goal: "purchase", reward: 2, currency: "EUR", timestamp });

  it.each([
    ["amounts", amounts],
    ["no amounts", goals],
  ])("brings no more purchases than one visitor makes, with %s, and is an incident", async (_, own) => {
    const model = await createModel({ goals: own, reward: { min: 0, max: 100 } });
    const [impressionId] = await recommend(model);
    const now = Date.now();
    const orders = Array.from({ length: 60 }, (__, i) => {
      const { currency, ...sale } = order(impressionId, now + i);
      return own === amounts ? { ...sale, currency } : sale;
    });
    const { body } = await convert(orders, { id: "orders" });
    const statuses = body.conversions.map(({ status }: { status: string }) => status);
    expect(statuses).toEqual([...new Array(50).fill("applied"), ...new Array(10).fill("refused")]);
    expect(body.conversions[59]).toMatchObject({ detail: expect.stringContaining("more purchases than one visitor makes") });
    expect((await convert(orders[59])).status).toBe(422);
    expect(await describeModel(model)).toMatchObject({ incidents: { shared: 11 }, counts: { applied: 50, converted: 1 } });
    expect(statusesOf(await convert(orders, { id: "orders" })).slice(0, 50)).toEqual(new Array(50).fill("duplicate"));
    // Earlier purchases can still be corrected and taken back.
    const { reward: ___, currency: ____, ...retraction } = orders[0] as ReturnType<typeof order>;
    expect(statusesOf(await convert({ ...retraction, timestamp: now + 100 }, { type: "conversion.retracted" }))).toEqual(["applied"]);
  });

  it("is not one because of long orders and their revisions", async () => {
    const model = await createModel({ goals: amounts, reward: { min: 0, max: 10_000 } });
    const [impressionId] = await recommend(model);
    const now = Date.now();
    for (let n = 0; n < 3; n++) {
      const lines = Array.from({ length: 200 }, () => order(impressionId, now + n));
      expect(new Set(statusesOf(await convert(lines)))).toEqual(new Set(["applied"]));
    }
    for (let n = 0; n < 60; n++) {
      const revised = { ...order(impressionId, now + 10 + n), reward: n };
      expect((await convert([revised], { id: "revised", type: "conversion.updated" })).status).toBe(202);
    }
    expect((await describeModel(model)).incidents).toMatchObject({ shared: 0 });
  });
});
