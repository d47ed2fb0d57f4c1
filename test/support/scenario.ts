import { type Goals, type PolicyFactory, policies, Recommender } from "afterclick";

/** A small linear-congruential stream. It gives the same test data on every machine. */
export function stream(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** `count` vectors with `dimension` multiples of 2^-12 in [-1/2, 1/2). */
export function dyadicVectors(random: () => number, count: number, dimension: number): number[][] {
  return Array.from({ length: count }, () => Array.from({ length: dimension }, () => (Math.floor(random() * 4096) - 2048) / 4096));
}

/** A tested configuration of a policy. If the options have a `domain`, requests have no candidates. */
export interface Setting {
  readonly label: string;
  readonly options: Record<string, unknown>;
  /** The policy chooses one point at a time, in its own order. */
  readonly proposes?: boolean;
  /** Default: two goals that add up. */
  readonly goals?: Goals;
}

/** Goals by default, as a shop has them. */
export const TWO_GOALS: Goals = { click: { weight: 0.25 }, conversion: { weight: 1 } };
const FUNNEL: Goals = { click: { weight: 0.25 }, conversion: { weight: 1, after: "click" } };
const PRICED: Goals = { click: { weight: 0 }, conversion: { weight: 1, after: "click", value: { currency: "EUR" } } };

/** 4-dimensional points of a fixed domain: multiples of 2^-12 in [0, 1). */
const points = dyadicVectors(stream(3), 20, 4).map((point) => point.map((coordinate) => coordinate + 0.5));

/** The bounding box of these points. */
const box = Array.from({ length: 4 }, () => [0, 1]);

/** Candidates for a request, if the policy takes any. */
export function candidatesFor({ options }: Setting, random: () => number, count = 6): { id: string; features: number[] }[] | undefined {
  const vectors = dyadicVectors(random, count, 4);
  return "domain" in options ? undefined : vectors.map((features, i) => ({ id: `item-${i}`, features }));
}

/** Options with which each policy is tested, besides its defaults. */
export const settings: Record<string, readonly Setting[]> = {
  "otf-lin-ucb": [
    { label: "released, buffered", options: { dimension: 4 } },
    { label: "theory, exact", options: { dimension: 4, width: "theory", norms: "exact" } },
  ],
  "otf-lin-ts": [
    { label: "released, buffered", options: { dimension: 4 } },
    { label: "theory, exact, capped", options: { dimension: 4, width: "theory", norms: "exact", widthCap: 1.5, exploration: 0.25 } },
  ],
  "delay-lin-ucb": [
    { label: "by evidence", options: { dimension: 4 } },
    { label: "fixed", options: { dimension: 4, shrinkage: "fixed" } },
    { label: "forgetting", options: { dimension: 4, shrinkage: "fixed", forgetting: { halfLife: 7 } } },
    { label: "log-odds", options: { dimension: 4, rewards: "bernoulli" } },
    { label: "in a funnel", options: { dimension: 4 }, goals: FUNNEL },
    { label: "by amounts", options: { dimension: 4, shrinkage: "fixed" }, goals: PRICED },
  ],
  "delay-lin-ts": [
    { label: "by evidence", options: { dimension: 4 } },
    { label: "fixed", options: { dimension: 4, shrinkage: "fixed", ridge: 0.5 } },
    { label: "forgetting, by evidence", options: { dimension: 4, forgetting: { halfLife: 9 } } },
    {
      label: "log-odds, fixed, forgetting",
      options: { dimension: 4, rewards: "bernoulli", shrinkage: "fixed", forgetting: { halfLife: 11 } },
    },
    { label: "in a funnel, log-odds", options: { dimension: 4, rewards: "bernoulli" }, goals: FUNNEL },
    { label: "by amounts", options: { dimension: 4 }, goals: PRICED },
  ],
  "gp-ucb-sdf": [
    { label: "exact", options: { dimension: 4 } },
    { label: "at capacity, buffered", options: { dimension: 4, capacity: 12, norms: "buffered" } },
    { label: "refitted", options: { dimension: 4, refit: { every: 10 } } },
    { label: "refitted with noise and pending", options: { dimension: 4, refit: { every: 10, until: 40, noise: true, pending: true } } },
    { label: "in a domain", options: { domain: { points } } },
  ],
  "gp-ts-sdf": [
    { label: "theory", options: { dimension: 4 } },
    { label: "released, at capacity", options: { dimension: 4, scale: "released", capacity: 12 } },
    { label: "in a domain", options: { domain: { points } } },
    { label: "pathwise, in a domain", options: { domain: { points }, sampler: "pathwise" } },
  ],
  "gp-ucb": [
    { label: "candidates", options: { dimension: 4 } },
    { label: "refitted, in a domain", options: { domain: { points }, refit: { every: 15 } } },
  ],
  "asy-ts": [
    { label: "candidates", options: { dimension: 4 } },
    { label: "refitted, in a domain", options: { domain: { points }, refit: { every: 15 } } },
  ],
  "gp-bucb": [
    { label: "candidates", options: { dimension: 4 } },
    { label: "refitted, in a domain", options: { domain: { points }, refit: { every: 15 } } },
    { label: "refitted with noise and pending", options: { dimension: 4, refit: { every: 10, until: 40, noise: true, pending: true } } },
  ],
  "gp-bts": [
    { label: "candidates", options: { dimension: 4 } },
    { label: "refitted, in a domain", options: { domain: { points }, refit: { every: 15 } } },
  ],
  "delay-gp-ucb": [
    { label: "candidates with a context", options: { dimension: 4, contextDimension: 1 } },
    { label: "in a domain", options: { domain: { points } } },
    { label: "at capacity", options: { dimension: 4, capacity: 16 } },
    { label: "bernoulli, with a context", options: { dimension: 4, contextDimension: 1, rewards: "bernoulli" } },
    { label: "bernoulli, in a domain", options: { domain: { points }, rewards: "bernoulli" } },
    { label: "forgetting", options: { dimension: 4, capacity: 30, forgetting: { halfLife: 20 } } },
  ],
  "delay-gp-ts": [
    { label: "candidates with a context", options: { dimension: 4, contextDimension: 1, exploration: 1 } },
    { label: "in a domain, at capacity", options: { domain: { points }, capacity: 10 } },
    { label: "bernoulli, at capacity", options: { dimension: 4, capacity: 16, rewards: "bernoulli" } },
    { label: "bernoulli, forgetting", options: { dimension: 4, rewards: "bernoulli", forgetting: { halfLife: 12 } } },
    { label: "forgetting, in a domain", options: { domain: { points }, forgetting: { halfLife: 12 } } },
  ],
  "delayed-zooming": [
    { label: "in a box", options: { domain: { box }, horizon: 60, sigma: 0.1, resolution: 4, activation: "random" }, proposes: true },
    { label: "among points", options: { domain: { points }, horizon: 60, metric: "euclidean", lazyFloor: 0 }, proposes: true },
  ],
  dlpp: [
    { label: "in a box", options: { domain: { box }, horizon: 60, sigma: 0.02 }, proposes: true },
    { label: "among points", options: { domain: { points }, horizon: 60, sigma: 0.02, freeze: true }, proposes: true },
  ],
  "bpe-delay": [{ label: "short rounds", options: { domain: { points }, horizon: 40, expectedDelay: 2, xi: 1, b: 0.2 }, proposes: true }],
  bpe: [{ label: "past its horizon", options: { domain: { points }, horizon: 20, beta: 0.5 }, proposes: true }],
  "mini-gp-ucb": [
    { label: "frequentist", options: { domain: { points }, threshold: 1.5 }, proposes: true },
    {
      label: "Bayesian, raw, refitted",
      options: { domain: { points }, confidence: "bayesian", batchRule: "raw", refit: { every: 15 } },
      proposes: true,
    },
  ],
  "mini-gp-ei": [{ label: "", options: { domain: { points }, threshold: 2 }, proposes: true }],
  "gp-ei": [
    { label: "candidates", options: { dimension: 4 } },
    { label: "in a domain", options: { domain: { points } } },
  ],
  "epsilon-greedy": [
    { label: "candidates", options: { dimension: 4 } },
    { label: "in a domain", options: { domain: { points }, explorationScale: 0.5, explorationDecay: 1 } },
  ],
  uniform: [{ label: "", options: {} }],
};

/**
 * Plays 40 rounds with delayed, late and repeated conversions, saves, restores, plays 20 more rounds, publishes, and decides by the
 * publication. Returns all decisions, the final snapshot and the publication, in a form that shows every bit.
 */
export async function play(factory: PolicyFactory, setting: Setting, module?: WebAssembly.Module): Promise<string> {
  const random = stream(17);
  const make = factory as PolicyFactory<object>;
  const { goals = TWO_GOALS } = setting;
  let recommender = await Recommender.create({ policy: make(setting.options), window: { ms: 5000 }, goals, seed: 11, module });
  const log: unknown[] = [];
  const due: { at: number; impressionId: string; goal: string; reward: number }[] = [];
  for (let round = 1; round <= 60; round++) {
    const now = round * 1000;
    if (round === 41) recommender = await Recommender.restore(recommender.snapshot(), { policies: [factory], module });
    const candidates = candidatesFor(setting, random);
    const { ranking } = recommender.recommend({ candidates, limit: setting.proposes ? 1 : 2, now });
    log.push(ranking);
    for (const { impressionId } of ranking) {
      if (random() < 0.5) {
        const goal = random() < 0.5 ? "click" : "conversion";
        due.push({ impressionId, goal, at: now + Math.floor(random() * 7000), reward: Math.floor(random() * 4096) / 4096 });
      }
    }
    for (const event of due.filter(({ at }) => at <= now + 1000 && at > now)) {
      log.push(recommender.convert(event), recommender.convert(event));
    }
  }
  const publication = recommender.publication();
  const { policy } = await Recommender.restore(publication, { policies: [factory], module });
  const candidates = candidatesFor(setting, random);
  for (const draws of [0, 50, 100]) {
    log.push(policy.choose({ candidates, round: 61, now: 61_000, draws, limit: setting.proposes ? 1 : 6 }));
  }
  return `${bits(log, recommender.snapshot())} ${bits([], publication)}`;
}

/** JSON with each number as its bits and bytes as hexadecimal. */
function bits(log: unknown, bytes: Uint8Array): string {
  const view = new DataView(new ArrayBuffer(8));
  const decisions = JSON.stringify(log, (_, value) => {
    if (typeof value !== "number") return value;
    view.setFloat64(0, value);
    return view.getBigUint64(0).toString(16);
  });
  return `${decisions} ${hexadecimal(bytes)}`;
}

/** Plays every setting of every policy in the table. */
export async function playAll(): Promise<Record<string, string>> {
  const played: Record<string, string> = {};
  for (const factory of policies) {
    for (const setting of settings[factory.id]) played[`${factory.id} ${setting.label}`] = await play(factory, setting);
  }
  return played;
}

/** SHA-256 of each scenario's text, in hexadecimal. It is short enough for a browser's driver, and says which scenario differs. */
export async function digests(played: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const entries = Object.entries(played).map(async ([name, text]) => {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
    return [name, hexadecimal(digest)];
  });
  return Object.fromEntries(await Promise.all(entries));
}

function hexadecimal(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
