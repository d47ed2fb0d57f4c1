import { describe, expect, it } from "vitest";
import { type PlainDecision, type PlainRequest, plainEvaluation } from "../../support/reference/plain-evaluation.ts";
import { unboundedEvaluation } from "../../support/reference/unbounded-evaluation.ts";
import { stream } from "../../support/scenario.ts";

// Compares estimates and intervals with a plain evaluation: products, differences and bisections by definition.

const CHANCES = [0.5, 0.3, 0.2];
const POLICY = [0.1, 0.2, 0.7];

/**
 * Decisions among three actions, about one per ms. They convert once or twice within 40 ms, with rewards in a range. `law`: only the first
 * action does, and once, so that one law of delays is all that the log has.
 */
function drawn(n: number, seed: number, { min, max }: PlainRequest["reward"], { features, law }: { features: number; law: boolean }) {
  const random = stream(seed);
  return Array.from({ length: n }, (_, i): PlainDecision => {
    const shownAt = i + Math.floor(4 * random()) / 4;
    const lot = random();
    const index = lot < 0.5 ? 0 : lot < 0.8 ? 1 : 2;
    const points = Float64Array.from({ length: 3 * features }, () => random() - 0.5);
    const reward = (): number => (random() < 0.1 ? min : max * random());
    const rate = law ? Number(index === 0) : 0.3 + 0.2 * index;
    const once = random() < rate ? [{ at: shownAt + Math.floor(40 * random() * random()), reward: reward() }] : [];
    const twice = !law && random() < 0.1 ? [{ at: shownAt + Math.floor(60 * random()), reward: reward() / 2 }] : [];
    const conversions = [...once, ...twice];
    return { shownAt, count: 3, index, probability: CHANCES[index], conversions, ...(features > 0 && { points }) };
  }).sort((a, b) => a.shownAt - b.shownAt);
}

const unit = { min: 0, max: 1 };
const signed = { min: -1, max: 2 };

describe("estimates and their intervals are those of their definitions", () => {
  it.each<[string, Partial<Omit<PlainRequest, "policy">>, number, number]>([
    ["where how late conversions come is estimated", {}, 0, 1],
    ["where it is given", { maturity: (age) => Math.min(1, 0.1 + age / 40) }, 0, 2],
    ["with a model of rewards by features", {}, 2, 3],
    ["of rewards below 0, learnt from young decisions too", { reward: signed, split: 0.7 }, 0, 4],
    ["of rewards below 0, by features", { reward: signed, maturity: () => 0.9, split: 0.6, windowMs: 60 }, 2, 5],
    ["of everything", { split: 0, asOf: 300 }, 0, 6],
    ["within a short window", { windowMs: 8 }, 0, 7],
  ])("%s", async (_, request, features, seed) => {
    const n = 45;
    const asked = { asOf: n + 1, windowMs: 30, split: 0.3, reward: unit, ...request };
    const log = drawn(n, seed, asked.reward, { features, law: request.maturity === undefined });
    const { windowMs, ...others } = asked;
    const got = await unboundedEvaluation({ log, policy: () => POLICY, window: { ms: windowMs }, ...others });
    const plain = plainEvaluation({ log, policy: () => POLICY, ...asked });
    expect(got.decisions).toEqual(plain.decisions);
    for (const name of ["logged", "ips", "snips", "doublyRobust"] as const) {
      for (const end of ["value", "low", "high"] as const) expect(got[name][end], `${name} ${end}`).toBeCloseTo(plain[name][end], 5);
    }
  });

  it.each([
    ["estimated", {}],
    ["given", { maturity: (age: number) => Math.min(1, 0.1 + age / 40) }],
  ])("of a log that kept a sample, with a maturity that is %s", async (_, request) => {
    const log = drawn(45, 8, unit, { features: 2, law: !("maturity" in request) }).map((decision, i) => ({
      ...decision,
      kept: 2 ** -(i % 4),
    }));
    const asked = { asOf: 46, split: 0.3, reward: unit, ...request };
    const got = await unboundedEvaluation({ log, policy: () => POLICY, window: { ms: 30 }, ...asked });
    const plain = plainEvaluation({ log, policy: () => POLICY, windowMs: 30, ...asked });
    for (const name of ["logged", "ips", "snips", "doublyRobust"] as const) {
      for (const end of ["value", "low", "high"] as const) expect(got[name][end], `${name} ${end}`).toBeCloseTo(plain[name][end], 5);
    }
  });

  it("of a sampled log have the values of the log in which each decision stands as often as it counts", async () => {
    const log = drawn(45, 9, unit, { features: 0, law: false }).map((decision, i) => ({ ...decision, kept: 2 ** -(i % 3) }));
    const repeated = log.flatMap(({ kept, ...decision }) => new Array<PlainDecision>(1 / kept).fill(decision));
    const asked = { policy: () => POLICY, asOf: 46, window: { ms: 30 }, split: 0, maturity: () => 1 };
    const [sampled, whole] = [await unboundedEvaluation({ log, ...asked }), await unboundedEvaluation({ log: repeated, ...asked })];
    for (const name of ["logged", "ips", "snips", "doublyRobust"] as const) {
      expect(sampled[name].value, name).toBeCloseTo(whole[name].value, 12);
    }
    expect(sampled.weights.mean).toBeCloseTo(whole.weights.mean, 12);
    expect(sampled.weights.greatest).toBe(whole.weights.greatest);
    expect(sampled.weights.effective).toBeLessThan(whole.weights.effective);
    expect(sampled.ips.high - sampled.ips.low).toBeGreaterThan(whole.ips.high - whole.ips.low);
  });

  it("of the fewest decisions, whatever came of them", async () => {
    for (let n = 1; n <= 4; n++) {
      for (let converted = 0; converted < 2 ** n; converted++) {
        const log = Array.from({ length: n }, (_, i): PlainDecision => {
          const conversions = (converted >> i) % 2 === 1 ? [{ at: i, reward: 1 }] : [];
          return { shownAt: i, count: 2, index: i % 2, probability: i % 2 === 0 ? 0.5 : 0.25, conversions };
        });
        const policy = (): number[] => [0.75, 0.25];
        const asked = { log, policy, asOf: n, windowMs: 9, split: 0, reward: unit, maturity: () => 1 };
        const { windowMs, ...others } = asked;
        const got = await unboundedEvaluation({ window: { ms: windowMs }, ...others });
        const plain = plainEvaluation(asked);
        for (const name of ["logged", "ips", "snips"] as const) {
          for (const end of ["value", "low", "high"] as const) {
            expect(got[name][end], `${n} ${converted} ${name} ${end}`).toBeCloseTo(plain[name][end], 5);
          }
        }
      }
    }
  });
});
