import { type ImpressionRow, isElsewhere, isPinned } from "../impression/impression.ts";

/** A share of the holdout, and the row of a log or the version from which on it was in force. */
export interface HoldoutShare {
  readonly since: number;
  readonly holdout: number;
}

/** The assignment of an impression that this model did not decide, or whose place the request had given away. Nobody knows its share. */
export const UNASSIGNED = "";

/** Whether an impression was assigned to its arm: its model chose it. */
export function isAssigned({ action, decision }: Pick<ImpressionRow, "action" | "decision">): boolean {
  return decision !== null && !isElsewhere(decision) && !isPinned({ action, decision });
}

/**
 * Names the shares by which an impression was assigned to its arm. Impressions of one name were randomised alike, so their arms can be
 * compared. The share is that of the version that decided. An isolate may still decide by an older version than the learner's, so
 * impressions that were stored under another share have a name of their own.
 *
 * @param decided shares by version of the model. @param stored shares by row of the log that has the impression; null in the log of a
 * shard, which has no configurations. Both in order.
 */
export function shareName(
  { version, seq, ...impression }: Pick<ImpressionRow, "action" | "version" | "decision"> & { readonly seq: number },
  decided: readonly HoldoutShare[],
  stored: readonly HoldoutShare[] | null,
): string {
  if (!isAssigned(impression)) return UNASSIGNED;
  const own = inForce(decided, version);
  const later = stored ? inForce(stored, seq) : own;
  return own === later ? String(own) : `${own}/${later}`;
}

/** The share of the holdout in impressions of this name. Null if the isolate and the learner had different ones. */
export function shareOf(name: string): number | null {
  return name.includes("/") || name === UNASSIGNED ? null : Number(name);
}

/** Rows before the first share were decided by it: the log has forgotten earlier ones. */
function inForce(shares: readonly HoldoutShare[], at: number): number {
  return (shares.findLast(({ since }) => since <= at) ?? shares[0]).holdout;
}
