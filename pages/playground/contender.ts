import {
  asyTs,
  bpe,
  bpeDelay,
  delayedZooming,
  delayGpTs,
  delayGpUcb,
  delayLinTs,
  delayLinUcb,
  dlpp,
  epsilonGreedy,
  gpBts,
  gpBucb,
  gpEi,
  gpTsSdf,
  gpUcb,
  gpUcbSdf,
  miniGpEi,
  miniGpUcb,
  otfLinTs,
  otfLinUcb,
  type PolicyDescriptor,
  squaredExponential,
  uniform,
} from "afterclick";
import { DIMENSION, grid, LENGTHSCALE, type ProblemId } from "./problem.ts";

/** A policy as one picks it, with the options it plays with. */
export interface Contender {
  readonly name: string;
  /** What sets it apart, in a few words. */
  readonly note: string;
  /** Told of an impression and what came of it only when its window has closed. */
  readonly waits?: true;
  /** `horizon` and `delay`, its typical length, in rounds. */
  policy(setting: { readonly horizon: number; readonly delay: number }): PolicyDescriptor;
}

const narrowed = () => otfLinTs({ dimension: DIMENSION, width: "theory", exploration: 0.25, widthCap: 1 });

const linear: Record<string, Contender> = {
  "delay-lin-ts": { name: "DelayLinTS", note: "the worker's default", policy: () => delayLinTs({ dimension: DIMENSION }) },
  "delay-lin-ucb": { name: "DelayLinUCB", note: "the same without chance", policy: () => delayLinUcb({ dimension: DIMENSION }) },
  "otf-lin-ts-narrow": { name: "OTFLinTS, narrow", note: "takes what is pending for a no", policy: narrowed },
  "otf-lin-ucb": { name: "OTFLinUCB", note: "Vernade 2020, as simulated", policy: () => otfLinUcb({ dimension: DIMENSION }) },
  "otf-lin-ts": { name: "OTFLinTS", note: "Vernade 2020, as simulated", policy: () => otfLinTs({ dimension: DIMENSION }) },
  "otf-lin-ucb-printed": {
    name: "OTFLinUCB, printed",
    note: "Vernade 2020, with the width of its proof",
    policy: () => otfLinUcb({ dimension: DIMENSION, width: "theory", norms: "exact" }),
  },
  waiting: { name: "Waiting", note: "OTFLinTS, narrow, told when windows close", waits: true, policy: narrowed },
  uniform: { name: "Uniform", note: "at random", policy: () => uniform() },
};

/** A reward is 0 or 1, of which a variance of 0.2 is a fair guess. */
const model = {
  kernel: squaredExponential({ lengthscale: LENGTHSCALE, variance: 0.25 }),
  noiseVariance: 0.2,
  domain: { points: grid },
};

const curve: Record<string, Contender> = {
  "delay-gp-ucb": { name: "DelayGP-UCB", note: "fits its kernel itself", policy: () => delayGpUcb({ domain: model.domain }) },
  "delay-gp-ts": { name: "DelayGP-TS", note: "the same by sampling", policy: () => delayGpTs({ domain: model.domain }) },
  "gp-ucb-sdf": { name: "GP-UCB-SDF", note: "Verma 2022", policy: () => gpUcbSdf({ ...model, norms: "buffered" }) },
  "gp-ts-sdf": { name: "GP-TS-SDF", note: "Verma 2022, by sampling", policy: () => gpTsSdf({ ...model, norms: "buffered" }) },
  "gp-ucb": { name: "GP-UCB", note: "blind to what is pending", policy: () => gpUcb(model) },
  "asy-ts": { name: "asy-TS", note: "GP-UCB by sampling", policy: () => asyTs(model) },
  "gp-bucb": { name: "GP-BUCB", note: "its variance knows what is pending", policy: () => gpBucb(model) },
  "gp-bts": { name: "GP-BTS", note: "GP-BUCB by sampling", policy: () => gpBts(model) },
  waiting: { name: "Waiting", note: "GP-BUCB, told when windows close", waits: true, policy: () => gpBucb(model) },
  "bpe-delay": {
    name: "BPE-Delay",
    note: "Vakili 2023, in rounds of pure exploration",
    policy: ({ horizon, delay }) => bpeDelay({ ...model, horizon, expectedDelay: delay }),
  },
  bpe: { name: "BPE", note: "BPE-Delay without delays in mind", policy: ({ horizon }) => bpe({ ...model, horizon }) },
  "delayed-zooming": {
    name: "Delayed Zooming",
    note: "Liu 2025, without a posterior",
    policy: ({ horizon }) => delayedZooming({ domain: model.domain, horizon, sigma: 0.1 }),
  },
  dlpp: { name: "DLPP", note: "Liu 2025, prunes in phases", policy: ({ horizon }) => dlpp({ domain: model.domain, horizon, sigma: 0.1 }) },
  "mini-gp-ucb": { name: "MINI-GP-UCB", note: "Calandriello 2022, in batches", policy: () => miniGpUcb(model) },
  "mini-gp-ei": { name: "MINI-GP-EI", note: "in batches, by expected improvement", policy: () => miniGpEi(model) },
  "gp-ei": { name: "GP-EI", note: "expected improvement", policy: () => gpEi(model) },
  "epsilon-greedy": { name: "Epsilon-greedy", note: "the best mean, or at random", policy: () => epsilonGreedy(model) },
  uniform: { name: "Uniform", note: "at random", policy: () => uniform() },
};

/** By problem, and by how they stand in an address. */
export const contenders: Readonly<Record<ProblemId, Readonly<Record<string, Contender>>>> = { linear, curve };
