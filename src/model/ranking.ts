import { NumericalError } from "../errors.ts";

/** What a rule says of k candidates until its next choice: a score for each, and what stands behind it for those asked about. */
export interface Scores {
  /** k entries; the greatest comes first. */
  readonly score: Float64Array;
  /** Posterior mean and bonus of the candidates with these indices, one entry each. Absent for a rule that has none. */
  readonly moments?: (indices: readonly number[]) => { readonly mean: ArrayLike<number>; readonly width: ArrayLike<number> };
  /** Chance that the candidate with this index comes to this place of the ranking, where the rule knows it. */
  readonly probability?: (index: number, place: number) => number;
}

export type KnownScores = Required<Pick<Scores, "score" | "moments">>;

/** The moments of a rule that knew those of all candidates before it could score any: the bonus is `multiplier` times `deviation`. */
export function known(mean: Float64Array, deviation: Float64Array, multiplier = 1): KnownScores["moments"] {
  return (indices) => ({
    mean: indices.map((index) => mean[index]),
    width: indices.map((index) => multiplier * deviation[index]),
  });
}

/** The rows of a matrix (row-major, `columns` wide) at these indices: a view if it is one row, or else a copy. */
export function rowsAt(matrix: Float64Array, columns: number, indices: readonly number[]): Float64Array {
  if (indices.length === 1) return matrix.subarray(indices[0] * columns, (indices[0] + 1) * columns);
  const rows = new Float64Array(indices.length * columns);
  for (let i = 0; i < indices.length; i++) rows.set(matrix.subarray(indices[i] * columns, (indices[i] + 1) * columns), i * columns);
  return rows;
}

/** What a rule that samples is told when it chooses among candidates. */
export interface SampleRequest {
  /** Features of the candidates, or the rule's own domain: count x d, row-major. */
  readonly points: Float64Array;
  readonly count: number;
  /** That many samples, which belong to the trial, and of which the decision takes one; with 0 it has one of its own. */
  readonly draws: number;
  /** Standard normals: of the decision, or of the trial if there are draws. The first of many are the same as fewer. */
  normals(count: number): Float64Array;
  /** Uniforms on (0, 1), of the decision. */
  uniforms(count: number): Float64Array;
}

/** Which of its draws a decision takes. */
export function taken({ draws, uniforms }: Pick<SampleRequest, "draws" | "uniforms">): number {
  // A given uniform may be 1.
  return Math.min(Math.floor(uniforms(1)[0] * draws), draws - 1);
}

/**
 * Scores by sampling: `samples` is 1 x k, or draws x k, of which a uniform takes one. Which one is all that is left to chance
 * then, so a candidate's chance of a place is the share of the samples that put it there, exactly.
 */
export function sampled(samples: Float64Array, request: SampleRequest): Scores {
  const { count, draws } = request;
  if (draws === 0) return { score: samples };
  const start = taken(request) * count;
  return {
    score: samples.subarray(start, start + count),
    probability(index, place) {
      let hits = 0;
      for (let start = 0; start < samples.length; start += count) {
        if (comesTo(place, index, samples, start, count)) hits++;
      }
      return hits / draws;
    },
  };
}

/** Whether the candidate with this index comes to this place when ranked by the `count` scores from `start` on. */
export function comesTo(place: number, index: number, scores: Float64Array, start = 0, count = scores.length): boolean {
  const own = scores[start + index];
  let before = 0;
  for (let i = 0; i < count && before <= place; i++) {
    const other = scores[start + i];
    if (other > own || (other === own && i < index)) before++;
  }
  return before === place;
}

/**
 * Indices of the `limit` greatest scores, greatest first, ties to the lowest index.
 * @throws {NumericalError} code `not-a-number`.
 */
export function best(score: Float64Array, limit: number): number[] {
  const ranked: number[] = [];
  /** What a score has to exceed once as many are ranked. */
  let least = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < score.length; i++) {
    const own = score[i];
    // What is not a number is neither more nor less.
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
