import { isTooFew } from "afterclick/research";
import { expect, it } from "vitest";
import { type Stream, shuffled, stream } from "../../../src/simulation/stream.ts";
import { isRandomList } from "../../../worker/domain/decision/random-list.ts";
import { type ClickModelName, type ClickModels, compareClickModels, type RandomList } from "../../../worker/domain/figures/click-models.ts";
import { type PlacedRow, randomLists } from "../../../worker/learner/figures/list-log.ts";
import type { Assignment } from "../../../worker/protocol/figures.ts";

// Click models on simulated random lists whose law is known.

const WEIGHTS = [1, 0.7, 0.5, 0.35];
const ACTIONS = Array.from({ length: 12 }, (_, i) => `action ${i}`);

/** The probability that an action converts at a place, by the click model that is true. */
const laws: Readonly<Record<ClickModelName, (draws: Stream) => (action: string, place: number) => number>> = {
  "no-bias": (draws) => ratesOf(draws),
  "position-based": (draws) => {
    const rate = ratesOf(draws);
    return (action, place) => rate(action) * WEIGHTS[place];
  },
  "item-position": (draws) => {
    const rates = WEIGHTS.map(() => ratesOf(draws));
    return (action, place) => rates[place](action);
  },
};

function ratesOf(draws: Stream): (action: string) => number {
  const rates = new Map(ACTIONS.map((action) => [action, 0.4 * draws()]));
  return (action) => rates.get(action) ?? 0;
}

function drawn(law: (action: string, place: number) => number, count: number, draws: Stream): RandomList[] {
  return Array.from({ length: count }, () =>
    shuffled(ACTIONS, draws)
      .slice(0, WEIGHTS.length)
      .map((action, place) => ({ action, place, converted: draws() < law(action, place) })),
  );
}

/** Conversions at each place relative to the first. */
async function ratios(lists: readonly RandomList[]): Promise<number[]> {
  const counts = WEIGHTS.map((_, place) => lists.filter((list) => list[place].converted).length);
  return counts.map((count) => Math.min(1, count / counts[0]));
}

async function compared(lists: readonly RandomList[]): Promise<ClickModels> {
  const found = await compareClickModels(lists, ratios);
  if (isTooFew(found)) throw new Error("expected click models");
  return found;
}

it.each(["no-bias", "position-based", "item-position"] as const)("finds %s where it is true", async (truth) => {
  let found = 0;
  for (let run = 0; run < 20; run++) {
    const draws = stream("click models", truth, run);
    const { best, models } = await compared(drawn(laws[truth](draws), 1500, draws));
    if (best === truth) found++;
    const greatest = Math.max(...models.map(({ logLikelihood }) => logLikelihood));
    for (const { behind, logLikelihood, perplexity } of models) {
      expect(perplexity).toBeCloseTo(Math.exp(-logLikelihood), 12);
      expect(behind.value).toBeCloseTo(greatest - logLikelihood, 12);
      expect(behind.low).toBeLessThanOrEqual(behind.value);
      expect(behind.high).toBeGreaterThanOrEqual(behind.value);
    }
    expect(models.find(({ behind: { value, low } }) => value <= (value - low) / 1.959963984540054)?.name).toBe(best);
  }
  expect(found).toBeGreaterThanOrEqual(18);
});

it("takes the simplest of models that predict alike", async () => {
  const draws = stream("click models", "alike");
  // All actions have one rate, and all places are alike.
  expect((await compared(drawn(() => 0.2, 1500, draws))).best).toBe("no-bias");
});

it("bounds how far a wrong model is behind", async () => {
  const draws = stream("click models", "behind");
  const { best, models } = await compared(drawn(laws["position-based"](draws), 3000, draws));
  const [noBias, positionBased, itemPosition] = models;
  expect(best).toBe("position-based");
  expect(noBias.behind.low).toBeGreaterThan(0);
  expect(itemPosition.behind.value).toBeGreaterThan(0);
  expect(positionBased.logLikelihood).toBeGreaterThan(noBias.logLikelihood);
  // A model that knows the law would have this log-likelihood, apart from chance.
  expect(positionBased.perplexity).toBeGreaterThan(1);
  expect(positionBased.perplexity).toBeLessThan(2);
});

it("says how many more conversions it needs", async () => {
  const lists = Array.from(
    { length: 100 },
    (_, i): RandomList => [
      { place: 0, action: "a", converted: i < 19 },
      { place: 1, action: "b", converted: false },
    ],
  );
  const few = (more: number) => ({ tooFew: { more, of: "conversions" } });
  expect(await compareClickModels(lists, ratios)).toEqual(few(1));
  expect(await compareClickModels([], ratios)).toEqual(few(20));
  const one = [{ place: 0, action: "a", converted: true }, lists[0][1]];
  expect(await compareClickModels([...lists, one], async () => [1, 0.5])).toHaveProperty("best");
});

const row = (first: string, place: number, arm: Assignment = "policy", more: Partial<PlacedRow> = {}): PlacedRow => ({
  ...{ first, place, arm, action: `${first}${place}`, candidates: 5, version: 1, converted: false },
  ...more,
});

it("takes random lists of two items or more, whose items may be missing or stand apart", () => {
  const rows = [
    ...[row("a", 0), row("b", 0), row("a", 2, "policy", { converted: true }), row("b", 1)],
    ...[row("ranked", 0), row("ranked", 1), row("single", 0), row("deep", 0), row("deep", 20)],
  ];
  const lists = randomLists(rows, ({ first }) => first !== "ranked");
  expect(Array.from(lists.keys())).toEqual(["a", "b"]);
  expect(lists.get("a")).toEqual([
    { place: 0, action: "a0", converted: false },
    { place: 2, action: "a2", converted: true },
  ]);
});

it("takes for random what the holdout, the minimum share or a uniform policy ranked", () => {
  const asked: unknown[] = [];
  const policy = { ranksAtRandom: (...request: unknown[]) => asked.push(request) > 1 };
  const model = { policy: "otf-lin-ts", minimumShare: 0.02 };
  expect(isRandomList(policy, model, row("x", 0, "holdout"))).toBe(true);
  expect(isRandomList(policy, model, row("x", 0, "default"))).toBe(false);
  expect(isRandomList(policy, { ...model, policy: "uniform" }, row("x", 0))).toBe(true);
  expect(asked).toEqual([]);
  expect([1, 2].map(() => isRandomList(policy, model, row("x", 0)))).toEqual([false, true]);
  expect(asked[0]).toEqual([{ round: 1, decision: "x", minimumShare: 0.02 }, 5]);
});
