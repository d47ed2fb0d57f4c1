import { finiteNumber, matrix, outOfRange, positiveShare, record, wholeNumber, wrongType } from "../argument.ts";

/** A logged conversion. */
export interface LoggedConversion {
  /** When it happened, in ms since 1970. */
  readonly at: number;
  readonly reward: number;
}

/** A logged decision and its conversions. */
export interface LoggedDecision {
  /** When the action was shown, in ms since 1970. */
  readonly shownAt: number;
  /** Number of candidates (k). */
  readonly count: number;
  /** Features of the candidates: k x d, row-major. Absent if they have none. May be a getter: it is read only when needed. */
  readonly points?: Float64Array;
  /** Index of the chosen candidate. */
  readonly index: number;
  /** Probability with which it was chosen, greater than 0. */
  readonly probability: number;
  /** Probability with which the log kept the decision, greater than 0. Default 1. The decision counts by one over it. */
  readonly kept?: number;
  /** Conversions and the times at which they happened, in ms since 1970. Their rewards add up. */
  readonly conversions?: readonly LoggedConversion[];
}

/** The decisions shown by `asOf`, oldest first. @throws {TypeError | RangeError} naming the decision. */
export function decisionsUntil(asOf: number, log: readonly LoggedDecision[]): LoggedDecision[] {
  if (!Array.isArray(log)) throw wrongType("log", "an array of decisions", log);
  log.forEach(check);
  return log.filter(({ shownAt }) => shownAt <= asOf).sort((a, b) => a.shownAt - b.shownAt);
}

function check(decision: LoggedDecision, place: number): void {
  const name = `log[${place}]`;
  record(name, decision);
  finiteNumber(`${name}.shownAt`, decision.shownAt, 0);
  const count = wholeNumber(`${name}.count`, decision.count, 1);
  wholeNumber(`${name}.index`, decision.index, 0, count - 1);
  positiveShare(`${name}.probability`, decision.probability);
  positiveShare(`${name}.kept`, decision.kept ?? 1);
  checkConversions(name, decision.conversions);
}

/** @throws {TypeError | RangeError} naming the conversion of the decision `name`. */
export function checkConversions(name: string, conversions: readonly LoggedConversion[] = []): void {
  if (!Array.isArray(conversions)) throw wrongType(`${name}.conversions`, "an array", conversions);
  conversions.forEach(({ at, reward }, i) => {
    finiteNumber(`${name}.conversions[${i}].at`, at);
    finiteNumber(`${name}.conversions[${i}].reward`, reward);
  });
}

/** Reward of a decision by time `at`, from the conversions within its window. */
export function rewardBy(
  at: number,
  { shownAt, conversions = [] }: Pick<LoggedDecision, "shownAt" | "conversions">,
  windowMs: number,
): number {
  const until = Math.min(at, shownAt + windowMs);
  return conversions.reduce((sum, conversion) => sum + (conversion.at <= until ? conversion.reward : 0), 0);
}

/** Features of all candidates, if they have any. @throws {TypeError | RangeError} unless they are a matrix of `count` rows. */
export function pointsOf({ points, count }: Pick<LoggedDecision, "points" | "count">): Float64Array | undefined {
  if (points === undefined) return undefined;
  if (points instanceof Float64Array && points.length % count !== 0) throw outOfRange("points", `${count} rows of numbers`, points);
  return matrix("points", points, points.length / count);
}
