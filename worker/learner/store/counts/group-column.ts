// Counts by group of products as one column of a row, so that a batch writes one row however many products it has.

import { countAction, type GroupCounts } from "../../../domain/figures/product-group.ts";
import type { Change } from "./projection.ts";

/** Assignment of an upsert: the column becomes what `groupColumn` made. */
export const SET_GROUPS = "groups = iif(excluded.groups = '{}', groups, excluded.groups)";

/** Counts that an impression came or went. */
export function countChange(groups: Record<string, number>, { impression, before, after }: Change): void {
  if (!before !== !after) countAction(groups, impression.action, after ? 1 : -1);
}

/** The stored counts with others added. Empty if nothing changes. @param stored reads the column, if there is such a row. */
export function groupColumn(more: GroupCounts, stored: () => { readonly groups: string } | undefined): string {
  const changes = Object.entries(more).filter(([, by]) => by !== 0);
  if (changes.length === 0) return "{}";
  const sums: Record<string, number> = JSON.parse(stored()?.groups ?? "{}");
  for (const [group, by] of changes) {
    sums[group] = (sums[group] ?? 0) + by;
    if (sums[group] === 0) delete sums[group];
  }
  return JSON.stringify(sums);
}
