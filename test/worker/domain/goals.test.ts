import { evictDurableObject } from "cloudflare:test";
import { otfLinTs, type Policy, Recommender } from "afterclick";
import { afterEach, describe, expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { call, convert, createModel, describeModel, HOUR_MS, learnerOf, show, statusesOf } from "../support/client.ts";
import { MINUTE_MS, START, tick, useClock } from "../support/clock.ts";

// Goals with windows of their own. The model's window is an hour, and that of clicks a minute.

useClock();
afterEach(() => void vi.restoreAllMocks());

const goals = { click: { weight: 0, window: { ms: MINUTE_MS } }, purchase: { weight: 0.5, after: "click" } };

const put = (body: object) => call("PUT", "/v1/models/refused", { window: { ms: HOUR_MS }, ...body });

describe("are refused", () => {
  it.each([
    [
      { click: { weight: 1, window: { ms: HOUR_MS + 1 } } },
      "goals.click.window: expected at most the recommender's window, 3600000 ms, got 3600001",
    ],
    [
      { click: { weight: 1, window: { ms: MINUTE_MS }, delay: { ms: MINUTE_MS + 1 } } },
      "goals.click.delay.ms: expected at most the goal's window, 60000, got 60001",
    ],
    [{ click: { weight: 1 }, purchase: { weight: 1, after: "clik" } }, 'goals.purchase.after: expected one of click, purchase, got "clik"'],
    [{ click: { weight: 1, after: "click" } }, 'goals.click.after: expected a goal that does not come after this one, got "click"'],
    [
      { cart: { weight: 1, after: "buy" }, buy: { weight: 1, after: "cart" } },
      'goals.cart.after: expected a goal that does not come after this one, got "buy"',
    ],
    [{ click: { weight: 0 } }, "goals: expected a goal with another weight than 0"],
    [{}, "goals: expected 1 to 64 goals"],
  ])("%j: %s", async (wrong, detail) => {
    expect(await put({ goals: wrong })).toMatchObject({ status: 422, body: { detail: expect.stringContaining(detail) } });
  });

  it.each([
    ["NaN", { click: { weight: Number.NaN } }, "goals.click.weight"],
    ["a weight beyond 1000", { click: { weight: 1001 } }, "goals.click.weight"],
    ["no weight", { click: {} }, "goals.click.weight"],
    ["a window of no length", { click: { weight: 1, window: { ms: 0 } } }, "goals.click.window.ms"],
    ["a delay of nothing", { click: { weight: 1, delay: { ms: 0 } } }, "goals.click.delay.ms"],
    ["a name that is no text", { click: { weight: 1, after: 3 } }, "goals.click.after"],
    ["a misspelt option", { click: { weight: 1, windows: { ms: 1 } } }, "goals.click.windows"],
    ["public that is no flag", { click: { weight: 1, public: "yes" } }, "goals.click.public"],
  ])("%s", async (_, wrong, path) => {
    const { status, body } = await put({ goals: wrong });
    expect([400, 422]).toContain(status);
    expect(body.errors).toEqual([{ path, message: expect.stringMatching(/expected|no such field/) }]);
  });

  it("when they are added to, removed from or changed in a running model, with both values", async () => {
    const model = await createModel({ goals });
    await show(model, {});
    const change = async (changed: object) => (await call("PATCH", `/v1/models/${model}`, { goals: changed })).body.detail;
    const { click, purchase } = goals;
    expect(await change({ ...goals, cart: { weight: 1 } })).toContain('goals.cart: expected none, got {"weight":1}');
    expect(await change({ purchase: { weight: 0.5 } })).toContain(`goals.click: expected ${JSON.stringify(click)}, got none`);
    expect(await change({ purchase: { weight: 0.5 } })).toContain('goals.purchase.after: expected "click", got none');
    expect(await change({ click: { weight: 0 }, purchase })).toContain('goals.click.window: expected {"ms":60000}, got none');
    const without = await createModel();
    await show(without, {});
    expect(await call("PATCH", `/v1/models/${without}`, { goals: { click } })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('goals: expected null, got {"click":') },
    });
    expect((await describeModel(model)).goals).toEqual(goals);
  });
});

it("whether pages may report a goal may change, and nothing is learnt anew", async () => {
  const model = await createModel({ goals });
  const opened = { purchase: goals.purchase, click: { ...goals.click, public: true } };
  expect((await call("PATCH", `/v1/models/${model}`, { goals: opened })).status).toBe(200);
  const description = await describeModel(model);
  expect(description.goals).toEqual(opened);
  // The stored order stays.
  expect(Object.keys(description.goals ?? {})).toEqual(["click", "purchase"]);
  expect((await call("PATCH", `/v1/models/${model}`, { draws: 10 })).status).toBe(200);
  expect((await describeModel(model)).goals).toEqual(opened);
  expect((await call("PATCH", `/v1/models/${model}`, { goals })).status).toBe(200);
  expect((await describeModel(model)).goals).toEqual(goals);
});

describe("a conversion after the window of its goal", () => {
  const last = START + MINUTE_MS;

  it("is late, and one of another goal is not", async () => {
    const model = await createModel({ goals });
    const [first, second] = await show(model, {}, {});
    tick(HOUR_MS);
    const send = (impressionId: string, goal: string, timestamp: number) => convert({ impressionId, goal, reward: 1 }, { timestamp });
    expect(statusesOf(await send(first, "click", last))).toEqual(["applied"]);
    expect(statusesOf(await send(second, "click", last + 1))).toEqual(["late"]);
    expect(statusesOf(await send(second, "purchase", last + 1))).toEqual(["applied"]);
    expect((await describeModel(model)).counts).toMatchObject({ converted: 1, applied: 2, late: 1 });
  });

  it("joins no impression by its key", async () => {
    const model = await createModel({ goals });
    await show(model, { keys: ["ana"] });
    tick(HOUR_MS);
    const send = (goal: string, timestamp: number) => convert({ model, key: "ana", goal, reward: 1 }, { timestamp });
    expect(statusesOf(await send("click", last + 1))).toEqual(["orphan"]);
    expect(statusesOf(await send("purchase", last + 1))).toEqual(["applied"]);
    expect(statusesOf(await send("click", last))).toEqual(["applied"]);
  });

  it("waits on when an impression with its key arrives, and one in time does not", async () => {
    const model = await createModel({ goals });
    tick(HOUR_MS / 2);
    const send = (goal: string, timestamp: number) => convert({ model, key: "ana", goal, reward: 1 }, { timestamp });
    for (const at of [last, last + 1]) expect(statusesOf(await send("click", at))).toEqual(["orphan"]);
    expect(statusesOf(await send("purchase", last + 1))).toEqual(["orphan"]);
    const [impressionId] = await show(model, { keys: ["ana"], shownAt: START });
    expect((await describeModel(model)).counts).toMatchObject({ applied: 2, orphan: 1, late: 0 });
    const { body } = await call("GET", `/v1/impressions/${impressionId}`);
    expect(body.conversions.map(({ goal, at }: { goal: string; at: number }) => [goal, at])).toEqual([
      ["click", last],
      ["purchase", last + 1],
    ]);
  });
});

describe("a name that every object has", () => {
  it.each(["__proto__", "constructor", "toString"])("%s: a conversion counts in a model without goals", async (goal) => {
    const model = await createModel();
    const [impressionId] = await show(model, {});
    tick(1);
    expect(statusesOf(await convert({ impressionId, goal, reward: 1 }))).toEqual(["applied"]);
    expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({ status: "converted", reward: 1 });
    tick(1);
    await convert({ impressionId, goal }, { type: "conversion.retracted" });
    expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({ status: "retracted", reward: 0 });
  });

  it("toString: is a goal like another one, and no goal until it is declared", async () => {
    const declared = await createModel({ goals: { toString: { weight: 0.5 } } });
    const [impressionId] = await show(declared, {});
    tick(1);
    expect(statusesOf(await convert({ impressionId, goal: "toString", reward: 1 }))).toEqual(["applied"]);
    expect((await call("GET", `/v1/impressions/${impressionId}`)).body.reward).toBe(0.5);
    const other = await createModel({ goals });
    const [id] = await show(other, {});
    const added = await call("PATCH", `/v1/models/${other}`, { goals: { ...goals, toString: { weight: 1 } } });
    expect(added.body.detail).toContain('goals.toString: expected none, got {"weight":1}');
    const { status, body } = await convert({ impressionId: id, goal: "toString", reward: 1 });
    expect([status, body.detail]).toEqual([422, "goal: expected one of click, purchase, got toString"]);
  });
});

/** Records calls of `Policy.observe`. The returned function lists their arguments so far, without the impression. */
async function observing(): Promise<() => object[]> {
  const { policy } = await Recommender.create({ policy: otfLinTs({ dimension: 1 }), window: "none" });
  const observe = vi.spyOn(Object.getPrototypeOf(policy) as Policy, "observe");
  return () => observe.mock.calls.map(([{ impression: _, ...outcome }]) => JSON.parse(JSON.stringify(outcome)));
}

it("the policies observe each change of a goal, again at a cold start, and npm run verify derives the same", async () => {
  const model = await createModel({ goals });
  const [impressionId] = await show(model, {});
  const observed = await observing();
  const send = (goal: string, reward: number | null, after: number) =>
    convert(
      { impressionId, goal, ...(reward !== null && { reward }) },
      { type: reward === null ? "conversion.retracted" : "conversion", timestamp: START + after },
    );
  tick(MINUTE_MS);
  await send("purchase", 1, 9000);
  await send("click", 1, 5000);
  // The total stays, and so does the first conversion.
  await send("click", 0.5, 6000);
  await send("purchase", 0.75, 8000);
  await send("click", null, 7000);
  await send("purchase", null, 9500);
  const [purchase, click] = [
    { reward: 1, delay: 9000 },
    { reward: 1, delay: 5000 },
  ];
  const expected = [
    { reward: 0.5, delay: { after: 9000 }, goals: { before: {}, after: { purchase } } },
    { reward: 0.5, previous: 0.5, delay: { before: 9000, after: 5000 }, goals: { before: { purchase }, after: { purchase, click } } },
    {
      ...{ reward: 0.5, previous: 0.5, delay: { before: 5000, after: 5000 } },
      goals: { before: { purchase, click }, after: { purchase, click: { reward: 0.5, delay: 5000 } } },
    },
    {
      ...{ reward: 0.5, previous: 0.5, delay: { before: 5000, after: 5000 } },
      goals: {
        before: { purchase, click: { reward: 0.5, delay: 5000 } },
        after: { purchase: { reward: 1, delay: 8000 }, click: { reward: 0.5, delay: 5000 } },
      },
    },
    {
      ...{ reward: 0.5, previous: 0.5, delay: { before: 5000, after: 8000 } },
      goals: {
        before: { purchase: { reward: 1, delay: 8000 }, click: { reward: 0.5, delay: 5000 } },
        after: { purchase: { reward: 1, delay: 8000 } },
      },
    },
    { reward: 0, previous: 0.5, delay: { before: 8000 }, goals: { before: { purchase: { reward: 1, delay: 8000 } }, after: {} } },
  ];
  expect(observed()).toEqual(expected);
  await evictDurableObject(learnerOf(model));
  await describeModel(model);
  expect(observed()).toEqual([...expected, ...expected]);
  const log = ((await call("GET", `/v1/models/${model}/events`)).body as string).trimEnd().split("\n");
  await verify(() => log);
  expect(observed()).toEqual([...expected, ...expected, ...expected]);
});

it("an imported conversion after the window of its goal is late, whatever the log says", async () => {
  const model = await createModel({ goals });
  const id = uuidAt(START, new Uint8Array(10));
  const lines = [
    { type: "impression", id, action: "mug", shownAt: START },
    { type: "conversion", impression: id, goal: "click", reward: 1, at: START + MINUTE_MS + 1, status: "applied" },
  ];
  tick(HOUR_MS);
  const text = lines.map((each) => JSON.stringify(each)).join("\n");
  expect((await call("POST", `/v1/models/${model}/events`, text)).body.conversions).toEqual({ late: 1 });
});
