import type { LoggedList } from "afterclick";
import type { ImpressionLine } from "../verify/event-log.ts";
import type { SourceDecision, SourceLists } from "./source.ts";

/** An impression that can be used, and its decision. */
export interface Placed {
  readonly line: ImpressionLine;
  readonly decision: SourceDecision;
}

/** Groups impressions by list. Those of a holdout are random. */
export function listsOf(placed: readonly Placed[]): SourceLists {
  const groups = Map.groupBy(placed, ({ line: { id, decision } }) => decision?.first ?? id);
  const lists = Array.from(groups.values(), listOf).filter((list) => list !== undefined);
  return { lists, incomplete: groups.size - lists.length };
}

/** A list. Undefined if an item before its last one is missing. */
function listOf(group: readonly Placed[]): LoggedList | undefined {
  const items: LoggedList["items"][number][] = [];
  for (const { line, decision } of group) items[line.decision?.place ?? 0] = decision;
  if (items.length !== group.length) return undefined;
  const [{ line, decision }] = group;
  return {
    shownAt: decision.shownAt,
    count: decision.count,
    // Computed on access, as those of decisions.
    get points() {
      return decision.points;
    },
    items,
    random: line.arm === "holdout",
    families: decision.families,
    kept: decision.kept,
  };
}
