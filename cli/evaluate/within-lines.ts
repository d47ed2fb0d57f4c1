import type { Source } from "./source.ts";

const DAY_MS = 86_400_000;

/** Lines of a report that name the goals whose rewards count within a shorter time than their window. */
export function withinLines(withinMs: Readonly<Record<string, number>>, { goals, window }: Pick<Source, "goals" | "window">): string[] {
  return Object.entries(withinMs).flatMap(([goal, within]) => {
    const own = goals?.[goal]?.window ?? window;
    if (own === "none" || !("ms" in own) || within >= own.ms) return [];
    const days = (ms: number): string => `${Number((ms / DAY_MS).toPrecision(2))} days`;
    return [`  rewards of ${goal} within ${days(within)} count, not ${days(own.ms)}: few conversions were followed longer`];
  });
}
