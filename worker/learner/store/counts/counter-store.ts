// The counters of outcomes, beside those of events.

import type { Outcome } from "../../../domain/impression/outcome.ts";
import type { Goals } from "../../../domain/model/goals.ts";
import { FIGURE_NAMES, FIGURES } from "../../../protocol/counted.ts";
import { COUNTERS, type CounterName, type DelayCounter, GOAL_FIGURES, type GoalCounter, type GoalFigures } from "../../../rpc/counters.ts";
import type { Database } from "../database.ts";
import type { Change, CountedImpression, Projection } from "./projection.ts";

/** Figures of the amounts of a goal that are counted. */
const AMOUNTS = ["orders", "refunds", "paid", "refunded"] as const;

type Counter = CounterName | GoalCounter | DelayCounter;

/** The stored counters by their kinds. Sums outlive their impressions. */
export class CounterStore implements Projection {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  apply(changes: readonly Change[]): void {
    const counts = new Map<Counter, number>();
    const add = (name: Counter, by: number): void => void counts.set(name, (counts.get(name) ?? 0) + by);
    for (const { impression, before, after } of changes) {
      for (const [name, value] of countsOf(impression, before)) add(name, -value);
      for (const [name, value] of countsOf(impression, after)) add(name, value);
    }
    for (const [name, by] of counts) if (by !== 0) this.#database.count(name, by);
  }

  /** A rollback restores the counters of its version, and an erased impression has been shown all the same. */
  undo(): void {}

  all(): Record<CounterName, number> {
    const counts = this.#database.counts();
    return Object.fromEntries(COUNTERS.map((name) => [name, counts.get(name) ?? 0])) as Record<CounterName, number>;
  }

  /** Number of converted impressions per bar of the histogram of their delays. */
  bars(): Map<number, number> {
    const bars = Array.from(this.#database.counts()).filter(([name, value]) => name.startsWith("delay ") && value > 0);
    return new Map(bars.map(([name, value]) => [Number(name.slice("delay ".length)), value]));
  }

  /** Sums of the outcomes, by declared goal. */
  goalFigures(goals: Goals | null): Record<string, GoalFigures> {
    const counts = this.#database.counts();
    const of = (goal: string) =>
      Object.fromEntries(GOAL_FIGURES.map((name) => [name, counts.get(`goal ${name} ${goal}`) ?? 0])) as GoalFigures;
    return Object.fromEntries(Object.keys(goals ?? {}).map((goal) => [goal, of(goal)]));
  }
}

/** The counters of an impression with its outcome, each with its addend. */
function* countsOf({ byPage }: CountedImpression, outcome: Outcome | null): Generator<[Counter, number]> {
  if (!outcome) return;
  for (const name of FIGURE_NAMES) yield [name, FIGURES[name].of({ byPage, ...outcome })];
  const first = outcome.converted ? outcome.delays?.[""] : undefined;
  if (first !== undefined) yield [`delay ${delayBar(first)}`, 1];
  for (const goal of Object.keys(outcome.delays ?? {})) if (goal !== "") yield [`goal converted ${goal}`, 1];
  for (const [goal, amounts] of Object.entries(outcome.amounts ?? {})) {
    for (const name of AMOUNTS) yield [`goal ${name} ${goal}`, amounts[name]];
  }
}

/** Delays fall into bars that double: bar 0 is below a second, bar n from 2^(n-1) to 2^n seconds. */
function delayBar(ms: number): number {
  return ms < 1000 ? 0 : Math.floor(Math.log2(ms / 1000)) + 1;
}
