import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { policies, Recommender } from "afterclick";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { ConversionEvent } from "../../../worker/domain/conversion/event.ts";
import { NO_KEYS } from "../../../worker/domain/ids/join-key.ts";
import { shownAtOf, uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import type { Answer, DecidedElsewhere } from "../../../worker/rpc/message.ts";
import { call, convert, createModel, describeModel, HOUR_MS, learnerOf, recommend } from "../support/client.ts";

const shownAt = Date.now() - 10_000;
const idOf = (n: number, time = shownAt): string => uuidAt(time, new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, n >> 8, n]));
const shownAs = (id: string, action: string): DecidedElsewhere => ({
  id,
  name: null,
  action: { id: action },
  context: { country: "PT" },
  keys: NO_KEYS,
});
const shown = Array.from({ length: 4 }, (_, n) => shownAs(idOf(n), ["tent", "mug", "lamp"][n % 3]));

async function value<T>(answer: Promise<Answer<T>>): Promise<T> {
  const settled = await answer;
  if ("problem" in settled) throw new Error(settled.problem.detail);
  return settled.value;
}

const event = (n: number, fields: Partial<ConversionEvent> = {}): ConversionEvent => {
  return { impression: idOf(n), goal: "conversion", event: `msg_${n}`, reward: 0.5, at: shownAt + 1000, ...fields };
};

async function stateOf(model: string) {
  const { digest, counts } = await describeModel(model);
  return { digest, counts };
}

it("keeps its digest through snapshots and evictions, and does not replay what a snapshot holds", async () => {
  const model = await createModel({ encoder: { dimension: 512 } });
  const learner = learnerOf(model);
  for (let batch = 0; batch < 3; batch++) {
    const items = Array.from({ length: 500 }, (_, i) => shownAs(idOf(batch * 500 + i), ["tent", "mug", "lamp"][i % 3]));
    await value(learner.register(items));
    await value(learner.ingest(items.slice(0, 100).map(({ id }, i) => event(i, { impression: id, event: `msg_${batch}_${i}` }))));
  }
  const before = await stateOf(model);
  expect(before.counts).toMatchObject({ impressions: 1500, converted: 300 });
  const { kept } = await describeModel(model);
  expect((await call("GET", `/v1/models/${model}/snapshot`)).status).toBe(200);
  const snapshot = await runInDurableObject(learner, (_, { storage }) => {
    // Only events after the newest snapshot may be read. Without the older ones the state is the same.
    const newest = storage.sql
      .exec<{ seq: number; chunks: number }>("SELECT seq, count(*) AS chunks FROM snapshots GROUP BY seq ORDER BY seq DESC LIMIT 1")
      .one();
    storage.sql.exec("DELETE FROM conversions WHERE seq <= ?", newest.seq);
    return newest;
  });
  expect(snapshot.seq).toBeGreaterThanOrEqual(1000);
  // A rollback goes back to what was kept, not to a snapshot that only shortens a start.
  expect(Math.max(...kept.map(({ version }) => version))).toBeLessThan(1000);
  // Larger than the limit of a row.
  expect(snapshot.chunks).toBeGreaterThan(1);
  await evictDurableObject(learner);
  expect(await stateOf(model)).toEqual(before);
});

it("decides as the SDK's own ledger does, over any sequence of deliveries", async () => {
  const fields = {
    impression: fc.nat({ max: 4 }).map((n) => idOf(n)),
    goal: fc.constantFrom("conversion", "review"),
    event: fc.constantFrom("a", "b", "c"),
    reward: fc.constantFrom(0, 0.25, 1),
    at: fc.constantFrom(shownAt, shownAt + 1, shownAt + HOUR_MS, shownAt + HOUR_MS + 1),
  };
  // Objects without a prototype cannot be sent.
  const delivery = fc.record(fields, { noNullPrototype: true });
  await fc.assert(
    fc.asyncProperty(fc.array(delivery, { maxLength: 25 }), async (deliveries) => {
      const model = await createModel();
      const { policy, options, window, encoder } = await describeModel(model);
      const descriptor = policies.find(({ id }) => id === policy) as unknown as (options: object) => never;
      const sdk = await Recommender.create({ policy: descriptor(options), window });
      await value(learnerOf(model).register(shown));
      expect(encoder).toMatchObject({ dimension: 32 });
      await runInDurableObject(learnerOf(model), (_, { storage }) => {
        for (const { id, features } of new LearnerStore(storage).impressions.after(0)) {
          sdk.register({ impressionId: id, features, now: shownAtOf(id) });
        }
      });
      const seen = new Set<string>();
      for (const each of deliveries) {
        const [{ status }] = await value(learnerOf(model).ingest([each]));
        const { impression: impressionId, goal, event: eventId, reward, at } = each;
        const theirs = sdk.convert({ impressionId, goal, eventId, reward, at }).status;
        // The learner remembers events that the SDK does not: late ones, and those whose impression may still arrive.
        const text = JSON.stringify(each);
        expect(status).toBe(seen.has(text) ? "duplicate" : theirs === "unknown" ? "orphan" : theirs);
        seen.add(text);
        expect((await describeModel(model)).digest).toBe(sdk.digest());
      }
    }),
    { numRuns: 15 },
  );
});

it("counts the impressions whose window has closed, by action and context, each once", async () => {
  const model = await createModel();
  const learner = learnerOf(model);
  const past = Date.now() - HOUR_MS - 5000;
  const ids = [0, 1, 2].map((n) => idOf(n, past + n));
  await value(learner.register(ids.map((id, n) => ({ ...shownAs(id, "mug"), ...(n === 2 && { context: { country: "ES" } }) }))));
  await value(learner.ingest([event(0, { impression: ids[0], at: past + 1000 })]));
  await recommend(model, { actions: [{ id: "mug" }], context: { country: "PT" } });
  const closed = async (country: string) => (await value(learner.estimates({ country }))).map((estimate) => estimate.closed);
  const none = { impressions: 0, converted: 0 };
  for (let look = 0; look < 2; look++) expect(await closed("PT")).toEqual([none, { impressions: 2, converted: 1 }, none]);
  expect((await closed("ES"))[1]).toEqual({ impressions: 1, converted: 0 });
  await evictDurableObject(learner);
  expect((await closed("PT"))[1]).toEqual({ impressions: 2, converted: 1 });
});

it("estimates every product in a context, in the order of the catalogue, and nothing without a catalogue", async () => {
  const model = await createModel();
  const [mug] = await recommend(model, { actions: [{ id: "mug" }], context: { country: "PT" } });
  await convert({ impressionId: mug, reward: 1 });
  const estimates = await value(learnerOf(model).estimates({ country: "PT" }));
  expect(estimates.map(({ id }) => id)).toEqual(["tent", "mug", "lamp"]);
  const means = estimates.map(({ belief }) => belief?.mean as number);
  expect(means[1]).toBeGreaterThan(Math.max(means[0], means[2]));
  for (const { belief } of estimates) {
    expect(belief?.low).toBeLessThan(belief?.mean as number);
    expect(belief?.high).toBeGreaterThan(belief?.mean as number);
  }
  await call("PUT", `/v1/models/${model}/actions`, []);
  expect(await value(learnerOf(model).estimates({ country: "PT" }))).toEqual([]);
});
