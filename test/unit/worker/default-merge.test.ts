import { merge, policies, type Recommender } from "afterclick";
import { namedAction, vocabularyOf } from "afterclick/research";
import { expect, it } from "vitest";
import { shuffled } from "../../../src/simulation/stream.ts";
import { configureModel, featurizer, type ModelConfig, startModel } from "../../../worker/domain/model/model.ts";
import { stream } from "../../support/scenario.ts";

// Parts of a log, each learnt by a default model of its own, are one model once merged.

const DAY_MS = 86_400_000;
const START = 1.8e12;
const IMPRESSIONS = 24;

const random = stream(1);
const oneOf = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)];
const actions = Array.from({ length: 24 }, (_, i) => ({
  id: `product ${i}`,
  features: { category: `category ${i % 4}`, brand: `brand ${i % 7}` },
}));

type Told = Pick<Parameters<Recommender["policy"]["observe"]>[0], "delay" | "goals" | "previous" | "reward">;
interface Shown {
  readonly features: Float64Array;
  readonly now: number;
  readonly told: readonly Told[];
}

/** The events of an impression: nothing, a view, or a view and then a purchase of some amount. */
function told(price: number): Told[] {
  if (random() > price) return [];
  const view = { reward: 1, delay: Math.floor(random() * 60_000) };
  const purchase = { reward: Math.floor(6400 * random()) / 64, delay: Math.floor(random() * 6 * DAY_MS) };
  const first: Told = { reward: 0.1, delay: { after: view.delay }, goals: { before: {}, after: { view } } };
  const goals = { before: { view }, after: { view, purchase } };
  const second: Told = { reward: 0.1 + purchase.reward, previous: 0.1, delay: { before: view.delay, after: view.delay }, goals };
  return random() < 0.4 ? [first, second] : [first];
}

it("merges the default model of a shop with three goals, byte for byte", async () => {
  const goals = {
    view: { weight: 0.1 },
    purchase: { weight: 1, after: "view", value: { currency: "EUR" } },
    signup: { weight: 0.5, window: { ms: DAY_MS } },
  };
  const configured = await configureModel({ window: { ms: 7 * DAY_MS }, goals });
  const config = { ...configured, encoder: { ...configured.encoder, vocabulary: vocabularyOf(actions.map(namedAction)) } } as ModelConfig;
  expect([config.policy, config.encoder?.dimension]).toEqual(["delay-lin-ts", 256]);
  const { vector } = featurizer(config);
  const shown = Array.from({ length: IMPRESSIONS }, (_, i): Shown => {
    const action = oneOf(actions);
    const context = { country: oneOf(["PT", "DK", "FR"]), device: oneOf(["phone", "desktop"]) };
    const now = START + Math.floor((i + random()) * ((30 * DAY_MS) / IMPRESSIONS));
    return { features: vector(context, action), now, told: told(actions.indexOf(action) % 3 === 0 ? 0.6 : 0.2) };
  });
  const learn = ({ policy }: Recommender, part: readonly Shown[]): void => {
    const due: (() => void)[] = [];
    for (const { features, now, told } of part) {
      const impression = policy.append({ features, round: 1, now });
      for (const each of told) due.push(() => policy.observe({ impression, ...each }));
      if (random() < 0.5) for (const observe of due.splice(0)) observe();
    }
    for (const observe of due) observe();
  };
  const [all] = await startModel(config);
  learn(all, shown);
  all.policy.refactor();
  for (const [order, count] of [[shown, 4] as const, [shuffled([...shown], stream(2)), 1] as const, [shown.toReversed(), 7] as const]) {
    const snapshots: Uint8Array[] = [];
    for (let part = 0; part < count; part++) {
      const [own] = await startModel(config);
      learn(
        own,
        order.filter((_, i) => i % count === part),
      );
      snapshots.push(own.snapshot());
    }
    const merged = await merge(snapshots, { policies });
    expect(merged.digest()).toBe(all.digest());
    expect(Buffer.compare(merged.snapshot(), all.snapshot()), `${count} parts`).toBe(0);
    expect(Buffer.compare(merged.publication(), all.publication()), `${count} parts`).toBe(0);
  }
});
