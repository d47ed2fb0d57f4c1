import type { Goals } from "../../../domain/model/goals.ts";
import { COUNTERS, type CounterName, GOAL_FIGURES, type GoalFigures } from "../../../rpc/counters.ts";
import type { Database } from "../database.ts";

/** The stored counters by their kinds. */
export class CounterStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  all(): Record<CounterName, number> {
    const counts = this.#database.counts();
    return Object.fromEntries(COUNTERS.map((name) => [name, counts.get(name) ?? 0])) as Record<CounterName, number>;
  }

  /** Number of applied conversions per bar of the delay histogram. */
  bars(): Map<number, number> {
    const bars = Array.from(this.#database.counts()).filter(([name, value]) => name.startsWith("delay ") && value > 0);
    return new Map(bars.map(([name, value]) => [Number(name.slice("delay ".length)), value]));
  }

  /** What impressions have brought, by declared goal. */
  goalFigures(goals: Goals | null): Record<string, GoalFigures> {
    const counts = this.#database.counts();
    const of = (goal: string) =>
      Object.fromEntries(GOAL_FIGURES.map((name) => [name, counts.get(`goal ${name} ${goal}`) ?? 0])) as GoalFigures;
    return Object.fromEntries(Object.keys(goals ?? {}).map((goal) => [goal, of(goal)]));
  }
}
