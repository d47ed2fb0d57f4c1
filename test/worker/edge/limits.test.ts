import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { tokenSigner } from "../../../worker/edge/token-signer.ts";
import { call, convert, createModel, describeModel, learnerOf, recommend, show, statusesOf, storedOf } from "../support/client.ts";
import { closing, DAY_MS, forgetting, ring, useClock } from "../support/clock.ts";
import { logOf } from "../support/fold.ts";

useClock();

const ask = (model: string, body: object = {}, key?: string) => call("POST", `/v1/models/${model}/recommendations`, body, { key });
const incidentsOf = async (model: string) => (await describeModel(model)).incidents;

it("takes no more open impressions than it may, and has room again when books are closed", async () => {
  const model = await createModel({ limits: { open: 3 } });
  const shown = { action: "mug", shownAt: Date.now(), id: "shop-1" };
  const register = async (id: string) => (await call("POST", `/v1/models/${model}/impressions`, [{ ...shown, id }])).body.impressions;
  await recommend(model, { limit: 2 });
  await show(model, shown);
  const [leftOut, other] = await recommend(model, { limit: 2 });
  expect(await register("shop-2")).toMatchObject([{ status: "unsampled" }]);
  // Known events need no room.
  expect(await register("shop-1")).toMatchObject([{ status: "duplicate" }]);
  const line = { type: "impression", id: "shop-3", action: "mug", shownAt: Date.now() };
  const full = { status: 429, body: { title: "Too many requests", detail: expect.stringContaining("3 open impressions") } };
  expect(await call("POST", `/v1/models/${model}/events`, JSON.stringify(line))).toMatchObject(full);
  await evictDurableObject(learnerOf(model));
  await recommend(model);
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 3 }, incidents: { unsampled: 4, refused: 0 } });
  const conversions = [leftOut, other].map((impressionId) => ({ impressionId, reward: 1 }));
  expect(statusesOf(await convert(conversions))).toEqual(["unsampled", "unsampled"]);
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 0, late: 0, applied: 0 });
  await ring(model, closing(Date.now()));
  await recommend(model, { limit: 3 });
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 6 }, incidents: { unsampled: 4 } });
});

it("takes a longer body only for a log and a catalogue, even of a model called events", async () => {
  const half = `"${"x".repeat(600_000)}"`;
  const long = `${half}\n${half}`;
  expect((await call("PUT", "/v1/models/events", long)).status).toBe(413);
  expect((await call("PUT", "/v1/models/actions", long)).status).toBe(413);
  expect((await call("PUT", "/v1/models/shop/actions", long)).status).toBe(400);
  expect((await call("PATCH", "/v1/models/shop/actions", long.repeat(4))).status).toBe(413);
  expect((await call("POST", "/v1/models/events/events", long)).status).not.toBe(413);
});

it.each(["/v1/models/shop/recommendations", "/v1/models/shop/impressions", "/v1/shown"])(
  "lets a page of a listed origin read why its body was refused: %s",
  async (path) => {
    const options = { headers: { origin: "https://shop.example" }, env: { AFTERCLICK_ALLOWED_ORIGINS: "https://shop.example" } };
    const { status, headers } = await call("POST", path, "x".repeat(1024 * 1024 + 1), options);
    expect([status, headers.get("access-control-allow-origin")]).toEqual([413, "https://shop.example"]);
  },
);

it("takes no catalogue that KV or a message cannot hold, whichever way it comes, and stores nothing of it", async () => {
  const model = await createModel({ serving: "edge", encoder: { dimension: 16 }, shards: 2 });
  // Two bytes for each character of a message, three in UTF-8.
  const texts = Array(64).fill("\u20ac".repeat(256));
  const attributes = Object.fromEntries(Array.from("abcde", (name) => [name, texts]));
  const part = (n: number) => ({ actions: Array.from({ length: 16 }, (_, i) => ({ id: `action-${n}-${i}`, attributes })) });
  const change = (n: number) => call("PATCH", `/v1/models/${model}/actions`, part(n));
  const state = async () => {
    const { modelVersion, incidents } = await describeModel(model);
    const record = await env.EVENTS.get(`catalogue/${model}`, "arrayBuffer");
    return { modelVersion, incidents, bytes: record?.byteLength };
  };
  for (let n = 0; n < 4; n++) expect((await change(n)).status).toBe(200);
  const before = await state();
  expect(before).toMatchObject({ bytes: expect.toSatisfy((bytes: number) => bytes > 15_800_000), incidents: { unanswered: 0 } });
  const asked = { actions: [{ id: "action-3-15" }] };
  expect((await ask(model, asked)).status).toBe(201);
  const detail = expect.stringMatching(/^actions: expected a catalogue of at most 16000000 bytes of JSON, got 197\d{5}: remove actions/);
  expect(await change(4)).toMatchObject({ status: 422, body: { detail } });
  expect(await state()).toEqual(before);
  expect((await ask(model, asked)).status).toBe(201);
  expect((await ask(model, { actions: [{ id: "action-4-0" }] })).status).toBe(422);
  // There is room for another one.
  expect((await call("PATCH", `/v1/models/${model}/actions`, { remove: part(0).actions.map(({ id }) => id) })).status).toBe(200);
  expect((await change(4)).status).toBe(200);
});

it("has all its room again after each reset", async () => {
  const model = await createModel({ limits: { open: 3 } });
  for (let time = 0; time < 3; time++) {
    await recommend(model, { limit: 3 });
    await recommend(model);
    expect(await describeModel(model)).toMatchObject({ counts: { impressions: 3 }, incidents: { unsampled: 1 } });
    expect((await call("POST", `/v1/models/${model}/reset`, {})).status).toBe(200);
  }
});

it("goes on showing at the edge, and learns again when there is room", async () => {
  const model = await createModel({ serving: "edge", limits: { open: 2 } });
  await recommend(model, { limit: 2 });
  const [impressionId] = await recommend(model, { limit: 3 });
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 2 }, incidents: { unsampled: 3, refused: 0, dropped: 0 } });
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["unsampled"]);
  await ring(model, closing(Date.now()));
  // The isolate learns of the room when it reports what it has left out.
  await recommend(model);
  await recommend(model);
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 3 }, incidents: { unsampled: 4 } });
});

it("refuses and counts what isolates show beyond the limit before they know of it", async () => {
  const model = await createModel({ serving: "edge", limits: { open: 2 } });
  const [impressionId] = await recommend(model, { limit: 3 });
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 2 }, incidents: { refused: 1 } });
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
});

it("takes no more bytes than it may, and has room again when they are forgotten", async () => {
  const model = await createModel({ encoder: { dimension: 64 }, limits: { bytes: 1_000_000 }, retention: { ms: DAY_MS } });
  const context = { text: Array.from({ length: 64 }, (_, n) => `${n}`.padEnd(250)) };
  const bytes = async () => (await describeModel(model)).bytes;
  const learnt = async () => {
    const { impressions } = (await describeModel(model)).counts;
    await recommend(model, { context });
    return (await describeModel(model)).counts.impressions > impressions;
  };
  let shown = 0;
  for (; (await bytes()) < 700_000; shown++) expect(await learnt()).toBe(true);
  expect(shown).toBeGreaterThan(20);
  // A log fills the rest, because no sample leaves its impressions out.
  const features = new Array(64).fill(1 / 8);
  const line = () => JSON.stringify({ type: "impression", id: crypto.randomUUID(), action: "mug", shownAt: Date.now(), features });
  const fill = async () => call("POST", `/v1/models/${model}/events`, Array.from({ length: 20 }, line).join("\n"));
  while ((await bytes()) < 1_000_000) expect((await fill()).status).toBe(200);
  expect(await learnt()).toBe(false);
  const registered = await call("POST", `/v1/models/${model}/impressions`, [{ action: "mug", shownAt: Date.now() }]);
  expect(registered.body.impressions).toMatchObject([{ status: "unsampled" }]);
  const shownAt = Date.now();
  await ring(model, closing(shownAt));
  expect(await learnt()).toBe(false);
  await ring(model, forgetting(shownAt, DAY_MS));
  expect(await learnt()).toBe(true);
});

it("stores at most 4 kB of a page's request, and 600 bytes for each item", async () => {
  // Snapshots of more features would outweigh the requests.
  const model = await createModel({ encoder: { dimension: 64, interactions: "all" } });
  const catalogue = Array.from({ length: 40 }, (_, i) => ({ id: `product-${i}`, features: { brand: `brand ${i % 7}`, size: `${i}` } }));
  await call("PUT", `/v1/models/${model}/actions`, catalogue);
  const context = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`feature-${i}`, "x".repeat(240)]));
  const { bytes } = await describeModel(model);
  const requests = 50;
  for (let n = 0; n < requests; n++) {
    const keys = ["visitor", "session", "cart", "order"].map((name) => `${name} ${n}`);
    const asked = await ask(model, { limit: 20, context, keys }, env.AFTERCLICK_PUBLISHABLE_KEY);
    expect(asked.body.actions).toHaveLength(20);
  }
  const stored = ((await describeModel(model)).bytes - bytes) / requests;
  expect(stored).toBeGreaterThan(4000);
  expect(stored).toBeLessThan(4096 + 20 * 600);
});

describe("near a limit", () => {
  it.each(["learner", "edge"])("the %s keeps a sample, whose share halves with the room that is left", async (serving) => {
    const model = await createModel({ serving, limits: { open: 64 } });
    const shares: number[] = [];
    for (let n = 0; n < 48; n++) await recommend(model);
    expect(await describeModel(model)).toMatchObject({ counts: { impressions: 48 }, incidents: { unsampled: 0 } });
    for (let n = 0; n < 60; n++) await recommend(model);
    const lines = (await logOf(model)).filter(({ type }) => type === "impression");
    for (const { sampling = 0 } of lines) shares.push(sampling as number);
    expect(shares.slice(0, 48)).toEqual(new Array(48).fill(0));
    expect(shares.toSorted((a, b) => a - b)).toEqual(shares);
    expect(shares.at(-1)).toBeGreaterThanOrEqual(1);
    const { counts, incidents } = await describeModel(model);
    expect(counts.impressions).toBeLessThanOrEqual(64);
    expect(counts.impressions + incidents.unsampled).toBe(108);
    expect(incidents.refused).toBe(0);
  });

  it("a conversion with a join key that meets nothing is not called an orphan, and waits all the same", async () => {
    const model = await createModel({ limits: { open: 1 } });
    await recommend(model);
    const buy = (key: string) => convert({ model, key, reward: 1 });
    expect(statusesOf(await buy("order-1"))).toEqual(["orphan"]);
    await recommend(model, { keys: ["order-2"] });
    const { body } = await buy("order-2");
    expect(body.conversions).toMatchObject([{ status: "unsampled", detail: expect.stringContaining("near its limits") }]);
    expect((await describeModel(model)).counts.orphan).toBe(2);
  });
});

describe("impressions of pages", () => {
  const key = env.AFTERCLICK_PUBLISHABLE_KEY as string;

  it.each(["learner", "edge"])("are at most the model's pageShare of what the %s learns from", async (serving) => {
    const model = await createModel({ serving, pageShare: 0.5 });
    await ask(model, {}, key);
    for (let n = 0; n < 4; n++) await recommend(model);
    for (let n = 0; n < 8; n++) await ask(model, {}, key);
    const { counts, incidents } = await describeModel(model);
    // An isolate knows what was in force when it last reported.
    expect(counts.fromPages).toBe(4);
    expect(counts.impressions).toBe(8);
    expect(incidents.unsampled + incidents.refused).toBe(5);
  });

  it.each(["learner", "edge"])("are left out altogether with a share of 0, and so are their conversions: %s", async (serving) => {
    const model = await createModel({ serving, pageShare: 0, local: true });
    const asked = await ask(model, {}, key);
    const item = { action: "mug", shownAt: Date.now(), id: "page-1" };
    const registered = await call("POST", `/v1/models/${model}/impressions`, [item], { key });
    expect(registered.body.impressions).toMatchObject([{ status: "unsampled" }]);
    const ids = [asked.body.actions[0].impressionId, registered.body.impressions[0].impressionId];
    expect(statusesOf(await convert(ids.map((impressionId) => ({ impressionId, reward: 1 }))))).toEqual(["unsampled", "unsampled"]);
    await recommend(model);
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 1, fromPages: 0, orphan: 0 });
  });
});

const key = env.AFTERCLICK_PUBLISHABLE_KEY as string;
/** A call of a page from an address. */
const from = (address: string, env = {}) => ({ key, headers: { "cf-connecting-ip": address }, env: { RATE_LIMIT: undefined, ...env } });
const goals = { click: { weight: 1, public: true } };
const report = (body: object, options = {}) => call("POST", "/v1/shown", { key, ...body }, { ...options, key: null });
const statusesIn = (results: readonly { readonly status: string }[]) => results.map(({ status }) => status);

describe("deferred impressions", () => {
  const activate = async (id: string) => (await call("POST", `/v1/impressions/${id}/activate`)).status;

  it("have a limit of their own, up to half of which pages may fill, and leave the open ones their room", async () => {
    const model = await createModel({ limits: { open: 2, deferred: 4 } });
    expect((await ask(model, { limit: 2, defer: true }, key)).status).toBe(201);
    const full = { status: 429, body: { detail: expect.stringContaining("as many deferred impressions as it may: 4") } };
    expect(await ask(model, { defer: true }, key)).toMatchObject(full);
    expect((await ask(model, { limit: 2, defer: true })).status).toBe(201);
    expect(await ask(model, { defer: true })).toMatchObject(full);
    await recommend(model, { limit: 2 });
    expect(await describeModel(model)).toMatchObject({ counts: { impressions: 2 }, incidents: { unsampled: 0 } });
  });

  it("are refused and counted at the edge", async () => {
    const model = await createModel({ serving: "edge", limits: { deferred: 3 } });
    const [first] = await recommend(model, { limit: 3, defer: true });
    const [beyond] = await recommend(model, { defer: true });
    expect(await incidentsOf(model)).toMatchObject({ refused: 1 });
    expect([await activate(first), await activate(beyond)]).toEqual([200, 404]);
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 1 });
  });

  it.each([
    ["deferred impressions", { limits: { deferred: 4 } }, { defer: true }],
    ["all", { limits: { open: 2, deferred: 0 } }, {}],
    ["impressions of pages", { pageShare: 0.5 }, { defer: true }],
  ])("that the limit of %s refused stay refused, whatever pages report of them", async (_, options, request) => {
    const model = await createModel({ serving: "edge", goals, ...options });
    if ("pageShare" in options) await recommend(model);
    const ids = await recommend(model, { limit: 3, ...request }, { key, isolate: createApp() });
    const taken = (await describeModel(model)).incidents.refused;
    expect(taken).toBeGreaterThan(0);
    const refused = ids.slice(-taken);
    for (let time = 0; time < 2; time++) {
      const { body } = await report({ seen: refused, reached: refused.map((impressionId) => ({ impressionId, goal: "click" })) });
      expect(new Set(statusesIn(body.seen))).toEqual(new Set(["unknown"]));
      expect(new Set(statusesIn(body.reached))).toEqual(new Set(["refused"]));
      // Room for others does not bring them back.
      await report({ seen: ids.slice(0, -taken) });
    }
    expect((await describeModel(model)).counts).toMatchObject({ orphan: 0, fromPages: ids.length - taken });
  });

  it("and reports of pages for unregistered ones share a limit, and expire with the deferral", async () => {
    const model = await createModel({ goals, window: { ms: 7 * DAY_MS }, limits: { deferred: 8 }, deferral: { ms: 60_000 } });
    const lost = await unregistered(model, 6);
    const reached = lost.map((impressionId) => ({ impressionId, goal: "click" }));
    // Pages fill half of eight places.
    const { body } = await report({ seen: lost.slice(0, 2), reached });
    expect(statusesIn(body.seen)).toEqual(["accepted", "accepted"]);
    expect(statusesIn(body.reached)).toEqual(["orphan", "orphan", "refused", "refused", "refused", "refused"]);
    expect((await ask(model, { defer: true }, key)).status).toBe(429);
    expect((await ask(model, { limit: 3, defer: true })).status).toBe(201);
    expect((await describeModel(model)).counts.orphan).toBe(2);
    await ring(model, Date.now() + 100_000);
    expect((await describeModel(model)).counts.orphan).toBe(0);
    expect(statusesIn((await report({ reached })).body.reached)).toEqual(lost.map(() => "refused"));
    expect((await ask(model, { limit: 3, defer: true }, key)).status).toBe(201);
    expect((await logOf(model)).filter(({ type }) => type === "conversion")).toEqual([]);
  });

  it("and reports of pages leave room in a small limit of bytes", async () => {
    const taken = async (share: number) => {
      const model = await createModel({ goals, encoder: { dimension: 512 } });
      const { bytes } = await describeModel(model);
      await call("PATCH", `/v1/models/${model}`, { limits: { bytes: Math.ceil(bytes / share), deferred: 100_000 } });
      const statuses: string[] = [];
      for (let n = 0; n < 10; n++) {
        const reached = (await unregistered(model, 100)).map((impressionId) => ({ impressionId, goal: "click" }));
        statuses.push(...statusesIn((await report({ reached })).body.reached));
      }
      return statuses.filter((status) => status === "orphan").length;
    };
    const some = await taken(0.5);
    expect(some).toBeGreaterThan(200);
    expect(some).toBeLessThan(1000);
    // From three quarters on.
    expect(await taken(0.76)).toBe(0);
  });

  it("expire, and make room for others", async () => {
    const model = await createModel({ limits: { deferred: 2 }, deferral: { ms: 60_000 } });
    const [early] = await recommend(model, { limit: 2, defer: true, context: { country: "PT" }, keys: ["visitor-1"] });
    vi.setSystemTime(Date.now() + 60_001);
    expect((await ask(model, { defer: true })).status).toBe(201);
    expect(await activate(early)).toBe(404);
    const [waiting] = await recommend(await createModel({ deferral: { ms: 60_000 } }), { defer: true });
    vi.setSystemTime(Date.now() + 60_001);
    expect(await activate(waiting)).toBe(404);
    expect(await storedOf(model)).not.toMatch(/PT/);
  });
});

/** Ids of impressions that an isolate has shown and whose registration is lost. */
async function unregistered(model: string, count: number): Promise<string[]> {
  const { generation } = await describeModel(model);
  const signer = tokenSigner(env);
  return Array.from({ length: count }, () => {
    const id = uuidAt(Date.now(), crypto.getRandomValues(new Uint8Array(10)));
    const windowEndsAt = Date.now() + 3_600_000;
    return signer.sign({ id, model, action: "mug", generation, modelVersion: 0, sampling: 0, windowEndsAt });
  });
}

describe("one address", () => {
  const SHOPPER = from("192.0.2.9");
  const lists = async (model: string, count: number, body: object, options = from("2001:db8::1")) => {
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push(...(await recommend(model, body, options)));
    return ids;
  };

  it("reports at most a tenth of what pages may report in a minute, and leaves the rest to others", async () => {
    const model = await createModel({ serving: "edge", goals, pageLimit: 100 });
    const catalogue = Array.from({ length: 100 }, (_, n) => ({ id: `action ${n}` }));
    await call("PUT", `/v1/models/${model}/actions`, { actions: catalogue });
    const ids = await lists(model, 10, { limit: 100 });
    const answers: number[] = [];
    for (let n = 0; n < 10; n++) {
      const reached = ids.slice(100 * n, 100 * n + 100).map((impressionId) => ({ impressionId, goal: "click" }));
      answers.push((await report({ reached }, from(`2001:db8::${n}`))).status);
    }
    expect(answers).toEqual([202, 202, 202, 202, 202, 202, 429, 429, 429, 429]);
    const [own] = await recommend(model, {}, SHOPPER);
    expect(statusesIn((await report({ reached: [{ impressionId: own, goal: "click" }] }, SHOPPER)).body.reached)).toEqual(["applied"]);
    expect((await describeModel(model)).incidents.overShare).toBe(1);
    vi.setSystemTime(Date.now() + 60_000);
    const again = ids.slice(-1).map((impressionId) => ({ impressionId, goal: "click" }));
    expect((await report({ reached: again }, from("2001:db8::1"))).status).toBe(202);
    expect(await storedOf(model)).not.toContain("2001:");
  });

  it.each(["edge", "learner"])("gets a tenth of the impressions that are left in a minute, and lists all the same: %s", async (serving) => {
    const model = await createModel({ serving, limits: { open: 100 } });
    const ids = await lists(model, 10, { limit: 3 });
    expect(ids).toHaveLength(30);
    const { counts, incidents } = await describeModel(model);
    expect(counts.impressions).toBeLessThanOrEqual(10);
    expect(incidents.overShare).toBe(1);
    for (const n of [1, 2, 3]) await recommend(model, { limit: 3 }, from(`192.0.2.${n}`));
    await recommend(model, { limit: 3 });
    expect((await describeModel(model)).counts.impressions).toBe(counts.impressions + 12);
  });

  it.each(["edge", "learner"])("fills a tenth of the places for deferred impressions in a minute: %s", async (serving) => {
    const model = await createModel({ serving, limits: { deferred: 100 } });
    const defer = (options: object) => call("POST", `/v1/models/${model}/recommendations`, { limit: 2, defer: true }, options);
    const statuses: number[] = [];
    for (let n = 0; n < 5; n++) statuses.push((await defer(from("192.0.2.1"))).status);
    // The pages' half is 50.
    if (serving === "learner") expect(statuses).toEqual([201, 201, 429, 429, 429]);
    else expect((await describeModel(model)).incidents.refused).toBe(5);
    expect((await defer(SHOPPER)).status).toBe(201);
    expect((await describeModel(model)).incidents).toMatchObject({ overShare: 1, refused: serving === "edge" ? 5 : 0 });
  });

  it("takes a tenth of the share of pages in a minute", async () => {
    const model = await createModel({ pageShare: 0.5 });
    for (let n = 0; n < 14; n++) await recommend(model, { limit: 3 });
    await lists(model, 10, {});
    expect((await describeModel(model)).counts.fromPages).toBe(5);
    await recommend(model, {}, SHOPPER);
    expect((await describeModel(model)).counts.fromPages).toBe(6);
  });

  it("registers a tenth of the impressions that are left in a minute", async () => {
    const model = await createModel({ local: true, limits: { open: 100 } });
    const register = async (options: object) => {
      const items = Array.from({ length: 6 }, () => ({ action: "mug", shownAt: Date.now() }));
      return statusesIn((await call("POST", `/v1/models/${model}/impressions`, items, options)).body.impressions);
    };
    expect(new Set(await register(from("192.0.2.1")))).toEqual(new Set(["registered"]));
    expect(new Set(await register(from("192.0.2.1")))).toEqual(new Set(["unsampled"]));
    expect(new Set(await register(SHOPPER))).toEqual(new Set(["registered"]));
  });
});
