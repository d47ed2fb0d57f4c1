import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { homeOf } from "../../../worker/domain/ids/home.ts";
import { KeyHasher } from "../../../worker/domain/ids/key-hasher.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { type CallOptions, call, convert, createModel, HOUR_MS, recommend, show, statusesOf } from "../support/client.ts";
import { DAY_MS, MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { counted, failing, learners } from "../support/fault.ts";

// Lists leave out what a visitor has bought, and what a visitor was shown often.

useClock();

const VISITOR = { keys: ["visitor-7"] };
const page = { key: env.AFTERCLICK_PUBLISHABLE_KEY as string };
const THRICE = { shown: { times: 3, within: { ms: HOUR_MS } } };

async function listed(model: string, body: object = VISITOR, options: CallOptions = {}): Promise<string[]> {
  const reply = await call("POST", `/v1/models/${model}/recommendations`, { limit: 3, ...body }, options);
  expect(reply.status, reply.body.detail).toBe(201);
  return reply.body.actions.map(({ id }: { id: string }) => id).toSorted();
}

/** Shows a visitor an action, which is then bought. Returns the id of the impression. */
async function buy(model: string, action: string, fields: object = {}): Promise<string> {
  const [impressionId] = await show(model, { action, ...VISITOR });
  tick(1000);
  expect(statusesOf(await convert({ impressionId, reward: 1, ...fields }))).toEqual(["applied"]);
  return impressionId;
}

const ALL = ["lamp", "mug", "tent"];

describe.each(["edge", "learner"])('"serving": "%s"', (serving) => {
  it("leaves out what the visitor has bought, for no one else, and states the probabilities of the others", async () => {
    const model = await createModel({ serving, leaveOut: { bought: true }, minimumShare: 0.1 });
    await buy(model, "mug");
    expect(await listed(model)).toEqual(["lamp", "tent"]);
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, { ...VISITOR, limit: 2 });
    const [first, second] = body.actions.map(({ probability }: { probability: number }) => probability);
    // Of two candidates one is at the first place and the other at the second.
    expect(first).toBeCloseTo(second, 12);
    expect(await listed(model, {})).toEqual(ALL);
    expect(await listed(model, { keys: ["visitor-8"] })).toEqual(ALL);
    const { body: explained } = await call("GET", `/v1/impressions/${body.actions[0].impressionId}`);
    expect(explained.decision).toMatchObject({ candidates: 2, asked: { leftOut: ["mug"] } });
  });

  it("leaves out what the visitor was shown so many times, until the time has passed", async () => {
    const model = await createModel({ serving, leaveOut: THRICE });
    for (let times = 0; times < 3; times++) {
      expect(await listed(model, { ...VISITOR, actions: [{ id: "lamp" }] })).toEqual(["lamp"]);
      tick(MINUTE_MS);
    }
    expect(await listed(model, { ...VISITOR, limit: 1, exclude: ["tent"] })).toEqual(["mug"]);
    expect(await listed(model, { keys: ["visitor-8"] })).toEqual(ALL);
    // The oldest of the three impressions is an hour old.
    tick(57 * MINUTE_MS);
    expect(await listed(model)).toEqual(ALL);
  });

  it("gives way before a list is empty: first the cap, then purchases", async () => {
    const model = await createModel({ serving, leaveOut: { bought: true, ...THRICE } });
    await buy(model, "mug");
    for (const action of ["lamp", "tent"])
      await show(model, ...[1, 2, 3].map((age) => ({ action, ...VISITOR, shownAt: Date.now() - age })));
    expect(await listed(model)).toEqual(["lamp", "tent"]);
    expect(await listed(model, { ...VISITOR, actions: [{ id: "mug" }] })).toEqual(["mug"]);
    expect(await listed(model, { ...VISITOR, exclude: ["lamp", "tent"] })).toEqual(["mug"]);
  });

  it("keeps a pin, whatever the visitor has bought", async () => {
    const model = await createModel({ serving, leaveOut: { bought: true } });
    await buy(model, "mug");
    expect(await listed(model, { ...VISITOR, pin: [{ action: "mug", place: 0 }] })).toEqual(ALL);
  });

  it("gives back what was refunded, and what was erased", async () => {
    const model = await createModel({ serving, leaveOut: { bought: true } });
    const refunded = await buy(model, "mug");
    const erased = await buy(model, "lamp");
    expect(await listed(model)).toEqual(["tent"]);
    tick(1000);
    await convert({ impressionId: refunded }, { type: "conversion.retracted" });
    expect(await listed(model)).toEqual(["mug", "tent"]);
    await call("DELETE", `/v1/impressions/${erased}`);
    expect(await listed(model)).toEqual(ALL);
  });

  it("makes again from the log every list that left something out", async () => {
    const model = await createModel({ serving, leaveOut: { bought: true, ...THRICE }, holdout: 0.3, minimumShare: 0.1, draws: 20 });
    await buy(model, "mug");
    for (let n = 0; n < 8; n++) {
      tick(MINUTE_MS);
      const [first] = await recommend(model, { ...VISITOR, limit: 1 + (n % 3) });
      if (n === 5) await convert({ impressionId: first, reward: 1 });
    }
    const log: string[] = (await call("GET", `/v1/models/${model}/events`)).body.trimEnd().split("\n");
    expect(new Set(log.map((line) => JSON.stringify(JSON.parse(line).decision?.asked?.leftOut))).size).toBeGreaterThan(2);
    expect((await verify(() => log)).tally.decisions).toBeGreaterThan(7);
  });

  it("takes the goal that the rule names for a purchase, and a refund in full for none", async () => {
    const goals = { click: { weight: 0.1 }, purchase: { weight: 1, after: "click", value: { currency: "EUR" } } };
    const model = await createModel({ serving, goals, leaveOut: { bought: "purchase" } });
    await buy(model, "lamp", { goal: "click" });
    const bought = await buy(model, "mug", { goal: "purchase", reward: 20, currency: "EUR" });
    expect(await listed(model)).toEqual(["lamp", "tent"]);
    tick(1000);
    await convert({ impressionId: bought, goal: "purchase", reward: -20, currency: "EUR" });
    expect(await listed(model)).toEqual(ALL);
  });

  it("gives a page what pages have shown alone, also where keys are shared", async () => {
    for (const pageKeys of ["own", "shared"]) {
      const model = await createModel({ serving, leaveOut: { bought: true, ...THRICE }, pageKeys });
      await buy(model, "mug");
      expect(await listed(model, VISITOR, page)).toEqual(ALL);
      const [impressionId] = await recommend(model, { ...VISITOR, actions: [{ id: "lamp" }] }, page);
      tick(1000);
      await convert({ impressionId, reward: 1 });
      expect(await listed(model, VISITOR, page)).toEqual(["mug", "tent"]);
      // A backend knows both, if a key is the same whoever gives it.
      expect(await listed(model)).toEqual(pageKeys === "own" ? ["lamp", "tent"] : ["tent"]);
    }
  });

  it("knows a visitor by both keys of a request, and nothing by a new key alone or in another model", async () => {
    const model = await createModel({ serving, leaveOut: { bought: true } });
    await buy(model, "mug");
    expect(await listed(model, { keys: ["customer-42"] })).toEqual(ALL);
    expect(await listed(model, { keys: ["customer-42", "visitor-7"] })).toEqual(["lamp", "tent"]);
    const other = await createModel({ serving, leaveOut: { bought: true } });
    expect(await listed(other)).toEqual(ALL);
    const { status, body } = await call("POST", `/v1/models/${model}/recommendations`, { keys: ["1", "2", "3", "4", "5"] });
    expect([status, body.detail]).toEqual([422, expect.stringMatching(/^keys: /)]);
  });

  it("serves a request that is not to be learnt as without a key", async () => {
    const model = await createModel({ serving, leaveOut: { bought: true } });
    await buy(model, "mug");
    expect(await listed(model, { ...VISITOR, learn: false })).toEqual(ALL);
  });
});

it("counts what the isolate has shown and not registered yet", async () => {
  const model = await createModel({ serving: "edge", leaveOut: { shown: { times: 2, within: { ms: HOUR_MS } } } });
  const unregistered = { isolate: createApp(), env: { LEARNER: learners(failing("registerShown")) } };
  for (let n = 0; n < 2; n++) {
    expect(await listed(model, { ...VISITOR, actions: [{ id: "mug" }] }, unregistered)).toEqual(["mug"]);
    tick();
  }
  expect(await listed(model, VISITOR, unregistered)).toEqual(["lamp", "tent"]);
  expect(await listed(model)).toEqual(ALL);
});

it("serves without the rule while the learner does not answer, and asks again a second later", async () => {
  const model = await createModel({ serving: "edge", leaveOut: { bought: true } });
  await buy(model, "mug");
  const isolate = createApp();
  expect(await listed(model, VISITOR, { isolate })).toEqual(["lamp", "tent"]);
  const { calls, fault } = counted();
  const never = new Promise<never>(() => {});
  const silent = learners((method, answer) => fault(method, () => (method === "seen" ? never : answer())));
  for (let n = 0; n < 3; n++) expect(await listed(model, VISITOR, { isolate, env: { LEARNER: silent } })).toEqual(ALL);
  expect(calls.filter((method) => method === "seen")).toHaveLength(1);
  expect(await listed(model, VISITOR, { isolate, env: { LEARNER: learners(failing("seen")) } })).toEqual(ALL);
  tick(1000);
  expect(await listed(model, VISITOR, { isolate })).toEqual(["lamp", "tent"]);
});

it("asks nobody without a key or without the rule", async () => {
  const [with_, without] = [await createModel({ serving: "edge", leaveOut: THRICE }), await createModel({ serving: "edge", leaveOut: {} })];
  const { calls, fault } = counted();
  const options = { isolate: createApp(), env: { LEARNER: learners(fault) } };
  await listed(with_, {}, options);
  await listed(without, VISITOR, options);
  expect(calls).not.toContain("seen");
});

it("gives the same list for a repeated question, and other ids once something is left out", async () => {
  const model = await createModel({ serving: "edge", leaveOut: { bought: true } });
  const question = { ...VISITOR, limit: 3, requestId: "page-view-1" };
  const [first, again] = [await recommend(model, question), await recommend(model, question)];
  expect(again).toEqual(first);
  const [impressionId] = first;
  await convert({ impressionId, reward: 1 });
  const elsewhere = await recommend(model, question, { isolate: createApp() });
  expect(elsewhere).toHaveLength(2);
  const ids = (tokens: string[]) => Promise.all(tokens.map(async (token) => (await call("GET", `/v1/impressions/${token}`)).status));
  expect(await ids(elsewhere)).toEqual([200, 200]);
  expect(first.filter((id) => elsewhere.includes(id))).toEqual([]);
});

it("knows what every shard has shown by a key, before and after the model has grown", async () => {
  const model = await createModel({ serving: "edge", leaveOut: { bought: true }, shards: 3 });
  const hasher = KeyHasher.create(env.AFTERCLICK_JOIN_KEY as string);
  const keyAt = (home: number, shards = 3): string => {
    for (let i = 0; ; i++) if (homeOf(hasher.hash(model, `key-${i}`, "backend")[0], shards) === home) return `key-${i}`;
  };
  const customer = keyAt(1);
  for (const [home, action] of [
    [0, "mug"],
    [2, "lamp"],
  ] as const) {
    const [impressionId] = await show(model, { action, keys: [keyAt(home), customer] });
    tick(1000);
    expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
  }
  for (const keys of [[customer], [customer, "new"], ["new", customer]])
    expect(await listed(model, { keys }), keys.join()).toEqual(["tent"]);
  expect((await call("PATCH", `/v1/models/${model}`, { shards: 7 })).status).toBe(200);
  for (const keys of [[customer], ["new", customer]]) expect(await listed(model, { keys }), keys.join()).toEqual(["tent"]);
});

it.each<[string, object, RegExp]>([
  [
    "a goal that is not declared",
    { goals: { purchase: { weight: 1 } }, leaveOut: { bought: "purchas" } },
    /^leaveOut\.bought: expected true or a declared goal, got purchas; did you mean/,
  ],
  [
    "a goal without declared ones",
    { leaveOut: { bought: "purchase" } },
    /^leaveOut\.bought: expected true or a declared goal, got purchase$/,
  ],
  [
    "a policy with its own domain",
    { policy: "delayed-zooming", options: { domain: { box: [[0, 1]] }, horizon: 100 }, leaveOut: THRICE },
    /^leaveOut: expected none, as delayed-zooming/,
  ],
  ["a local model", { local: true, serving: "edge", leaveOut: THRICE }, /^leaveOut: expected none in a local model/],
  ["no time", { leaveOut: { shown: { times: 3 } } }, /leaveOut\.shown\.within/],
  [
    "more than 30 days",
    { leaveOut: { shown: { times: 3, within: { ms: 31 * DAY_MS } } } },
    /^leaveOut\.shown\.within\.ms: expected at most 2592000000/,
  ],
  ["no times", { leaveOut: { shown: { times: 0, within: { ms: HOUR_MS } } } }, /^leaveOut\.shown\.times: expected at least 1/],
])("refuses %s", async (_, body, detail) => {
  const reply = await call("PUT", "/v1/models/refused", { window: { ms: HOUR_MS }, ...body });
  expect([400, 422]).toContain(reply.status);
  expect(reply.body.detail).toMatch(detail);
});

it("a change takes the rule as a whole, and {} takes it back", async () => {
  const model = await createModel({ serving: "edge", leaveOut: { bought: true, ...THRICE } });
  await buy(model, "mug");
  expect(await listed(model)).toEqual(["lamp", "tent"]);
  await call("PATCH", `/v1/models/${model}`, { leaveOut: THRICE });
  expect(await listed(model)).toEqual(ALL);
  await call("PATCH", `/v1/models/${model}`, { leaveOut: {} });
  expect((await call("GET", `/v1/models/${model}`)).body.leaveOut).toEqual({});
});
