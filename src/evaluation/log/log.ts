// The form of a log of single decisions, and its checks. Reading files is the business of the commands.

import { areEncoded, type Points } from "../../encoding/points.ts";
import { checkConversionTime } from "../../ledger/conversion-time.ts";
import { amountOf, type Goals } from "../../ledger/goals.ts";
import {
  finiteNumber,
  matrix,
  nonEmptyString,
  outOfRange,
  positiveShare,
  type Range,
  record,
  wholeNumber,
  wrongType,
} from "../../values/argument.ts";
import { type EntriesOf, TimedLog } from "./timed-log.ts";

/** The goal of a conversion that names none. */
export const DEFAULT_GOAL = "conversion";

/** A logged conversion. */
export interface LoggedConversion {
  /** When it happened, in ms since 1970. */
  readonly at: number;
  /** When you heard of it, in ms since 1970. Default: `at`. Orders that are uploaded at night, and refunds, are known later than they count. */
  readonly knownAt?: number;
  /**
   * As reported, without the weight of its goal. 0 is the reward of a decision without conversions: it takes back the earlier reward of its
   * `eventId`, and says nothing else.
   */
  readonly reward: number;
  /** Names the event. A later one of the same name and goal replaces it. Default: a name of its own. */
  readonly eventId?: string;
  /** The goal that the visitor reached, default "conversion". */
  readonly goal?: string;
}

/** A logged decision and its conversions. */
export interface LoggedDecision {
  /** When the action was shown, in ms since 1970. */
  readonly shownAt: number;
  /** Number of candidates (k). */
  readonly count: number;
  /** Features of the candidates: k x d, row-major, or encoded actions. Absent if they have none. May be a getter: it is read only when needed. */
  readonly points?: Points;
  /**
   * Ids of the candidates, which tell the actions apart that the log never took. Without ids, candidates with the same index are one
   * action.
   */
  readonly ids?: readonly string[];
  /** Boosts of the candidates, with which every policy ranks. Default: none. */
  readonly boosts?: ArrayLike<number>;
  /** Index of the chosen candidate. */
  readonly index: number;
  /** Names the visitor. The decisions of one visitor depend on each other, and count as one observation. Default: a visitor of its own. */
  readonly visitor?: string;
  /** Probability with which it was chosen, greater than 0. */
  readonly probability: number;
  /** Probability with which the log kept the decision, greater than 0. Default 1. The decision counts by one over it. */
  readonly kept?: number;
  /**
   * Conversions and the times at which they happened, in ms since 1970. Their rewards add up. With declared goals, the latest of a goal
   * counts, and the amounts of a goal with a value add up.
   */
  readonly conversions?: readonly LoggedConversion[];
}

/** The goals that are declared, if any, and the range of the reward of one conversion then. */
export interface LogRules {
  readonly goals?: Goals;
  readonly reward: Range;
}

/** The decisions shown by `asOf`, oldest first. @throws {TypeError | RangeError} naming the decision. */
export function decisionsUntil(asOf: number, log: EntriesOf<LoggedDecision>, rules: LogRules): TimedLog<LoggedDecision> {
  return TimedLog.until(asOf, log, { of: "decisions", check: (decision, place) => check(decision, place, rules) });
}

function check(decision: LoggedDecision, place: number, rules: LogRules): void {
  const name = `log[${place}]`;
  record(name, decision);
  finiteNumber(`${name}.shownAt`, decision.shownAt, 0);
  const count = wholeNumber(`${name}.count`, decision.count, 1);
  wholeNumber(`${name}.index`, decision.index, 0, count - 1);
  loggedShare(`${name}.probability`, decision.probability);
  loggedShare(`${name}.kept`, decision.kept ?? 1);
  const { ids } = decision;
  if (decision.visitor !== undefined) nonEmptyString(`${name}.visitor`, decision.visitor);
  if (ids !== undefined && ids?.length !== count) throw outOfRange(`${name}.ids`, `${count} ids, one per candidate`, ids);
  checkConversions(name, decision, rules);
}

/** Least probability of a logged choice. One decision of it would stand for a trillion. */
const LEAST_SHARE = 1e-12;

/** A probability by which a log is weighed. @throws {TypeError | RangeError} */
export function loggedShare(name: string, value: unknown): number {
  if (positiveShare(name, value) < LEAST_SHARE) throw outOfRange(name, `at least ${LEAST_SHARE}`, value);
  return value as number;
}

/** @throws {TypeError | RangeError} naming the conversion of the decision or item `name`. `rules`: absent if only its times matter. */
export function checkConversions(
  name: string,
  { conversions = [], shownAt }: Pick<LoggedDecision, "conversions" | "shownAt">,
  { goals, reward: range }: Partial<LogRules> = {},
): void {
  if (!Array.isArray(conversions)) throw wrongType(`${name}.conversions`, "an array", conversions);
  conversions.forEach((conversion, i) => {
    const own = `${name}.conversions[${i}]`;
    const { at, reward, goal = DEFAULT_GOAL } = record(own, conversion);
    checkConversionTime(`${own}.at`, at, shownAt);
    if (conversion.knownAt !== undefined) checkConversionTime(`${own}.knownAt`, conversion.knownAt, shownAt);
    if (conversion.eventId !== undefined) nonEmptyString(`${own}.eventId`, conversion.eventId);
    nonEmptyString(`${own}.goal`, goal);
    if (goals && !Object.hasOwn(goals, goal as string)) throw outOfRange(`${own}.goal`, `one of ${Object.keys(goals).join(", ")}`, goal);
    if (goals?.[goal as string].value) amountOf(`${own}.reward`, reward);
    else if (goals) finiteNumber(`${own}.reward`, reward, range?.min, range?.max);
    else finiteNumber(`${own}.reward`, reward);
  });
}

/** Features of all candidates, if they have any. @throws {TypeError | RangeError} unless they are those of `count` candidates. */
export function pointsOf({ points, count }: Pick<LoggedDecision, "points" | "count">): Points | undefined {
  if (points === undefined) return undefined;
  if (areEncoded(points)) {
    if (points.count !== count) throw outOfRange("points", `${count} actions`, points.count);
    return points;
  }
  if (points instanceof Float64Array && points.length % count !== 0) throw outOfRange("points", `${count} rows of numbers`, points);
  return matrix("points", points, points.length / count);
}
