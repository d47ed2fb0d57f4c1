// The list of an upper confidence rule among candidates, of which only those are scored that may be in it.

import type { CoreProcess, KnownMeans } from "../../core/core-process.ts";
import type { Ranked, SampleRequest } from "../candidates.ts";
import { type Moments, upperConfidence } from "../posterior.ts";
import { best, numbersAt, type Scores } from "../ranking.ts";

/** Among fewer candidates, or of fewer for each place, what is left out costs less than finding it. */
const LEAST_CANDIDATES = 32;
const LEAST_PER_PLACE = 4;
/** After a search that leaves this share of the candidates, so many are left out: scores are then alike, and will be for a while. */
const IN_VAIN = 0.75;
const PAUSE = 15;

/** A posterior that finds the candidates which can have one of the `limit` greatest scores, at mean + `multiplier` deviations. */
export interface Contending {
  predict(points: Float64Array): Moments;
  /** Absent, or undefined, if all have to be scored. */
  contenders?(points: Float64Array, limit: number, multiplier: number): Contenders | undefined;
}

/** Candidates with their moments, in ascending order of their places. */
export interface Contenders extends Moments {
  readonly places: readonly number[];
}

/** Searches the candidates of a process, unless the last search was in vain. */
export class Search {
  readonly #process: CoreProcess;
  /** Searches to leave out. */
  #pause = 0;

  constructor(process: CoreProcess) {
    this.#process = process;
  }

  /** As `Contending.contenders`. `known`: means to rank by, instead of those of the process. */
  contenders(points: Float64Array, limit: number, multiplier: number, known?: KnownMeans): Contenders | undefined {
    if (this.#pause-- > 0) return undefined;
    const { places, mean, variance, count } = this.#process.contenders(points, limit, multiplier, known);
    this.#pause = places.length > IN_VAIN * count ? PAUSE : 0;
    const order = Array.from(places.keys()).sort((a, b) => places[a] - places[b]);
    return {
      places: numbersAt(places, order),
      mean: Float64Array.from(order, (i) => mean[i]),
      deviation: Float64Array.from(order, (i) => Math.sqrt(variance[i])),
    };
  }
}

/** `upperConfidence` for a list: the same choice with the same numbers. A candidate that is not in the list is scored when it is asked for. */
export function upperConfidenceList(posterior: Contending, request: SampleRequest, multiplier: number): Scores | Ranked {
  const { points, count, limit, families, boosts, greedy } = request;
  const few = count < LEAST_CANDIDATES || count < LEAST_PER_PLACE * limit;
  const found = few || greedy || families || boosts ? undefined : posterior.contenders?.(points, limit, multiplier);
  if (!found) return upperConfidence(posterior.predict(points), multiplier);
  const { places } = found;
  const own = upperConfidence(found, multiplier);
  const list = best(own.score, limit).map((i) => places[i]);
  const scoresOf = (indices: readonly number[]) => {
    const known = indices.map((index) => places.indexOf(index));
    if (!known.includes(-1)) return { score: numbersAt(own.score, known), moments: own.moments(known) };
    const { score, moments } = upperConfidence(posterior.predict(request.rows(indices)), multiplier);
    return { score, moments: moments(Array.from(score.keys())) };
  };
  return { list, scores: (indices) => scoresOf(indices).score, moments: (indices) => scoresOf(indices).moments };
}
