import { evaluate, type LoggedDecision, otfLinTs, type PolicyDescriptor, uniform } from "afterclick";
import { isTooFew } from "afterclick/research";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { evaluatedLists, listReport } from "../../../cli/evaluate/list-report.ts";
import { matrixOf } from "../../support/reference/matrix.ts";
import { call, convert, createModel, HOUR_MS, keep, recommend } from "../support/client.ts";
import { DAY_MS, MINUTE_MS, ring, tick, useClock } from "../support/clock.ts";
import { eventSource, recounted } from "../support/event-source.ts";
import { seedIds } from "../support/lived.ts";

useClock();
beforeEach(() => seedIds());
afterEach(() => void vi.restoreAllMocks());

const progress = (): void => {};

async function linesOf(model: string): Promise<string[]> {
  return (await call("GET", `/v1/models/${model}/events`)).body.trimEnd().split("\n");
}

/** A model at the edge. Tents convert half of the time, and nothing else converts. */
async function shown(): Promise<string> {
  const model = await createModel({ serving: "edge", minimumShare: 0.2, publish: { ms: MINUTE_MS } });
  for (let n = 0; n < 60; n++) {
    tick(MINUTE_MS);
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, { context: { day: `${n % 7}` }, limit: 1 + (n % 2) });
    const [{ id, impressionId }] = body.actions;
    if (id === "tent" && n % 4 < 2) await convert({ impressionId, reward: 1 }, { timestamp: Date.now() + (n % 3) * MINUTE_MS });
    if (n === 30) await ring(model, Date.now() + MINUTE_MS);
  }
  return model;
}

it("reads from a model's log what there was to choose among, with which chance, and what came of it", async () => {
  const model = await shown();
  await recommend(model, { exclude: ["mug", "lamp"] });
  await recommend(model, { actions: [{ id: "boat", features: {} }, { id: "tent" }] });
  await call("PUT", `/v1/models/${model}/actions`, { actions: [{ id: "tent" }] });
  await recommend(model, {});
  const { decisions, leftOut, dimension, window, reward, end } = await eventSource(await linesOf(model), { progress });
  expect({ dimension, window, reward, end }).toEqual({
    dimension: 32,
    window: { ms: HOUR_MS },
    reward: { min: 0, max: 1 },
    end: Date.now(),
  });
  expect(decisions).toHaveLength(63);
  expect(leftOut).toEqual(new Map([["below the first place of a list", 30]]));
  expect(decisions.slice(-4).map(({ ids }) => ids)).toEqual([["tent", "mug", "lamp"], ["tent"], ["boat", "tent"], ["tent"]]);
  for (const { ids, count, index, probability, points } of decisions) {
    expect(points && matrixOf(points).length).toBe(32 * ids.length);
    expect(index).toBeLessThan(count);
    expect(probability).toBeGreaterThanOrEqual(0.2);
  }
  const converted = decisions.filter(({ conversions = [] }) => conversions.length > 0);
  expect(converted.length).toBeGreaterThan(3);
  expect(converted.every(({ ids, index }) => ids[index] === "tent")).toBe(true);
  // Fewer conversions are known at an earlier time.
  const asOf = converted[0].shownAt - 1;
  const early = await eventSource(await linesOf(model), { progress, asOf });
  expect(early.decisions.every(({ conversions = [] }) => conversions.length === 0)).toBe(true);
});

it("reads which candidates the rule of a visitor left, and their boosts", async () => {
  const model = await createModel({ serving: "edge", leaveOut: { bought: true } });
  const actions = ["tent", "mug", "lamp"].map((id, i) => ({ id, attributes: { margin: i } }));
  await call("PUT", `/v1/models/${model}/actions`, { actions });
  const boost = [
    { filter: { margin: { min: 1 } }, by: 0.5 },
    { filter: { margin: 2 }, by: -0.25 },
  ];
  const [bought] = await recommend(model, { keys: ["visitor-7"], actions: [{ id: "mug" }] });
  await convert({ impressionId: bought, reward: 1 });
  await recommend(model, { keys: ["visitor-7"], boost });
  const { decisions } = await eventSource(await linesOf(model), { progress });
  expect(decisions.map(({ ids, boosts }) => [ids, boosts && Array.from(boosts)])).toEqual([
    [["mug"], undefined],
    [
      ["tent", "lamp"],
      [0, 0.25],
    ],
  ]);
});

it("still reads what there was to choose among when the model has forgotten how it came to be so", async () => {
  const model = await createModel({ retention: { ms: DAY_MS } });
  for (const actions of [
    ["tent", "stove"],
    ["lamp", "stove", "mug"],
  ]) {
    await call("PUT", `/v1/models/${model}/actions`, { actions: actions.map((id) => ({ id })) });
  }
  for (let n = 0; n < 10; n++) {
    tick(MINUTE_MS);
    await recommend(model);
    await keep(model);
  }
  await ring(model, Date.now() + 3 * DAY_MS);
  await recommend(model, { exclude: ["mug"] });
  const marks = (await linesOf(model)).map((line) => JSON.parse(line)).filter(({ mark }) => mark && mark !== "snapshot");
  // The first mark now has the whole catalogue. Later marks, at kept snapshots, changed nothing.
  expect(marks.map(({ mark }) => mark)).toEqual(["configuration", ...marks.slice(1).map(() => "actions")]);
  expect(marks[1].content.changed.map(([place, { id }]: [number, { id: string }]) => [place, id])).toEqual([
    [0, "lamp"],
    [1, "stove"],
    [2, "mug"],
  ]);
  expect(marks.slice(2).map(({ content }) => content.changed.length)).toEqual(marks.slice(2).map(() => 0));
  const { decisions } = await eventSource(await linesOf(model), { progress });
  expect(decisions.map(({ ids }) => ids)).toEqual([["lamp", "stove"]]);
});

it("reads whole lists, those of the holdout as random ones, and evaluates them", async () => {
  const model = await createModel({ holdout: 0.5 });
  for (let n = 0; n < 40; n++) {
    tick(MINUTE_MS);
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, { context: { day: `${n % 7}` }, limit: 1 + (n % 3) });
    const tent = body.actions.findIndex(({ id }: { id: string }) => id === "tent");
    if (tent === 0 || (tent > 0 && n % 2 === 0)) await convert({ impressionId: body.actions[tent].impressionId, reward: 1 });
  }
  const source = await eventSource(await linesOf(model), { progress });
  const { lists = [], incomplete } = source.lists as NonNullable<typeof source.lists>;
  expect([lists.length, incomplete]).toEqual([40, 0]);
  expect(lists.map(({ items }) => items.length)).toEqual(Array.from({ length: 40 }, (_, n) => 1 + (n % 3)));
  const random = lists.filter((each) => each.random);
  expect(random.length).toBeGreaterThan(10);
  expect(random.length).toBeLessThan(30);
  for (const { items, count, points } of random) {
    expect(items.every(({ probability }) => probability === 1 / count)).toBe(true);
    expect(points && matrixOf(points).length).toBe(32 * count);
  }
  const evaluated = await evaluatedLists(source, {
    policy: otfLinTs({ dimension: source.dimension }),
    window: source.window,
    asOf: source.end,
  });
  expect(evaluated.lists).toEqual({ learnt: 20, evaluated: 20, tooYoung: 0 });
  expect(evaluated.examination).toHaveLength(3);
  expect(listReport("otf-lin-ts", evaluated, source)).toMatch(
    /examination of place +estimate.*\n1 +1\.00.*\n2 .*\n3 .*\n +used: 1\.00, .*position-based/s,
  );
  // The examination needs no candidates.
  const plain = (value: unknown) => JSON.parse(JSON.stringify(value, (key, each) => (["points", "ids"].includes(key) ? undefined : each)));
  expect(plain(source.lists?.random)).toEqual(plain(random));
  // A list that lacks an item is left out.
  const lines = (await linesOf(model)).filter((line) => !/"place":1\b/.test(line));
  const partly = await eventSource(recounted(lines), { progress });
  expect(partly.lists?.incomplete).toBe(13);
  await expect(
    evaluatedLists({ ...source, lists: undefined }, { policy: otfLinTs({ dimension: 32 }), window: "none", asOf: 1 }),
  ).rejects.toThrow("--lists: expected a model's log");
});

it("takes lists that the minimum share ranked at random for the examination, by the share of their time", async () => {
  const model = await createModel({ minimumShare: 0 });
  const show = async (lists: number) => {
    for (let n = 0; n < lists; n++) {
      tick(MINUTE_MS);
      await recommend(model, { context: { day: `${n % 7}` }, limit: 3 });
    }
  };
  await show(10);
  await call("PATCH", `/v1/models/${model}`, { minimumShare: 0.2 });
  await show(40);
  const { lists } = await eventSource(await linesOf(model), { progress });
  expect(lists?.lists).toHaveLength(50);
  expect(lists?.lists.some(({ random }) => random)).toBe(false);
  // Three actions, each with a share of 0.2.
  expect(Math.abs((lists?.random.length ?? 0) - 24)).toBeLessThan(10);
  for (const { shownAt, items, random } of lists?.random ?? []) {
    expect(shownAt).toBeGreaterThan(lists?.lists[9].shownAt as number);
    expect(random).toBe(true);
    expect(items.map(({ probability }) => probability)).toEqual([1 / 3, 1 / 3, 1 / 3]);
  }
  const { body } = await call("GET", `/v1/models/${model}/examination`);
  expect(body.lists).toBe(lists?.random.length);
});

it("estimates from a model's log that always showing what converts earns more than chance", async () => {
  const source = await eventSource(await linesOf(await shown()), { progress });
  const { decisions: log, window, end } = source;
  const always = (action: string) => (decision: LoggedDecision) =>
    (decision as (typeof log)[number]).ids.map((id) => Number(id === action));
  const request = { log, window, asOf: end + HOUR_MS, split: 0.2 };
  const [tents, mugs, chance] = await Promise.all(
    [always("tent"), always("mug"), uniform()].map((policy) => evaluate({ ...request, policy })),
  );
  // Sixty decisions with a few conversions are too few for a policy that most of them do not tell of.
  for (const { ips, snips, doublyRobust } of [tents, mugs, chance]) expect([ips, snips, doublyRobust].every(isTooFew)).toBe(true);
  expect(chance.support).toBe(1);
  expect(chance.weights.mean).toBeGreaterThan(0.7);
  expect(chance.decisions).toEqual({ learnt: 12, evaluated: 48, tooYoung: 0 });
  const learnt = await evaluate({ ...request, split: 0.5, policy: otfLinTs({ dimension: source.dimension }) });
  expect(learnt.decisions).toEqual({ learnt: 30, evaluated: 30, tooYoung: 0 });
  const share = log.slice(30).filter(({ conversions = [] }) => conversions.length > 0).length / 30;
  const often = Array.from({ length: 40 }, () => log).flat();
  const repeated = async (policy: PolicyDescriptor | ReturnType<typeof always>) => {
    const { logged, snips, doublyRobust } = await evaluate({ ...request, log: often, split: 0.5, policy });
    return [logged, snips, doublyRobust].map((figure) => (isTooFew(figure) ? Number.NaN : figure.value));
  };
  const [ofLearnt, ofTents, ofMugs] = [
    await repeated(otfLinTs({ dimension: source.dimension })),
    await repeated(always("tent")),
    await repeated(always("mug")),
  ];
  expect(ofLearnt[0]).toBeCloseTo(share, 12);
  expect(ofTents[1]).toBeGreaterThan(0.25);
  expect(ofMugs[1]).toBe(0);
  expect(ofLearnt[2]).toBeGreaterThan(ofMugs[2]);
  expect(ofLearnt[2]).toBeLessThan(ofTents[2] + 0.05);
});

it("reads the changes of each goal's reward and when they were known, and leaves out a goal that is no longer declared", async () => {
  const goals = { click: { weight: 0 }, order: { weight: 0.5, value: { currency: "EUR" } } };
  const model = await createModel({ goals });
  const [impressionId] = await recommend(model);
  const shownAt = Date.now();
  tick(MINUTE_MS);
  await convert({ impressionId, reward: 1, goal: "click" });
  tick(MINUTE_MS);
  await convert({ impressionId, reward: 30, goal: "order" });
  tick(MINUTE_MS);
  await convert({ impressionId, reward: -10, goal: "order" });
  const source = await eventSource(await linesOf(model), { progress });
  expect(source.goals).toEqual(goals);
  const eventId = "report";
  const order = { goal: "order", eventId, at: shownAt + 2 * MINUTE_MS, reward: 30 };
  const orders = [order, { ...order, at: order.at + 1, knownAt: shownAt + 3 * MINUTE_MS, reward: 20 }];
  expect(source.decisions[0].conversions).toEqual([{ goal: "click", eventId, at: shownAt + MINUTE_MS, reward: 1 }, ...orders]);
  const lines = (await linesOf(model)).map((line) => line.replaceAll('"click":{"weight":0},', ""));
  expect((await eventSource(lines, { progress })).decisions[0].conversions).toEqual(orders);
});
