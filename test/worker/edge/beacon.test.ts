import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { MOST_A_MINUTE, MOST_REPEATED, PageAllowance } from "../../../worker/learner/calls/page-allowance.ts";
import { Shares } from "../../../worker/learner/model/shares.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  journalOf,
  keep,
  type Reply,
  recommend,
  stateOf,
  statusesOf,
  statusOf,
} from "../support/client.ts";
import { MINUTE_MS, START, useClock } from "../support/clock.ts";

// The reports of a page: deferred impressions that were shown, and public goals.

const key = env.AFTERCLICK_PUBLISHABLE_KEY as string;
const SHOP = "https://shop.example";
const listed = { AFTERCLICK_ALLOWED_ORIGINS: SHOP };

const goals = {
  click: { weight: 0.25, public: true },
  quick: { weight: 0, public: true, window: { ms: 20 * MINUTE_MS } },
  purchase: { weight: 1 },
  order: { weight: 1, public: true, value: { currency: "EUR" } },
};
const createShop = (body: object = {}) => createModel({ goals, window: { ms: 5 * HOUR_MS }, ...body });

/** Reports as `sendBeacon` does: as plain text, without an API key in a header. */
function report(body: object, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return call("POST", "/v1/shown", { key, ...body }, { key: null, headers: { "content-type": "text/plain", ...headers }, env: listed });
}

const reach = async (impressionId: string, goal = "click", body: object = {}) =>
  (await report({ reached: [{ impressionId, goal }], ...body })).body.reached[0];
const see = async (impressionId: string) => (await report({ seen: [impressionId] })).body.seen[0].status;

it("takes a report under its other name too", async () => {
  const [id] = await recommend(await createShop(), { defer: true });
  const headers = { origin: SHOP, "content-type": "text/plain" };
  const { body, headers: answered } = await call("POST", "/v1/beacon", { key, seen: [id] }, { key: null, headers, env: listed });
  expect([body.seen[0].status, answered.get("access-control-allow-origin")]).toEqual(["activated", SHOP]);
});

describe("a public goal", () => {
  it("counts once for each impression, and is counted apart", async () => {
    const model = await createShop();
    const [first, second] = await recommend(model, { limit: 2 });
    expect(await reach(first)).toEqual({ impressionId: first, goal: "click", status: "applied" });
    for (let n = 0; n < 3; n++) expect(await reach(first)).toMatchObject({ status: "duplicate" });
    expect(await reach(first, "quick")).toMatchObject({ status: "applied" });
    const twice = { impressionId: second, goal: "click" };
    const { body } = await report({ reached: [twice, twice] });
    expect(body.reached.map(({ status }: { status: string }) => status)).toEqual(["applied", "duplicate"]);
    const { counts } = await describeModel(model);
    expect(counts).toMatchObject({ impressions: 2, converted: 2, applied: 3, pageGoals: 3, duplicate: 4 });
    const { body: explained } = await call("GET", `/v1/impressions/${first}`);
    expect(explained.conversions).toMatchObject([
      { goal: "click", reward: 1 },
      { goal: "quick", reward: 1 },
    ]);
    expect(await journalOf(model)).toEqual([]);
  });

  it("changes what the same webhook would change", async () => {
    const [byPage, byBackend] = [await createShop(), await createShop()];
    const ids = await Promise.all([byPage, byBackend].map(async (model) => (await recommend(model))[0]));
    await reach(ids[0]);
    await convert({ impressionId: ids[1], goal: "click", reward: 1 });
    const [page, backend] = await Promise.all([byPage, byBackend].map(describeModel));
    expect({ ...page.counts, pageGoals: 0 }).toEqual(backend.counts);
    expect(page.counts.pageGoals).toBe(1);
  });

  it("stands beside the conversions of a backend", async () => {
    const model = await createShop();
    const [impressionId] = await recommend(model);
    await reach(impressionId);
    expect(statusesOf(await convert({ impressionId, goal: "purchase", reward: 0.5 }))).toEqual(["applied"]);
    expect(await describeModel(model)).toMatchObject({ counts: { converted: 1, applied: 2, pageGoals: 1 } });
  });

  it("does not overrule what a backend has said", async () => {
    const model = await createShop();
    const [taken, before, paged] = await recommend(model, { limit: 3 });
    const retract = (impressionId: string) => convert({ impressionId, goal: "click" }, { type: "conversion.retracted" });
    await convert({ impressionId: taken, goal: "click", reward: 1 });
    await retract(taken);
    await retract(before);
    expect(await reach(paged)).toMatchObject({ status: "applied" });
    await retract(paged);
    for (const id of [taken, before, paged]) expect(await reach(id)).toMatchObject({ status: "duplicate" });
    const rewards = await Promise.all([taken, before, paged].map(async (id) => (await call("GET", `/v1/impressions/${id}`)).body.reward));
    expect(rewards).toEqual([0, null, 0]);
    expect(await reach(before, "quick")).toMatchObject({ status: "applied" });
  });

  it("is undone by a rollback, and counts when it is reported again", async () => {
    const model = await createShop();
    const [impressionId] = await recommend(model);
    const version = await keep(model);
    await reach(impressionId);
    expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
    expect((await describeModel(model)).counts).toMatchObject({ applied: 0, pageGoals: 0 });
    for (const status of ["applied", "duplicate"]) expect((await reach(impressionId)).status).toBe(status);
    expect((await describeModel(model)).counts).toMatchObject({ applied: 1, pageGoals: 1 });
  });
});

describe("the window of a page's goal", () => {
  useClock();

  it("is an hour at most, and the goal's own if that is shorter", async () => {
    const model = await createShop();
    const [first, second] = await recommend(model, { limit: 2 });
    vi.setSystemTime(START + 20 * MINUTE_MS + 1);
    expect(await reach(first, "quick")).toMatchObject({ status: "late" });
    vi.setSystemTime(START + HOUR_MS);
    expect(await reach(first)).toMatchObject({ status: "applied" });
    vi.setSystemTime(START + HOUR_MS + 1);
    expect(await reach(second)).toMatchObject({ status: "late" });
    // A repetition says again that the goal counted.
    expect((await describeModel(model)).counts).toMatchObject({ applied: 1, pageGoals: 1 });
  });
});

describe("a report is refused", () => {
  it.each([
    ["a private goal", "purchase", "pages may not report purchase"],
    ["a goal that does not exist", "nothing", "pages may not report nothing"],
    ["a goal of amounts", "order", "takes amounts, which a page cannot name"],
    ["a name of the language", "constructor", "pages may not report constructor"],
  ])("for %s, and changes nothing", async (_, goal, detail) => {
    const model = await createShop();
    const [impressionId] = await recommend(model);
    const before = await stateOf(model);
    expect(await reach(impressionId, goal)).toMatchObject({ status: "refused", detail: expect.stringContaining(detail) });
    expect(await stateOf(model)).toEqual(before);
  });

  it("for every goal of a model without goals, and once a goal is private again", async () => {
    const open = await createModel();
    expect(await reach((await recommend(open))[0], "conversion")).toMatchObject({ status: "refused" });
    const model = await createShop();
    await call("PATCH", `/v1/models/${model}`, { goals: { ...goals, click: { weight: 0.25 } } });
    expect(await reach((await recommend(model))[0])).toMatchObject({ status: "refused" });
  });

  it("for an impression of another model than the page states", async () => {
    const [model, other] = [await createShop(), await createShop()];
    const [impressionId] = await recommend(model);
    expect(await reach(impressionId, "click", { model: other })).toMatchObject({
      status: "refused",
      detail: expect.stringContaining("another model"),
    });
    const { body } = await report({ model: other, seen: [impressionId] });
    expect(body.seen).toEqual([{ impressionId, status: "refused" }]);
    expect(await reach(impressionId, "click", { model })).toMatchObject({ status: "applied" });
  });

  it("for a forged id, or one of a deleted model", async () => {
    const model = await createShop();
    const [impressionId] = await recommend(model);
    const forged = `${impressionId.slice(0, -1)}${impressionId.endsWith("A") ? "B" : "A"}`;
    expect(await reach(forged)).toMatchObject({ status: "unknown" });
    expect(await see(forged)).toBe("unknown");
    await call("DELETE", `/v1/models/${model}`);
    expect(await reach(impressionId)).toMatchObject({ status: "unknown" });
  });

  it.each([
    ["no key", { key: undefined }, {}, 400],
    ["an unknown key", { key: "pk_unknown-to-this-worker" }, {}, 401],
    ["the secret key", { key: env.AFTERCLICK_SECRET_KEY }, {}, 403],
    ["a page of another origin", {}, { origin: "https://other.example" }, 403],
    ["an amount", { reached: [{ impressionId: "x", goal: "click", reward: 5 }] }, {}, 400],
    ["a time", { reached: [{ impressionId: "x", goal: "click", timestamp: 5 }] }, {}, 400],
    ["101 items of a kind", { seen: Array.from({ length: 101 }, () => "x") }, {}, 422],
    ["101 items", { seen: Array.from({ length: 100 }, () => "x"), reached: [{ impressionId: "x", goal: "click" }] }, {}, 413],
    ["a body of more than 64 KiB", { model: "x".repeat(65_536) }, {}, 413],
  ])("with %s", async (_, body, headers, status) => {
    expect(await report(body, headers)).toMatchObject({ status });
  });

  it("over the limit of an address or of a key and origin", async () => {
    const over = { limit: async () => ({ success: false }) };
    const from = { "cf-connecting-ip": "192.0.2.1", origin: SHOP };
    for (const limit of [{ RATE_LIMIT: over }, { ORIGIN_RATE_LIMIT: over }]) {
      const options = { key: null, headers: from, env: { ...listed, ...limit } };
      expect(await call("POST", "/v1/shown", { key }, options)).toMatchObject({ status: 429 });
    }
  });

  it("over what a learner takes in a minute", () => {
    const allowance = new PageAllowance(new Shares(() => {}));
    for (let n = 0; n < MOST_A_MINUTE; n++) allowance.count(`impression ${n}`, true);
    expect(() => allowance.check([], 0)).toThrow(/reports of pages in a minute/);
    expect(() => allowance.check(["another"], MINUTE_MS)).not.toThrow();
  });

  it("for an impression that is repeated, until the next minute and for no other", () => {
    const allowance = new PageAllowance(new Shares(() => {}));
    for (let n = 0; n < MOST_REPEATED; n++) {
      expect(() => allowance.check(["repeated"], 0)).not.toThrow();
      allowance.count("repeated", false);
    }
    expect(() => allowance.check(["other", "repeated"], 0)).toThrow(/report each goal once/);
    for (let n = 0; n < MOST_A_MINUTE; n++) allowance.check(["other"], 0);
    expect(() => allowance.check(["repeated"], MINUTE_MS)).not.toThrow();
  });
});

describe("one visitor's", () => {
  useClock();

  it.each([
    ["repeated views", (id: string) => ({ seen: Array(100).fill(id) })],
    ["repeated goals", (id: string) => ({ reached: Array(100).fill({ impressionId: id, goal: "click" }) })],
    ["private goals", (id: string) => ({ reached: Array(100).fill({ impressionId: id, goal: "purchase" }) })],
    ["invented goals", (id: string) => ({ reached: Array.from({ length: 100 }, (_, n) => ({ impressionId: id, goal: `goal-${n}` })) })],
    ["late goals", (id: string) => ({ reached: Array(100).fill({ impressionId: id, goal: "quick" }) })],
  ])("%s take nothing from others", async (what, repeated) => {
    const model = await createShop();
    const [own, ...others] = await recommend(model, { limit: 3 });
    if (what === "late goals") vi.setSystemTime(START + 30 * MINUTE_MS);
    const statuses: number[] = [];
    for (let n = 0; n < 65; n++) statuses.push((await report(repeated(own))).status);
    if (what !== "late goals") expect(statuses.filter((status) => status === 202).length).toBeLessThan(4);
    expect(statuses.at(-1)).toBe(429);
    for (const id of others) expect(await reach(id)).toMatchObject({ status: "applied" });
    vi.setSystemTime(Date.now() + MINUTE_MS);
    expect(await reach(own)).toMatchObject({ status: what === "repeated goals" ? "duplicate" : "applied" });
  });
});

describe("a deferred impression", () => {
  it("counts once it was seen, and converts with a click that came before", async () => {
    const model = await createShop();
    const [first, second] = await recommend(model, { limit: 2, defer: true });
    expect(await reach(second)).toMatchObject({ status: "orphan" });
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 0, pageGoals: 0 });
    const { body } = await report({ seen: [first, second, first], reached: [{ impressionId: first, goal: "click" }] });
    expect(body.seen.map(({ status }: { status: string }) => status)).toEqual(["activated", "activated", "duplicate"]);
    expect(body.reached).toMatchObject([{ status: "applied" }]);
    expect(await reach(second)).toMatchObject({ status: "duplicate" });
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 2, converted: 2, pageGoals: 2 });
  });

  it("is ignored if it counts already", async () => {
    const model = await createShop();
    const [impressionId] = await recommend(model);
    expect(await see(impressionId)).toBe("duplicate");
    expect(await statusOf(impressionId)).toBe("pending");
  });
});

it("answers a listed origin so that its page can read the answer, without a preflight", async () => {
  const model = await createShop();
  const [impressionId] = await recommend(model);
  const { status, headers } = await report({ seen: [impressionId] }, { origin: SHOP });
  expect([status, headers.get("access-control-allow-origin")]).toEqual([202, SHOP]);
});
