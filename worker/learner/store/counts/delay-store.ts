// Counts conversions by delay, for figures of delays and for alarms.

import { gridOf, grownAt, type Interval } from "../../../domain/figures/delay-grid.ts";
import { isAssigned, UNASSIGNED } from "../../../domain/figures/holdout-share.ts";
import { countAction } from "../../../domain/figures/product-group.ts";
import { shownAtOf } from "../../../domain/ids/uuid.ts";
import { type Windows, windowOf } from "../../../domain/model/goals.ts";
import type { DelayCounts } from "../../../rpc/model-counts.ts";
import type { Database } from "../database.ts";
import type { BlockStore } from "../impressions/block-store.ts";
import type { OutcomeStore } from "../impressions/outcome-store.ts";
import { LastAnswer } from "../last-answer.ts";
import { groupColumn, SET_GROUPS } from "./group-column.ts";
import type { Change, Projection } from "./projection.ts";

/** The part of a change that is counted here. */
type DelayChange = Pick<Change, "before" | "after"> & {
  readonly impression: Pick<Change["impression"], "id" | "action" | "arm" | "decision">;
};
type Cell = Omit<DelayCounts, "count" | "delay" | "groups"> & {
  readonly goal: string;
  count: number;
  delay: number;
  readonly groups: Record<string, number>;
};
type CellRow = Interval & Record<string, SqlStorageValue>;

/** Tables that are read to count anew. */
interface Read {
  readonly blocks: BlockStore;
  readonly outcomes: OutcomeStore;
}

/** Cohorts after which the older ones are joined. */
const JOINED = 8;
/** Times of conversions that tell whether they are those of a report. */
const NEWEST = 200;

/**
 * Counts the first conversions of live impressions by goal, arm and group of products, in the cells of the grid of a `DelayEstimate` with the
 * goal's window, so that nobody has to read them. Cells are sums: what leaves is subtracted. The times of the conversions are counted too,
 * because the estimate needs the latest.
 *
 * Old cohorts are joined, as the estimate does. They are as old as the latest conversion of their goal says, and not the clock: figures of a
 * shop that uploads each night are as of the last upload, and need cohorts that are short at that time.
 *
 * Every change needs a transaction of the database.
 */
export class DelayStore implements Projection {
  readonly #database: Pick<Database, "query">;
  readonly #read: Read;
  /** The stored interval with a cohort, by goal and cohort. */
  readonly #intervals: LastAnswer<string, Interval | undefined>;
  /** The newest cohort when cohorts were last joined, by goal. */
  readonly #joined = new Map<string, number>();

  constructor(database: Pick<Database, "query" | "onDrop">, read: Read) {
    this.#database = database;
    this.#read = read;
    this.#intervals = new LastAnswer(database);
  }

  apply(changes: readonly Change[], windows: Windows): void {
    this.#count(changes, windows, (goal, cohort) => this.#intervalOf(goal, cohort));
  }

  #count(changes: Iterable<DelayChange>, windows: Windows, intervalOf: IntervalOf): void {
    const cells = new Map<string, Cell>();
    const counters = new Map<string, Counter>();
    for (const { impression, before, after } of changes) {
      if (!before?.delays && !after?.delays) continue;
      const shownAt = shownAtOf(impression.id);
      const arm = isAssigned(impression) ? impression.arm : UNASSIGNED;
      // Objects inherit values under some names of goals.
      const [was, is] = [before, after].map((outcome) => new Map(Object.entries(outcome?.delays ?? {})));
      for (const goal of new Set([...was.keys(), ...is.keys()])) {
        if (was.get(goal) === is.get(goal)) continue;
        const counter = counters.get(goal) ?? new Counter(goal, gridOf(windows, goal), intervalOf);
        counters.set(goal, counter);
        for (const [delay, sign] of [[was.get(goal), -1] as const, [is.get(goal), 1] as const]) {
          if (delay === undefined) continue;
          counter.count(cells, { shownAt, delay, sign, action: impression.action, arm });
          this.#countTime(goal, shownAt + delay, sign);
        }
      }
    }
    for (const cell of cells.values()) this.#write(cell);
    for (const { goal, unit } of counters.values())
      this.#join(
        goal,
        newestOf(goal, unit, windows, (each) => this.latestAt(each)),
      );
  }

  #countTime(goal: string, at: number, sign: 1 | -1): void {
    const count = "INSERT INTO delay_times VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count";
    this.#database.query(count, goal, at, sign);
    if (sign < 0) this.#database.query("DELETE FROM delay_times WHERE goal = ? AND at = ? AND count = 0", goal, at);
  }

  #write({ goal, cohort, bin, arm, length, count, delay, groups }: Cell): void {
    const key = [goal, cohort, bin, arm];
    const own = "goal = ? AND cohort = ? AND bin = ? AND arm = ?";
    const stored = () => this.#database.query<{ groups: string }>(`SELECT groups FROM delays WHERE ${own}`, ...key)[0];
    const add = `INSERT INTO delays VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET count = count + excluded.count, delay = delay + excluded.delay, ${SET_GROUPS}`;
    this.#database.query(add, ...key, length, count, delay, groupColumn(groups, stored));
    if (count > 0) return;
    this.#intervals.forget();
    this.#database.query(`DELETE FROM delays WHERE ${own} AND count = 0`, ...key);
  }

  /** The stored interval with a cohort, or a new one. No two overlap. */
  #intervalOf(goal: string, cohort: number): Interval {
    const query = "SELECT cohort, length FROM delays WHERE goal = ? AND cohort <= ? ORDER BY cohort DESC LIMIT 1";
    const stored = this.#intervals.to(`${cohort} ${goal}`, () => {
      const [last] = this.#database.query<CellRow>(query, goal, cohort);
      return last && cohort < last.cohort + last.length ? last : undefined;
    });
    return stored ?? { cohort, length: 1 };
  }

  /** Joins cohorts that have grown old. */
  #join(goal: string, newest: number): void {
    const joined = this.#joined.get(goal);
    if (joined !== undefined && Math.abs(newest - joined) < JOINED) return;
    this.#joined.set(goal, newest);
    this.#intervals.forget();
    const intervals = this.#database.query<CellRow>("SELECT DISTINCT cohort, length FROM delays WHERE goal = ? ORDER BY cohort", goal);
    for (const { cohort, length } of intervals) {
      const grown = grownAt(newest, { cohort, length });
      if (grown.length === length) continue;
      const own = "goal = ? AND cohort = ?";
      if (grown.cohort === cohort) this.#database.query(`UPDATE delays SET length = ? WHERE ${own}`, grown.length, goal, cohort);
      else {
        const rows = this.#database.query<CellRow & Omit<Cell, "groups"> & { groups: string }>(
          `DELETE FROM delays WHERE ${own} RETURNING *`,
          goal,
          cohort,
        );
        for (const row of rows) this.#write({ ...row, ...grown, groups: JSON.parse(row.groups) });
      }
    }
  }

  /** First conversions of a goal by cell, in order of the cells. A row has all cells of a cohort, because many rows are slow to read. */
  of(goal: string): DelayCounts[] {
    const rows = this.#database.query<CellRow & { cells: string }>(
      `SELECT cohort, length, json_group_array(json_array(bin, arm, count, delay, json(groups))) AS cells
       FROM delays WHERE goal = ? GROUP BY cohort ORDER BY cohort`,
      goal,
    );
    return rows.flatMap(({ cohort, length, cells }) => {
      const own: [number, DelayCounts["arm"], number, number, DelayCounts["groups"]][] = JSON.parse(cells);
      return own.map(([bin, arm, count, delay, groups]) => ({ cohort, length, bin, arm, count, delay, groups }));
    });
  }

  /** When the latest of the first conversions of a goal happened; null if there are none. */
  latestAt(goal: string): number | null {
    return this.#database.query<{ at: number | null }>("SELECT max(at) AS at FROM delay_times WHERE goal = ?", goal)[0].at;
  }

  /** The newest first conversions of a goal by the quarter of an hour in which they happened, counted from 1970. */
  quarters(goal: string): Record<number, number> {
    const rows = this.#database.query<{ quarter: number; count: number }>(
      `SELECT quarter, sum(count) AS count FROM
         (SELECT at / 900000 AS quarter, count FROM delay_times WHERE goal = ? ORDER BY at DESC LIMIT ${NEWEST}) GROUP BY quarter`,
      goal,
    );
    return Object.fromEntries(rows.map(({ quarter, count }) => [quarter, count]));
  }

  forget(changes: readonly Change[], windows: Windows): void {
    this.apply(changes, windows);
  }

  /** Goals may have other windows than before, and so another grid. Outcomes are read alone, because few impressions have one. */
  rebuild(windows: Windows): undefined {
    for (const table of ["delays", "delay_times"]) this.#database.query(`DELETE FROM ${table}`);
    this.#joined.clear();
    this.#intervals.forget();
    const latest = new Map<string, number>();
    for (const [id, { delays }] of this.#read.outcomes.all()) {
      for (const [goal, delay] of Object.entries(delays ?? {})) latest.set(goal, Math.max(latest.get(goal) ?? 0, shownAtOf(id) + delay));
    }
    this.#count(this.#counted(), windows, (goal, cohort, unit) => {
      return grownAt(
        newestOf(goal, unit, windows, (each) => latest.get(each) ?? null),
        { cohort, length: 1 },
      );
    });
  }

  *#counted(): Generator<DelayChange> {
    for (const [id, after] of this.#read.outcomes.all()) {
      const found = this.#read.blocks.find(id);
      if (found) yield { impression: found.row, before: null, after };
    }
  }
}

/**
 * The newest cohort, by the latest conversion. Figures of whichever goal comes first are as of the goal that is reported last, so their
 * cohorts grow later, by at most a quarter of the window.
 */
function newestOf(goal: string, unit: number, windows: Windows, latestAt: (goal: string) => number | null): number {
  // Some clocks are fast.
  const own = Math.min(latestAt(goal) ?? 0, Date.now());
  const declared = goal === "" ? Object.keys(windows.goals ?? {}) : [];
  const late = Math.min(own, ...declared.flatMap((each) => latestAt(each) ?? []));
  return Math.floor(Math.max(late, own - windowOf(windows, goal) / 4) / unit);
}

/** A conversion that came, or one that was taken back. */
interface Converted extends Pick<DelayCounts, "arm" | "delay"> {
  readonly shownAt: number;
  readonly action: string;
  readonly sign: 1 | -1;
}

/** The interval in which a cohort of a goal is counted. `unit`: length of a cohort in ms. */
type IntervalOf = (goal: string, cohort: number, unit: number) => Interval;

/** Counts conversions of one goal. */
class Counter {
  readonly goal: string;
  readonly #grid: ReturnType<typeof gridOf>;
  readonly #intervals = new Map<number, Interval>();
  readonly #intervalOf: IntervalOf;

  constructor(goal: string, grid: ReturnType<typeof gridOf>, intervalOf: IntervalOf) {
    this.goal = goal;
    this.#grid = grid;
    this.#intervalOf = intervalOf;
  }

  get unit(): number {
    return this.#grid.cohort;
  }

  /** Adds a conversion to its cell, or subtracts it. */
  count(cells: Map<string, Cell>, { shownAt, delay, sign, action, arm }: Converted): void {
    const { goal, unit } = this;
    const cohort = Math.floor(shownAt / unit);
    const interval = this.#intervals.get(cohort) ?? this.#intervalOf(goal, cohort, unit);
    this.#intervals.set(cohort, interval);
    const bin = this.#grid.bin(delay);
    const key = `${interval.cohort} ${bin} ${arm} ${goal}`;
    const cell = cells.get(key) ?? { ...interval, goal, bin, arm, count: 0, delay: 0, groups: {} };
    countAction(cell.groups, action, sign);
    cell.count += sign;
    cell.delay += sign * delay;
    cells.set(key, cell);
  }
}
