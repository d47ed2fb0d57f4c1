import { describe, expect, it } from "vitest";
import type { PlainDecision } from "../support/reference/plain-evaluation.ts";
import { unboundedEvaluation } from "../support/reference/unbounded-evaluation.ts";

// Off-policy estimators in worlds so small that all possible logs can be listed with their probabilities. The estimates of
// all logs, weighted by probability, equal the truth up to rounding.

const AS_OF = 10_000;
const WINDOW_MS = 8000;

interface World {
  /** Per action: the logging policy's probability, the policy's probability, and the conversion rate. */
  readonly logged: readonly number[];
  readonly target: readonly number[];
  readonly converts: readonly number[];
  /** Time of each decision. */
  readonly shownAt: readonly number[];
  readonly split: number;
  readonly perConversion: number;
}

/** Probability that a conversion has arrived by an age. */
const maturity = (age: number): number => (age < 1000 ? 0.25 : age < 5000 ? 0.5 : 0.75);
const arrived = (age: number): number => (age >= WINDOW_MS ? 1 : maturity(age));

interface Drawn {
  readonly log: readonly PlainDecision[];
  readonly chance: number;
}

function allLogs({ logged, converts, shownAt, perConversion }: World): Drawn[] {
  let drawn: Drawn[] = [{ log: [], chance: 1 }];
  for (const at of shownAt) {
    const points = Float64Array.from(logged.flatMap((_, i) => logged.map((__, j) => Number(i === j))));
    drawn = drawn.flatMap(({ log, chance }) =>
      logged.flatMap((probability, index) => {
        const decision = { shownAt: at, count: logged.length, points, index, probability };
        const seen = converts[index] * arrived(AS_OF - at);
        return [
          { log: [...log, decision], chance: chance * probability * (1 - seen) },
          { log: [...log, { ...decision, conversions: [{ at: at + 1, reward: perConversion }] }], chance: chance * probability * seen },
        ];
      }),
    );
  }
  return drawn;
}

const worlds: [string, World][] = [
  [
    "two actions, seen whole",
    { logged: [0.25, 0.75], target: [0.5, 0.5], converts: [0.5, 0.125], shownAt: [1, 2], split: 0, perConversion: 1 },
  ],
  [
    "three actions, of which the policy leaves one out",
    { logged: [0.5, 0.25, 0.25], target: [0.75, 0.25, 0], converts: [0.25, 0.5, 1], shownAt: [1, 2], split: 0, perConversion: 0.5 },
  ],
  [
    "decisions of several ages, of which some conversions are still to come",
    { logged: [0.25, 0.75], target: [0.75, 0.25], converts: [0.5, 0.25], shownAt: [1, 6000, 9500], split: 0, perConversion: 1 },
  ],
  [
    "a model of the reward learnt from the older half",
    { logged: [0.25, 0.75], target: [1, 0], converts: [0.75, 0.25], shownAt: [1, 2, 7000, 9500], split: 0.5, perConversion: 1 },
  ],
];

describe.each(worlds)("with %s", (_, world) => {
  const { target, converts, logged, perConversion, shownAt, split } = world;
  const truth = (chances: readonly number[]) => chances.reduce((sum, chance, action) => sum + chance * converts[action] * perConversion, 0);
  const evaluated = (log: readonly PlainDecision[]) =>
    unboundedEvaluation({ log, policy: () => target, asOf: AS_OF, window: { ms: WINDOW_MS }, split, maturity });

  it("the estimates are right on average over all logs, and each follows its formula", async () => {
    const sums = { logged: 0, ips: 0, doublyRobust: 0, chance: 0 };
    for (const { log, chance } of allLogs(world)) {
      const evaluation = await evaluated(log);
      sums.chance += chance;
      sums.logged += chance * evaluation.logged.value;
      sums.ips += chance * evaluation.ips.value;
      sums.doublyRobust += chance * evaluation.doublyRobust.value;
      const rows = log.slice(Math.floor(split * log.length)).map(({ index, probability, shownAt: at, conversions = [] }) => ({
        weight: target[index] / probability,
        reward: conversions.length > 0 ? perConversion / arrived(AS_OF - at) : 0,
      }));
      const weights = rows.reduce((sum, { weight }) => sum + weight, 0);
      const rewards = rows.reduce((sum, { weight, reward }) => sum + weight * reward, 0);
      if (weights > 0) expect(evaluation.snips.value).toBeCloseTo(rewards / weights, 12);
      else expect(evaluation.snips.value).toBeNaN();
      expect(evaluation.weights.mean).toBeCloseTo(weights / rows.length, 12);
      expect(evaluation.weights.greatest).toBe(Math.max(...rows.map(({ weight }) => weight)));
      const { low, high, value } = evaluation.ips;
      expect(low <= value && value <= high).toBe(true);
    }
    expect(sums.chance).toBeCloseTo(1, 12);
    expect(sums.logged).toBeCloseTo(truth(logged), 12);
    expect(sums.ips).toBeCloseTo(truth(target), 12);
    expect(sums.doublyRobust).toBeCloseTo(truth(target), 12);
  });

  it("decisions and conversions that are immature are counted as they are", async () => {
    const [{ log }] = allLogs(world);
    const { decisions, immature } = await evaluated(log);
    const cut = Math.floor(split * shownAt.length);
    const ages = shownAt.slice(cut).map((at) => AS_OF - at);
    expect(decisions).toEqual({ learnt: cut, evaluated: shownAt.length - cut, tooYoung: 0 });
    expect(immature.decisions).toBeCloseTo(ages.filter((age) => age < WINDOW_MS).length / ages.length, 12);
    expect(immature.conversions).toBeCloseTo(ages.reduce((sum, age) => sum + 1 - arrived(age), 0) / ages.length, 12);
  });
});
