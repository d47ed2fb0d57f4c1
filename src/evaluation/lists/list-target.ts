import { outOfRange, wrongType } from "../../values/argument.ts";
import type { TimedLog } from "../log/timed-log.ts";
import { candidatesFor, fitted, type PlacedDecision, type PolicyOptions } from "../target.ts";
import type { LoggedList } from "./list-log.ts";

/** Probability with which a policy would have shown each candidate of a logged list at each of its places. **Shapes:** k x places, row-major. */
export type ListTarget = (list: LoggedList, number: number) => ArrayLike<number>;

/** Probabilities with which a policy would have shown the item of a place at each of the places: one entry per place. */
export type ShownChances = (list: LoggedList, number: number) => (place: number) => ArrayLike<number>;

/** A policy as it would stand at time `at`, after the earlier lists of the log. See `fitted`. */
export async function fittedListTarget(
  options: PolicyOptions,
  log: TimedLog<LoggedList>,
  times: { readonly at: number; readonly draws: number },
): Promise<ShownChances> {
  const { policy, request } = await fitted(options, { [Symbol.iterator]: () => decisionsOf(log) }, times);
  return (list, number) => {
    const { items, families } = list;
    // The policy ranks the places that no pin takes.
    const free = Array.from(items.keys()).filter((place) => !items[place].pinned);
    if (free.length === 0) return () => [];
    const asked = { ...request, ...candidatesFor(policy, list), families, limit: free.length, decision: `list ${number}` };
    const chances = policy.placeChances(
      asked,
      free.map((place) => items[place].index),
    );
    return (place) => {
      const own = new Float64Array(items.length);
      const item = free.indexOf(place);
      for (let k = 0; k < free.length; k++) own[free[k]] = chances[item * free.length + k];
      return own;
    };
  };
}

/** The items of lists as decisions, without pinned ones, whose features a list does not have. */
function* decisionsOf(log: TimedLog<LoggedList>): Generator<PlacedDecision> {
  for (const list of log)
    for (const [place, { index, pinned, probability, conversions }] of list.items.entries()) {
      const { shownAt, count } = list;
      if (pinned) continue;
      yield {
        ...{ shownAt, count, index, probability, place, conversions },
        get points() {
          return list.points;
        },
        get ids() {
          return list.ids;
        },
      };
    }
}

/** Checks the caller's probabilities: none is negative, and those of each place sum to 1 up to rounding. @throws {TypeError | RangeError} */
export function givenListTarget(chances: ListTarget): ShownChances {
  return (list, number) => {
    const [count, places] = [list.count, list.items.length];
    const given = chances(list, number);
    if (typeof given?.length !== "number") throw wrongType("policy(list)", `an array of ${count} x ${places} chances`, given);
    const sums = new Float64Array(places);
    for (let i = 0; i < given.length; i++) sums[i % places] += given[i] >= 0 ? given[i] : Number.NaN;
    if (given.length !== count * places || !sums.every((sum, place) => list.items[place].pinned || Math.abs(sum - 1) < 1e-6)) {
      throw outOfRange("policy(list)", `${count} x ${places} chances, those of each place with the sum 1`, given);
    }
    return (place) => Array.from({ length: places }, (_, k) => given[list.items[place].index * places + k]);
  };
}
