import type { Amounts } from "../impression/outcome.ts";
import type { Goals } from "../model/goals.ts";
import type { GoalEvent } from "./event.ts";

/** Whether an event takes money back. It is then no conversion. */
export function isRefund({ goal, reward }: Pick<GoalEvent, "goal" | "reward">, goals: Goals | null): boolean {
  return reward !== null && reward < 0 && goals?.[goal]?.value !== undefined;
}

/**
 * The amounts of an impression that count, by goal with a value, from its events in any order. As `goalOutcomes` has it, an event that
 * restates or retracts replaces all earlier ones, and the greatest event of each name counts. A 0 takes back its own name's.
 */
export function amountsOf(events: readonly GoalEvent[], goals: Goals): Readonly<Record<string, Amounts>> {
  const lines = new Map<string, Map<string, number>>();
  for (const { goal, event, reward, restates } of events.toSorted(compare)) {
    if (goals[goal]?.value === undefined) continue;
    if (reward === 0 && !restates) {
      lines.get(goal)?.delete(event);
      continue;
    }
    const own = (reward !== null && !restates && lines.get(goal)) || new Map<string, number>();
    lines.set(goal, own);
    if (reward !== null) own.set(event, reward);
  }
  return Object.fromEntries(
    Array.from(lines, ([goal, own]): [string, Amounts] => {
      const amounts = [...own.values()];
      const sum = (sign: 1 | -1): number => amounts.reduce((total, each) => total + Math.max(sign * each, 0), 0);
      return [
        goal,
        {
          orders: amounts.filter((each) => each > 0).length,
          refunds: amounts.filter((each) => each < 0).length,
          ...{ paid: sum(1), refunded: sum(-1) },
        },
      ];
    }),
  );
}

function compare(a: GoalEvent, b: GoalEvent): number {
  if (a.at !== b.at) return a.at - b.at;
  if (a.event !== b.event) return a.event < b.event ? -1 : 1;
  return (a.reward ?? Number.NEGATIVE_INFINITY) - (b.reward ?? Number.NEGATIVE_INFINITY);
}
