// Estimates examination from the places at which random lists converted. It knows no policy.

import { compileCore } from "#core-module";
import { type Core, instantiate } from "../../core/core.ts";
import { onlyKeys, record } from "../../values/argument.ts";
import { type TooFew, tooFew } from "../../values/too-few.ts";
import type { Figure } from "../estimate/enough.ts";
import type { Estimate } from "../estimate/estimate.ts";
import { oddsInterval } from "../estimate/odds-interval.ts";
import { inverse } from "../estimate/symmetric-inverse.ts";
import { type LogWindow, windowMsOf } from "../log/request.ts";
import type { EntriesOf } from "../log/timed-log.ts";
import { chancesOf, type LoggedList, listsUntil } from "./list-log.ts";

/** Request of `estimateExamination`. */
export interface ExaminationRequest {
  /** Lists of one or several policies, in any order. A long log may make them as they are asked for. */
  readonly log: EntriesOf<LoggedList>;
  /** How long after its impression a conversion still counts. */
  readonly window: LogWindow;
  /** A compiled core, for hosts that bring their own. */
  readonly module?: WebAssembly.Module;
}

/** How probably visitors examine each place of a list. */
export interface ExaminationEstimate {
  /**
   * Probability of each place relative to the first, with its 95 % interval, or how many more conversions it needs. The first is 1 by
   * definition. A later one is above 1 if more visitors examine it than the first. Too few conversions at the first place leave `high`
   * infinite.
   */
  readonly places: readonly Figure[];
  /** The values as `RecommenderOptions.examination` takes them: the nearest from 0.01 to 1. Where the log does not tell, that of the place before. */
  readonly weights: readonly number[];
  /** Converted items that the estimate rests on. */
  readonly converted: number;
}

/** Least weight, so that one conversion counts for 100 impressions at most. */
const LEAST = 0.01;
const MOST_STEPS = 100;
/** Log ratios beyond this have run away: the likelihood has no maximum. */
const FARTHEST = 12;
/**
 * Conversions at a place and the first together, below which no interval is stated. Their number tells nothing about the weight, so it
 * does not matter to an interval that it was not stated with fewer.
 */
const FEWEST = 20;
const WHICH = "conversions at this place or the first";
/** Lists of independent conversions by which the dependence of conversions in a list is moderated: it is not known for sure either. */
const INDEPENDENT = 3;

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
 * place.
 *
 * An interval is that of the ratio of two counts which tell as much as the log: those of conversions at the place and at the first. Conversions
 * of one list depend on each other. The variance between lists says how many independent ones they are worth.
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
  const converted: Converted[] = [];
  let [number, places] = [0, 1];
  for (const list of log) {
    converted.push(...convertedOf(list, number++, windowMs));
    places = Math.max(places, list.items.length);
  }
  const figures = figuresOf(core, converted, places);
  const weights: number[] = [];
  for (const figure of figures) {
    weights.push("value" in figure ? Math.min(Math.max(figure.value, LEAST), 1) : (weights.at(-1) as number));
  }
  return { places: figures, weights, converted: converted.length };
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

function figuresOf(core: Core, converted: readonly Converted[], places: number): Figure[] {
  const counts = new Float64Array(places);
  for (const { place, count } of converted) counts[place] += count;
  // Places without conversions have the weight 0, and no parameter.
  const free = Array.from(counts.keys()).filter((place) => place > 0 && counts[place] > 0);
  const solved = counts[0] > 0 ? solve(core, converted, places, free) : undefined;
  const spread = spreadOf(converted);
  const lists = new Set(converted.map(({ list }) => list)).size;
  return Array.from(counts, (count, place): Figure => {
    if (place === 0) return { value: 1, low: 1, high: 1 };
    if (!solved) return tooFew(FEWEST, WHICH);
    if (count === 0) return figureOf(neverConverted(converted, place, { rate: solved.rates[place], spread }));
    const { variance, apart, naive } = solved.errors[place];
    const worth = (spread * ((variance / apart) * lists + INDEPENDENT)) / (lists + INDEPENDENT);
    const [own, first] = [count / worth, 1 / (naive - 1 / count) / worth];
    return figureOf({ own, first, scale: (core.exp(solved.logs[place]) * first) / own });
  });
}

/** Independent conversions at a place and at the first, which tell as much as the log. The weight is `scale` times their ratio. */
interface Compared {
  readonly own: number;
  readonly first: number;
  readonly scale: number;
}

/** Conversions for which one of the log stands: the mean, by what they stand for. */
function spreadOf(converted: readonly Converted[]): number {
  const sum = converted.reduce((all, { count }) => all + count, 0);
  return sum > 0 ? converted.reduce((all, { count }) => all + count * count, 0) / sum : 1;
}

/** A place where nothing converted. `rate`: conversions there that a weight of 1 would have brought. */
function neverConverted(converted: readonly Converted[], at: number, { rate, spread }: { rate: number; spread: number }): Compared {
  const first = converted.reduce((sum, { place, count, chances }) => sum + (place === 0 && chances[at] > 0 ? count : 0), 0);
  return { own: 0, first: first / spread, scale: first / rate };
}

function figureOf({ own, first, scale }: Compared): Estimate | TooFew {
  const all = own + first;
  if (!(all >= FEWEST)) return tooFew(FEWEST - all, WHICH);
  const { low, high } = oddsInterval({ own, other: first });
  return { value: (scale * own) / first, low: scale * low, high: scale * high };
}

/** Log weights, the variances of their errors, and expected conversions per unit of weight: one entry per place. */
interface Solution {
  readonly logs: Float64Array;
  /** `apart`: as if conversions of one list were independent. `naive`: as if also each stood for itself alone. */
  readonly errors: readonly { readonly variance: number; readonly apart: number; readonly naive: number }[];
  readonly rates: Float64Array;
}

/** Newton's method on the log weights of the free places. Undefined if the likelihood has no maximum. */
function solve(core: Core, converted: readonly Converted[], places: number, free: readonly number[]): Solution | undefined {
  const logs = new Float64Array(places);
  for (let step = 0; step < MOST_STEPS; step++) {
    const { gradient, information, meat, single, rates } = sumsAt(core, converted, logs, free);
    const inverted = inverse(information);
    if (!inverted) return undefined;
    const moves = inverted.map((row) => row.reduce((sum, each, i) => sum + each * gradient[i], 0));
    const greatest = moves.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
    if (greatest < 1e-9) {
      const errors = Array.from(logs, () => ({ variance: 0, apart: 0, naive: 0 }));
      free.forEach((place, i) => {
        errors[place] = { variance: quadratic(meat, inverted[i]), apart: quadratic(single, inverted[i]), naive: inverted[i][i] };
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

/** Gradient, information and summed squares of scores by list (`meat`) and by conversion (`single`), at these log weights. `rates`: expected conversions per unit of weight. */
function sumsAt(core: Core, converted: readonly Converted[], logs: Float64Array, free: readonly number[]) {
  const weights = logs.map((each) => core.exp(each));
  const parameters = new Int32Array(logs.length).fill(-1);
  free.forEach((place, i) => {
    parameters[place] = i;
  });
  const size = free.length;
  const square = (): Float64Array[] => free.map(() => new Float64Array(size));
  const [gradient, information, meat, single] = [new Float64Array(size), square(), square(), square()];
  const rates = new Float64Array(logs.length);
  let score = new Float64Array(size);
  const own = new Float64Array(size);
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
      own[i] = count * (Number(parameters[place] === i) - shares[i]);
      gradient[i] += own[i];
      score[i] += own[i];
      for (let j = 0; j < size; j++) information[i][j] += count * shares[i] * (Number(i === j) - shares[j]);
    }
    for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) single[i][j] += own[i] * own[j];
    if (converted[row + 1]?.list === list) return;
    for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) meat[i][j] += score[i] * score[j];
    score = new Float64Array(size);
  });
  return { gradient, information, meat, single, rates };
}

function quadratic(matrix: readonly Float64Array[], vector: Float64Array): number {
  return matrix.reduce((sum, row, i) => sum + vector[i] * row.reduce((own, each, j) => own + each * vector[j], 0), 0);
}
