// Estimates the reward per list of another policy, on a log of lists with known chances.

import { compileCore } from "#core-module";
import { instantiate } from "../../core/core.ts";
import { examinationAt, parseExamination } from "../../ledger/examination.ts";
import { wholeNumber, wrongType } from "../../values/argument.ts";
import { bounded, isAll, missingShare, type Weighed } from "../estimate/bounded.ts";
import { effectiveRewards, type Figure, stated } from "../estimate/enough.ts";
import { estimateOf, meanOf } from "../estimate/row.ts";
import { countedGoals } from "../log/counted-goals.ts";
import { impressionsOf } from "../log/impressions.ts";
import { MaturedLog, type SeenRewards, tooYoung as tooYoungFor } from "../log/matured-log.ts";
import { closedBy, partsOf } from "../log/parts.ts";
import { checked, type PolicyRequest } from "../log/request.ts";
import { isCertain, otherRatio } from "../log/support.ts";
import type { EntriesOf, TimedLog } from "../log/timed-log.ts";
import { chancesOf, type LoggedItem, type LoggedList, listsUntil } from "./list-log.ts";
import { fittedListTarget, givenListTarget, type ListTarget, type ShownChances } from "./list-target.ts";

/** Request of `evaluateLists`. */
export interface ListEvaluationRequest extends PolicyRequest<ListTarget> {
  /** Lists of one or several policies, each item with its probability. A long log may make them as they are asked for. */
  readonly log: EntriesOf<LoggedList>;
  /** Examination weights of places, as `RecommenderOptions.examination`. `estimateExamination` estimates them. */
  readonly examination: readonly number[];
}

/** Expected reward per list, by several estimators, each with a 95 % interval, or with the number of lists that it needs. */
export interface ListEvaluation {
  readonly asOf: number;
  /** When the evaluated part begins, in ms since 1970. */
  readonly since: number;
  /** Time within which the rewards of each goal count, as in `Evaluation`. */
  readonly withinMs: Readonly<Record<string, number>>;
  /** Lists learnt from, lists evaluated, and lists too young to be evaluated. */
  readonly lists: { readonly learnt: number; readonly evaluated: number; readonly tooYoung: number };
  /** Mean ratio of the policy's probability and the logged one, for each estimator. */
  readonly weights: { readonly itemPosition: number; readonly positionBased: number };
  /**
   * Share of the policy's probability on items that the log could have had at their places, for each estimator. Intervals reach as far as the
   * rewards of all others can be. At 0 they are the whole range of rewards, without a value.
   */
  readonly support: { readonly itemPosition: number; readonly positionBased: number };
  /** The policies that made the log. */
  readonly logged: Figure;
  /** Assumes that the reward of an item depends on the item and its place alone. Does not use `examination`. */
  readonly itemPosition: Figure;
  /** Assumes the position-based model. A reward at one place informs about all places, so its interval is narrower. */
  readonly positionBased: Figure;
}

/** The items of the evaluated lists, in columns. */
interface Rows {
  readonly rewards: SeenRewards;
  /** Examination of the place. */
  readonly examination: Float64Array;
  readonly itemPosition: Float64Array;
  readonly positionBased: Float64Array;
  /** The policy's probability of items that the log could not have had at this place. */
  readonly unsupported: Float64Array;
  /** Mean ratio of the other items. */
  readonly otherwise: Float64Array;
}

/**
 * Estimates the reward per list that a policy would have earned, from a log of other lists.
 *
 * A reward of item a at place j is multiplied by h_j(a) / q_j(a): the policy's probability of the item at this place over the logged
 * one (item-position). The position-based estimate takes sum_k e_k h_k(a) / sum_k e_k q_k(a) instead, with the examination weights e.
 * An item whose logged probability is only known at its own place keeps the ratio of the item-position estimate.
 *
 * Pins, families and boosts of a list bind the policy too: the estimates are of the policy under the same restrictions.
 *
 * Each reward is also divided by the probability that a conversion has come by the age of its list, as in `evaluate`. Intervals are
 * by empirical likelihood, with a list as one observation. They take `examination` as exact.
 *
 * **Source:** Li, Abbasi-Yadkori, Kveton, Muthukrishnan, Vinay and Wen, *Offline evaluation of ranking policies with click models*,
 * KDD 2018, sections 4.2 and 4.5. **Cost:** per list that of the policy, and O(places^2 draws) for the probabilities of a sampling one.
 *
 * @example
 * const { weights: examination } = await estimateExamination({ log, window: { ms: 86_400_000 } });
 * const { positionBased } = await evaluateLists({ log, policy: delayLinTs({ dimension: 8 }), examination, window: { ms: 86_400_000 }, asOf });
 * @throws {TypeError | RangeError} naming the argument.
 * @throws {UnsupportedError} code `no-probability` if the policy chooses in its own domain, or does not know its probabilities.
 */
export async function evaluateLists(request: ListEvaluationRequest): Promise<ListEvaluation> {
  const { asOf, windowMs, split, older, closed, reward } = checked(request, ["examination"]);
  const examination = parseExamination(request.examination);
  const shown = listsUntil(asOf, request.log, { goals: request.goals, reward });
  const all = impressionsOf(shown, itemsOf);
  const goals = countedGoals({ ...request, windowMs, reward }, all);
  const log = closed ? closedBy(shown, asOf, goals.goals) : shown;
  const { learnt: learning, evaluated: part, since, at } = partsOf(log, { split, older, asOf });
  const core = await instantiate(request.module ?? (await compileCore()));
  const matured = new MaturedLog(closed ? impressionsOf(log, itemsOf) : all, { asOf, goals, maturity: request.maturity, closed });
  const target = await targetOf(request, log.slice(...learning), at);
  const before = matured.rows(...learning).rows;
  const seen = matured.rows(...part);
  const rows = weighedRows(log, seen.rows, { target, examination });
  const { rewards, itemPosition, positionBased, unsupported } = rows;
  const learnt = before.length > 0 ? before : rewards;
  const tooYoung = seen.tooYoung + shown.length - log.length;
  const evaluated = part[1] - part[0] - seen.tooYoung;
  const places = evaluated > 0 ? rewards.length / evaluated : 0;
  const { min, max } = goals.reward;
  const range = { min: places * min, max: places * max };
  const young = seen.young > 0 ? tooYoungFor(seen.young) : undefined;
  const figures = ({ weight, examined }: Ratio) => {
    const lacked = meanOf(rewards, (row) => (weight === ONE ? 0 : unsupported[row]));
    const missing = missingShare(core, evaluated, ofLists(rows, { weight, examined }));
    const limits = { range, lacked: Math.min(lacked + missing, 1) };
    const assuming = (reward: number) =>
      estimateOf(core, rewards, { weight, base: (row) => (weight === ONE ? 0 : unsupported[row] * reward) }, matured);
    const estimate = () => {
      const [least, most] = [assuming(min).low + missing * range.min, assuming(max).high + missing * range.max];
      return bounded(estimateOf(core, rewards, { weight }, matured), { least, most }, limits);
    };
    const effective = effectiveRewards(rewards, weight, { learnt, greatest: Math.max(-min, max) });
    const whole = isAll(limits.lacked) && rewards.length > 0;
    const figure = young ?? (whole ? estimate() : stated(estimate, { effective, size: log.length, of: "lists" }));
    return { support: 1 - limits.lacked, figure };
  };
  const examined = (row: number): number => rows.examination[row];
  const byItem = figures({ weight: (row) => itemPosition[row], examined: ONE });
  const byPosition = figures({ weight: (row) => positionBased[row], examined });
  return {
    asOf,
    since,
    withinMs: matured.withinMs,
    lists: { learnt: learning[1] - learning[0], evaluated, tooYoung },
    weights: {
      itemPosition: meanOf(rewards, (row) => itemPosition[row]),
      positionBased: meanOf(rewards, (row) => examined(row) * positionBased[row]) / (meanOf(rewards, examined) || 1),
    },
    support: { itemPosition: byItem.support, positionBased: byPosition.support },
    logged: figures({ weight: ONE, examined: ONE }).figure,
    itemPosition: byItem.figure,
    positionBased: byPosition.figure,
  };
}

const ONE = (): number => 1;

/** The products of a list. */
function itemsOf({ items }: LoggedList) {
  return items.map(({ id, index, conversions }) => ({ product: id ?? index, conversions }));
}

/** The ratio of an estimator, and the weight of a place in its mean. */
interface Ratio {
  readonly weight: (row: number) => number;
  readonly examined: (row: number) => number;
}

/** The mean ratio of the items of each list, whose rows follow each other. */
function* ofLists({ rewards, unsupported, otherwise }: Rows, { weight, examined }: Ratio): Generator<Weighed> {
  for (let from = 0, to = 0; from < rewards.length; from = to) {
    let [all, weights, lacked, others] = [0, 0, 0, 0];
    for (; to < rewards.length && rewards.placeOf(to) === rewards.placeOf(from); to++) {
      const share = examined(to);
      all += share;
      weights += share * weight(to);
      lacked += share * unsupported[to];
      others += share * otherwise[to];
    }
    yield { count: rewards.countOf(from) * all, weight: weights / all, unsupported: lacked / all, otherwise: others / all };
  }
}

function weighedRows(
  log: TimedLog<LoggedList>,
  rewards: SeenRewards,
  { target, examination }: { readonly target: ShownChances; readonly examination: readonly number[] },
): Rows {
  const column = (): Float64Array => new Float64Array(rewards.length);
  const rows = { examination: column(), itemPosition: column(), positionBased: column(), unsupported: column(), otherwise: column() };
  for (let row = 0; row < rewards.length; ) {
    const place = rewards.placeOf(row);
    const list = log.at(place);
    const chances = target(list, place);
    for (const [own, item] of list.items.entries()) {
      const weights = item.pinned ? SAME : weightsOf(list, item, { place: own, chances: chances(own), examination });
      rows.examination[row] = examinationAt(examination, own);
      rows.itemPosition[row] = weights.itemPosition;
      rows.positionBased[row] = weights.positionBased;
      rows.unsupported[row] = weights.unsupported;
      rows.otherwise[row] = weights.otherwise;
      row++;
    }
  }
  return { rewards, ...rows };
}

/** Every policy has a pinned item. */
const SAME = { itemPosition: 1, positionBased: 1, unsupported: 0, otherwise: 1 };

/** The ratios of an item at `place`. `chances`: the policy's probability of the item at each place of the list. */
function weightsOf(
  list: LoggedList,
  item: LoggedItem,
  { place, chances, examination }: { place: number; chances: ArrayLike<number>; examination: readonly number[] },
) {
  const itemPosition = chances[place] / item.probability;
  const unsupported = isCertain(item.probability) ? Math.max(0, 1 - chances[place]) : 0;
  const otherwise = otherRatio(item.probability, chances[place] + unsupported);
  const logged = chancesOf(list, item);
  if (!logged) return { itemPosition, positionBased: itemPosition, unsupported, otherwise };
  let [above, below] = [0, 0];
  for (let k = 0; k < list.items.length; k++) {
    above += examinationAt(examination, k) * chances[k];
    below += examinationAt(examination, k) * logged[k];
  }
  return { itemPosition, positionBased: above / below, unsupported, otherwise };
}

async function targetOf(request: ListEvaluationRequest, log: TimedLog<LoggedList>, at: number): Promise<ShownChances> {
  const { policy, examination, window, goals, reward, seed, module } = request;
  if (typeof policy === "function") return givenListTarget(policy);
  if (typeof policy?.start !== "function") throw wrongType("policy", "a descriptor or a function of a list", policy);
  const draws = wholeNumber("draws", request.draws ?? 100, 1);
  return fittedListTarget({ policy, examination, window, goals, reward, seed, module }, log, { at, draws });
}
