import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { featurizer, vectorAt } from "afterclick/research";
import { expect, it, vi } from "vitest";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { encoded, type Shown } from "../../../worker/edge/outbox.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { stream } from "../../support/scenario.ts";
import { call, createModel, describeModel, HOUR_MS, learnerOf } from "../support/client.ts";
import { useClock } from "../support/clock.ts";

// Impressions that an isolate registers become blocks.

useClock();

const DAY_MS = 24 * HOUR_MS;
const LIMIT = 5;
const random = stream(7);
const one = (of: number) => Math.floor(random() * of);

const actions = Array.from({ length: 200 }, (_, i) => ({
  id: `product-${i}`,
  features: { brand: `brand-${i % 7}`, category: `category-${i % 5}`, price: (i * 37) % 200 },
}));

/** A model with 128 features, and what an isolate shows of it: so many impressions in lists of five. */
async function shop() {
  const ranges = { price: { min: 0, max: 200 }, hour: { min: 0, max: 24 } };
  const options = { serving: "edge", window: { ms: 7 * DAY_MS }, encoder: { dimension: 128, numeric: ranges, interactions: "all" } };
  const model = await createModel(options);
  const { generation, modelVersion: version, encoder } = await describeModel(model);
  const { points: pointsIn } = featurizer(encoder);
  const show = (impressions: number, shownAt = Date.now()): Shown[] =>
    Array.from({ length: impressions / LIMIT }, () => {
      const context = { country: `country-${one(30)}`, device: `device-${one(3)}`, hour: one(24), returning: random() < 0.5 };
      const points = pointsIn(context, actions);
      const ids = Array.from({ length: LIMIT }, () =>
        uuidAt(
          shownAt,
          Uint8Array.from({ length: 10 }, () => one(256)),
        ),
      );
      const rows = ids.map((id, place) => {
        const index = one(actions.length);
        const scores = { score: random(), mean: random(), width: random(), probability: random() };
        return {
          ...{ id, name: null, action: actions[index].id, features: vectorAt(points, index, actions.length), context },
          decision: { ...scores, place, candidates: actions.length, ...(place > 0 && { first: ids[0] }) },
          ...{ arm: "policy" as const, version, keys: [], byPage: false },
        };
      });
      return { generation, rows, unsampled: 0, byPage: false, deferred: false };
    });
  const register = (shown: readonly Shown[]) => learnerOf(model).registerShown({ ...encoded(shown), dropped: 0, keptOut: 0 });
  return { model, show, register };
}

it("an impression of a batch of a hundred takes at most 0.055 written rows and 200 bytes", async () => {
  const { model, show, register } = await shop();
  await register(show(100));
  const before = await describeModel(model);
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => {
    const prototype = Object.getPrototypeOf(sql);
    const { exec } = prototype;
    vi.spyOn(prototype, "exec").mockImplementation(function (this: SqlStorage, ...given: unknown[]) {
      const cursor = exec.apply(this, given);
      cursors.push(cursor);
      return cursor;
    });
  });
  for (let batch = 0; batch < 50; batch++) {
    vi.setSystemTime(Date.now() + 1000);
    await register(show(100));
  }
  const rows = cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
  vi.restoreAllMocks();
  const after = await describeModel(model);
  expect(after.counts.impressions - before.counts.impressions).toBe(5000);
  expect(rows / 5000).toBeLessThanOrEqual(0.055);
  // Snapshots of the state replace each other, and do not grow with the impressions.
  const blocks = await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) =>
    sql.exec<{ bytes: number }>("SELECT sum(length(content)) AS bytes FROM blocks").one(),
  );
  expect(blocks.bytes / 5100).toBeLessThanOrEqual(200);
  expect((after.bytes - before.bytes) / 5000).toBeLessThanOrEqual(300);
});

it("a conversion finds its impression by the time in its id, among blocks of the same time", async () => {
  const { model, show, register } = await shop();
  const now = Date.now();
  const shown = [0, 0, 1, 500, 999, 2000, 59_000, 3_000_000].map((age) => show(10, now - age));
  for (const batch of [[...shown[0], ...shown[4]], shown[1], [...shown[7], ...shown[2]], shown[3], [...shown[5], ...shown[6]]]) {
    await register(batch);
  }
  const ids = shown.flat().flatMap(({ rows }) => rows.map(({ id }) => id));
  const found = await inStore(model, ({ impressions }) => ids.map((id) => impressions.find(id)));
  expect(found.map((impression) => impression?.id)).toEqual(ids);
  const rows = shown.flat().flatMap((decision) => decision.rows);
  expect(found.map((impression) => impression?.decision)).toEqual(rows.map(({ decision }) => decision));
  expect(found.map((impression) => impression?.features)).toEqual(rows.map(({ features }) => features));
  const unknown = show(5, now - 1).flatMap((decision) => decision.rows.map(({ id }) => id));
  expect(await inStore(model, ({ impressions }) => unknown.filter((id) => impressions.find(id)))).toEqual([]);
});

it("a repeated registration changes nothing, and one that repeats some impressions adds the others", async () => {
  const { model, show, register } = await shop();
  const [first, second] = [show(20), show(20)];
  await register(first);
  const before = await describeModel(model);
  await register(first);
  expect(await describeModel(model)).toEqual(before);
  await register([...first, ...second]);
  const { counts, digest } = await describeModel(model);
  expect(counts.impressions).toBe(40);
  await evictDurableObject(learnerOf(model));
  expect(await describeModel(model)).toMatchObject({ counts, digest });
});

it("an impression that comes twice under its own name in one request is registered once", async () => {
  const model = await createModel();
  const shownAt = Date.now();
  const item = (time: number) => ({ id: "view 1", action: "mug", shownAt: time });
  const { body } = await call("POST", `/v1/models/${model}/impressions`, [item(shownAt - 1000), item(shownAt)]);
  expect(body.impressions.map(({ status }: { status: string }) => status)).toEqual(["registered", "duplicate"]);
  expect((await describeModel(model)).counts.impressions).toBe(1);
});

it("impressions of other times fill blocks of their own bucket", async () => {
  const { model, show, register } = await shop();
  const hour = Date.now() - (Date.now() % HOUR_MS);
  vi.setSystemTime(hour + 1);
  await register([...show(5, hour - 1), ...show(5, hour)]);
  const blocks = await inStore(model, ({ database }) => database.query("SELECT count, first, last FROM blocks ORDER BY seq"));
  expect(blocks).toEqual([
    { count: 5, first: hour - 1, last: hour - 1 },
    { count: 5, first: hour, last: hour },
  ]);
});

it("a block that is not whole is refused, and nothing changes", async () => {
  const { model, show, register } = await shop();
  await register(show(5));
  const before = await describeModel(model);
  const { block, ...registration } = encoded(show(10));
  const cut = { ...registration, block: (block as Uint8Array<ArrayBuffer>).slice(0, -1), dropped: 0, keptOut: 0 };
  const refusal = (detail: RegExp) => ({ problem: { status: 422, detail: expect.stringMatching(detail) } });
  expect(await learnerOf(model).registerShown(cut)).toEqual(refusal(/^expected a block of \d+ bytes, got \d+$/));
  const fewer = { decisions: registration.decisions.slice(1), block, dropped: 0, keptOut: 0 };
  expect(await learnerOf(model).registerShown(fewer)).toEqual(refusal(/^expected a block of 5 impressions, got 10$/));
  expect(await describeModel(model)).toEqual(before);
});

function inStore<T>(model: string, work: (store: LearnerStore) => T): Promise<T> {
  return runInDurableObject(learnerOf(model), (_, { storage }) => work(new LearnerStore(storage)));
}
