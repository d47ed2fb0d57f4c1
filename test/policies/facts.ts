import { matern52, type PolicyFactory } from "afterclick";
import type { Scenario } from "../regret/world.ts";
import { dyadicVectors, type Setting, stream } from "../support/scenario.ts";

// The form in which each file of this folder states the facts of one policy, and values that several of them share.

/** Whether a value is independent of the order of conversions: also among impressions, only after all impressions, or not. */
type Order = "always" | "afterwards" | "never";

export interface Promises {
  /**
   * The choice is deterministic ("none"), random with a known probability ("known"), with one estimated from many draws ("draws"),
   * or random with an unknown probability ("unknown").
   */
  readonly chance: "none" | "known" | "draws" | "unknown";
  /** Digest of the sums, snapshot after a rebuild, and predictions up to 1e-12. */
  readonly sums: Order;
  readonly state: Order;
  readonly predictions: Order | "none";
}

/** A tested setting, and what it must keep. */
export interface StatedSetting extends Setting {
  readonly promises: Promises;
  /** The policy must declare that the order of conversions does not matter. Default: it must not. */
  readonly invariant?: true;
}

/** A scenario of `test/regret`, and the policy's regret in 24 runs with the seeds 1 to 24. */
export interface Bounded extends Scenario {
  /** Number of runs in the test. Their seeds differ from those of the measurement. */
  readonly runs: number;
  /** Mean and standard deviation of one run's regret. */
  readonly mean: number;
  readonly deviation: number;
}

/** Everything that the tests know of one policy. A policy cannot excuse itself from a law by its own declaration. */
export interface PolicyFacts {
  readonly factory: PolicyFactory;
  readonly settings: readonly StatedSetting[];
  /** The least required options, and all options that follow from them. */
  readonly required: object;
  readonly defaults: object;
  /** 1 if the paper's rewards are known one round after their arrival. */
  readonly delayOffset: 0 | 1;
  /** Version of the policy's stored state. */
  readonly stateVersion: number;
  /** The baseline is the policy with whose regret the others are compared. */
  readonly regret: Bounded | "baseline";
}

export const row = (chance: Promises["chance"], sums: Order, state: Order, predictions: Promises["predictions"]): Promises => ({
  chance,
  sums,
  state,
  predictions,
});

// Goals and domains of settings.

export const FUNNEL = { click: { weight: 0.25 }, conversion: { weight: 1, after: "click" } };
export const PRICED = { click: { weight: 0 }, conversion: { weight: 1, after: "click", value: { currency: "EUR" } } };
/** 4-dimensional points of a fixed domain: multiples of 2^-12 in [0, 1). */
export const POINTS = dyadicVectors(stream(3), 20, 4).map((point) => point.map((coordinate) => coordinate + 0.5));
/** The bounding box of these points. */
export const BOX = Array.from({ length: 4 }, () => [0, 1]);

/** What four products sold before, one of which nobody saw. */
export const SOLD = POINTS.slice(0, 4).map((features, i) => ({ features, sales: 20 * i, views: 300 - 100 * i }));

// Default options.

export const DOMAIN = { points: [[0, 0], [1, 0.5]] }; // biome-ignore format: one line
export const PROCESS = {
  dimension: 2,
  kernel: { name: "squared-exponential", lengthscale: 1, variance: 1, bias: 0 },
  noiseVariance: 0.01,
  capacity: 1000,
  domain: null,
  refit: null,
};
export const MATURED = {
  dimension: 2,
  ridge: 0.1,
  exploration: 0.22,
  shrinkage: "evidence",
  rewardVariance: 0.25,
  forgetting: "changes",
  rewards: "linear",
  delayComponents: 0,
  blocks: [],
};
export const LEARNT = { dimension: 2, contextDimension: 0, capacity: 600, domain: null, rewards: "gaussian", forgetting: null };
export const LENGTHSCALES = [0.1 * Math.sqrt(2), 0.1 * Math.sqrt(2)];
export const EXPLORING = {
  domain: DOMAIN,
  kernel: PROCESS.kernel,
  noiseVariance: 0.01,
  horizon: 90,
  beta: Math.sqrt(6),
  exploration: 1,
};
export const BATCHES = { ...PROCESS, domain: DOMAIN, threshold: 1.1, batchRule: "scaled", delta: 0.1, exploration: 1 };
export const CONFIDENCE = { domain: DOMAIN, horizon: 90, sigma: 0.5, delta: 0.01 };
export const CONSTANT = { ...PROCESS, beta: 1, exploration: 1 };
export const OPEN = { ...CONSTANT, rewardBound: 1, norms: "exact" };

// Options in scenarios of regret.

export const KERNEL = matern52({ lengthscale: 1 });
export const DELAYED = {
  dimension: 3,
  kernel: KERNEL,
  noiseVariance: 0.2,
  rewardBound: 0.02,
  norms: "buffered",
  capacity: 150,
} as const;
export const ARRIVED = { dimension: 3, kernel: KERNEL, noiseVariance: 0.05, exploration: 0.3, capacity: 150 };
/** A line on which the value rises from 0 to 0.9. */
export const LINE = Array.from({ length: 25 }, (_, i) => [i / 24, 0, 0]);
export const LIPSCHITZ = { domain: { points: LINE }, horizon: 600, sigma: 0.02 };
export const ON_LINE = { domain: { points: LINE }, kernel: KERNEL, noiseVariance: 0.02 };
