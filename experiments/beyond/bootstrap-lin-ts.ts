// Paper: Gigli and Stella, Bootstrap your conversions: Thompson sampling for partially observable delayed rewards, UAI 2024.
// Assumes: linear expected reward; a conversion comes after a random delay, whatever the action, or never.
// Model: per choice, one bootstrap sample of all impressions, and one fit of the reward and of the delay law to it, by EM.
// Expired means: a conversion after the window at most.
// Cost: O(n d) per choice for each step of EM, of which there are up to 200. The normal equations are factorised once per choice.
import type { Candidate } from "afterclick";
import type { AppendedImpression } from "afterclick/research";
import type { Stream } from "../../src/simulation/stream.ts";
import type { Player, Taken } from "../../src/simulation/world.ts";

interface BootstrapSettings {
  readonly dimension: number;
  /** In rounds (m). */
  readonly window: number;
  /** Made-up impressions in each fit. The authors' experiments have 10. */
  readonly madeUp?: number;
}

/** Impressions of a bootstrap sample, each with how often it was drawn. */
export interface Sample {
  /** n x dimension, row-major. */
  readonly features: Float64Array;
  readonly counts: Float64Array;
  /** Delay of a conversion, or for how long there has been none. In 0 .. window. */
  readonly times: Int32Array;
  readonly converted: Uint8Array;
}

const MOST_STEPS = 200;
/** EM ends when no impression's chance of having converted changes by more. */
const TOLERANCE = 1e-3;
/** Added to the diagonal of the normal equations, which may be singular. */
const JITTER = 1e-9;

/**
 * BootstrapLinTS.
 *
 * Deviation: an impression has been silent for one round less than in the authors' code, because feedback of the same round is not
 * known here. The effect is one round in hundreds.
 */
export function bootstrapLinTs({ dimension: d, window, madeUp = 10 }: BootstrapSettings, random: Stream): Player {
  const [features, rounds, delays]: [number[], number[], number[]] = [[], [], []];
  let latest = 0;

  const sample = (round: number): Sample => {
    const shown = rounds.length;
    const n = shown + madeUp;
    const counts = new Float64Array(n);
    for (let i = 0; i < n; i++) counts[random.below(n)]++;
    const kept: number[] = [];
    for (let i = 0; i < n; i++) if (counts[i] > 0) kept.push(i);
    const drawn: Sample = {
      features: new Float64Array(kept.length * d),
      counts: Float64Array.from(kept, (i) => counts[i]),
      times: new Int32Array(kept.length),
      converted: new Uint8Array(kept.length),
    };
    for (const [row, i] of kept.entries()) {
      if (i >= shown) {
        makeUp(drawn, row, window, random);
        continue;
      }
      for (let j = 0; j < d; j++) drawn.features[row * d + j] = features[i * d + j];
      drawn.converted[row] = Number(delays[i] >= 0);
      drawn.times[row] = delays[i] >= 0 ? delays[i] : Math.min(round - 1 - rounds[i], window);
    }
    return drawn;
  };

  return {
    choose({ candidates = [], round }): Taken[] {
      latest = round;
      const drawn = sample(round);
      const alike = drawn.converted.every((each) => each === drawn.converted[0]);
      if (rounds.length === 0 || alike) return [{ index: random.below(candidates.length) }];
      return [{ index: bestOf(candidates, fitted(drawn, d, window)) }];
    },
    append({ round, features: own }): AppendedImpression {
      const slot = rounds.push(round) - 1;
      delays.push(-1);
      for (let j = 0; j < d; j++) features.push((own as ArrayLike<number>)[j]);
      return { features: Float64Array.from(own as ArrayLike<number>), slot, round };
    },
    observe({ impression: { slot, round }, reward }) {
      // Known to the choice after the latest: the delay is counted in choices that did not know it.
      if (reward > 0) delays[slot] = latest - round;
    },
  };
}

/** An action and a parameter uniform on [0, 1]^d, normalised; a delay uniform on 0 .. window - 1, seen also without a conversion. */
function makeUp({ features, times, converted }: Sample, row: number, window: number, random: Stream): void {
  const d = features.length / times.length;
  const [action, parameter] = [0, 1].map(() => {
    const raw = Array.from({ length: d }, () => random());
    const norm = Math.hypot(...raw);
    return raw.map((each) => each / norm);
  });
  features.set(action, row * d);
  converted[row] = Number(random() < dot(action, parameter));
  times[row] = random.below(window);
}

const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};

const clipped = (value: number): number => Math.min(Math.max(value, 0), 1);

/** The first candidate with the greatest chance. The chance of a delay inside the window is the same for all. */
function bestOf(candidates: readonly Candidate[], theta: Float64Array): number {
  let best = { index: 0, chance: -1 };
  candidates.forEach(({ features = [] }, index) => {
    const chance = clipped(dot(theta, features));
    if (chance > best.chance) best = { index, chance };
  });
  return best.index;
}

/** Fits the parameter and the delay law by EM. Returns the parameter. */
export function fitted(sample: Sample, d: number, window: number): Float64Array {
  const { features, counts, times, converted } = sample;
  const n = counts.length;
  const solve = normalEquations(features, counts, d);
  const [risk, events] = [new Float64Array(window + 2), new Float64Array(window + 1)];
  // A silent impression's expected reward, and its chance of having converted by its time: 1 x n each.
  const expected = Float64Array.from(converted);
  // The delay law begins as that of all impressions, silent ones at risk throughout; the parameter as if silence were a zero.
  let survival = survivalOf(sample, new Float64Array(n).fill(1), { risk, events });
  let theta = solve(momentOf(sample, expected, d));
  let known = new Float64Array(n).fill(Number.NaN);
  for (let step = 0; step < MOST_STEPS; step++) {
    const next = new Float64Array(n);
    let change = 0;
    for (let i = 0; i < n; i++) {
      const chance = clipped(rate(features, i * d, theta));
      const silent = survival[times[i]];
      next[i] = chance * (1 - silent);
      change = Math.max(change, Number.isNaN(known[i]) ? 1 : Math.abs(next[i] - known[i]));
      if (converted[i] === 0) expected[i] = chance * silent === 0 ? 0 : (chance * silent) / (1 - chance * (1 - silent));
    }
    if (change < TOLERANCE) break;
    known = next;
    survival = survivalOf(sample, expected, { risk, events });
    theta = solve(momentOf(sample, expected, d));
  }
  return theta;
}

function rate(features: Float64Array, from: number, theta: Float64Array): number {
  let sum = 0;
  for (let j = 0; j < theta.length; j++) sum += features[from + j] * theta[j];
  return sum;
}

/** P(delay > t) for t = 0 .. window, by Kaplan and Meier, in which impression i weighs `weights[i]` times its count. */
function survivalOf({ counts, times, converted }: Sample, weights: Float64Array, sums: { risk: Float64Array; events: Float64Array }) {
  const { risk, events } = sums;
  risk.fill(0);
  events.fill(0);
  for (let i = 0; i < counts.length; i++) {
    risk[times[i]] += counts[i] * weights[i];
    if (converted[i]) events[times[i]] += counts[i];
  }
  for (let t = events.length - 1; t >= 0; t--) risk[t] += risk[t + 1];
  const survival = new Float64Array(events.length);
  let left = 1;
  for (let t = 0; t < events.length; t++) {
    if (events[t] > 0) left *= Math.max(1 - events[t] / risk[t], 0);
    survival[t] = left;
  }
  return survival;
}

function momentOf({ features, counts }: Sample, rewards: Float64Array, d: number): Float64Array {
  const moment = new Float64Array(d);
  for (let i = 0; i < counts.length; i++) {
    const weight = counts[i] * rewards[i];
    if (weight !== 0) for (let j = 0; j < d; j++) moment[j] += weight * features[i * d + j];
  }
  return moment;
}

/** Factorises sum count x x^T by Cholesky. Returns a function that solves for a moment. */
function normalEquations(features: Float64Array, counts: Float64Array, d: number): (moment: Float64Array) => Float64Array {
  const factor = new Float64Array(d * d);
  for (let i = 0; i < counts.length; i++) {
    for (let j = 0; j < d; j++) {
      const weight = counts[i] * features[i * d + j];
      for (let k = 0; k <= j; k++) factor[j * d + k] += weight * features[i * d + k];
    }
  }
  for (let j = 0; j < d; j++) {
    for (let k = 0; k <= j; k++) {
      let sum = factor[j * d + k] + (j === k ? JITTER : 0);
      for (let l = 0; l < k; l++) sum -= factor[j * d + l] * factor[k * d + l];
      factor[j * d + k] = j === k ? Math.sqrt(Math.max(sum, JITTER)) : sum / factor[k * d + k];
    }
  }
  return (moment) => {
    const x = moment.slice();
    for (let j = 0; j < d; j++) {
      for (let k = 0; k < j; k++) x[j] -= factor[j * d + k] * x[k];
      x[j] /= factor[j * d + j];
    }
    for (let j = d - 1; j >= 0; j--) {
      for (let k = j + 1; k < d; k++) x[j] -= factor[k * d + j] * x[k];
      x[j] /= factor[j * d + j];
    }
    return x;
  };
}
