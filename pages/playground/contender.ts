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

/** A policy that the reader can choose, with its options. */
export interface Contender {
  readonly name: string;
  /** Main difference from the other policies, in a few words. */
  readonly note: string;
  /** The policy learns impression and outcome only when the window has closed. */
  readonly waits?: true;
  /** The policy's own, 0 by default: an outcome e rounds after its impression counts iff e + delayOffset <= window. */
  readonly delayOffset?: 1;
  /** @param setting the number of rounds, and the typical delay in rounds. */
  policy(setting: { readonly horizon: number; readonly delay: number }): PolicyDescriptor;
}

const narrowed = () => otfLinTs({ dimension: DIMENSION, width: "theory", exploration: 0.25, widthCap: 1 });

const linear: Record<string, Contender> = {
  "delay-lin-ts": { name: "DelayLinTS", note: "the worker's default", policy: () => delayLinTs({ dimension: DIMENSION }) },
  "delay-lin-ucb": { name: "DelayLinUCB", note: "the same without sampling", policy: () => delayLinUcb({ dimension: DIMENSION }) },
  "otf-lin-ts-narrow": { name: "OTFLinTS, narrow", note: "counts pending as no", policy: narrowed },
  "otf-lin-ucb": { name: "OTFLinUCB", note: "Vernade 2020, as simulated", policy: () => otfLinUcb({ dimension: DIMENSION }) },
  "otf-lin-ts": { name: "OTFLinTS", note: "Vernade 2020, as simulated", policy: () => otfLinTs({ dimension: DIMENSION }) },
  "otf-lin-ucb-printed": {
    name: "OTFLinUCB, printed",
    note: "Vernade 2020, with the width of its proof",
    policy: () => otfLinUcb({ dimension: DIMENSION, width: "theory", norms: "exact" }),
  },
  waiting: { name: "Waiting", note: "OTFLinTS, narrow, learns when windows close", waits: true, policy: narrowed },
  uniform: { name: "Uniform", note: "at random", policy: () => uniform() },
};

/** Rewards are 0 or 1. Their variance is at most 0.25, and 0.2 is a fair guess. */
const model = {
  kernel: squaredExponential({ lengthscale: LENGTHSCALE, variance: 0.25 }),
  noiseVariance: 0.2,
  domain: { points: grid },
};

const curve: Record<string, Contender> = {
  "delay-gp-ucb": {
    name: "DelayGP-UCB",
    note: "fits its kernel itself",
    delayOffset: 1,
    policy: () => delayGpUcb({ domain: model.domain }),
  },
  "delay-gp-ts": { name: "DelayGP-TS", note: "the same by sampling", delayOffset: 1, policy: () => delayGpTs({ domain: model.domain }) },
  "gp-ucb-sdf": { name: "GP-UCB-SDF", note: "Verma 2022", delayOffset: 1, policy: () => gpUcbSdf({ ...model, norms: "buffered" }) },
  "gp-ts-sdf": {
    name: "GP-TS-SDF",
    note: "Verma 2022, by sampling",
    delayOffset: 1,
    policy: () => gpTsSdf({ ...model, norms: "buffered" }),
  },
  "gp-ucb": { name: "GP-UCB", note: "ignores pending impressions", delayOffset: 1, policy: () => gpUcb(model) },
  "asy-ts": { name: "asy-TS", note: "GP-UCB by sampling", delayOffset: 1, policy: () => asyTs(model) },
  "gp-bucb": { name: "GP-BUCB", note: "its variance includes pending impressions", delayOffset: 1, policy: () => gpBucb(model) },
  "gp-bts": { name: "GP-BTS", note: "GP-BUCB by sampling", delayOffset: 1, policy: () => gpBts(model) },
  waiting: { name: "Waiting", note: "GP-BUCB, learns when windows close", waits: true, delayOffset: 1, policy: () => gpBucb(model) },
  "bpe-delay": {
    name: "BPE-Delay",
    note: "Vakili 2023, in rounds of pure exploration",
    policy: ({ horizon, delay }) => bpeDelay({ ...model, horizon, expectedDelay: delay }),
  },
  bpe: { name: "BPE", note: "BPE-Delay without its allowance for delays", policy: ({ horizon }) => bpe({ ...model, horizon }) },
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

/** Policies by problem and by their name in the URL. */
export const contenders: Readonly<Record<ProblemId, Readonly<Record<string, Contender>>>> = { linear, curve };
