// Scores, and how a list is drawn of them: a rule hands both to the chooser.

import { NumericalError } from "../values/errors.ts";

/** The scores of k candidates, valid until the next choice of the rule. */
export interface Scores {
  /** k entries. The greatest score ranks first. */
  readonly score: Float64Array;
  /** Posterior mean and bonus of the candidates with these indices, one entry each. Absent for a rule without a posterior. */
  readonly moments?: (indices: readonly number[]) => { readonly mean: ArrayLike<number>; readonly width: ArrayLike<number> };
  /** Rankings of which the decision takes one. Absent if the rule knows no probabilities of places. */
  readonly rankings?: Rankings;
  /** Whether the scores are a random order, in which boosts count for nothing. */
  readonly isRandom?: boolean;
}

/** Probability of a candidate at a place. */
export type ChanceOf = (index: number, place: number) => number;

/** Rankings of which a decision takes one. */
export interface Rankings {
  /** Probability of a uniformly random order instead. */
  readonly random: number;
  /** Equally likely rankings, by the scores of k candidates each. */
  readonly count: number;
  scores(ranking: number): Float64Array;
}

/** Probabilities of k candidates at the places of a list by one of these rankings. */
export function chancesOf({ random, count, scores }: Rankings, k: number): ChanceOf {
  if (random === 1) return () => 1 / k;
  let all: Float64Array[] | undefined;
  return (index, place) => {
    all ??= Array.from({ length: count }, (_, ranking) => scores(ranking));
    let hits = 0;
    for (const score of all) if (comesTo(place, index, score)) hits++;
    return random / k + (1 - random) * (hits / count);
  };
}

/** The scores with the boost of each candidate added (k), in each ranking alike. */
export function boosted(scores: Scores, boosts: Float64Array | undefined): Scores {
  if (!boosts) return scores;
  const { score, rankings, isRandom } = scores;
  const higher = (each: Float64Array): Float64Array => each.map((own, i) => own + boosts[i]);
  return {
    ...scores,
    score: isRandom ? score : higher(score),
    ...(rankings && { rankings: { ...rankings, scores: (ranking) => higher(rankings.scores(ranking)) } }),
  };
}

export type KnownScores = Required<Pick<Scores, "score" | "moments">>;

/** `Scores.moments` from the moments of all candidates. The bonus is `multiplier` times `deviation`. */
export function known(mean: Float64Array, deviation: Float64Array, multiplier = 1): KnownScores["moments"] {
  return (indices) => {
    const width = numbersAt(deviation, indices);
    for (let i = 0; i < width.length; i++) width[i] *= multiplier;
    return { mean: numbersAt(mean, indices), width };
  };
}

/** The numbers at these indices. A plain loop: lists are short, and a callback takes longer. */
export function numbersAt(values: Float64Array, indices: readonly number[]): number[] {
  // The first `push` would make room for 17.
  const numbers = new Array<number>(indices.length);
  for (let i = 0; i < indices.length; i++) numbers[i] = values[indices[i]];
  return numbers;
}

/** The rows of a matrix (row-major, `columns` wide) at these indices: a view of one row, or a copy of several. */
export function rowsAt(matrix: Float64Array, columns: number, indices: readonly number[]): Float64Array {
  if (indices.length === 1) return matrix.subarray(indices[0] * columns, (indices[0] + 1) * columns);
  const rows = new Float64Array(indices.length * columns);
  for (let i = 0; i < indices.length; i++) rows.set(matrix.subarray(indices[i] * columns, (indices[i] + 1) * columns), i * columns);
  return rows;
}

/** How a decision samples. */
export interface Sampling {
  /** Number of candidates (k). */
  readonly count: number;
  /** The number of samples for the trial. The decision takes one of them. With 0, the decision draws a sample of its own. */
  readonly draws: number;
  /** Uniforms on (0, 1) of the decision. */
  uniforms(count: number): Float64Array;
}

/** The index of the draw that the decision takes. */
export function taken({ draws, uniforms }: Pick<Sampling, "draws" | "uniforms">): number {
  // A uniform from the caller may be 1.
  return Math.min(Math.floor(uniforms(1)[0] * draws), draws - 1);
}

/**
 * Scores from samples: 1 x k, or draws x k with `draws` > 0. A uniform then selects one of them, and nothing else is random. The
 * probability of a candidate at a place is hence exactly the share of the samples that rank it there.
 */
export function sampled(samples: Float64Array, request: Sampling): Scores {
  const { count, draws } = request;
  if (draws === 0) return { score: samples };
  const start = taken(request) * count;
  return {
    score: samples.subarray(start, start + count),
    rankings: { random: 0, count: draws, scores: (draw) => samples.subarray(draw * count, (draw + 1) * count) },
  };
}

/** Whether the candidate with this index gets this place in a ranking by these scores. */
function comesTo(place: number, index: number, scores: Float64Array): boolean {
  const own = scores[index];
  let before = 0;
  for (let i = 0; i < scores.length && before <= place; i++) {
    const other = scores[i];
    if (other > own || (other === own && i < index)) before++;
  }
  return before === place;
}

/** Index of the greatest score, the lowest among equals. @throws {NumericalError} code `not-a-number`. */
function greatest(score: Float64Array): number {
  let index = 0;
  for (let i = 0; i < score.length; i++) {
    // NaN fails this comparison, so that the next line refuses it.
    if (i > 0 && score[i] <= score[index]) continue;
    if (Number.isNaN(score[i])) throw new NumericalError("not-a-number", "a candidate's score is not a number");
    index = i;
  }
  return index;
}

/**
 * Indices of the `limit` greatest scores, greatest first. Among equals the lowest index comes first.
 * @throws {NumericalError} code `not-a-number`.
 */
export function best(score: Float64Array, limit: number): number[] {
  if (limit === 1 && score.length > 0) return [greatest(score)];
  const ranked: number[] = [];
  /** The score to exceed once `limit` candidates are ranked. */
  let least = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < score.length; i++) {
    const own = score[i];
    // NaN fails this comparison, so that the next line refuses it.
    if (own <= least && ranked.length === limit) continue;
    if (Number.isNaN(own)) throw new NumericalError("not-a-number", "a candidate's score is not a number");
    let place = ranked.length;
    while (place > 0 && own > score[ranked[place - 1]]) place--;
    if (ranked.length < limit) ranked.push(i);
    for (let after = ranked.length - 1; after > place; after--) ranked[after] = ranked[after - 1];
    ranked[place] = i;
    if (ranked.length === limit) least = score[ranked[limit - 1]];
  }
  return ranked;
}
