import { evictDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  learnerOf,
  recommend,
  show,
  stateOf,
  statusesOf,
  storedOf,
} from "../support/client.ts";
import { bucketOf, closing, DAY_MS, MINUTE_MS, ring, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { withStatements } from "../support/fault.ts";
import { countsOf, foldedDigest, type Line, linesOf, logOf } from "../support/fold.ts";
import { GOALS, lived } from "../support/lived.ts";

useClock();

const textOf = (lines: readonly object[]) => lines.map((line) => JSON.stringify(line)).join("\n");
const imported = (model: string, lines: readonly object[] | string) =>
  call("POST", `/v1/models/${model}/events`, typeof lines === "string" ? lines : textOf(lines));

const kinds = [
  ["delay-lin-ts", {}],
  ["otf-lin-ucb", { shadows: [{ name: "other", policy: "otf-lin-ts" }] }],
  ["gp-ucb-sdf", { options: { kernel: { name: "matern52" } } }],
  ["gp-ts-sdf", { options: { kernel: { name: "matern52" }, capacity: 4 } }],
] as const;

it.each(kinds)(
  "tells in its log all that %s has learnt, byte for byte, and a fresh model learns the same from it",
  async (policy, config) => {
    const model = await lived({ policy, ...config }, 1);
    const [[closed], shownAt] = [await show(model, {}), Date.now()];
    await ring(model, closing(shownAt));
    // An event for a closed bucket, and an event after it.
    const late = await convert({ impressionId: closed, goal: "order", reward: 1 }, { timestamp: shownAt });
    expect(statusesOf(late)).toEqual(["late"]);
    const [fresh] = await show(model, {});
    await convert({ impressionId: fresh, goal: "order", reward: 0.5 });
    const lines = await logOf(model);
    const { digest, counts } = await describeModel(model);
    expect(Object.entries(countsOf(lines)).filter(([, count]) => count === 0)).toEqual([]);
    expect(counts).toMatchObject(countsOf(lines));
    expect(await foldedDigest(lines)).toBe(digest);
    // The importing model takes all events.
    const last = lines.findLast(({ type, reward }) => type === "impression" && reward > 0) as Line;
    expect(await foldedDigest(lines.filter(({ impression }) => impression !== last.id))).not.toBe(digest);

    const copy = await createModel({ policy, ...config, goals: GOALS });
    await expectTaken(copy, lines, { digest, counts: { ...counts, duplicate: 0 } });
    const metrics = async (name: string) => (await call("GET", `/v1/models/${name}/metrics`)).body;
    const [{ buckets, lift, delays }, other] = [await metrics(model), await metrics(copy)];
    // The original has closed buckets that the copy, which began later, does not have to close.
    const open = (all: readonly object[]) => all.map((bucket) => ({ ...bucket, closed: null }));
    expect({ buckets: open(other.buckets), delays: other.delays }).toEqual({ buckets: open(buckets), delays });
    // The copy has not assigned what it imported.
    expect([lift.goals[0].shares.length, other.lift]).toEqual([1, null]);
    expect(essenceOf(await logOf(copy))).toEqual(essenceOf(lines));
  },
);

async function expectTaken(copy: string, lines: readonly Line[], expected: object): Promise<void> {
  const state = async () => {
    const { digest, counts } = await describeModel(copy);
    return { digest, counts: { ...counts, duplicate: 0 } };
  };
  const impressions = lines.filter(({ type }) => type === "impression").length;
  expect((await imported(copy, lines)).body).toMatchObject({ impressions, repeated: 0 });
  expect(await state()).toEqual(expected);
  const again = await imported(copy, lines);
  expect(again.body).toMatchObject({ impressions: 0, repeated: impressions });
  expect(Object.keys(again.body.conversions)).toEqual(["duplicate"]);
  expect(await state()).toEqual(expected);
  await evictDurableObject(learnerOf(copy));
  expect(await state()).toEqual(expected);
}

/** The content of a log, without time and version of the export. */
function essenceOf(lines: readonly Line[]): object[] {
  return lines
    .filter(({ type }) => type === "impression" || type === "conversion")
    .map(({ seq: _, version: __, round, decision, ...line }) => {
      return { ...line, probability: decision?.probability, round: line.state === "live" ? round : null };
    });
}

it("says first what it is the log of", async () => {
  const model = await createModel();
  const before = Date.now();
  await show(model, {});
  const reply = await call("GET", `/v1/models/${model}/events`);
  expect(reply.headers.get("content-type")).toBe("application/x-ndjson");
  const [head, ...lines] = linesOf(reply.body);
  const { modelVersion } = await describeModel(model);
  expect(head).toMatchObject({
    type: "model",
    model,
    generation: before,
    horizon: 0,
    modelVersion,
    after: 0,
    lines: 6,
    config: { policy: "delay-lin-ts", window: { ms: HOUR_MS } },
  });
  expect(lines.map(({ type, mark }) => mark ?? type)).toEqual([
    ...["configuration", "snapshot", "configuration", "actions", "snapshot", "impression"],
  ]);
  const part = (after: number, lines: number) => ({ ...head, after, lines, exportedAt: Date.now() });
  expect(await logOf(model, modelVersion - 1)).toEqual([part(modelVersion - 1, 1), lines.at(-1)]);
  expect(await logOf(model, modelVersion)).toEqual([part(modelVersion, 0)]);
  expect((await call("GET", `/v1/models/${model}/events?after=-1`)).status).toBe(422);
  expect((await call("GET", "/v1/models/nothing/events")).status).toBe(404);
});

it("reads more than one page, by lines and by bytes", async () => {
  const model = await createModel();
  const [{ seq }] = (await logOf(model)).toReversed();
  for (let batch = 0; batch < 2; batch++) await show(model, ...Array.from({ length: 600 }, () => ({ context: undefined })));
  const lines = await logOf(model, seq);
  expect(lines.filter(({ type }) => type === "impression")).toHaveLength(1200);
  const seqs = lines.slice(1).map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.map((_, i) => seq + 1 + i));
  expect(await foldedDigest(lines)).toBe((await describeModel(model)).digest);

  const large = await createModel();
  const text = Array.from({ length: 64 }, (_, n) => `${n}`.padEnd(250));
  const context = { a: text, b: text, c: text };
  for (let n = 0; n < 5; n++) await show(large, ...Array.from({ length: 20 }, () => ({ context })));
  const page = await learnerOf(large).log({ after: 0, upTo: Number.MAX_SAFE_INTEGER });
  if ("problem" in page) throw new Error(page.problem.detail);
  expect(page.value.length).toBeGreaterThan(50);
  expect(page.value.length).toBeLessThan(100);
  expect((await logOf(large)).filter(({ type }) => type === "impression")).toHaveLength(100);
});

it("takes what a shop wrote, by its own ids and its actions' names, however old", async () => {
  const model = await createModel();
  const past = Date.now() - 3 * DAY_MS;
  const log = [
    { type: "impression", id: "shown 1", action: "tent", context: { country: "PT" }, shownAt: past, keys: ["ana"], probability: 0.5 },
    {
      type: "impression",
      id: "shown 2",
      action: { id: "kayak", features: { brand: "Umbra" } },
      shownAt: new Date(past + 1000).toISOString(),
    },
    { type: "conversion", impression: "shown 1", reward: 0.5, at: past + MINUTE_MS },
    { type: "conversion", impression: "shown 2", reward: 1, at: past + 2 * HOUR_MS, event: "order 7" },
    { type: "impression", id: "shown 3", action: "mug", shownAt: Date.now() },
    { type: "conversion", impression: "shown 3", reward: null, at: Date.now(), event: "order 8" },
  ];
  const reply = await imported(model, `\n${textOf(log)}\n\n`);
  expect(reply).toMatchObject({ status: 200, body: { impressions: 3, repeated: 0, conversions: { applied: 2, late: 1 } } });
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 3, converted: 1, pending: 1, expired: 1, applied: 2, late: 1 });
  expect(await storedOf(model)).not.toContain("ana");
  const state = await describeModel(model);
  expect((await imported(model, log)).body).toEqual({ impressions: 0, repeated: 3, conversions: { duplicate: 3 } });
  expect(await describeModel(model)).toMatchObject({ digest: state.digest, counts: { ...state.counts, duplicate: 3 } });

  // The state is the same as if it had been there.
  const direct = await createModel();
  vi.setSystemTime(past);
  const older = await createModel();
  for (const [name, shown] of [
    [older, past],
    [direct, Date.now() + 3 * DAY_MS],
  ] as const) {
    vi.setSystemTime(shown);
    const [tent] = await show(name, { action: "tent" });
    await show(name, { action: { id: "kayak", features: { brand: "Umbra" } }, context: undefined });
    await convert({ impressionId: tent, reward: 0.5 });
    await show(name, { action: "mug", context: undefined });
    expect((await describeModel(name)).digest).toBe(state.digest);
  }
});

it("takes a log in parts, and sums up closed books with what came in each", async () => {
  const model = await createModel();
  const shownAt = bucketOf(Date.now() - 3 * HOUR_MS);
  const named = [0, 1, 2].map((n) => {
    return { type: "impression", id: uuidAt(shownAt + n, new Uint8Array(10)), action: "mug", shownAt: shownAt + n };
  });
  await imported(model, named);
  const buckets = async () => (await call("GET", `/v1/models/${model}/metrics`)).body.buckets;
  expect(await buckets()).toMatchObject([{ start: shownAt, impressions: 3, converted: 0, reward: 0, closed: true }]);
  const conversions = named.slice(1).map((line) => ({ type: "conversion", impression: line.id, reward: 0.5, at: line.shownAt }));
  expect((await imported(model, conversions)).body).toEqual({ impressions: 0, repeated: 0, conversions: { applied: 2 } });
  expect(await buckets()).toMatchObject([{ start: shownAt, impressions: 3, converted: 2, reward: 1, closed: true }]);
  // Closed buckets stay closed for delivered events.
  const { counts } = await describeModel(model);
  expect(counts).toMatchObject({ impressions: 3, converted: 2, expired: 1 });
});

const good = { type: "impression", id: "a", action: "mug", shownAt: 1_700_000_000_000 };
const conversion = { type: "conversion", impression: "a", goal: "order", reward: 1, at: 1_700_000_000_000 };

it.each([
  ["is not JSON", 400, "{"],
  ["is of no known type", 400, { type: "click" }],
  ["has no action", 400, { ...good, action: undefined }],
  ["was shown in the future", 422, { ...good, id: "b", shownAt: 4_000_000_000_000 }],
  ["names an action that is not in the catalogue", 422, { ...good, id: "b", action: "boat" }],
  ["has features of another kind", 422, { ...good, id: "b", features: [1, 2, 3] }],
  ["is of an impression that does not stand before it", 422, { ...conversion, impression: "b" }],
  ["has an id of another time", 422, { ...good, id: "01a10000-0000-7000-8000-000000000000" }],
  ["came before its impression", 422, { ...conversion, at: conversion.at - 300_001 }],
  ["came in the future", 422, { ...conversion, at: 4_000_000_000_000 }],
  ["has a goal that is not declared", 422, { ...conversion, goal: "click" }],
  ["has a reward out of range", 422, { ...conversion, reward: 2 }],
  ["is said to wait under a key that is none", 422, { ...conversion, hash: "ana@example.com" }],
])("takes nothing of a log with a line that %s, and names it", async (_, status, bad) => {
  const model = await createModel({ goals: GOALS });
  const before = await describeModel(model);
  const line = typeof bad === "string" ? bad : JSON.stringify(bad);
  const reply = await imported(
    model,
    `${textOf([{ type: "erased", seq: 1, id: "b" }, good])}\n\n${textOf([conversion])}\n${line}\n${textOf([good])}`,
  );
  expect(reply).toMatchObject({ status, body: { detail: expect.stringMatching(/^line 5: /) } });
  expect(await describeModel(model)).toEqual(before);
});

it("takes all of a log or nothing, whichever change of its learner's tables fails, and the same when it is sent again", async () => {
  const lines = [good, conversion, { ...good, id: "c", shownAt: Date.now(), keys: ["ana"] }];
  const stateAfter = async (n: number) => {
    const model = await createModel({ goals: GOALS });
    const before = await stateOf(model);
    const fail = (change: number) => {
      if (change === n) throw new Error("disk error");
    };
    const failed = (await withStatements(learnerOf(model), fail, () => imported(model, lines))).status !== 200;
    expect(complaints()).toEqual(failed ? ["unexpected Error"] : []);
    const between = await stateOf(model);
    if (between.counts.impressions < 2) expect(between, `failed at change ${n}`).toEqual(before);
    if (failed) expect((await imported(model, lines)).status).toBe(200);
    const { digest, counts } = await stateOf(model);
    const { buckets } = (await call("GET", `/v1/models/${model}/metrics`)).body;
    return { failed, state: { digest, counts: { ...counts, duplicate: 0 }, buckets } };
  };
  const { state } = await stateAfter(0);
  expect(state).toMatchObject({ counts: { impressions: 2, converted: 1, applied: 1 }, buckets: [{ closed: true, converted: 1 }, {}] });
  let failures = 0;
  for (;;) {
    const after = await stateAfter(failures + 1);
    expect(after.state, `failed at change ${failures + 1}`).toEqual(state);
    if (!after.failed) break;
    failures++;
  }
  expect(failures).toBeGreaterThan(10);
});

it("takes no log that is too long", async () => {
  const model = await createModel();
  expect(await imported(model, "{}\n".repeat(20_001))).toMatchObject({
    status: 413,
    body: { detail: "a log may have 20000 lines at a time" },
  });
  expect((await imported(model, `{"type":"mark","x":"${"x".repeat(8 * 1024 * 1024)}"}`)).status).toBe(413);
  const reply = await imported(
    model,
    textOf(Array.from({ length: 1500 }, (_, n) => ({ ...good, id: `shown ${n}`, shownAt: Date.now() - n }))),
  );
  expect(reply.body).toMatchObject({ impressions: 1500, repeated: 0 });
});

it("restores a model of the same name, with what was pending and the keys that lead to it", async () => {
  const model = await createModel();
  const [impressionId, erased] = await show(model, { keys: ["order 1"] }, { keys: ["order 2"] });
  const [deferred] = await recommend(model, { defer: true });
  await convert({ model, key: "order 3", reward: 0.5 });
  expect((await call("DELETE", `/v1/impressions/${erased}`)).status).toBe(204);
  const lines = await logOf(model);
  await call("DELETE", `/v1/models/${model}`);
  tick();
  await call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, encoder: { dimension: 32 } });
  // Erased data are nowhere.
  expect((await imported(model, lines)).body).toEqual({ impressions: 2, repeated: 0, conversions: { orphan: 1 } });
  expect(statusesOf(await convert({ model, key: "order 1", reward: 1 }))).toEqual(["applied"]);
  expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({ status: "converted", reward: 1 });
  expect((await call("POST", `/v1/impressions/${deferred}/activate`)).body.status).toBe("activated");
  expect((await call("GET", `/v1/impressions/${erased}`)).status).toBe(404);
  await show(model, { keys: ["order 3"], shownAt: Date.now() - 1, features: undefined });
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 3, converted: 2, orphan: 0 });
});
