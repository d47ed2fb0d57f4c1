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

const named = (name: string, note: string, policy: Contender["policy"]): Contender => ({ name, note, policy });
/** A policy whose outcomes count one round less, as in Verma et al. 2022. */
const offset = (name: string, note: string, policy: Contender["policy"]): Contender => ({ name, note, delayOffset: 1, policy });

const dimension = DIMENSION;
const narrowed = () => otfLinTs({ dimension, width: "theory", exploration: 0.25, widthCap: 1 });
const atRandom = named("Uniform", "at random", () => uniform());

const linear: Record<string, Contender> = {
  "delay-lin-ts": named("DelayLinTS", "the worker's default", () => delayLinTs({ dimension })),
  "delay-lin-ucb": named("DelayLinUCB", "the same without sampling", () => delayLinUcb({ dimension })),
  "otf-lin-ts-narrow": named("OTFLinTS, narrow", "counts pending as no", narrowed),
  "otf-lin-ucb": named("OTFLinUCB", "Vernade 2020, as simulated", () => otfLinUcb({ dimension })),
  "otf-lin-ts": named("OTFLinTS", "Vernade 2020, as simulated", () => otfLinTs({ dimension })),
  "otf-lin-ucb-printed": named("OTFLinUCB, printed", "Vernade 2020, with the width of its proof", () =>
    otfLinUcb({ dimension, width: "theory", norms: "exact" }),
  ),
  waiting: { ...named("Waiting", "OTFLinTS, narrow, learns when windows close", narrowed), waits: true },
  uniform: atRandom,
};

const domain = { points: grid };
/** Rewards are 0 or 1. Their variance is at most 0.25, and 0.2 is a fair guess. */
const model = { kernel: squaredExponential({ lengthscale: LENGTHSCALE, variance: 0.25 }), noiseVariance: 0.2, domain };

const curve: Record<string, Contender> = {
  "delay-gp-ucb": offset("DelayGP-UCB", "fits its kernel itself", () => delayGpUcb({ domain })),
  "delay-gp-ts": offset("DelayGP-TS", "the same by sampling", () => delayGpTs({ domain })),
  "gp-ucb-sdf": offset("GP-UCB-SDF", "Verma 2022", () => gpUcbSdf({ ...model, norms: "buffered" })),
  "gp-ts-sdf": offset("GP-TS-SDF", "Verma 2022, by sampling", () => gpTsSdf({ ...model, norms: "buffered" })),
  "gp-ucb": offset("GP-UCB", "ignores pending impressions", () => gpUcb(model)),
  "asy-ts": offset("asy-TS", "GP-UCB by sampling", () => asyTs(model)),
  "gp-bucb": offset("GP-BUCB", "its variance includes pending impressions", () => gpBucb(model)),
  "gp-bts": offset("GP-BTS", "GP-BUCB by sampling", () => gpBts(model)),
  waiting: { ...offset("Waiting", "GP-BUCB, learns when windows close", () => gpBucb(model)), waits: true },
  "bpe-delay": named("BPE-Delay", "Vakili 2023, in rounds of pure exploration", ({ horizon, delay }) =>
    bpeDelay({ ...model, horizon, expectedDelay: delay }),
  ),
  bpe: named("BPE", "BPE-Delay without its allowance for delays", ({ horizon }) => bpe({ ...model, horizon })),
  "delayed-zooming": named("Delayed Zooming", "Liu 2025, without a posterior", ({ horizon }) =>
    delayedZooming({ domain, horizon, sigma: 0.1 }),
  ),
  dlpp: named("DLPP", "Liu 2025, prunes in phases", ({ horizon }) => dlpp({ domain, horizon, sigma: 0.1 })),
  "mini-gp-ucb": named("MINI-GP-UCB", "Calandriello 2022, in batches", () => miniGpUcb(model)),
  "mini-gp-ei": named("MINI-GP-EI", "in batches, by expected improvement", () => miniGpEi(model)),
  "gp-ei": named("GP-EI", "expected improvement", () => gpEi(model)),
  "epsilon-greedy": named("Epsilon-greedy", "the best mean, or at random", () => epsilonGreedy(model)),
  uniform: atRandom,
};

/** Policies by problem and by their name in the URL. */
export const contenders: Readonly<Record<ProblemId, Readonly<Record<string, Contender>>>> = { linear, curve };
