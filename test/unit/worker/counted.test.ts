import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Disk, durableStorage } from "../../../trials/simulation/workerd/durable-storage.ts";
import { Isolate } from "../../../trials/simulation/workerd/isolate.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { NOTHING, type Outcome } from "../../../worker/domain/impression/outcome.ts";
import { configureModel } from "../../../worker/domain/model/model.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { document } from "../../../worker/openapi/document.ts";
import { FIGURE_NAMES, FIGURES } from "../../../worker/protocol/counted.ts";
import { stream } from "../../support/scenario.ts";

const START = 1_795_262_400_000;
const faultless = { strikes: () => undefined, call: () => undefined, kv: () => undefined, below: () => 0, pause: async () => {} };

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START }));
afterEach(() => void vi.useRealTimers());

it.each(FIGURE_NAMES)("%s is its sum over the impressions, whatever they have brought before, and documented", async (name) => {
  const random = stream(FIGURE_NAMES.indexOf(name));
  const config = await configureModel({ window: { ms: 7_200_000 } });
  const disk = new Disk();
  const store = new LearnerStore(durableStorage(disk, new Isolate("learner", faultless)));
  store.create({ name: "shop", config, generation: START, watermark: 0, homes: 1 });
  const outcomes: readonly Outcome[] = [
    NOTHING,
    { ...NOTHING, reward: 0 },
    { ...NOTHING, reward: 1, converted: true, delays: { "": 60_000 } },
    { ...NOTHING, reward: 0.5, converted: true, delays: { "": 7_000_000 } },
    { ...NOTHING, reward: 0, waits: true, delays: { click: 1000 } },
  ];
  const shown = Array.from({ length: 40 }, (_, round) => ({
    ...{ id: uuidAt(START + round, crypto.getRandomValues(new Uint8Array(10))), name: null, action: "mug", arm: "policy" as const },
    ...{ features: new Float64Array(2), context: null, version: 0, decision: null, keys: [], byPage: random() < 0.4 },
  }));
  const marks = shown.map((_, round) => ({ slots: [round], round: round + 1 }));
  store.transact(() => store.impressions.insert(shown, marks, config));
  for (let change = 0; change < 200; change++) {
    const impression = store.impressions.find(shown[Math.floor(random() * shown.length)].id);
    const after = outcomes[Math.floor(random() * outcomes.length)];
    store.transact(() => impression && store.impressions.change(impression, after, config));
  }
  const live = Array.from(store.impressions.liveBetween(START, START + 1000));
  expect(live.length).toBe(shown.length);
  expect(store.counters.all()[name]).toBe(live.reduce((sum, impression) => sum + FIGURES[name].of(impression), 0));
  expect(JSON.stringify(document("1.2.3"))).toContain(JSON.stringify(FIGURES[name].about).slice(1, -1));
  disk.close();
});
