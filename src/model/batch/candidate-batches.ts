// Batches of the policies that evaluate one candidate until its variance has fallen.

import type { Core } from "../../core/core.ts";
import { finiteNumber, oneOf, wrongType } from "../../values/argument.ts";
import { counted, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { Domain } from "../domain.ts";
import type { Evidence } from "../gaussian-process/expected-improvement.ts";
import { GaussianProcess } from "../gaussian-process/gaussian-process.ts";
import {
  type GaussianProcessSettings,
  type ParsedGaussianProcess,
  parseGaussianProcess,
} from "../gaussian-process/gaussian-process-settings.ts";
import { HallucinatedPosterior } from "../pending/hallucinated-posterior.ts";
import type { AppendedImpression, Moments } from "../posterior.ts";

/** Options of a policy that evaluates candidates in batches. */
export interface BatchSettings extends GaussianProcessSettings {
  readonly domain: NonNullable<GaussianProcessSettings["domain"]>;
  /** C >= 1, default 1.1: the largest factor by which a deviation falls within a batch. At 1 every batch is one evaluation. */
  readonly threshold?: number;
  /** Batches of (C^2 - 1) noiseVariance / variance evaluations ("scaled", default), or without the noise as in the paper ("raw"). */
  readonly batchRule?: "scaled" | "raw";
}

type Batching = Required<Pick<BatchSettings, "threshold" | "batchRule">>;

/** Checks the options of the process and of its batches, and fills in defaults. Refuses any other option, except those in `others`. */
export function parseBatches(options: BatchSettings, others: readonly string[]): ParsedGaussianProcess & Batching {
  if (options.domain == null) throw wrongType("domain", "{ points }", options.domain);
  return {
    ...parseGaussianProcess(options, ["threshold", "batchRule", ...others]),
    threshold: finiteNumber("threshold", options.threshold ?? 1.1, 1, 1e6),
    batchRule: oneOf("batchRule", options.batchRule ?? "scaled", ["scaled", "raw"]),
  };
}

/** The best candidate. */
interface Best {
  readonly index: number;
  readonly score: number;
  readonly mean: number;
  readonly deviation: number;
  /** Multiplier on the deviation: their product is the width. */
  readonly multiplier: number;
}

/** Finds the best candidate. */
type Acquisition = (posterior: HallucinatedPosterior, evidence: Evidence) => Best;

/** The candidate of a batch, with its numbers at the time of the choice. */
interface Leader extends Pick<Best, "index" | "score" | "mean"> {
  readonly width: number;
  /** B_h: evaluations of the batch. */
  readonly length: number;
}

/** Without a limit, a variance that rounding made 0 would keep one candidate for ever. */
const LONGEST_BATCH = 1_000_000;

/**
 * MINI-META: evaluates the best candidate in a batch until its variance has fallen by the factor C^2, then chooses the next one.
 *
 * An impression counts for the batch iff it is at the candidate of the batch. Other impressions, decided elsewhere, are evaluations
 * too. The mean comes from the rewards that have arrived, the variance from all evaluations.
 * **Source:** Calandriello et al. 2022, Alg. 2.
 */
export class CandidateBatches {
  readonly domain: Domain;
  readonly #all: GaussianProcess;
  readonly #posterior: HallucinatedPosterior;
  readonly #acquisition: Acquisition;
  /** Whether the length of a batch leaves out the noise variance. */
  readonly #raw: boolean;
  /** C^2 - 1. Times the noise variance and divided by a variance it is the length of a batch. */
  readonly #growth: number;
  #evaluations = 0;
  #remaining = 0;
  /** The choice of the running batch. Between batches, the choice of the next one, kept until something changes. */
  #leader: Leader | null = null;

  constructor(core: Core, settings: ParsedGaussianProcess, batches: Batching, acquisition: Acquisition) {
    this.#all = new GaussianProcess(core, settings);
    const another = (): GaussianProcess => new GaussianProcess(core, settings);
    this.#posterior = new HallucinatedPosterior(another(), this.#all, settings.refit?.pending ? another : undefined);
    this.domain = this.#all.domain as Domain;
    this.#acquisition = acquisition;
    this.#raw = batches.batchRule === "raw";
    this.#growth = batches.threshold * batches.threshold - 1;
  }

  /** The candidate of the running batch, or between batches of a batch that begins now. */
  leader() {
    const { index, score, mean, width } = this.#current();
    return { index, features: this.domain.at(index), score, mean, width };
  }

  #current(): Leader {
    this.#leader ??= this.#choose();
    return this.#leader;
  }

  /** Line 3 of Alg. 2. */
  #choose(): Leader {
    const evidence = { evaluations: this.#evaluations, logDeterminant: 2 * this.#all.informationGain() };
    const { index, score, mean, deviation, multiplier } = this.#acquisition(this.#posterior, evidence);
    // Line 4, with B_h of at least 1.
    const variance = deviation * deviation;
    const budget = this.#growth * (this.#raw ? 1 : this.#all.hyperparameters.noiseVariance);
    const length = budget === 0 ? 1 : Math.min(Math.max(1, Math.floor(budget / variance)), LONGEST_BATCH);
    return { index, score, mean, width: multiplier * deviation, length };
  }

  append(features: Float64Array): number {
    const { index, length } = this.#current();
    const place = this.domain.indexOf(features);
    this.#posterior.append(features);
    if (place === index) this.#remaining = (this.#remaining || length) - 1;
    this.#evaluations++;
    if (this.#remaining === 0) this.#leader = null;
    return place;
  }

  observe(impression: AppendedImpression, reward: number, previous: number | undefined): void {
    this.#posterior.observe(impression, reward, previous);
    if (this.#remaining === 0) this.#leader = null;
  }

  predict(points: Float64Array): Moments {
    return this.#posterior.predict(points);
  }

  statistics(): Float64Array {
    return this.#posterior.statistics();
  }

  /** Keeps the choice of a running batch. */
  refactor(): void {
    this.#posterior.refactor();
    if (this.#remaining === 0) this.#leader = null;
  }

  save(writer: SnapshotWriter): void {
    const { index, score, mean, width } = this.#remaining > 0 ? this.#current() : { index: 0, score: 0, mean: 0, width: 0 };
    writer.numbers([this.#evaluations, this.#remaining, index, score, mean, width]);
    this.#posterior.save(writer);
  }

  load(reader: SnapshotReader): void {
    const [evaluations, remaining, index, score, mean, width] = reader.numbers(6);
    this.#evaluations = counted("evaluations", evaluations);
    this.#remaining = counted("remaining", remaining, LONGEST_BATCH - 1);
    counted("index", index, this.domain.count - 1);
    this.#leader = remaining > 0 ? { index, score, mean, width, length: remaining } : null;
    this.#posterior.load(reader);
  }
}
