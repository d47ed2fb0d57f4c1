import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { policies, Recommender } from "afterclick";
import { expect, it } from "vitest";
import { createApp } from "../../../worker/edge/app.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  journalOf,
  keep,
  learnerOf,
  recommend,
  show,
  stateOf,
  statusesOf,
  statusOf,
} from "../support/client.ts";
import { closing, DAY_MS, forgetting, MINUTE_MS, ring, tick, useClock } from "../support/clock.ts";
import { failing, kv } from "../support/fault.ts";
import { expectConsistent, logOf } from "../support/fold.ts";

useClock();

const keptOf = async (model: string) => (await describeModel(model)).kept.map(({ version }) => version);

it("keeps the last eight, each with what was learnt by then", async () => {
  const model = await createModel();
  const digests = new Map<number, string>();
  for (let n = 0; n < 10; n++) {
    await show(model, { action: { id: `a${n}`, features: { brand: `b${n}` } } });
    digests.set(await keep(model), (await describeModel(model)).digest as string);
  }
  const kept = await keptOf(model);
  expect(kept).toEqual(Array.from(digests.keys()).toReversed().slice(0, 8));
  const rollback = (body: object) => call("POST", `/v1/models/${model}/rollback`, body);
  const [forgotten] = digests.keys();
  expect(await rollback({ version: forgotten })).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining(String(kept[0])) },
  });
  expect((await rollback({ version: kept[0] + 1 })).status).toBe(404);
  for (const version of [kept[1], kept[4], kept[7]]) {
    const done = await rollback({ version });
    expect(done).toMatchObject({ status: 200, body: { restored: version } });
    const { digest, modelVersion, published } = await describeModel(model);
    expect(digest).toBe(digests.get(version));
    expect([modelVersion, published?.version]).toEqual([done.body.modelVersion, done.body.modelVersion]);
    await expectConsistent(model);
  }
  // No rollback leads to a version that another rollback has undone.
  expect(await keptOf(model)).toEqual([expect.any(Number), kept[7]]);
  expect((await rollback({ version: kept[0] })).status).toBe(404);
});

it("leaves the lists that were shown in part by then", async () => {
  const model = await createModel({ holdout: 0.5 });
  const lists: string[][] = [];
  for (let n = 0; n < 4; n++) {
    lists.push(await recommend(model, { defer: true, limit: 3 }));
    await call("POST", `/v1/impressions/${lists[n][0]}/activate`);
    expect(statusesOf(await convert({ impressionId: lists[n][0], reward: 1 }))).toEqual(["applied"]);
    tick(MINUTE_MS);
  }
  const version = await keep(model);
  for (const [, second, third] of lists) {
    await call("POST", `/v1/impressions/${second}/activate`);
    expect(statusesOf(await convert({ impressionId: second, reward: 1 }))).toEqual(["applied"]);
    await call("POST", `/v1/impressions/${third}/activate`);
  }
  await expectConsistent(model);
  expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
  await expectConsistent(model);
});

it("keeps them however often the state is read", async () => {
  const model = await createModel();
  await show(model, { action: "mug" });
  const version = await keep(model);
  const { kept } = await describeModel(model);
  for (let n = 0; n < 9; n++) {
    await show(model, { action: "mug" });
    const { headers, body } = await call("GET", `/v1/models/${model}/snapshot`);
    const { digest, modelVersion } = await describeModel(model);
    expect(Number(headers.get("afterclick-version"))).toBe(modelVersion);
    expect((await Recommender.restore(new Uint8Array(body), { policies })).digest()).toBe(digest);
  }
  expect((await describeModel(model)).kept).toEqual(kept);
  expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
  await expectConsistent(model);
});

it("refuses a rollback without a version, names the kept ones with their times, and changes nothing", async () => {
  const model = await createModel();
  const times = new Map<number, number>();
  for (let n = 0; n < 2; n++) {
    tick(MINUTE_MS);
    await show(model, {});
    times.set(await keep(model), Date.now());
  }
  await show(model, { action: "tent" });
  const before = await describeModel(model);
  const expected = Array.from(times, ([version, at]) => ({ version, at })).toReversed();
  expect(before.kept.slice(0, 2)).toEqual(expected);
  const { status, body } = await call("POST", `/v1/models/${model}/rollback`, {});
  const [newest, older] = expected.map(({ version, at }) => `${version} of ${new Date(at).toISOString()}`);
  expect([status, body.detail]).toEqual([
    400,
    expect.stringMatching(`^version: expected the kept version .*: ${newest}, ${older}.*; got none$`),
  ]);
  expect({ ...(await describeModel(model)), bytes: 0 }).toEqual({ ...before, bytes: 0 });
  // The restored state is kept at the time of the rollback.
  tick(MINUTE_MS);
  const { body: done } = await call("POST", `/v1/models/${model}/rollback`, { version: expected[1].version });
  expect(done.kept).toEqual(before.kept);
  expect((await describeModel(model)).kept[0]).toEqual({ version: done.modelVersion, at: Date.now() });
});

/** Impressions and conversions before and after a kept snapshot. */
async function story(config: object = {}) {
  const model = await createModel(config);
  const [pending, converted, retracted, restated] = await show(
    model,
    {},
    { action: "tent" },
    { action: "lamp" },
    { action: { id: "hat", features: { brand: "Umbra" } } },
  );
  const at = Date.now();
  await convert({ impressionId: converted, reward: 0.5 }, { timestamp: at });
  await convert({ impressionId: restated, reward: 0.25 }, { timestamp: at });
  await convert({ impressionId: retracted, reward: 1 }, { timestamp: at });
  await convert({ impressionId: retracted }, { type: "conversion.retracted", timestamp: at + 1 });
  const waiting = { model, key: "order 9", reward: 0.5 };
  expect(statusesOf(await convert(waiting, { timestamp: at + 1, id: `msg_${model}_waiting` }))).toEqual(["orphan"]);
  const version = await keep(model);
  const before = await describeModel(model);
  const [since, deferred] = [await show(model, { action: "tent", keys: ["order 9"] }), await recommend(model, { defer: true })];
  const events = [
    [{ impressionId: pending, reward: 1 }, { id: `msg_${model}_pending` }],
    [
      { impressionId: restated, reward: 0.75 },
      { id: `msg_${model}_restated`, timestamp: at + 2 },
    ],
    [{ impressionId: converted }, { id: `msg_${model}_retracted`, timestamp: at + 2, type: "conversion.retracted" }],
    // A reward that is smaller than any other, after the retraction.
    [
      { impressionId: retracted, reward: 1 / 4096 },
      { id: `msg_${model}_least`, timestamp: at + 2 },
    ],
    [{ impressionId: since[0], reward: 1 }, { id: `msg_${model}_since` }],
  ] as const;
  for (const [data, options] of events) expect(statusesOf(await convert(data, { timestamp: at, ...options }))).toEqual(["applied"]);
  await call("POST", `/v1/impressions/${deferred[0]}/activate`);
  return { model, version, before, at, events, pending, converted, retracted, restated, since: since[0], deferred: deferred[0] };
}

it.each(["otf-lin-ts", "gp-ucb-sdf"])("undoes what %s learnt after a snapshot, and counts as it did then", async (policy) => {
  const options = policy.startsWith("gp") ? { kernel: { name: "matern52" } } : {};
  const { model, version, before, ...then } = await story({ policy, options });
  const delaysOf = async () => (await call("GET", `/v1/models/${model}/metrics`)).body.delays;
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 6, converted: 4, retracted: 1, applied: 10, orphan: 0 });
  expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
  const { digest, counts } = await describeModel(model);
  expect(digest).toBe(before.digest);
  // The waiting conversion has joined meanwhile, and no longer counts.
  expect(counts).toEqual({ ...before.counts, orphan: 0 });
  expect((await delaysOf()).reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(counts.converted);
  const statuses = [then.pending, then.converted, then.retracted, then.restated, then.since, then.deferred].map(statusOf);
  expect(await Promise.all(statuses)).toEqual(["pending", "converted", "retracted", "converted", "rolled-back", "rolled-back"]);
  await expectConsistent(model);
  await evictDurableObject(learnerOf(model));
  expect(await stateOf(model)).toEqual({ digest, counts });

  // The events of later impressions are late, old and new ones.
  const again = async (status: (of: string) => string) => {
    for (const [data, sent] of then.events) {
      expect(statusesOf(await convert(data, { timestamp: then.at, ...sent }))).toEqual([status(data.impressionId)]);
    }
  };
  expect(
    statusesOf(
      await convert([
        { impressionId: then.since, reward: 1 },
        { impressionId: then.deferred, reward: 1 },
      ]),
    ),
  ).toEqual(["late", "late"]);
  expect(statusesOf(await convert({ model, key: "order 9", reward: 1 }))).toEqual(["late"]);
  expect((await call("POST", `/v1/impressions/${then.since}/activate`)).status).toBe(404);
  expect((await describeModel(model)).digest).toBe(digest);
  await again((id) => (id === then.since ? "late" : "applied"));
  await again(() => "duplicate");
  expect(statusesOf(await convert({ impressionId: then.pending, reward: 0.25 }, { timestamp: then.at - 1 }))).toEqual(["applied"]);
  expect(statusesOf(await convert({ impressionId: then.restated, reward: 0.5 }, { timestamp: then.at + 3 }))).toEqual(["applied"]);
  expect((await describeModel(model)).counts).toMatchObject({
    converted: 3,
    retracted: 1,
    pending: 0,
    late: 4,
    applied: 10,
    duplicate: 5,
  });
  await expectConsistent(model);
});

it("does not bring back at closing what was rolled back, and closes only what counts", async () => {
  const { model, version, before } = await story({ holdout: 0 });
  await call("POST", `/v1/models/${model}/rollback`, { version });
  expect((await journalOf(model)).length).toBeGreaterThan(5);
  await ring(model, closing(Date.now()));
  await ring(model, Date.now() + DAY_MS);
  expect(await describeModel(model)).toMatchObject({
    digest: before.digest,
    counts: { applied: before.counts.applied, late: 0, expired: 1 },
    incidents: { missed: 0 },
  });
  const { buckets } = (await call("GET", `/v1/models/${model}/metrics`)).body;
  expect(buckets).toMatchObject([{ impressions: 4, converted: 2, reward: 0.75, closed: true }]);
  await expectConsistent(model);
});

it("takes back what closed books say", async () => {
  const model = await createModel();
  // The bucket of the earlier impressions is already closed.
  tick(MINUTE_MS);
  await call("POST", `/v1/models/${model}/reset`, {});
  tick();
  const [impressionId] = await show(model, {});
  const version = await keep(model);
  await convert({ impressionId, reward: 1 });
  await show(model, { action: "tent" });
  const buckets = async () => (await call("GET", `/v1/models/${model}/metrics`)).body.buckets;
  await ring(model, closing(Date.now()));
  expect(await buckets()).toMatchObject([{ impressions: 2, converted: 1, reward: 1, closed: true }]);
  expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
  expect(await buckets()).toMatchObject([{ impressions: 1, converted: 0, reward: 0, closed: true }]);
  await expectConsistent(model);
});

it("goes back beyond what is forgotten meanwhile", async () => {
  const model = await createModel({ retention: { ms: DAY_MS } });
  await show(model, {});
  const version = await keep(model);
  const before = await describeModel(model);
  tick(MINUTE_MS);
  const [impressionId] = await show(model, {}, {});
  await convert({ impressionId, reward: 1 });
  const shownAt = Date.now();
  await ring(model, closing(shownAt));
  await ring(model, forgetting(shownAt, DAY_MS));
  expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 3, converted: 1 });
  expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
  expect(await describeModel(model)).toMatchObject({
    digest: before.digest,
    counts: { impressions: 1, converted: 0, expired: 1, applied: 0 },
  });
});

it("says so when there is nothing to go back to", async () => {
  const model = "never-published";
  await call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS } }, { env: { EVENTS: kv(failing("put")) } });
  await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => void sql.exec("DELETE FROM snapshots"));
  for (const body of [{}, { version: 1 }]) expect((await call("POST", `/v1/models/${model}/rollback`, body)).status).toBe(409);
});

it("keeps no snapshot of what it undoes, though one falls due with that", async () => {
  // A snapshot of few features falls due after 2,000 rows.
  const model = await createModel({ encoder: { dimension: 64 } });
  await show(model, {});
  const version = await keep(model);
  for (const length of [999, 1000]) await show(model, ...Array.from({ length }, () => ({})));
  const done = await call("POST", `/v1/models/${model}/rollback`, { version });
  expect(done.body).toMatchObject({ restored: version, modelVersion: version + 2000 });
  expect((await logOf(model)).at(-1)).toMatchObject({ type: "mark", mark: "rollback", content: { to: version }, seq: version + 2000 });
});

it("shows by the restored snapshot at the edge", async () => {
  const model = await createModel({ serving: "edge" });
  const isolate = createApp();
  const shownBy = async () => (await call("POST", `/v1/models/${model}/recommendations`, {}, { isolate })).body.modelVersion;
  const version = await keep(model);
  await recommend(model);
  const newest = await keep(model);
  expect(await shownBy()).toBe(newest);
  const { modelVersion } = (await call("POST", `/v1/models/${model}/rollback`, { version })).body;
  expect(modelVersion).toBeGreaterThan(newest);
  expect((await call("POST", `/v1/models/${model}/recommendations`, {})).body.modelVersion).toBe(modelVersion);
  tick(15_000);
  await shownBy();
  expect(await shownBy()).toBe(modelVersion);
});
