import type { LoggedList } from "afterclick";
import type { EventDecision } from "./event-decision.ts";
import type { SourceLists } from "./source.ts";

/** Groups decisions by list. */
export function listsOf(placed: readonly EventDecision[]): SourceLists {
  const groups = Array.from(Map.groupBy(placed, ({ list }) => list?.first).values());
  const found = groups.flatMap((group) => {
    const list = listOf(group);
    return list ? [{ list, random: group[0].list?.random }] : [];
  });
  const random = found.filter((each) => each.random).map(({ list }) => shuffledList(list));
  return { lists: found.map(({ list }) => list), random, incomplete: groups.length - found.length };
}

/** A list by the probabilities of its random order. The features of its candidates are not needed. */
function shuffledList({ shownAt, visitor, count, items, kept }: LoggedList): LoggedList {
  return { shownAt, visitor, count, kept, random: true, items: items.map((item) => ({ ...item, probability: 1 / count })) };
}

/** A list. Undefined if an item before its last one is missing. */
function listOf(group: readonly EventDecision[]): LoggedList | undefined {
  const items: EventDecision[] = [];
  for (const decision of group) items[decision.list?.place ?? 0] = decision;
  if (items.length !== group.length) return undefined;
  const [decision] = group;
  const { shownAt, count, families, kept, visitor } = decision;
  return {
    shownAt,
    count,
    // Computed on access, as those of decisions.
    get points() {
      return decision.points;
    },
    get ids() {
      return decision.ids;
    },
    items,
    random: decision.list?.holdout,
    families,
    kept,
    ...(visitor !== undefined && { visitor }),
  };
}
