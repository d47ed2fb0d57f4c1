import { compileCore } from "#core-module";
import { onlyKeys, record } from "../argument.ts";
import { type Core, instantiate } from "../core/core.ts";
import { QUANTILE } from "../model/linear/interval.ts";
import type { Estimate } from "./estimate.ts";
import { chancesOf, type LoggedList, listsUntil } from "./list-log.ts";
import { type LogWindow, windowMsOf } from "./request.ts";
import { inverse } from "./symmetric-inverse.ts";

/** Request of `estimateExamination`. */
export interface ExaminationRequest {
  /** Lists of one or several policies, in any order. */
  readonly log: readonly LoggedList[];
  /** How long after its impression a conversion still counts. */
  readonly window: LogWindow;
  /** A compiled core, for hosts that bring their own. */
  readonly module?: WebAssembly.Module;
}

/** How probably visitors examine each place of a list. */
export interface ExaminationEstimate {
  /** Probability of each place relative to the first, with its 95 % interval. NaN where the log does not tell. */
  readonly places: readonly Estimate[];
  /** The values as `RecommenderOptions.examination` takes them: from 0.01 to 1. Where the log does not tell, that of the place before. */
  readonly weights: readonly number[];
  /** Converted items that the estimate rests on. */
  readonly converted: number;
}

/** Least weight, so that one conversion counts for 100 impressions at most. */
const LEAST = 0.01;
const MOST_STEPS = 100;
/** Log ratios beyond this have run away: the likelihood has no maximum. */
const FARTHEST = 12;
/** 97.5 % limit of the mean of a Poisson count of zero. */
const NONE = 3.6888794541139363;
const unknown = (): Estimate => ({ value: Number.NaN, low: 0, high: Number.POSITIVE_INFINITY });

/** A converted item: its list, its place, how many it stands for, and its probability at each place. */
interface Converted {
  readonly list: number;
  readonly place: number;
  readonly count: number;
  readonly chances: ArrayLike<number>;
}

/**
 * Estimates how probably visitors examine each place of a list, from the places of converted items.
 *
 * Position-based model: an item a at place j converts with probability e_j p(a, x) in the context x. A policy shows it there with
 * probability q_j(a, x). If it converts, then at place j with probability q_j e_j / sum_k q_k e_k: the rate p(a, x) cancels, whatever
 * the policy knows about the context. The weights are those under which the places of all conversions are most likely.
 *
 * Random lists have equal q_j. Other lists count if their items have `chances`. Delays cancel as well, if they do not depend on the
 * place. Intervals are of Wald's kind on log e_j, with the conversions of one list as one observation.
 *
 * **Source:** the conditional likelihood of Andersen 1970; the position-based model of Craswell et al. 2008; the use of logged
 * probabilities as in Agarwal et al., *Estimating position bias without intrusive interventions*, WSDM 2019.
 * **Cost:** about ten passes over the converted items, O(places^2) each.
 *
 * @example
 * const { weights } = await estimateExamination({ log, window: { ms: 86_400_000 } });
 * const recommender = await Recommender.create({ policy, window, examination: weights });
 * @throws {TypeError | RangeError} naming the argument.
 */
export async function estimateExamination(request: ExaminationRequest): Promise<ExaminationEstimate> {
  onlyKeys("request", record("request", request), ["log", "window", "module"]);
  const windowMs = windowMsOf(request.window);
  const log = listsUntil(Number.POSITIVE_INFINITY, request.log);
  const core = await instantiate(request.module ?? (await compileCore()));
  const converted = log.flatMap((list, number) => convertedOf(list, number, windowMs));
  const places = log.reduce((most, { items }) => Math.max(most, items.length), 1);
  const estimates = estimatesOf(core, converted, places);
  const weights: number[] = [];
  for (const { value } of estimates) weights.push(Number.isNaN(value) ? (weights.at(-1) as number) : Math.min(Math.max(value, LEAST), 1));
  return { places: estimates, weights, converted: converted.length };
}

/** The converted items of a list that could have had another place. */
function convertedOf(list: LoggedList, number: number, windowMs: number): Converted[] {
  return list.items.flatMap((item, place) => {
    if (item.pinned) return [];
    const until = list.shownAt + windowMs;
    if (!item.conversions?.some(({ at, reward }) => at <= until && reward !== 0)) return [];
    const chances = chancesOf(list, item);
    if (!chances || !(chances[place] > 0) || Array.from(chances).filter((each) => each > 0).length < 2) return [];
    return [{ list: number, place, count: 1 / (list.kept ?? 1), chances }];
  });
}

function estimatesOf(core: Core, converted: readonly Converted[], places: number): Estimate[] {
  const counts = new Float64Array(places);
  for (const { place, count } of converted) counts[place] += count;
  const first: Estimate = { value: 1, low: 1, high: 1 };
  if (!(counts[0] > 0)) return [first, ...Array.from({ length: places - 1 }, unknown)];
  // Places without conversions have the weight 0, and no parameter.
  const free = Array.from(counts.keys()).filter((place) => place > 0 && counts[place] > 0);
  const solved = solve(core, converted, places, free);
  return Array.from(counts, (count, place): Estimate => {
    if (place === 0) return first;
    if (!solved || solved.rates[place] === 0) return unknown();
    if (count === 0) return { value: 0, low: 0, high: NONE / solved.rates[place] };
    const [log, half] = [solved.logs[place], QUANTILE * solved.errors[place]];
    return { value: core.exp(log), low: core.exp(log - half), high: core.exp(log + half) };
  });
}

/** Log weights, their standard errors, and expected conversions per unit of weight: one entry per place. */
interface Solution {
  readonly logs: Float64Array;
  readonly errors: Float64Array;
  readonly rates: Float64Array;
}

/** Newton's method on the log weights of the free places. Undefined if the likelihood has no maximum. */
function solve(core: Core, converted: readonly Converted[], places: number, free: readonly number[]): Solution | undefined {
  const logs = new Float64Array(places);
  for (let step = 0; step < MOST_STEPS; step++) {
    const { gradient, information, meat, rates } = sumsAt(core, converted, logs, free);
    const inverted = inverse(information);
    if (!inverted) return undefined;
    const moves = inverted.map((row) => row.reduce((sum, each, i) => sum + each * gradient[i], 0));
    const greatest = moves.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
    if (greatest < 1e-9) {
      const errors = new Float64Array(places);
      free.forEach((place, i) => {
        errors[place] = Math.sqrt(quadratic(meat, inverted[i]));
      });
      return { logs, errors, rates };
    }
    // A longer step could overshoot: the curvature changes by a factor of e.
    const scale = Math.min(1, 1 / greatest);
    free.forEach((place, i) => {
      logs[place] += scale * moves[i];
    });
    if (free.some((place) => Math.abs(logs[place]) > FARTHEST)) return undefined;
  }
  return undefined;
}

/** Gradient, information and summed squares of scores by list, at these log weights. `rates`: expected conversions per unit of weight. */
function sumsAt(core: Core, converted: readonly Converted[], logs: Float64Array, free: readonly number[]) {
  const weights = logs.map((each) => core.exp(each));
  const parameters = new Int32Array(logs.length).fill(-1);
  free.forEach((place, i) => {
    parameters[place] = i;
  });
  const size = free.length;
  const square = (): Float64Array[] => free.map(() => new Float64Array(size));
  const [gradient, information, meat, rates] = [new Float64Array(size), square(), square(), new Float64Array(logs.length)];
  let score = new Float64Array(size);
  const shares = new Float64Array(size);
  converted.forEach(({ list, place, count, chances }, row) => {
    let total = 0;
    for (let k = 0; k < chances.length; k++) if (k === 0 || parameters[k] >= 0) total += chances[k] * weights[k];
    shares.fill(0);
    for (let k = 0; k < chances.length; k++) {
      rates[k] += (count * chances[k]) / total;
      if (parameters[k] >= 0) shares[parameters[k]] = (chances[k] * weights[k]) / total;
    }
    for (let i = 0; i < size; i++) {
      const own = count * (Number(parameters[place] === i) - shares[i]);
      gradient[i] += own;
      score[i] += own;
      for (let j = 0; j < size; j++) information[i][j] += count * shares[i] * (Number(i === j) - shares[j]);
    }
    if (converted[row + 1]?.list === list) return;
    for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) meat[i][j] += score[i] * score[j];
    score = new Float64Array(size);
  });
  return { gradient, information, meat, rates };
}

function quadratic(matrix: readonly Float64Array[], vector: Float64Array): number {
  return matrix.reduce((sum, row, i) => sum + vector[i] * row.reduce((own, each, j) => own + each * vector[j], 0), 0);
}
