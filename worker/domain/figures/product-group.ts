import { hash32 } from "../ids/token.ts";

/** Number of groups. A small shop has nearly each product in a group of its own. */
const GROUPS = 64;

/** Counts by group of products. A group without a count has 0. */
export type GroupCounts = Readonly<Record<string, number>>;

/**
 * The group in which an action is counted where figures need counts by product, which stay few so whatever the catalogue. It follows from the
 * id alone: shards, relearnings and commands agree on it without a table.
 */
export function productGroup(action: string): number {
  return hash32(action) % GROUPS;
}

/** Adds to the count of an action's group. */
export function countAction(groups: Record<string, number>, action: string, by: number): void {
  const group = productGroup(action);
  groups[group] = (groups[group] ?? 0) + by;
}
