// Estimates the reward per list of another policy, on a log of lists with known chances.

import { compileCore } from "#core-module";
import { instantiate } from "../../core/core.ts";
import { examinationAt, parseExamination } from "../../ledger/examination.ts";
import { wholeNumber, wrongType } from "../../values/argument.ts";
import { grouped } from "../../values/grouped.ts";
import { bounded, isAll, missingShare, type Weighed } from "../estimate/bounded.ts";
import { effectiveRewards, type Figure, stated } from "../estimate/enough.ts";
import { estimateOf, meanOf } from "../estimate/row.ts";
import { countedGoals } from "../log/counted-goals.ts";
import { MaturedLog, type SeenRewards, tooYoung as tooYoungFor } from "../log/matured-log.ts";
import { closedBy, partsOf } from "../log/parts.ts";
import { checked, type PolicyRequest } from "../log/request.ts";
import { isCertain, otherRatio } from "../log/support.ts";
import { chancesOf, type LoggedItem, type LoggedList, listsUntil } from "./list-log.ts";
import { fittedListTarget, givenListTarget, type ListTarget, type ShownChances } from "./list-target.ts";

/** Request of `evaluateLists`. */
export interface ListEvaluationRequest extends PolicyRequest<ListTarget> {
  /** Lists of one or several policies, each item with its probability. */
  readonly log: readonly LoggedList[];
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

interface Row extends SeenRewards {
  /** Examination of the place. */
  readonly examination: number;
  readonly itemPosition: number;
  readonly positionBased: number;
  /** The policy's probability of items that the log could not have had at this place. */
  readonly unsupported: number;
  /** Mean ratio of the other items. */
  readonly otherwise: number;
}

/**
 * Estimates the reward per list that a policy would have earned, from a log of other lists.
 *
 * A reward of item a at place j is multiplied by h_j(a) / q_j(a): the policy's probability of the item at this place over the logged
 * one (item-position). The position-based estimate takes sum_k e_k h_k(a) / sum_k e_k q_k(a) instead, with the examination weights e.
 * An item whose logged probability is only known at its own place keeps the ratio of the item-position estimate.
 *
 * Pins and families of a list bind the policy too: the estimates are of the policy under the same restrictions.
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
  const conversions = shown.flatMap(({ shownAt, items }) => items.map((item) => ({ shownAt, conversions: item.conversions })));
  const goals = countedGoals({ ...request, windowMs, reward }, conversions);
  const log = closed ? closedBy(shown, asOf, goals.goals) : shown;
  const { learnt: learning, evaluated: part, since, at } = partsOf(log, { split, older, asOf });
  const core = await instantiate(request.module ?? (await compileCore()));
  const matured = new MaturedLog(log.map(shownOf), { asOf, goals, maturity: request.maturity, closed });
  const target = await targetOf(request, log.slice(...learning), at);
  const before = matured.rows(...learning).rows;
  const seen = matured.rows(...part);
  const rows = Array.from(grouped(seen.rows, ({ place }) => place)).flatMap(([place, items]): Row[] => {
    const list = log[place];
    const chances = target(list, place);
    return list.items.map((item, own): Row => {
      const weights = item.pinned ? SAME : weightsOf(list, item, { place: own, chances: chances(own), examination });
      return { ...items[own], ...weights, examination: examinationAt(examination, own) };
    });
  });
  const learnt = before.length > 0 ? before : rows;
  const tooYoung = seen.tooYoung + shown.length - log.length;
  const evaluated = part[1] - part[0] - seen.tooYoung;
  const places = evaluated > 0 ? rows.length / evaluated : 0;
  const { min, max } = goals.reward;
  const range = { min: places * min, max: places * max };
  const young = seen.young > 0 ? tooYoungFor(seen.young) : undefined;
  const figures = ({ weight, examined }: Ratio) => {
    const lacked = meanOf(rows, (row) => (weight === ONE ? 0 : row.unsupported));
    const missing = missingShare(core, ofLists(rows, { weight, examined }));
    const limits = { range, lacked: Math.min(lacked + missing, 1) };
    const assuming = (reward: number) =>
      estimateOf(core, rows, { weight, base: ({ unsupported }) => (weight === ONE ? 0 : unsupported * reward) }, matured);
    const estimate = () => {
      const [least, most] = [assuming(min).low + missing * range.min, assuming(max).high + missing * range.max];
      return bounded(estimateOf(core, rows, { weight }, matured), { least, most }, limits);
    };
    const effective = effectiveRewards(rows, weight, { learnt, greatest: Math.max(-min, max) });
    const whole = isAll(limits.lacked) && rows.length > 0;
    const figure = young ?? (whole ? estimate() : stated(estimate, { effective, size: log.length, of: "lists" }));
    return { support: 1 - limits.lacked, figure };
  };
  const itemPosition = figures({ weight: (row) => row.itemPosition, examined: ONE });
  const positionBased = figures({ weight: (row) => row.positionBased, examined: (row) => row.examination });
  return {
    asOf,
    since,
    withinMs: matured.withinMs,
    lists: { learnt: learning[1] - learning[0], evaluated, tooYoung },
    weights: {
      itemPosition: meanOf(rows, (row) => row.itemPosition),
      positionBased: meanOf(rows, (row) => row.examination * row.positionBased) / (meanOf(rows, (row) => row.examination) || 1),
    },
    support: { itemPosition: itemPosition.support, positionBased: positionBased.support },
    logged: figures({ weight: ONE, examined: ONE }).figure,
    itemPosition: itemPosition.figure,
    positionBased: positionBased.figure,
  };
}

const ONE = (): number => 1;

/** A list as the impressions of its products. */
function shownOf({ shownAt, kept, visitor, items }: LoggedList) {
  return { shownAt, kept, visitor, items: items.map(({ id, index, conversions }) => ({ product: id ?? index, conversions })) };
}

/** The ratio of an estimator, and the weight of a place in its mean. */
interface Ratio {
  readonly weight: (row: Row) => number;
  readonly examined: (row: Row) => number;
}

/** One entry for each list: the mean ratio of its items, whose rows follow each other. */
function ofLists(rows: readonly Row[], { weight, examined }: Ratio): Weighed[] {
  const lists: Weighed[] = [];
  for (let from = 0, to = 0; from < rows.length; from = to) {
    let [all, weights, unsupported, otherwise] = [0, 0, 0, 0];
    for (; to < rows.length && rows[to].place === rows[from].place; to++) {
      const share = examined(rows[to]);
      all += share;
      weights += share * weight(rows[to]);
      unsupported += share * rows[to].unsupported;
      otherwise += share * rows[to].otherwise;
    }
    lists.push({ count: rows[from].count * all, weight: weights / all, unsupported: unsupported / all, otherwise: otherwise / all });
  }
  return lists;
}

/** Every policy has a pinned item. */
const SAME = { itemPosition: 1, positionBased: 1, unsupported: 0, otherwise: 1 };

/** The ratios of an item at `place`. `chances`: the policy's probability of the item at each place of the list. */
function weightsOf(
  list: LoggedList,
  item: LoggedItem,
  { place, chances, examination }: { place: number; chances: ArrayLike<number>; examination: readonly number[] },
): Pick<Row, "itemPosition" | "positionBased" | "unsupported" | "otherwise"> {
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

async function targetOf(request: ListEvaluationRequest, log: readonly LoggedList[], at: number): Promise<ShownChances> {
  const { policy, examination, window, goals, reward, seed, module } = request;
  if (typeof policy === "function") return givenListTarget(policy);
  if (typeof policy?.start !== "function") throw wrongType("policy", "a descriptor or a function of a list", policy);
  const draws = wholeNumber("draws", request.draws ?? 100, 1);
  return fittedListTarget({ policy, examination, window, goals, reward, seed, module }, log, { at, draws });
}
