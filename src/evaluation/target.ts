import { areEncoded, type Points, rowOf } from "../encoding/points.ts";
import type { Policy } from "../policy/policy.ts";
import { Recommender, type RecommenderOptions } from "../recommender.ts";
import { outOfRange, wholeNumber, wrongType } from "../values/argument.ts";
import { UnsupportedError } from "../values/errors.ts";
import { type LoggedConversion, type LoggedDecision, pointsOf } from "./log/log.ts";
import { type LogWindow, windowMsOf } from "./log/request.ts";

/**
 * Probability with which a policy would have chosen each candidate of a logged decision, or the index of the one candidate that it would
 * have chosen, which is quicker. **Shapes:** k.
 */
export type Target = (decision: LoggedDecision, place: number) => ArrayLike<number> | number;

/** A logged decision at a place of its list. */
export type PlacedDecision = LoggedDecision & { readonly place?: number };

/** Options of a recommender that learns from a log. */
export interface PolicyOptions extends RecommenderOptions {
  readonly window: LogWindow;
}

/** A policy that has learnt, and the request that its probabilities are of. */
interface Fitted {
  readonly policy: Policy;
  readonly request: { readonly round: number; readonly now: number; readonly draws: number };
}

/**
 * A policy as it would stand at time `at`. It has learnt the impressions and conversions of the log until then in order of time, and
 * learns no more. A sampling policy chooses among `draws` samples, the same for all decisions.
 *
 * @throws {UnsupportedError} code `no-probability` if it chooses in a domain of its own.
 */
export async function fitted(
  options: PolicyOptions,
  log: Iterable<PlacedDecision>,
  { at, draws }: { readonly at: number; readonly draws: number },
): Promise<Fitted> {
  const recommender = await Recommender.create(options);
  const { policy } = recommender;
  if (policy.hasDomain) throw new UnsupportedError("no-probability", `${policy.id} does not choose among the log's candidates`);
  const windowMs = windowMsOf(options.window);
  const learnImpression = (decision: PlacedDecision, number: number): void => {
    const { shownAt: now, place } = decision;
    recommender.register({ impressionId: `decision ${number}`, ...shownOf(policy, decision), now, ...(place && { place }) });
  };
  const learnConversion = (number: number, conversion: LoggedConversion, i: number): void => {
    const { at, reward, goal = "conversion", eventId = `${i}` } = conversion;
    // Rewards of one goal that nobody declared would replace each other.
    const own = options.goals ? goal : `${goal} ${eventId}`;
    const { status } = recommender.convert({ impressionId: `decision ${number}`, goal: own, eventId, reward, at });
    if (status === "unknown") throw new Error(`decision ${number}: expected a registered impression of its conversion, got none`);
  };
  const conversions = learntConversions(log, { windowMs, at });
  let next = 0;
  const learnConversions = (isBefore: (conversion: TimedConversion) => boolean): void => {
    for (; next < conversions.length && isBefore(conversions[next]); next++) {
      const { number, conversion, i } = conversions[next];
      learnConversion(number, conversion, i);
    }
  };
  let number = 0;
  for (const decision of log) {
    const { shownAt } = decision;
    if (shownAt > at) break;
    // At one time, a conversion comes after its own impression and before later ones.
    learnConversions((each) => each.at < shownAt || (each.at === shownAt && each.number < number));
    learnImpression(decision, number);
    number++;
  }
  learnConversions(() => true);
  return { policy, request: { round: policy.impressions + 1, now: at, draws } };
}

/** A conversion of a decision, by its number, and when it is learnt. */
interface TimedConversion {
  readonly at: number;
  readonly number: number;
  readonly conversion: LoggedConversion;
  /** Place among the decision's conversions. */
  readonly i: number;
}

/** The conversions that teach a policy until a time, in the order of time. */
function learntConversions(log: Iterable<PlacedDecision>, { windowMs, at: until }: { windowMs: number; at: number }): TimedConversion[] {
  const learnt: TimedConversion[] = [];
  let number = -1;
  for (const { shownAt, conversions = [] } of log) {
    number++;
    conversions.forEach((conversion, i) => {
      const { at, knownAt = at } = conversion;
      // The clock of a sender may be slow, so that a conversion seems to come before its impression.
      const learntAt = Math.max(knownAt, shownAt);
      // Late conversions teach nothing, and their impressions may be forgotten.
      if (knownAt - shownAt <= windowMs && learntAt <= until) learnt.push({ at: learntAt, number, conversion, i });
    });
  }
  return learnt.sort((a, b) => a.at - b.at);
}

/** The probabilities of a fitted policy. @throws {UnsupportedError} code `no-probability` if it does not know them. */
export function fittedTarget({ policy, request }: Fitted): Target {
  return (decision, place) => policy.chances({ ...request, ...candidatesFor(policy, decision), decision: `decision ${place}` });
}

/** The shown action, as a policy takes it: by its features, or by its id. */
function shownOf(policy: Policy, decision: LoggedDecision): { readonly features?: Float64Array; readonly action?: string } {
  const { dimension } = policy;
  if (dimension > 0) return { features: rowOf(pointsFor(policy, decision), decision.index, dimension) };
  return { action: idOf(decision, decision.index) };
}

function idOf({ ids }: Pick<LoggedDecision, "ids">, index: number): string {
  return ids?.[index] ?? String(index);
}

/** @throws {TypeError | RangeError} if the points are missing, or have another dimension than the policy. */
function pointsFor({ dimension }: Policy, decision: Pick<LoggedDecision, "count" | "points">): Points {
  const points = pointsOf(decision);
  if (points === undefined) throw wrongType("points", `${decision.count} vectors of ${dimension} numbers`, points);
  const found = areEncoded(points) ? points.dimension : points.length / decision.count;
  if (found !== dimension) throw outOfRange("points", `vectors of ${dimension} numbers, as the policy has`, found);
  return points;
}

/** The candidates of a decision or a list, for a policy. */
export function candidatesFor(policy: Policy, decision: Pick<LoggedDecision, "count" | "points" | "ids" | "boosts">) {
  const { boosts } = decision;
  if (policy.dimension > 0) return { points: pointsFor(policy, decision), boosts };
  return { candidates: Array.from({ length: decision.count }, (_, index) => ({ id: idOf(decision, index) })), boosts };
}

/** Checks the caller's probabilities: none is negative, and they sum to 1 up to rounding. @throws {TypeError | RangeError} */
export function givenTarget(chances: Target): Target {
  return (decision, place) => {
    const given = chances(decision, place);
    if (typeof given === "number") return wholeNumber("policy(decision)", given, 0, decision.count - 1);
    if (typeof given?.length !== "number") throw wrongType("policy(decision)", `an array of ${decision.count} chances`, given);
    const sum = Array.from(given).reduce((total, each) => (each >= 0 ? total + each : Number.NaN), 0);
    if (given.length !== decision.count || !(Math.abs(sum - 1) < 1e-6)) {
      throw outOfRange("policy(decision)", `${decision.count} chances that sum to 1`, given);
    }
    return given;
  };
}
