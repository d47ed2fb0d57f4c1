// The files around one delay, from the counts up. A law is P(delay < x) of the conversions that come at all.
//
// delays              conversions by delay and impressions by age, and the common law that they tell
// key-delays          the same counts of one product; own-laws makes a law of each product of them and the common one, for a policy
// pooled-laws         how a product's law is drawn towards the common one, and the test whether laws differ
// unmatured-sums      the part of sums over impressions that has not matured: 1 - F(age) of each impression
// delay-correction    (../linear) takes that part from the sums of a linear model
// delay-law           the law with 95 % bands, for people to read
// product-counts      the counts of all products together and of each, for people to read
// product-laws        their laws, and the figures of all: conversion rate, conversions to come
// delay-estimate      (../..) the SDK's door: product-laws, with an alarm for a silence
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { type Cohort, Cohorts } from "./cohorts.ts";

export interface DelaySettings {
  /** Width of the bins of short delays, in the unit of times. */
  readonly resolution: number;
  /** Length of the youngest cohorts, and the age at which an impression leaves its cohort. Both in the unit of times. */
  readonly cohort: number;
  readonly span: number;
}

/** Resolutions of delays in a window, youngest cohorts in it, and windows for which cohorts are kept. */
const STEPS = 16384;
const COHORTS = 256;
const KEPT = 2;

/**
 * Settings of an estimate of the delays within a window, in the unit of times. Cohorts are kept for two windows, because a silence of one
 * needs those of the window before it.
 */
export function settingsOf(window: number): DelaySettings {
  return { resolution: window / STEPS, cohort: window / COHORTS, span: KEPT * window };
}

/** The distribution of delays, as estimated so far. */
export interface DelayCurve {
  /** P(delay < x): 0 at x = 0, and 1 from the longest observable delay on. */
  below(x: number): number;
  /** Upper ends of the bins, P(delay < end) for each, and its standard error by Greenwood's formula. */
  readonly ends: Float64Array;
  readonly probability: Float64Array;
  readonly error: Float64Array;
}

/** Equal bins per doubling of the delay. */
const EIGHTH = 8;
/** Longest delay, in resolutions. */
export const LONGEST = 1073741823;

/** The bin of a delay of `steps` resolutions: one bin per step up to EIGHTH, then EIGHTH bins per doubling. */
export function binOf(steps: number): number {
  const whole = Math.min(Math.max(Math.floor(steps), 0), LONGEST);
  if (whole < EIGHTH) return whole;
  const octave = 28 - Math.clz32(whole);
  return EIGHTH * octave + (whole >> octave);
}

/** The end of a bin, in resolutions. */
export function binEnd(bin: number): number {
  const next = bin + 1;
  if (next <= EIGHTH) return next;
  const octave = Math.floor(next / EIGHTH) - 1;
  return (next - EIGHTH * octave) * (1 << octave);
}

/**
 * Estimates the distribution of delays while young impressions have not had time for long ones.
 *
 * Only conversions that have come are observed, so short delays are over-represented. Take the impressions that are old enough for a
 * delay u, and their conversions with a delay of at most u. The share with delay u is the reverse hazard h(u). P(delay < u) is the
 * product of 1 - h over the delays from u to the longest.
 * **Source:** Lagakos, Barraj, De Gruttola 1988, nonparametric analysis of truncated survival data (the reverse product limit).
 */
export class Delays {
  readonly cohorts: Cohorts;
  readonly bins: number;
  readonly resolution: number;
  /** Conversions by delay, of impressions older than the span. */
  #settled: Float64Array;
  #curve: { readonly time: number; readonly curve: DelayCurve } | undefined;
  /** Which bins have conversions: workspace. */
  readonly #used: Uint8Array;
  /** Ends of the bins. */
  readonly #ends: Float64Array;

  constructor({ resolution, cohort, span }: DelaySettings) {
    this.resolution = resolution;
    this.bins = binOf(Math.min(span / resolution, LONGEST)) + 1;
    this.#settled = new Float64Array(this.bins);
    this.#used = new Uint8Array(this.bins);
    this.#ends = Float64Array.from({ length: this.bins }, (_, bin) => binEnd(bin) * resolution);
    this.cohorts = new Cohorts(cohort, span, this.bins);
  }

  /** Counts `count` impressions shown at `time` and returns their cohort. Undefined if they are too old for one. */
  append(time: number, count = 1): Cohort | undefined {
    this.#curve = undefined;
    return this.cohorts.append(time, count);
  }

  /** Undoes `add` of one impression. */
  remove(time: number): void {
    this.#curve = undefined;
    this.cohorts.remove(time);
  }

  /** Counts `count` conversions `delay` after impressions shown at `time`. A negative count removes them. */
  convert(time: number, delay: number, count = 1): void {
    const bin = Math.min(binOf(delay / this.resolution), this.bins - 1);
    const cohort = this.cohorts.cohortAt(time);
    if (cohort) cohort.sums.add(bin, count);
    else this.#settled[bin] += count;
    this.#curve = undefined;
  }

  /** Moves on to `time`. Returns the cohorts past the span; their delays stay counted. */
  advance(time: number): Cohort[] {
    const passed = this.cohorts.advance(time);
    for (const { sums } of passed) for (let b = 0; b < this.bins; b++) this.#settled[b] += sums.values[b];
    this.#curve = undefined;
    return passed;
  }

  /** P(delay <= age at `time`) for a cohort's impressions, by the curve. */
  matured(cohort: Cohort, curve: DelayCurve, time: number): number {
    return curve.below(Math.max(this.cohorts.age(cohort, time), 0) + this.resolution);
  }

  /** Standard error of `matured`. */
  error(cohort: Cohort, curve: DelayCurve, time: number): number {
    const steps = Math.max(this.cohorts.age(cohort, time), 0) / this.resolution + 1;
    return curve.error[Math.min(binOf(steps), this.bins - 1)];
  }

  /** Conversions by delay, of impressions older than the span. */
  get settled(): Float64Array {
    return this.#settled;
  }

  /** The distribution of delays, with the ages of impressions at `time`. **Cost:** O(bins x cohorts) after a change. */
  curve(time: number): DelayCurve {
    if (this.#curve?.time !== time) this.#curve = { time, curve: this.#estimate(time) };
    return this.#curve.curve;
  }

  #estimate(time: number): DelayCurve {
    const { bins, cohorts, resolution } = this;
    // Most bins have no conversions, nor have the youngest cohorts.
    const used = this.#used.fill(0);
    const parts = [{ counts: this.#settled, reach: Number.MAX_VALUE, seen: totalOf(this.#settled, used) }];
    for (let i = cohorts.list.length - 1; i >= 0; i--) {
      const cohort = cohorts.list[i];
      const counts = cohort.sums.values;
      if (cohort.sums.bound > 0) parts.push({ counts, reach: cohorts.age(cohort, time) + resolution, seen: totalOf(counts, used) });
    }
    // Oldest first, and the settled ones last.
    parts.reverse();
    const ends = this.#ends;
    const probability = new Float64Array(bins).fill(1);
    const error = new Float64Array(bins);
    let chance = 1;
    let variance = 0;
    let deviation = 0;
    for (let b = bins - 1; b >= 0; b--) {
      probability[b] = chance;
      error[b] = deviation;
      if (used[b] === 0) continue;
      let events = 0;
      let risk = 0;
      for (const part of parts) {
        const count = part.counts[b];
        if (part.reach >= ends[b]) {
          events += count;
          risk += part.seen;
        }
        part.seen -= count;
      }
      if (events === 0) continue;
      // One is added to the number at risk. Otherwise the oldest conversion alone would make all shorter delays impossible.
      chance *= 1 - events / (risk + 1);
      variance += events / ((risk + 1) * (risk + 1 - events));
      deviation = chance * Math.sqrt(variance);
    }
    return { ends, probability, error, below: (x) => interpolated(x / resolution, probability) };
  }

  /** Adds what others with the same settings have counted, which lose it. Call `advance` afterwards. */
  merge(other: Delays): void {
    for (let b = 0; b < this.bins; b++) this.#settled[b] += other.#settled[b];
    this.cohorts.merge(other.cohorts);
    this.#curve = undefined;
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    writer.numbers(this.#settled);
    this.cohorts.save(writer);
  }

  load(reader: Pick<SnapshotReader, "numbers">): void {
    this.#settled = reader.numbers(this.bins);
    this.cohorts.load(reader);
    for (const counts of [this.#settled, ...this.cohorts.list.map(({ sums }) => sums.values)])
      if (counts.some((count) => count < 0)) throw malformed();
    this.#curve = undefined;
  }
}

/** The sum of counts. Marks the bins that have some. */
function totalOf(counts: Float64Array, used: Uint8Array): number {
  let sum = 0;
  for (let b = 0; b < counts.length; b++) {
    if (counts[b] === 0) continue;
    sum += counts[b];
    used[b] = 1;
  }
  return sum;
}

/** P(delay < steps), linear within a bin. */
function interpolated(steps: number, probability: Float64Array): number {
  if (steps <= 0) return 0;
  const bin = binOf(steps);
  if (bin >= probability.length) return 1;
  const start = bin === 0 ? 0 : binEnd(bin - 1);
  const before = bin === 0 ? 0 : probability[bin - 1];
  return before + ((probability[bin] - before) * (steps - start)) / (binEnd(bin) - start);
}
