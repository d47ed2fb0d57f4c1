import {
  delayLinTs,
  delayLinUcb,
  type EncoderOptions,
  encoder,
  type Goals,
  gpUcb,
  type NamedFeatures,
  otfLinTs,
  otfLinUcb,
  type PolicyDescriptor,
  Recommender,
  uniform,
} from "afterclick";
import { type Choice, type EncodedActions, families, vocabularyOf } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { MOST_LENGTH, plainEncoder } from "../../support/reference/plain-encoder.ts";
import { stream } from "../../support/scenario.ts";

// A decision among encoded actions is the decision among their vectors before these are rounded.

/** Roundings of scores in single precision. */
const ROUNDING = 1e-5;

const MINUTE_MS = 60_000;
const IMPRESSIONS = 60;
const numeric = { price: { min: 0, max: 200 }, age: { min: 0, max: 100 } };
const actions: NamedFeatures[] = Array.from({ length: 9 }, (_, i) => ({
  id: `sku-${i}`,
  brand: `brand-${i % 3}`,
  ...(i % 2 === 0 && { price: 20 * i }),
  ...(i % 4 === 0 && { tags: ["new", `tag-${i % 3}`] }),
}));
const contexts: NamedFeatures[] = [{ country: "PT", age: 30 }, { country: "SE", device: ["phone", "app"] }, {}];
const k = actions.length;
const all = actions.map((_, i) => i);
const NOW = IMPRESSIONS * MINUTE_MS;

const optionsFor = (dimension: number): EncoderOptions => ({ dimension, numeric, interactions: "all", vocabulary: vocabularyOf(actions) });

const made = new Map<string, Promise<Recommender>>();

/** A model that has learnt, the same each time: decisions change nothing. */
function learnt(policy: PolicyDescriptor, options: EncoderOptions, goals?: Goals): Promise<Recommender> {
  const name = JSON.stringify([policy.id, policy.options, options.interactions, goals]);
  const known = made.get(name) ?? learn(policy, options, goals);
  made.set(name, known);
  return known;
}

async function learn(policy: PolicyDescriptor, options: EncoderOptions, goals?: Goals): Promise<Recommender> {
  const recommender = await Recommender.create({ policy, window: { ms: 1000 * MINUTE_MS }, ...(goals && { goals }) });
  const { encode } = encoder(options);
  const draw = stream(5);
  const one = (of: number) => Math.floor(of * draw());
  for (let n = 0; n < IMPRESSIONS; n++) {
    const shown = one(k);
    const features = encode({ context: contexts[one(contexts.length)], action: actions[shown] });
    const now = n * MINUTE_MS;
    recommender.register({ impressionId: `${n}`, features, now });
    for (const goal of goals ? Object.keys(goals) : [undefined]) {
      if (draw() < 0.3 + shown / 20) recommender.convert({ impressionId: `${n}`, reward: 1, at: now + 1000, ...(goal && { goal }) });
    }
  }
  return recommender;
}

function expectNear(choices: readonly Choice[], others: readonly Choice[]): void {
  choices.forEach(({ score }, i) => void expect(Math.abs(score - others[i].score)).toBeLessThan(ROUNDING * (1 + Math.abs(score))));
}

const byIndex = (choices: readonly Choice[]): Choice[] => choices.toSorted((a, b) => a.index - b.index);
const funnel: Goals = { click: { weight: 0.1 }, order: { weight: 1, after: "click" } };
const policies: [string, (dimension: number) => PolicyDescriptor, Goals?][] = [
  ["delayLinTs", (dimension) => delayLinTs({ dimension })],
  ["delayLinTs of log-odds", (dimension) => delayLinTs({ dimension, rewards: "bernoulli" })],
  ["delayLinTs of a funnel", (dimension) => delayLinTs({ dimension }), funnel],
  ["delayLinUcb", (dimension) => delayLinUcb({ dimension })],
  ["delayLinUcb of a funnel", (dimension) => delayLinUcb({ dimension }), funnel],
  ["otfLinTs", (dimension) => otfLinTs({ dimension })],
  ["otfLinUcb", (dimension) => otfLinUcb({ dimension })],
];
const samplers = policies.filter(([name]) => name.includes("Ts"));

it.each([["all"], [[]]] as const)("with interactions %j reads the vectors of its list alone", async (interactions) => {
  const options: EncoderOptions = { ...optionsFor(64), interactions };
  const { policy } = await learnt(delayLinTs({ dimension: 64 }), options);
  const encoded = encoder(options).among(actions)(contexts[0]);
  const read: number[] = [];
  const points: EncodedActions = {
    ...encoded,
    rows: (indices) => {
      read.push(indices.length);
      return encoded.rows(indices);
    },
    matrix: () => expect.fail("read the vectors of all actions"),
  };
  for (const draws of [0, 100]) policy.choose({ round: IMPRESSIONS + 1, now: NOW, limit: 2, draws, points });
  expect(Math.max(...read)).toBe(2);
});

describe.each([48, 64, 256])("of %d components", (dimension) => {
  const options = optionsFor(dimension);
  const featuresIn = encoder(options).among(actions);
  const plainly = plainEncoder(options);
  /** The vectors before rounding. */
  const unrounded = (context: NamedFeatures): Float64Array =>
    Float64Array.from(
      actions.flatMap((action) => {
        const { sum, scale } = plainly(context, action);
        return sum.map((each) => scale * each);
      }),
    );

  it("no vector is shortened", () => {
    for (const context of contexts) {
      for (const action of actions) {
        const { sum, scale } = plainly(context, action);
        expect(scale * Math.hypot(...sum)).toBeLessThan(MOST_LENGTH);
      }
    }
  });

  it.each(policies)("%s ranks greedily, and by a sample of the decision's own", async (name, policyOf, goals) => {
    const { policy } = await learnt(policyOf(dimension), options, goals);
    for (const [n, context] of contexts.entries()) {
      const encoded = featuresIn(context);
      for (const greedy of [true, false]) {
        const request = { round: IMPRESSIONS + 1, now: NOW, limit: k, greedy, decision: `decision ${n}` };
        const own = policy.choose({ ...request, points: encoded });
        expect(own.map(({ score }) => score)).toEqual(own.map(({ score }) => score).toSorted((a, b) => b - a));
        const [ordered, dense] = [byIndex(own), byIndex(policy.choose({ ...request, points: encoded.matrix() }))];
        expect(ordered.map(({ index }) => index)).toEqual(all);
        // Mean and width are those of the vector that is learnt.
        const stated = ({ id, mean, width }: Choice) => [id, mean, width];
        expect(ordered.map(stated)).toEqual(dense.map(stated));
        if (greedy) for (const { score, mean } of own) expect(Math.abs(score - mean)).toBeLessThan(2 ** -9);
        // Widths are those of the vectors.
        if (name.includes("Ucb") && !greedy) expect(ordered).toEqual(dense);
        else expectNear(ordered, byIndex(policy.choose({ ...request, points: unrounded(context) })));
      }
    }
  });

  it.each(samplers)("%s shares samples", async (_, policyOf, goals) => {
    const { policy } = await learnt(policyOf(dimension), options, goals);
    for (const context of contexts) {
      const encoded = featuresIn(context);
      for (const draws of [1, 2, 7, 100, 103]) {
        const request = { round: IMPRESSIONS + 1, now: NOW, limit: k, draws, decision: `decision ${draws}` };
        const own = policy.choose({ ...request, points: encoded });
        expectNear(byIndex(own), byIndex(policy.choose({ ...request, points: unrounded(context) })));
        const chances = policy.placeChances({ ...request, points: encoded }, all);
        for (let place = 0; place < k; place++) {
          expect(all.reduce((sum, i) => sum + chances[i * k + place], 0)).toBeCloseTo(1, 10);
          expect(all.reduce((sum, i) => sum + chances[place * k + i], 0)).toBeCloseTo(1, 10);
          expect(own[place].probability).toBe(chances[own[place].index * k + place]);
        }
        const firsts = policy.chances({ ...request, points: encoded });
        expect(Array.from(firsts)).toEqual(all.map((i) => chances[i * k]));
        // A shorter list is the start of a longer one.
        for (const limit of [1, 3]) {
          const short = policy.choose({ ...request, points: encoded, limit });
          expect(short).toEqual(own.slice(0, limit));
        }
      }
    }
  });
});

describe("a decision among encoded actions", () => {
  const options = optionsFor(64);
  const featuresIn = encoder(options).among(actions);
  const request = { round: IMPRESSIONS + 1, now: NOW, limit: k };

  it.each(samplers)("%s keeps to the families, with probabilities that add up", async (_, policyOf, goals) => {
    const { policy } = await learnt(policyOf(64), options, goals);
    const bounds = families({ of: actions.map((__, i) => i % 3), room: [1, 2, 1] });
    for (const draws of [1, 100, 250]) {
      const asked = { ...request, draws, families: bounds, points: featuresIn(contexts[0]) };
      const chosen = policy.choose(asked);
      expect(chosen.map(({ index }) => index % 3).toSorted()).toEqual([0, 1, 1, 2]);
      const chances = policy.placeChances({ ...asked, limit: 4 }, all);
      for (let place = 0; place < 4; place++) expect(all.reduce((sum, i) => sum + chances[4 * i + place], 0)).toBeCloseTo(1, 10);
      expect(chosen.map(({ probability }) => probability)).toEqual(chosen.map(({ index }, place) => chances[4 * index + place]));
    }
  });

  it.each(policies)("%s boosts each sample or bound of them, and those of a part alike", async (name, policyOf, goals) => {
    const { policy } = await learnt(policyOf(64), options, goals);
    const boosts = actions.map((__, i) => ((i * 4) % k) / 20 - 0.2);
    const parts = [all, [7, 2, 4, 8]];
    for (const draws of [1, 7, 250]) {
      const counted = parts.map((picks) => picks.map(() => 0));
      for (let m = 0; m < draws; m++) {
        const taken = { ...request, draws, uniforms: [(m + 0.5) / draws] };
        const areLogOdds = name === "delayLinTs of log-odds";
        const scores = byIndex(policy.choose({ ...taken, points: featuresIn(contexts[1]) })).map(({ score }, i) => {
          return (areLogOdds ? 1 / (1 + Math.exp(-score)) : score) + boosts[i];
        });
        for (const [part, picks] of parts.entries()) {
          const asked = { ...taken, points: featuresIn(contexts[1]).pick(picks), boosts: picks.map((i) => boosts[i]) };
          const [first] = policy.choose(asked);
          expect(first.index).toBe(picks.indexOf(picks.toSorted((a, b) => scores[b] - scores[a])[0]));
          expect(Math.abs(first.score - scores[picks[first.index]])).toBeLessThan(1e-6);
          counted[part][first.index]++;
        }
      }
      for (const [part, picks] of parts.entries()) {
        if (policy.deterministic) continue;
        const asked = { ...request, draws, points: featuresIn(contexts[1]).pick(picks), boosts: picks.map((i) => boosts[i]) };
        expect(Array.from(policy.chances(asked))).toEqual(counted[part].map((count) => count / draws));
      }
    }
  });

  it("among some of them has the scores that they have among all", async () => {
    const { policy } = await learnt(delayLinTs({ dimension: 64 }), options);
    const picks = [7, 2, 4];
    const encoded = featuresIn(contexts[1]);
    for (const more of [{ draws: 100 }, { draws: 0 }, { greedy: true }]) {
      const asked = { ...request, ...more, decision: "one" };
      const scores = byIndex(policy.choose({ ...asked, points: encoded })).map(({ score }) => score);
      const some = byIndex(policy.choose({ ...asked, points: encoded.pick(picks) })).map(({ score }) => score);
      expect(some).toEqual(picks.map((i) => scores[i]));
    }
  });

  it("alternates between catalogues and other requests without a trace", async () => {
    const { policy } = await learnt(delayLinTs({ dimension: 64 }), options);
    const { among } = encoder(options);
    const lists = [actions, actions.slice(3).map((each, i) => ({ ...each, brand: `other-${i % 2}` })), [{}]].map((each) => among(each));
    const ask = (n: number) => [
      policy.choose({ ...request, draws: 100, points: lists[n % 3](contexts[n % 2]) }),
      policy.choose({ ...request, greedy: true, points: lists[n % 3](contexts[n % 2]) }),
      policy.choose({ ...request, draws: 7, points: lists[n % 3](contexts[n % 2]).matrix() }),
    ];
    const first = Array.from({ length: 6 }, (_, n) => ask(n));
    for (const n of [5, 0, 3, 3, 1, 4, 2, 0]) expect(ask(n)).toEqual(first[n]);
  });

  it.each(policies)("%s shows and learns their vectors", async (_, policyOf, goals) => {
    const [one, other] = [await learn(policyOf(64), options, goals), await learn(policyOf(64), options, goals)];
    const encoded = featuresIn(contexts[0]);
    const { ranking } = one.recommend({ points: encoded, limit: 2, now: NOW, impressionId: ["one", "two"] });
    ranking.forEach(({ index, impressionId }, place) => {
      const features = encoder(options).encode({ context: contexts[0], action: actions[index] });
      other.register({ impressionId, features, now: NOW, place });
    });
    expect(one.policy.statistics()).toEqual(other.policy.statistics());
  });

  it("scores their vectors, if a policy has no other way or the encoder has no catalogue", async () => {
    const process = await learnt(gpUcb({ dimension: 64 }), options);
    const encoded = featuresIn(contexts[0]);
    const asked = { round: IMPRESSIONS + 1, now: NOW, limit: k };
    expect(process.policy.choose({ ...asked, points: encoded })).toEqual(process.policy.choose({ ...asked, points: encoded.matrix() }));
    const { policy } = await learnt(delayLinTs({ dimension: 64 }), options);
    const pairs = encoder({ ...options, interactions: [["country", "brand"]] }).among(actions)(contexts[0]);
    for (const more of [{ draws: 100 }, { draws: 0 }, { greedy: true }]) {
      const all = { ...asked, ...more };
      expect(policy.choose({ ...all, points: pairs })).toEqual(policy.choose({ ...all, points: pairs.matrix() }));
    }
  });

  it("refuses those of another dimension, none at all, and those that a policy does not look at", async () => {
    const { policy } = await learnt(delayLinTs({ dimension: 64 }), options);
    const small = encoder({ ...options, dimension: 16 }).among(actions)({});
    expect(() => policy.choose({ ...request, points: small })).toThrow("points: expected vectors of 64 numbers, got 16");
    expect(() => policy.choose({ ...request, points: featuresIn({}).pick([]) })).toThrow("points: expected at least one action, got 0");
    const other = await Recommender.create({ policy: uniform(), window: { ms: 1 } });
    expect(() => other.policy.choose({ ...request, points: featuresIn({}) })).toThrow(/points: expected candidates instead/);
    const bounds = families({ of: [0, 0], room: [1] });
    expect(() => policy.choose({ ...request, points: featuresIn({}), families: bounds })).toThrow(
      "families: expected those of 9 candidates",
    );
  });
});
