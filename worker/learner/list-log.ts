import type { RandomList, ShownItem } from "../domain/click-models.ts";
import type { Assignment } from "../protocol/answers.ts";

/** An impression of the log, as far as its place in a list matters. */
export interface PlacedRow extends ShownItem {
  /** Id of the list's first impression. */
  readonly first: string;
  readonly arm: Assignment;
  /** Number of candidates. */
  readonly candidates: number;
  /** Version of the model that decided. */
  readonly version: number;
}

/** Deeper places are left out: few visitors see them, and the estimate takes the square of the number of places. */
const MOST_PLACES = 20;

/**
 * The lists among the rows that were ranked uniformly at random, in order of their first rows: those of the holdout, and those that
 * `isRandom` names. Items of a list need not be neighbours, and may be missing. A single item tells nothing about places, so it is left out.
 */
export function randomLists(rows: Iterable<PlacedRow>, isRandom: (row: PlacedRow) => boolean): Map<string, RandomList> {
  const lists = new Map<string, ShownItem[]>();
  for (const row of rows) {
    const { first, arm, place, action, converted } = row;
    if (place >= MOST_PLACES || (arm !== "holdout" && !(arm === "policy" && isRandom(row)))) continue;
    const list = lists.get(first) ?? [];
    lists.set(first, list);
    list.push({ place, action, converted });
  }
  for (const [first, { length }] of lists) if (length < 2) lists.delete(first);
  return lists;
}
