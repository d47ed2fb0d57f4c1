import { compileCore } from "#core-module";
import { wholeNumber, wrongType } from "../argument.ts";
import { instantiate } from "../core/core.ts";
import { examinationAt, parseExamination } from "../examination.ts";
import { countedGoals } from "./counted-goals.ts";
import { type Estimate, ratioEstimate } from "./estimate.ts";
import { chancesOf, type LoggedItem, type LoggedList, listsUntil } from "./list-log.ts";
import { fittedListTarget, givenListTarget, type ListTarget, type ShownChances } from "./list-target.ts";
import { MaturedLog, type SeenRewards } from "./matured-log.ts";
import { checked, type PolicyRequest } from "./request.ts";
import { termsOf } from "./row.ts";

/** Request of `evaluateLists`. */
export interface ListEvaluationRequest extends PolicyRequest<ListTarget> {
  /** Lists of one or several policies, each item with its probability. */
  readonly log: readonly LoggedList[];
  /** Examination weights of places, as `RecommenderOptions.examination`. `estimateExamination` estimates them. */
  readonly examination: readonly number[];
}

/** Expected reward per list, by several estimators, each with a 95 % interval. */
export interface ListEvaluation {
  readonly asOf: number;
  /** When the evaluated part begins, in ms since 1970. */
  readonly since: number;
  /** Lists learnt from, lists evaluated, and lists too young to be evaluated. */
  readonly lists: { readonly learnt: number; readonly evaluated: number; readonly tooYoung: number };
  /**
   * Mean ratio of the policy's probability and the logged one, for each estimator. Below 1: the log seldom or never has the policy's
   * choices, and the estimate is too low by about that share.
   */
  readonly weights: { readonly itemPosition: number; readonly positionBased: number };
  /** The policies that made the log. */
  readonly logged: Estimate;
  /** Assumes that the reward of an item depends on the item and its place alone. Does not use `examination`. */
  readonly itemPosition: Estimate;
  /** Assumes the position-based model. A reward at one place informs about all places, so its interval is narrower. */
  readonly positionBased: Estimate;
}

interface Row extends SeenRewards {
  /** Examination of the place. */
  readonly examination: number;
  readonly itemPosition: number;
  readonly positionBased: number;
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
  const { asOf, windowMs, split } = checked(request, ["examination"]);
  const examination = parseExamination(request.examination);
  const log = listsUntil(asOf, request.log, request.goals);
  const cut = Math.floor(split * log.length);
  const core = await instantiate(request.module ?? (await compileCore()));
  const conversions = log.flatMap(({ shownAt, items }) => items.map((item) => ({ shownAt, conversions: item.conversions })));
  const goals = countedGoals({ ...request, windowMs }, conversions);
  const matured = new MaturedLog(log, { asOf, goals, maturity: request.maturity });
  const since = log[cut]?.shownAt ?? asOf;
  const target = await targetOf(request, log.slice(0, cut), since);
  let tooYoung = 0;
  const rows = log.slice(cut).flatMap((list, i): Row[] => {
    const place = cut + i;
    const seen = matured.rewardsOf(list, place);
    if (!seen) {
      tooYoung++;
      return [];
    }
    const chances = target(list, place);
    return list.items.map((item, own): Row => {
      const weights = item.pinned ? SAME : weightsOf(list, item, { place: own, chances: chances(own), examination });
      return { ...seen[own], ...weights, examination: examinationAt(examination, own) };
    });
  });
  const estimate = (weight: (row: Row) => number): Estimate =>
    ratioEstimate(core, termsOf(rows, { weight, base: () => 0, share: () => 1 }, matured));
  return {
    asOf,
    since,
    lists: { learnt: cut, evaluated: log.length - cut - tooYoung, tooYoung },
    weights: {
      itemPosition: meanOf(rows, ({ itemPosition, count }) => [count * itemPosition, count]),
      positionBased: meanOf(rows, ({ positionBased, count, examination: e }) => [count * e * positionBased, count * e]),
    },
    logged: estimate(() => 1),
    itemPosition: estimate(({ itemPosition }) => itemPosition),
    positionBased: estimate(({ positionBased }) => positionBased),
  };
}

/** Every policy has a pinned item. */
const SAME = { itemPosition: 1, positionBased: 1 };

/** Sum of the first terms over that of the second. */
function meanOf(rows: readonly Row[], terms: (row: Row) => readonly [number, number]): number {
  let [above, below] = [0, 0];
  for (const row of rows) {
    const [value, share] = terms(row);
    above += value;
    below += share;
  }
  return below > 0 ? above / below : 0;
}

/** The ratios of an item at `place`. `chances`: the policy's probability of the item at each place of the list. */
function weightsOf(
  list: LoggedList,
  item: LoggedItem,
  { place, chances, examination }: { place: number; chances: ArrayLike<number>; examination: readonly number[] },
): { readonly itemPosition: number; readonly positionBased: number } {
  const itemPosition = chances[place] / item.probability;
  const logged = chancesOf(list, item);
  if (!logged) return { itemPosition, positionBased: itemPosition };
  let [above, below] = [0, 0];
  for (let k = 0; k < list.items.length; k++) {
    above += examinationAt(examination, k) * chances[k];
    below += examinationAt(examination, k) * logged[k];
  }
  return { itemPosition, positionBased: above / below };
}

async function targetOf(request: ListEvaluationRequest, log: readonly LoggedList[], at: number): Promise<ShownChances> {
  const { policy, examination, window, goals, reward, seed, module } = request;
  if (typeof policy === "function") return givenListTarget(policy);
  if (typeof policy?.start !== "function") throw wrongType("policy", "a descriptor or a function of a list", policy);
  const draws = wholeNumber("draws", request.draws ?? 100, 1);
  return fittedListTarget({ policy, examination, window, goals, reward, seed, module }, log, { at, draws });
}
