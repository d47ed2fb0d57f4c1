// Counts by group of products as one column of a row, so that a batch writes one row however many products it has.

import type { GroupCounts } from "../../../domain/figures/product-group.ts";

/** Assignment of an upsert: the column becomes what `groupColumn` made. */
export const SET_GROUPS = "groups = iif(excluded.groups = '{}', groups, excluded.groups)";

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
