import type { EncodedActions } from "../encoding/encoded-actions.ts";
import type { Families } from "./families.ts";
import { best, boosted, type ChanceOf, chancesOf, numbersAt, type Sampling, type Scores } from "./ranking.ts";

/** The candidates that a rule scores. */
export interface CandidateRows {
  /** Number of candidates (k). */
  readonly count: number;
  /** Features of the candidates or of the rule's own domain: k x d, row-major. For encoded actions it is computed when it is read. */
  readonly points: Float64Array;
  /** Actions of a catalogue, which a linear rule scores without their features. */
  readonly encoded?: EncodedActions | undefined;
  /** Features of the candidates with these indices. */
  rows(indices: readonly number[]): Float64Array;
}

/** The request for a choice among candidates, as a sampling rule gets it. */
export interface SampleRequest extends CandidateRows, Sampling {
  /** Places of the list. */
  readonly limit: number;
  readonly families?: Families | undefined;
  /** Added to the score of each candidate: k. Absent if they are all 0. */
  readonly boosts?: Float64Array | undefined;
  /** Whether the list is by posterior means. */
  readonly greedy?: boolean;
  /** Standard normals of the decision, or of the trial if there are draws. A longer request starts with the same numbers. */
  normals(count: number): Float64Array;
}

/** The list that a rule shows, and what is known about it. */
export interface Ranked {
  /** Indices of the candidates, best first. */
  readonly list: readonly number[];
  /** The scores of candidates with these indices. */
  scores(indices: readonly number[]): ArrayLike<number>;
  readonly moments?: Scores["moments"];
  /** Probability of each candidate at each place of the list. Absent if the rule does not know it. */
  readonly chance?: ChanceOf;
}

/** Ranks candidates by their scores and boosts. */
export function rankedBy(scores: Scores, { limit, families, boosts }: Pick<SampleRequest, "limit" | "families" | "boosts">): Ranked {
  const { score, moments, rankings } = boosted(scores, boosts);
  const list = families ? families.best(score, limit) : best(score, limit);
  const chance = rankings && (families ? families.chances(rankings, list.length) : chancesOf(rankings, score.length));
  return { list, scores: (indices) => numbersAt(score, indices), moments, chance };
}
