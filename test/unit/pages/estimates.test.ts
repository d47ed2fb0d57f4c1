import { delayLinTs, Recommender } from "afterclick";
import { featurizer, vectorAt } from "afterclick/research";
import { afterEach, expect, it, vi } from "vitest";
import { drawDelay, drawVisitor } from "../../../pages/shop/crowd.ts";
import { contextOf, type Profile, profiles, shopActions, shopModel } from "../../../src/simulation/assortment.ts";
import { stream } from "../../../src/simulation/stream.ts";
import { withVocabulary } from "../../../worker/domain/model/encoding.ts";
import { configureModel } from "../../../worker/domain/model/model.ts";
import type { ModelBody } from "../../../worker/protocol/schema.ts";

// The demonstration shop's promise, over many seeds: its estimates come nearer to the truth.

const RUNS = 6;
const GAP_MS = 130;
const REPORTED_MS = 20_000;
const HOLDOUT = shopModel.holdout;

afterEach(() => void vi.restoreAllMocks());

/** Plays the shop's simulation, `rounds` times 50 visitors. Returns the mean error of the estimates before it, and after the reports of each round. */
async function play(seed: number, rounds: number): Promise<number[]> {
  const random = stream("bands", seed);
  vi.spyOn(Math, "random").mockImplementation(random);
  const { encoder, window } = withVocabulary(await configureModel(shopModel as unknown as ModelBody), shopActions);
  const featurize = featurizer(encoder);
  const dimension = shopModel.encoder.dimension;
  const policy = delayLinTs({ dimension, ...(shopModel.options as { shrinkage: "fixed" }) });
  const recommender = await Recommender.create({ policy, window, reward: { min: 0, max: 1 }, seed });
  const rowsOf = ({ id }: Profile) => {
    const points = featurize.points(contextOf(id), shopActions);
    return shopActions.map((action, i) => ({ id: action.id, features: vectorAt(points, i, shopActions.length) }));
  };
  let now = 1_000_000;
  let shown = 0;
  const due: { readonly impressionId: string; readonly at: number }[] = [];
  const pass = (ms: number): void => {
    now += ms;
    for (const each of due.filter(({ at }) => at <= now)) {
      due.splice(due.indexOf(each), 1);
      recommender.convert({ ...each, reward: 1 });
    }
  };
  const visit = (visitor: Profile, buys: boolean): void => {
    const candidates = rowsOf(visitor);
    const held = random() < HOLDOUT;
    for (let place = 0; place < 3; place++) {
      const impressionId = `i-${shown++}`;
      // In the shop one decision ranks three products. Three decisions without those already shown are near enough.
      const left = candidates.length;
      const id = held ? candidates[random.below(left)].id : recommender.recommend({ candidates, now, impressionId }).action.id;
      const index = candidates.findIndex((each) => each.id === id);
      const [{ features }] = candidates.splice(index, 1);
      if (held) recommender.register({ impressionId, features, now });
      if (buys && random() < visitor.tastes[id as string]) due.push({ impressionId, at: now + drawDelay() });
    }
  };
  const look = (): number => {
    const errors = profiles.flatMap((profile) => {
      const rows = rowsOf(profile);
      const { mean } = recommender.policy.predict(rows.map(({ features }) => features));
      return rows.map(({ id }, i) => Math.abs(recommender.policy.stated(mean[i]) - profile.tastes[id]));
    });
    return errors.reduce((sum, each) => sum + each, 0) / errors.length;
  };
  const looks = [look()];
  for (let round = 0; round < rounds; round++) {
    for (let visitor = 0; visitor < 50; visitor++) {
      pass(GAP_MS);
      visit(drawVisitor(), true);
    }
    for (let ms = 0; ms < REPORTED_MS; ms += 250) pass(250);
    visit(profiles[0], false);
    looks.push(look());
  }
  return looks;
}

it("comes nearer to the truth with every fifty visitors", async () => {
  const runs: number[][] = [];
  for (let seed = 1; seed <= RUNS; seed++) runs.push(await play(seed, 4));
  const errors = [0, 1, 2, 3, 4].map((stage) => runs.reduce((sum, looks) => sum + looks[stage], 0) / RUNS);
  for (const stage of [1, 2, 3, 4]) expect(errors[stage]).toBeLessThan(errors[stage - 1]);
  // With seeds 1 to 6: 0.257, 0.125, 0.094, 0.084 and 0.074.
  expect(errors[1]).toBeLessThan(0.16);
  expect(errors[4]).toBeLessThan(0.1);
}, 60_000);
