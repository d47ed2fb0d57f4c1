import type { LoggedList } from "afterclick";
import type { ImpressionLine } from "../../worker/domain/log/log-line.ts";
import type { SourceDecision, SourceLists } from "./source.ts";

/** An impression that can be used, and its decision. */
export interface Placed {
  readonly line: ImpressionLine;
  readonly decision: SourceDecision;
}

/** Groups impressions by list. Those of a holdout are random. `isRandom`: whether a list was ranked at random, by its first impression. */
export function listsOf(placed: readonly Placed[], isRandom: (line: ImpressionLine) => boolean): SourceLists {
  const groups = Array.from(Map.groupBy(placed, ({ line: { id, decision } }) => decision?.first ?? id).values());
  const lists = groups.flatMap((group) => {
    const list = listOf(group);
    return list ? [{ list, line: group[0].line }] : [];
  });
  const random = lists.filter(({ line }) => isRandom(line)).map(({ list }) => shuffledList(list));
  return { lists: lists.map(({ list }) => list), random, incomplete: groups.length - lists.length };
}

/** A list by the probabilities of its random order. The features of its candidates are not needed. */
function shuffledList({ shownAt, visitor, count, items, kept }: LoggedList): LoggedList {
  return { shownAt, visitor, count, kept, random: true, items: items.map((item) => ({ ...item, probability: 1 / count })) };
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
    ...(decision.visitor !== undefined && { visitor: decision.visitor }),
  };
}
