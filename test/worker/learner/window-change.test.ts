import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  keep,
  learnerOf,
  recommend,
  show,
  statusesOf,
  statusOf,
} from "../support/client.ts";
import { MINUTE_MS, START, tick, useClock } from "../support/clock.ts";
import { exported } from "../support/exported.ts";
import { failing, learners } from "../support/fault.ts";
import { expectConsistent } from "../support/fold.ts";
import { metadataOf, session, stripe } from "../support/sent.ts";

// A model learns its log again under another window. Impressions from before, their ids and their keys go on under the new one.

useClock();
afterEach(() => void vi.restoreAllMocks());

const goals = { purchase: { weight: 1, value: { currency: "EUR" } } };
const encoder = { dimension: 16, interactions: "all" };
/** Minutes after the start. */
const at = (minutes: number) => START + minutes * MINUTE_MS;
const until = (minutes: number) => void vi.setSystemTime(at(minutes));
const model = (shards: number, body: object = {}) =>
  createModel({ goals, encoder, holdout: 0.5, ...(shards > 1 && { serving: "edge", shards }), ...body });
const order = async (of: object, id: string, minutes: number, options: object = {}) => {
  const data = { ...of, goal: "purchase", reward: 10, currency: "EUR" };
  return statusesOf(await convert(data, { id, timestamp: at(minutes), ...options }))[0];
};

const ringAll = async (name: string, shards: number) => {
  for (let shard = shards - 1; shard >= 0; shard--) await runDurableObjectAlarm(learnerOf(shardName(name, shard)));
};

async function changed(name: string, shards: number, body: object): Promise<void> {
  expect((await call("POST", `/v1/models/${name}/reset`, { from: "log", ...body })).status).toBe(202);
  for (let i = 0; i < 20 && (await describeModel(name)).relearning; i++) {
    tick(6000);
    await ringAll(name, shards);
  }
  expect(await describeModel(name)).toMatchObject({ relearning: null, ...body });
}

/** The digest of a new model of the window that takes the log. */
async function importedDigest(name: string, window: object): Promise<string | null> {
  const copy = await model(1, { window });
  expect((await call("POST", `/v1/models/${copy}/events`, (await exported(name)).join("\n"))).status).toBe(200);
  return (await describeModel(copy)).digest;
}

async function expectRight(name: string, window: object): Promise<void> {
  await keep(name);
  const { digest } = await describeModel(name);
  expect(await importedDigest(name, window)).toBe(digest);
  const log = await exported(name);
  await verify(() => log);
}

describe.each([1, 3])("a model of %i shards", (shards) => {
  it("takes a longer window: orders of earlier impressions count, by id, by key and by a sender, also those that were late", async () => {
    const name = await model(shards);
    const ids = await show(
      name,
      ...Array.from({ length: 8 }, (_, i) => ({ id: `own-${i}`, action: ["tent", "mug", "lamp"][i % 3], keys: [`visitor-${i}-${name}`] })),
    );
    const [decided] = await recommend(name, { keys: [`reader-${name}`] });
    const key = (i: number) => ({ model: name, key: `visitor-${i}-${name}` });
    until(20);
    expect(await order({ impressionId: ids[0] }, `in-time-${name}`, 20)).toBe("applied");
    until(70);
    expect(await order({ impressionId: ids[1] }, `late-${name}`, 70)).toBe("late");
    expect(await order(key(2), `waits-${name}`, 70)).toBe("orphan");
    until(90);
    await ringAll(name, shards);
    expect(await order({ impressionId: ids[3] }, `closed-${name}`, 90)).toBe("late");
    expect(await order(key(4), `waited-${name}`, 75)).toBe("orphan");
    // It waits until the bucket of its time closes.
    until(160);
    await ringAll(name, shards);
    // Keys of other shards' impressions wait longer.
    const { applied, late, orphan } = (await describeModel(name)).counts;
    expect([applied, late + orphan]).toEqual([1, 4]);

    const [deferred] = await recommend(name, { defer: true });

    const window = { ms: 4 * HOUR_MS };
    const refused = await call("PATCH", `/v1/models/${name}`, { window });
    expect(refused).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/window\.ms: expected 3600000, got 14400000.*"from": "log"/) },
    });
    await changed(name, shards, { window });
    await learnerOf(name).heal();
    await keep(name);
    expect((await describeModel(name)).counts).toMatchObject({ impressions: 9, converted: 5, applied: 5, late: 0, orphan: 0 });
    expect(await Promise.all(ids.map(statusOf))).toEqual([...ids.slice(0, 5).map(() => "converted"), "pending", "pending", "pending"]);
    await expectRight(name, window);

    until(170);
    for (const status of ["applied", "duplicate"]) {
      expect(await order({ impressionId: ids[5] }, `id-${name}`, 170)).toBe(status);
      expect(await order(key(6), `key-${name}`, 170)).toBe(status);
      const { body } = await stripe(
        session({ id: `cs_${name}`, created: at(170) / 1000, amount_total: 1000, metadata: metadataOf([decided], [1000]) }),
      );
      expect(body.conversions).toMatchObject([{ status }]);
    }
    expect(await order({ impressionId: ids[1] }, `late-${name}`, 70)).toBe("duplicate");
    expect((await call("POST", `/v1/impressions/${deferred}/activate`)).body).toMatchObject({ status: "activated" });
    expect(await order({ impressionId: deferred }, `deferred-${name}`, 170)).toBe("applied");
    await expectRight(name, window);
    if (shards === 1) {
      await expectConsistent(name);
      await evictDurableObject(learnerOf(name));
      await expectConsistent(name);
    }
    until(310);
    await ringAll(name, shards);
    expect(await order({ impressionId: ids[7] }, `after-${name}`, 241)).toBe("late");
    expect(await describeModel(name)).toMatchObject({
      counts: { impressions: 10, converted: 9, late: 1, expired: 1 },
      incidents: { missed: 0 },
    });
    await expectRight(name, window);
  });

  it("takes a shorter window: what came after it does not count any more", async () => {
    const name = await model(shards);
    const ids = await show(name, ...Array.from({ length: 4 }, (_, i) => ({ id: `own-${i}`, keys: [`visitor-${i}-${name}`] })));
    until(40);
    const [young] = await show(name, { id: "own-9", keys: [`visitor-9-${name}`] });
    expect(await order({ impressionId: ids[0] }, `within-${name}`, 10)).toBe("applied");
    expect(await order({ impressionId: ids[1] }, `beyond-${name}`, 20)).toBe("applied");
    // Two versions of one event, of which the later one counts.
    expect(await order({ impressionId: ids[2] }, `twice-${name}`, 21)).toBe("applied");
    expect(await order({ impressionId: ids[2] }, `twice-${name}`, 9)).toBe("conflict");
    const window = { ms: 15 * MINUTE_MS };
    await changed(name, shards, { window });
    await keep(name);
    expect((await describeModel(name)).counts).toMatchObject({ impressions: 5, converted: 2, applied: 2, conflict: 0, late: 2 });
    await expectRight(name, window);
    until(54);
    expect(await order({ model: name, key: `visitor-9-${name}` }, `young-${name}`, 54)).toBe("applied");
    expect(await order({ impressionId: young }, `old-${name}`, 56)).toBe("late");
    expect(await order({ impressionId: ids[3] }, `older-${name}`, 16)).toBe("late");
    if (shards === 1) await expectConsistent(name);
    until(90);
    await ringAll(name, shards);
    expect(await describeModel(name)).toMatchObject({ counts: { converted: 3, late: 4, expired: 2 }, incidents: { missed: 0 } });
    await expectRight(name, window);
  });
});

it("a longer window and back leaves what there was, and a rollback to either restores its counts", async () => {
  const name = await model(1);
  const ids = await show(name, {}, { action: "tent" }, { action: "lamp" });
  until(10);
  await order({ impressionId: ids[0] }, `first-${name}`, 10);
  until(100);
  expect(await order({ impressionId: ids[1] }, `late-${name}`, 100)).toBe("late");
  const {
    bytes: _,
    kept: __,
    modelVersion: ___,
    published: ____,
    snapshot: _____,
    ...before
  } = (await describeModel(name)) as never as Record<string, object>;
  await changed(name, 1, { window: { ms: 2 * HOUR_MS } });
  const longer = await describeModel(name);
  expect(longer.counts).toMatchObject({ converted: 2, applied: 2, late: 0 });
  await order({ impressionId: ids[2] }, `second-${name}`, 101);
  // The newest has learnt what was late, and the oldest is that of the log.
  for (const [kept, applied] of [
    [longer.kept[0], 2],
    [longer.kept.at(-1), 1],
  ] as const) {
    expect((await call("POST", `/v1/models/${name}/rollback`, { version: kept?.version })).status).toBe(200);
    expect((await describeModel(name)).counts).toMatchObject({ impressions: 3, applied, converted: applied });
    await expectConsistent(name);
  }
  expect(await order({ impressionId: ids[1] }, `late-${name}`, 100)).toBe("applied");
  await changed(name, 1, { window: { ms: HOUR_MS } });
  const { digest, counts, conversionRate } = await describeModel(name);
  expect({ digest, counts, conversionRate }).toMatchObject({ digest: before.digest, counts: before.counts });
  await expectConsistent(name);
});

it("what only KV took under the earlier window is learnt under the new one", async () => {
  const name = await model(1, { window: { ms: 30 * MINUTE_MS } });
  const [id] = await show(name, {});
  await changed(name, 1, { window: { ms: 3 * HOUR_MS } });
  until(20);
  const env = { LEARNER: learners(failing("ingest")) };
  expect(await order({ impressionId: id }, `kv-${name}`, 20, { env })).toBe("accepted");
  // An id states the end of the earlier window, after which KV is no safe place any more.
  until(60);
  expect((await convert({ impressionId: id, goal: "purchase", reward: 1, currency: "EUR" }, { env })).status).toBe(503);
  await learnerOf(name).heal();
  expect(await statusOf(id)).toBe("converted");
  await expectRight(name, { ms: 3 * HOUR_MS });
});

it("a goal takes another window of its own in the same way", async () => {
  const name = await createModel({ goals: { click: { weight: 1 }, purchase: { weight: 2 } }, encoder });
  const [first, second] = await show(name, {}, {});
  until(20);
  expect(
    statusesOf(
      await convert(
        [first, second].map((impressionId) => ({ impressionId, goal: "click", reward: 1 })),
        { timestamp: at(10) },
      ),
    ),
  ).toEqual(["applied", "applied"]);
  expect(statusesOf(await convert({ impressionId: first, goal: "purchase", reward: 1 }, { timestamp: at(20) }))).toEqual(["applied"]);
  for (const [minutes, counted] of [
    [5, { applied: 1, late: 2, converted: 1 }],
    [60, { applied: 3, late: 0, converted: 2 }],
  ] as const) {
    await changed(name, 1, { goals: { click: { weight: 1, window: { ms: minutes * MINUTE_MS } }, purchase: { weight: 2 } } });
    expect((await describeModel(name)).counts).toMatchObject(counted);
    const log = await exported(name);
    await verify(() => log);
  }
});

it("windows whose buckets do not fit into each other follow one another", async () => {
  const name = await model(1);
  for (let i = 0; i < 12; i++) {
    until(11 * i);
    const [id] = await show(name, { action: ["tent", "mug", "lamp"][i % 3] }, {});
    await recommend(name, { limit: 2 });
    await order({ impressionId: id }, `own-${i}-${name}`, 11 * i + [0, 2, 4][i % 3]);
    if (i % 4 === 3) await ringAll(name, 1);
  }
  let now = 140;
  for (const minutes of [7, 50, 13, 300, 60]) {
    until(now);
    const window = { ms: minutes * MINUTE_MS };
    await changed(name, 1, { window });
    await expectRight(name, window);
    await expectConsistent(name);
    const [id] = await show(name, {});
    expect(await order({ impressionId: id }, `after-${minutes}-${name}`, now)).toBe("applied");
    now += 40;
    until(now);
    await ringAll(name, 1);
    await expectConsistent(name);
  }
  expect(await describeModel(name)).toMatchObject({ incidents: { missed: 0, refused: 0 } });
});
