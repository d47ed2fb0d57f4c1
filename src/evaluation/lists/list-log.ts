// The form of a log of lists, and its checks.

import type { Points } from "../../encoding/points.ts";
import type { ChooseRequest } from "../../policy/choose-request.ts";
import { finiteNumber, nonEmptyString, outOfRange, record, wholeNumber, wrongType } from "../../values/argument.ts";
import { checkConversions, type LoggedConversion, type LogRules, loggedShare } from "../log/log.ts";
import { type EntriesOf, TimedLog } from "../log/timed-log.ts";

/** An item of a logged list. */
export interface LoggedItem {
  /** Index of the candidate. */
  readonly index: number;
  /** Names the item, whose delays may differ from those of others. Default: its index does. */
  readonly id?: string;
  /** Probability of the candidate at this place, greater than 0. */
  readonly probability: number;
  /**
   * Probability of the candidate at each place of the list, as `Policy.placeChances` gives it. Absent if only `probability` is known. Not
   * needed in a random list, where all places have the same probability.
   */
  readonly chances?: ArrayLike<number>;
  /**
   * Set if the request gave the item its place, whatever the policy. It is no candidate, its index has no meaning, and its reward counts
   * wholly.
   */
  readonly pinned?: boolean;
  /** As those of a `LoggedDecision`. */
  readonly conversions?: readonly LoggedConversion[];
}

/** A logged list and its conversions. */
export interface LoggedList {
  /** When the list was shown, in ms since 1970. */
  readonly shownAt: number;
  /** Number of candidates (k). */
  readonly count: number;
  /** Features of the candidates: k x d, row-major, or encoded actions. Absent if they have none. May be a getter: it is read only when needed. */
  readonly points?: Points;
  /** Ids of the candidates, as those of a `LoggedDecision`. */
  readonly ids?: readonly string[];
  /** As those of a `LoggedDecision`. */
  readonly boosts?: ArrayLike<number>;
  /** The shown items, the first place first. */
  readonly items: readonly LoggedItem[];
  /** Bounds of families within which every policy ranks. Default: none. */
  readonly families?: ChooseRequest["families"];
  /** Names the visitor. The lists of one visitor depend on each other, and count as one observation. Default: a visitor of its own. */
  readonly visitor?: string;
  /** Whether the list was ranked uniformly at random, as those of a holdout. Default false. */
  readonly random?: boolean;
  /** Probability with which the log kept the list, greater than 0. Default 1. The list counts by one over it. */
  readonly kept?: number;
}

/** The lists shown by `asOf`, oldest first. @throws {TypeError | RangeError} naming the list. */
export function listsUntil(asOf: number, log: EntriesOf<LoggedList>, rules?: LogRules): TimedLog<LoggedList> {
  return TimedLog.until(asOf, log, { of: "lists", check: (list, number) => check(list, number, rules) });
}

function check(list: LoggedList, number: number, rules: LogRules | undefined): void {
  const name = `log[${number}]`;
  record(name, list);
  finiteNumber(`${name}.shownAt`, list.shownAt, 0);
  loggedShare(`${name}.kept`, list.kept ?? 1);
  if (list.visitor !== undefined) nonEmptyString(`${name}.visitor`, list.visitor);
  if (!Array.isArray(list.items)) throw wrongType(`${name}.items`, "an array of items", list.items);
  const free = list.items.filter(({ pinned }) => !pinned).length;
  const count = wholeNumber(`${name}.count`, list.count, Math.min(free, 1));
  if (list.ids !== undefined && list.ids?.length !== count) throw outOfRange(`${name}.ids`, `${count} ids, one per candidate`, list.ids);
  if (list.items.length === 0 || free > count) throw outOfRange(`${name}.items`, `1 to ${count} items`, list.items);
  list.items.forEach((item: LoggedItem, place) => {
    const own = `${name}.items[${place}]`;
    if (!item.pinned) wholeNumber(`${own}.index`, item.index, 0, count - 1);
    loggedShare(`${own}.probability`, item.probability);
    if (item.id !== undefined) nonEmptyString(`${own}.id`, item.id);
    const twin = list.items.findIndex((each) => !each.pinned && !item.pinned && each.index === item.index);
    if (twin >= 0 && twin < place) throw outOfRange(`${own}.index`, `another candidate than that of ${name}.items[${twin}]`, item.index);
    checkChances(`${own}.chances`, item.chances, list.items.length);
    if (item.chances && !item.pinned && !(item.chances[place] > 0))
      throw outOfRange(`${own}.chances[${place}]`, "a chance greater than 0, as the item was shown there", item.chances[place]);
    checkConversions(own, { conversions: item.conversions, shownAt: list.shownAt }, rules);
  });
}

function checkChances(name: string, chances: ArrayLike<number> | undefined, places: number): void {
  if (chances === undefined) return;
  if (chances === null || typeof chances !== "object") throw wrongType(name, `an array of ${places} probabilities`, chances);
  if (chances.length !== places) throw outOfRange(name, `${places} probabilities, one per place of the list`, chances);
  for (let k = 0; k < places; k++) finiteNumber(`${name}[${k}]`, chances[k], 0, 1 + 1e-9);
}

/** Probability of an item at each place of its list. Undefined if the log does not know it. */
export function chancesOf({ random, families, items }: LoggedList, { chances, probability }: LoggedItem): ArrayLike<number> | undefined {
  if (chances || !random || families) return chances;
  return items.map(({ pinned }) => (pinned ? 0 : probability));
}
