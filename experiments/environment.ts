// What the papers' experiments are made of: seeded streams, delay laws, and the loop in which feedback comes late.
import type { AppendedImpression, Candidate, Choice, Policy } from "afterclick";
import { type RandomLogNormal, randomGeometric, randomLogNormal, randomNormal, randomPoisson } from "d3-random";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** A seeded stream of random numbers. */
export interface Stream {
  /** Uniform on [0, 1). */
  (): number;
  /** Standard normal. */
  normal(): number;
  /** Uniform on 0 .. count - 1. */
  below(count: number): number;
}

/** A stream that depends on its names alone: the same in every process, on every machine. */
export function stream(...names: (string | number)[]): Stream {
  let seed = 2166136261;
  for (const character of names.join("\u0000")) seed = Math.imul(seed ^ (character.codePointAt(0) as number), 16777619);
  const generator = xoroshiro128plus(seed);
  const uniform = (): number => ((generator.next() >>> 5) * 67108864 + (generator.next() >>> 6)) / 9007199254740992;
  return Object.assign(uniform, { normal: randomNormal.source(uniform)(), below: (count: number) => Math.floor(uniform() * count) });
}

/** A random order of the items (Fisher and Yates). */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}

/** When feedback comes, in rounds. `Infinity`: never. */
export interface DelayLaw {
  readonly name: string;
  draw(random: Stream): number;
  /** P(delay = k). */
  pmf(k: number): number;
  /** P(delay <= m). */
  cdf(m: number): number;
}

/** Always `delay` rounds; no feedback at all if that is infinite. */
export function fixed(delay: number): DelayLaw {
  return {
    name: delay === Number.POSITIVE_INFINITY ? "never" : `fixed ${delay}`,
    draw: () => delay,
    pmf: (k) => Number(k === delay),
    cdf: (m) => Number(m >= delay),
  };
}

/** On {1, 2, ...}. */
export function geometric(mean: number): DelayLaw {
  return {
    name: `geometric ${mean}`,
    draw: (random) => randomGeometric.source(random)(1 / mean)(),
    pmf: (k) => (k < 1 ? 0 : Math.exp((k - 1) * Math.log1p(-1 / mean)) / mean),
    cdf: (m) => (m < 1 ? 0 : -Math.expm1(Math.floor(m) * Math.log1p(-1 / mean))),
  };
}

/** On {0, 1, ...}. */
export function poisson(mean: number): DelayLaw {
  const pmf = (k: number): number => {
    let log = -mean + k * Math.log(mean);
    for (let i = 2; i <= k; i++) log -= Math.log(i);
    return Math.exp(log);
  };
  return {
    name: `Poisson ${mean}`,
    draw: (random) => randomPoisson.source(random)(mean)(),
    pmf,
    cdf: (m) => Array.from({ length: Math.max(0, Math.floor(m) + 1) }, (_, k) => pmf(k)).reduce((sum, each) => sum + each, 0),
  };
}

/** On {0, ..., 2 mean}, each as likely. */
export function uniformDelay(mean: number): DelayLaw {
  const count = 2 * mean + 1;
  const cdf = (m: number): number => Math.min(Math.max(Math.floor(m) + 1, 0), count) / count;
  return {
    name: `uniform ${mean}`,
    draw: (random) => random.below(count),
    pmf: (k) => cdf(k) - cdf(k - 1),
    cdf,
  };
}

/** Whole rounds of a mixture of log-normal laws; `mu` and `sigma` are those of the logarithm. */
export function logNormalMixture(parts: readonly { readonly weight: number; readonly mu: number; readonly sigma: number }[]): DelayLaw {
  const total = parts.reduce((sum, { weight }) => sum + weight, 0);
  const cdf = (m: number): number => {
    const below = Math.log(Math.floor(m) + 1);
    return m < 0 ? 0 : parts.reduce((sum, { weight, mu, sigma }) => sum + (weight / total) * normalCdf((below - mu) / sigma), 0);
  };
  return {
    name: "log-normal mixture",
    draw(random) {
      const lot = random() * total;
      const part = parts[cumulative(parts.map(({ weight }) => weight)).findIndex((sum) => sum > lot)];
      const law: RandomLogNormal = randomLogNormal.source(random);
      return Math.floor(law(part.mu, part.sigma)());
    },
    pmf: (k) => cdf(k) - cdf(k - 1),
    cdf,
  };
}

/** By Simpson's rule with 400 steps, to 1e-12. */
function normalCdf(x: number): number {
  const steps = 400;
  const bound = Math.min(Math.abs(x), 9);
  const height = bound / steps;
  let sum = 0;
  for (let i = 0; i <= steps; i++) {
    const weight = i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2;
    sum += weight * Math.exp(-((i * height) ** 2) / 2);
  }
  const half = (sum * height) / 3 / Math.sqrt(2 * Math.PI);
  return x < 0 ? 0.5 - half : 0.5 + half;
}

/** What of a choice a world needs: its place, and in a policy's own domain the point. */
export type Taken = Pick<Choice, "index" | "features">;

/** One problem: what can be chosen, what comes of it, and when that is known. */
export interface World {
  readonly horizon: number;
  /** Absent for a policy with its own domain. */
  candidates?(round: number): readonly Candidate[];
  /** The first choice, where it is given and not the policy's. */
  readonly first?: Taken;
  /** The observed reward, noise included. */
  reward(round: number, choice: Taken): number;
  /** Expected loss against the best choice of the round. */
  regret(round: number, choice: Taken): number;
  delay(round: number): number;
}

/** The same world as a shop sees it: what does not convert is never heard of, instead of being reported as a zero. */
export function converting(world: World): World {
  let converted = false;
  return {
    ...world,
    reward(round, choice) {
      const reward = world.reward(round, choice);
      converted = reward !== 0;
      return reward;
    },
    delay(round) {
      const delay = world.delay(round);
      return converted ? delay : Number.POSITIVE_INFINITY;
    },
  };
}

/** How a paper counts rounds: feedback with delay D of round s is known to the choice of round s + D + 1 - offset, iff D <= window. */
export interface Timing {
  readonly offset: 0 | 1;
  readonly window?: number;
}

/** Plays a policy in a world; returns the regret of each round. Rewards of 0 are fed back like any other. */
export function play(policy: Policy, world: World, { offset, window = Number.POSITIVE_INFINITY }: Timing): Float64Array {
  const regret = new Float64Array(world.horizon);
  const due: { impression: AppendedImpression; reward: number }[][] = [];
  for (let round = 1; round <= world.horizon; round++) {
    for (const outcome of due[round] ?? []) policy.observe(outcome);
    delete due[round];
    const candidates = world.candidates?.(round);
    const choice: Taken = round === 1 && world.first ? world.first : policy.choose({ candidates, round })[0];
    const impression = policy.append({ round, features: choice.features ?? candidates?.[choice.index].features });
    regret[round - 1] = world.regret(round, choice);
    const reward = world.reward(round, choice);
    const delay = world.delay(round);
    const known = round + Math.max(delay + 1 - offset, 1);
    if (delay > window || known > world.horizon) continue;
    due[known] ??= [];
    due[known].push({ impression, reward });
  }
  return regret;
}

export function cumulative(values: ArrayLike<number>): Float64Array {
  const sums = Float64Array.from(values);
  for (let i = 1; i < sums.length; i++) sums[i] += sums[i - 1];
  return sums;
}
