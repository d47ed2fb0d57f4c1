import { afterEach, expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { call, convert, createModel, describeModel, keep, show, statusesOf } from "../support/client.ts";
import { START, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { eventSource } from "../support/event-source.ts";
import { exported, fieldsOf, refusalOf, resealed } from "../support/exported.ts";
import { learners, unreachable } from "../support/fault.ts";
import type { Line } from "../support/fold.ts";
import { seedIds } from "../support/lived.ts";

// The log of a model whose events are shared by several learners: one file that is replayed.

useClock();
afterEach(() => void vi.restoreAllMocks());

const EDGE = { serving: "edge", encoder: { dimension: 16, interactions: "all" }, minimumShare: 0.1 };
const sharded = (shards: number, body: object = {}): Promise<string> => createModel({ ...EDGE, shards, ...body });

/**
 * Publishes some times, and lets an isolate decide by what is published. Conversions come with and without keys. Two impressions a round,
 * and one of each fifth round was decided elsewhere.
 */
async function live(model: string, from: number, to: number): Promise<string[]> {
  const isolate = createApp();
  const shown: string[] = [];
  for (let n = from; n < to; n++) {
    tick(11_000);
    const body = { context: { country: n % 2 === 0 ? "PT" : "DK" }, limit: 2, keys: [`visitor-${n}`, `cart-${n}`] };
    const { actions } = (await call("POST", `/v1/models/${model}/recommendations`, body, { isolate })).body;
    const [first, second] = actions.map(({ impressionId }: { readonly impressionId: string }) => impressionId);
    shown.push(first, second);
    if (n % 3 === 0) await convert({ impressionId: first, reward: 1 });
    if (n % 4 === 1)
      expect(statusesOf(await convert({ model, key: `cart-${n}`, action: actions[0].id, reward: 0.5 }))).toEqual(["applied"]);
    if (n % 7 === 3) await convert({ impressionId: second }, { type: "conversion.retracted" });
    if (n % 5 === 2) await show(model, { shownAt: Date.now() - 500, probability: 0.25 });
    if (n % 6 === 4) await keep(model);
  }
  return shown;
}

it.each([1, 3])("exports all rows of %d shards in an order in which they can be replayed", async (shards) => {
  seedIds();
  const model = await sharded(shards);
  await live(model, 0, 24);
  const log = await exported(model);
  const [head, ...lines] = log.map(fieldsOf);
  expect(head).toMatchObject({ lines: lines.length, after: 0, ...(shards > 1 && { shards }) });
  expect("shards" in head).toBe(shards > 1);
  expect(lines.filter(({ type }) => type === "impression")).toHaveLength(48 + 5);
  expect(new Set(lines.map(({ shard = 0 }) => shard)).size).toBe(shards);
  if (shards > 1) expect(lines.at(-1)).toMatchObject({ seq: head.modelVersion, mark: "merged", content: { digest: head.digest } });
  const { tally, lines: verified } = await verify(() => log);
  expect(verified).toBe(lines.length);
  expect(tally).toMatchObject({ decisions: 48, elsewhere: 5, before: 0 });
  expect(tally.digests).toBeGreaterThan(4);
});

it("replays a model that has grown, gone back while a shard could not be reached, and grown again", async () => {
  seedIds();
  const model = await sharded(1, { shadows: [{ name: "other", policy: "delay-lin-ucb" }] });
  await live(model, 0, 10);
  expect((await call("PATCH", `/v1/models/${model}`, { shards: 3 })).status).toBe(200);
  await live(model, 10, 20);
  const version = await keep(model);
  await live(model, 20, 30);
  const before = await exported(model);
  expect((await verify(() => before)).tally.decisions).toBe(60);
  const end = unreachable(model, 2);
  expect(await call("POST", `/v1/models/${model}/rollback`, { version })).toMatchObject({ status: 200 });
  expect(complaints()).toContain("an alarm's task failed Unreachable");
  expect(await call("GET", `/v1/models/${model}/events`)).toMatchObject({ status: 503 });
  end();
  await live(model, 30, 36);
  expect((await call("PATCH", `/v1/models/${model}`, { shards: 5 })).status).toBe(200);
  await live(model, 36, 46);
  const log = await exported(model);
  const lines = log.map(fieldsOf);
  expect(lines.filter(({ mark }) => mark === "rollback").map(({ shard = 0 }) => shard)).toEqual([0, 1, 2]);
  expect(new Set(lines.filter(({ mark }) => mark === "merged").map(({ content }) => content.shards.length))).toEqual(new Set([3, 5]));
  const { tally, head } = await verify(() => log);
  expect(tally).toMatchObject({ decisions: 92, elsewhere: 9 });
  expect(head.digest).toBe((await describeModel(model)).digest);
  const left = lines.filter(({ state, decision }) => state === "live" && decision.candidates !== null);
  expect(left.length).toBeLessThan(92 - 20 + 1);
  const { decisions, leftOut } = await eventSource(log, { progress: () => {} });
  expect(decisions.length + (leftOut.get("below the first place of a list") ?? 0)).toBe(left.length);
});

it("exports the sums of a shard that cannot be reached as they were", async () => {
  const model = await sharded(3);
  await live(model, 0, 6);
  await keep(model);
  const end = unreachable(model, 1);
  // Enough rounds that isolates choose shard 1 too.
  await live(model, 6, 30);
  const without = await exported(model);
  const ofShard = ({ shard, type }: Line) => shard === 1 && type === "impression";
  expect((await verify(() => without)).lines).toBe(without.length - 1);
  end();
  const whole = await exported(model);
  expect(whole.map(fieldsOf).filter(ofShard).length).toBeGreaterThan(without.map(fieldsOf).filter(ofShard).length);
  expect((await verify(() => whole)).tally.decisions).toBe(60);
});

it("continues after an earlier export, and refuses any other beginning", async () => {
  const model = await sharded(3);
  await live(model, 0, 8);
  const parts = [await exported(model)];
  await live(model, 8, 14);
  await keep(model);
  await live(model, 14, 16);
  const [{ modelVersion }] = parts[0].map(fieldsOf);
  parts.push(await exported(model, modelVersion));
  const [head, ...lines] = parts[1].map(fieldsOf);
  expect(head).toMatchObject({ after: modelVersion, lines: lines.length });
  const [, ...whole] = (await exported(model)).map(fieldsOf);
  expect([...parts[0].slice(1).map(fieldsOf), ...lines]).toEqual(whole);
  expect(await refusalOf(parts[1])).toContain(`starts after event ${modelVersion}`);
  const others = whole.filter(({ shard, mark }) => !shard && mark !== "merged").map(({ seq }) => seq);
  for (const after of [others[0], others[others.length - 1], 1e9]) {
    const reply = await call("GET", `/v1/models/${model}/events?after=${after}`);
    expect(reply).toMatchObject({ status: 422, body: { detail: expect.stringContaining("after: expected 0 or") } });
  }
  // Nothing has happened since.
  expect(await exported(model, head.modelVersion)).toHaveLength(1);
});

it("has the conversions with keys in the shard of their impression, whichever comes first", async () => {
  const model = await sharded(8);
  const event = (key: string) => convert({ model, key, reward: 1 }, { id: `of-${key}`, timestamp: START });
  const keys = Array.from({ length: 20 }, (_, i) => `order-${i}`);
  for (const key of keys.slice(0, 10)) await event(key);
  const waiting = await exported(model);
  expect(waiting.map(fieldsOf).filter(({ status }) => status === "orphan")).toHaveLength(10);
  await verify(() => waiting);
  await show(model, ...keys.slice(0, 18).map((key, i) => ({ keys: [`visitor-${i}`, key], shownAt: START - 1000 })));
  for (const key of keys.slice(10)) await event(key);
  const log = await exported(model);
  const lines = log.map(fieldsOf);
  const homes = new Map(lines.filter(({ type }) => type === "impression").map(({ id, shard = 0 }) => [id, shard]));
  const joined = lines.filter(({ type, status }) => type === "conversion" && status === "applied");
  expect(joined).toHaveLength(18);
  for (const { impression, shard = 0 } of joined) expect(homes.get(impression)).toBe(shard);
  expect((await verify(() => log)).tally).toMatchObject({ elsewhere: 18, conversions: 20 });
  const alone = await sharded(1);
  const taken = { impressions: 18, conversions: { applied: 18, orphan: 2 } };
  expect(await call("POST", `/v1/models/${alone}/events`, log.join("\n"))).toMatchObject({ status: 200, body: taken });
  expect((await describeModel(alone)).digest).toBe((await describeModel(model)).digest);
});

it("exports pages of several shards, without rows that are added while it is read", async () => {
  const model = await sharded(3);
  for (let n = 0; n < 4; n++) await show(model, ...Array.from({ length: 900 }, (_, i) => ({ shownAt: START - n * 1000 - i })));
  let pages = 0;
  const growing = learners(async (method, read) => {
    if (method === "log" && ++pages === 2) {
      await show(model, ...Array.from({ length: 30 }, () => ({ shownAt: START })));
      await keep(model);
    }
    return read();
  });
  const { body } = await call("GET", `/v1/models/${model}/events`, undefined, { env: { LEARNER: growing } });
  const log = body.trimEnd().split("\n");
  expect(pages).toBeGreaterThan(4);
  expect((await verify(() => log)).tally.elsewhere).toBe(3600);
  expect((await describeModel(model)).counts.impressions).toBe(3630);
});

it("says what it cannot show: an erasure in any shard, and forgotten events", async () => {
  const model = await sharded(3);
  // Six visitors have one home in one of 243 models, and twelve hardly ever.
  const shown = await live(model, 0, 12);
  for (const id of shown) expect((await call("DELETE", `/v1/impressions/${id}`)).status).toBe(204);
  const log = await exported(model);
  expect(await refusalOf(log)).toContain("was erased");
  const [head, ...lines] = log.map(fieldsOf);
  expect(lines).toHaveLength(head.lines);
  expect(new Set(lines.filter(({ mark }) => mark === "erasure").map(({ shard = 0 }) => shard)).size).toBeGreaterThan(1);
  expect(await refusalOf(resealed([{ ...head, horizon: head.generation + 1 }, ...lines]))).toContain(
    "as the archives of 3 shards cannot be put together yet",
  );
});

it("finds what was altered in a row of any shard, or between shards, though all receipts were made anew", async () => {
  seedIds();
  const model = await sharded(3);
  await live(model, 0, 24);
  const log = await exported(model);
  const lines = log.map(fieldsOf);
  const find = (test: (line: Line) => boolean, name: "findIndex" | "findLastIndex" = "findIndex"): number => {
    const place = lines[name](test);
    expect(place).toBeGreaterThan(0);
    return place;
  };
  const first = find(({ shard, decision, version }) => shard === 1 && decision?.probability < 1 && version > 10);
  const converted = find(({ shard, type, status }) => shard > 0 && type === "conversion" && status === "applied");
  const snapshot = find(({ shard, mark }) => shard === 2 && mark === "snapshot");
  const merged = find(({ mark }) => mark === "merged", "findLastIndex");
  const before = find(({ shard, type }) => shard > 0 && type === "impression", "findLastIndex");
  const other = (place: number) => ({ ...lines[place], shard: 3 - lines[place].shard });
  const digest = "0123456789abcdef";
  const { content } = lines[merged];
  const cases: [string, Line[], RegExp][] = [
    [
      "decision",
      lines.with(first, { ...lines[first], decision: { ...lines[first].decision, probability: 0.5 } }),
      /^line \d+, event \d+ of shard 1, impr/,
    ],
    ["version", lines.with(first, { ...lines[first], version: lines[first].version - 1 }), /^line \d+, event \d+ of shard 1, impr/],
    [
      "later version",
      lines.with(first, { ...lines[first], version: lines[0].modelVersion }),
      /^line \d+, event \d+ of shard 1, .*never existed/,
    ],
    ["reward", lines.with(converted, { ...lines[converted], reward: 0.25 }), /^line \d+, event \d+/],
    [
      "snapshot",
      lines.with(snapshot, { ...lines[snapshot], content: { ...lines[snapshot].content, digest } }),
      /^line \d+, event \d+ of shard 2, snapshot: digest/,
    ],
    ["merged digest", lines.with(merged, { ...lines[merged], content: { ...content, digest } }), /^line \d+, event \d+, merged: digest/],
    [
      "merged shards",
      lines.with(merged, { ...lines[merged], content: { ...content, shards: content.shards.slice(1) } }),
      /^line \d+, event \d+, merged/,
    ],
    [
      "an older version",
      lines.with(merged, { ...lines[merged], content: { ...content, shards: [1, 1, 1] } }),
      /^line \d+, event \d+, merged/,
    ],
    [
      "a fourth shard",
      lines.with(first, { ...lines[first], shard: 3 }),
      /^line \d+, event \d+ of shard 3, .*shard: expected a number from 0 to 2, got 3/,
    ],
    ["half a shard", lines.with(first, { ...lines[first], shard: 0.5 }), /shard: expected a whole number/],
    ["another shard", lines.with(first, other(first)), /^line \d+, event \d+/],
    ["a missing row", lines.toSpliced(before, 1), /^line 1, the head: expected|^line \d+, event \d+/],
    [
      "a missing row that nobody counts",
      [{ ...lines[0], lines: lines.length - 2 }, ...lines.slice(1).toSpliced(before - 1, 1)],
      /^line \d+, event \d+/,
    ],
    ["a row after the sums", [...lines.toSpliced(before, 1), lines[before]], /^line \d+, event \d+/],
    ["no merged sums", [{ ...lines[0], lines: merged - 1 }, ...lines.slice(1, merged)], /^the head: digest/],
    [
      "a mark of the model",
      lines.with(snapshot, { ...lines[snapshot], mark: "merged", content }),
      /mark: expected a known kind, got merged/,
    ],
    ["head", lines.with(0, { ...lines[0], digest }), /^the head: digest/],
  ];
  expect(await refusalOf(resealed(lines))).toBe("none");
  for (const [name, altered, expected] of cases) expect(await refusalOf(resealed(altered)), name).toMatch(expected);
  // Without new receipts, any changed character and any missing line shows.
  for (const place of [first, snapshot, merged]) {
    expect(
      await refusalOf(
        log.with(
          place,
          log[place].replace(/\d(?=\D*$)/, (digit) => String(9 - Number(digit))),
        ),
      ),
    ).toMatch(/^line \d+/);
    expect(await refusalOf(log.toSpliced(place, 1))).toMatch(place < log.length - 1 ? /^line \d+/ : /^line 1, the head: expected/);
  }
});
