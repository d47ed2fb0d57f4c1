import type { ListDecision } from "../../domain/decision/random-list.ts";
import type { RandomList, ShownItem } from "../../domain/figures/click-models.ts";

/** An impression of the log, as far as its place in a list matters. */
export interface PlacedRow extends ShownItem, ListDecision {
  /** Version of the model that decided. */
  readonly version: number;
}

/** Deeper places are left out: few visitors see them, and the estimate takes the square of the number of places. */
const MOST_PLACES = 20;

/**
 * The random lists among the rows, by the ids of their first impressions and in order of their first rows. Items of a list need not be
 * neighbours, and may be missing. A single item tells nothing about places, so it is left out.
 */
export function randomLists(rows: Iterable<PlacedRow>, isRandom: (row: PlacedRow) => boolean): Map<string, RandomList> {
  const lists = new Map<string, ShownItem[]>();
  for (const row of rows) {
    const { first, place, action, converted } = row;
    if (place >= MOST_PLACES || !isRandom(row)) continue;
    const list = lists.get(first) ?? [];
    lists.set(first, list);
    list.push({ place, action, converted });
  }
  for (const [first, { length }] of lists) if (length < 2) lists.delete(first);
  return lists;
}
