import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Disk, durableStorage } from "../../../trials/simulation/workerd/durable-storage.ts";
import { Isolate } from "../../../trials/simulation/workerd/isolate.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { configureModel } from "../../../worker/domain/model/model.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";

const START = 1_795_262_400_000;
/** More than the arguments of a call, and more ids than a value of the database holds. */
const MANY = 140_000;
const faultless = { strikes: () => undefined, call: () => undefined, kv: () => undefined, below: () => 0, pause: async () => {} };

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START + MANY }));
afterEach(() => void vi.useRealTimers());

it("undoes any number of impressions at once", async () => {
  const config = await configureModel({ window: { ms: 7_200_000 } });
  const disk = new Disk();
  const store = new LearnerStore(durableStorage(disk, new Isolate("learner", faultless)));
  store.create({ name: "shop", config, generation: START, watermark: 0, homes: 1 });
  const longest = vi.spyOn(store.database, "query");
  const decision = { score: 0, mean: 0, width: 0, probability: 0.5, place: 0, candidates: 2 };
  const shown = Array.from({ length: MANY }, (_, round) => ({
    ...{ id: uuidAt(START + round, new Uint8Array(10)), name: null, action: "mug", arm: "policy" as const, keys: [], byPage: false },
    ...{ features: new Float64Array(1), context: null, version: 1, decision },
  }));
  const marks = shown.map((_, round) => ({ slots: [round], round: round + 1 }));
  store.transact(() => store.impressions.insert(shown, marks, config));
  expect(store.tallies.countSince(0)).toBe(MANY);
  longest.mockClear();
  store.transact(() => store.impressions.voidAfter(0, config));
  expect(store.tallies.countSince(0)).toBe(0);
  const lengths = longest.mock.calls.flatMap(([, ...values]) => values.map((value) => (typeof value === "string" ? value.length : 0)));
  expect(lengths.reduce((most, length) => Math.max(most, length), 0)).toBeLessThan(2_000_000);
  disk.close();
});
