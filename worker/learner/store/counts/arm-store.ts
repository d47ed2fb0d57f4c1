// Counts lists of policy and holdout, for the lift.

import { UNASSIGNED } from "../../../domain/figures/holdout-share.ts";
import type { ArmCounts, ReachedCounts } from "../../../domain/figures/lift.ts";
import { bucketAt } from "../../../domain/impression/bucket.ts";
import { comparedSteps, STEPS, stepAt, widthsOf } from "../../../domain/impression/shown-step.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import type { Assignment } from "../../../protocol/figures.ts";
import { summed } from "../../../rpc/model-counts.ts";
import type { Database } from "../database.ts";
import { LastAnswer } from "../last-answer.ts";
import type { ModelStore } from "../model-store.ts";
import { countChange, groupColumn, SET_GROUPS } from "./group-column.ts";
import type { Change } from "./projection.ts";

/** The live impressions of a list that were assigned by one share. */
export interface ListState {
  readonly size: number;
  /** Number of them that have reached each goal. The empty goal is any. */
  readonly came: ReadonlyMap<string, number>;
}

/** A change of a list. Null: there is no such list. */
export interface ListChange extends ListKey {
  readonly before: ListState | null;
  readonly after: ListState | null;
  /** Changes of its impressions. */
  readonly changes: readonly Change[];
}

/** The values that all impressions of a list share. */
export interface ListKey {
  readonly shownAt: number;
  readonly arm: Assignment;
  /** @see shareName */
  readonly share: string;
}

interface Place {
  readonly bucket: number;
  readonly step: number;
  /** Length of the steps of the bucket, in ms. 0: all of its impressions are in the step 0. */
  readonly width: number;
}

type StoredArm = Record<string, SqlStorageValue> & Place & Omit<ArmCounts, "groups"> & { readonly groups: string };
type ArmRow = Place & Omit<ArmCounts, "groups"> & { readonly groups: Record<string, number> };
type ReachedRow = Record<string, SqlStorageValue> & Place & ReachedCounts;

/** Steps are as fine as the shortest window asks for, until so many of these windows have passed. */
const FINE_WINDOWS = 3;
const SETTLED: Place = { bucket: 0, step: 0, width: 0 };
const UPSERT_ARM = `INSERT INTO arms VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET impressions = impressions + excluded.impressions,
  elapsed = elapsed + excluded.elapsed, lists = lists + excluded.lists, squares = squares + excluded.squares, ${SET_GROUPS}`;
const UPSERT_REACHED = `INSERT INTO reached VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  conversions = conversions + excluded.conversions, converted = converted + excluded.converted,
  conversionSquares = conversionSquares + excluded.conversionSquares, products = products + excluded.products`;

/**
 * Counts live impressions and their lists by assignment, by the share of the holdout and by step, and the goals that they have reached, so
 * that nobody has to read them for a lift. Once a bucket has closed, the ages of its impressions have no meaning for a lift any more: they
 * join the step 0. Sums outlive the impressions.
 * Every change needs a transaction of the database.
 */
export class ArmStore {
  readonly #database: Pick<Database, "query">;
  readonly #model: Pick<ModelStore, "state">;
  /** Length of the steps of a bucket. */
  readonly #widths: LastAnswer<number, number | undefined>;
  /** Times until which steps were joined. After a start they are looked for again. */
  #joined = { fine: 0, settled: 0 };

  constructor(database: Pick<Database, "query" | "onDrop">, model: Pick<ModelStore, "state">) {
    this.#database = database;
    this.#model = model;
    this.#widths = new LastAnswer(database);
    database.onDrop(() => {
      this.#joined = { fine: 0, settled: 0 };
    });
  }

  /** Counts that lists have changed. */
  change(lists: readonly ListChange[], windows: Windows): void {
    const arms = new Map<string, ArmRow>();
    const reached = new Map<string, ReachedRow>();
    const widths = new Map<number, number>();
    for (const { shownAt, arm, share, before, after, changes } of lists) {
      const place = this.#placeOf(shownAt, windows, widths);
      const key = `${place.step} ${arm} ${share}`;
      const own = arms.get(key) ?? { ...place, arm, share, impressions: 0, elapsed: 0, lists: 0, squares: 0, groups: {} };
      arms.set(key, withSizes(own, shownAt, before?.size ?? 0, after?.size ?? 0));
      for (const each of changes) countChange(own.groups, each);
      if (share === UNASSIGNED) continue;
      for (const goal of new Set([...(before?.came.keys() ?? []), ...(after?.came.keys() ?? [])])) {
        const name = `${key} ${goal}`;
        const sums = reached.get(name) ?? { ...place, arm, share, goal, ...NOTHING };
        reached.set(name, withCame(sums, goal, before, after));
      }
    }
    // A goal that is reached changes no sizes.
    for (const row of arms.values()) if (row.impressions !== 0 || row.squares !== 0) this.#upsertArm(row);
    for (const row of reached.values()) this.#upsertReached(row);
    this.#join(windows);
  }

  #upsertArm({ bucket, step, arm, share, width, impressions, elapsed, lists, squares, groups }: ArmRow): void {
    const key = [bucket, step, arm, share];
    const stored = "SELECT groups FROM arms WHERE bucket = ? AND step = ? AND arm = ? AND share = ?";
    const column = groupColumn(groups, () => this.#database.query<{ groups: string }>(stored, ...key)[0]);
    this.#database.query(UPSERT_ARM, ...key, width, impressions, elapsed, lists, squares, column);
  }

  #upsertReached({ bucket, step, arm, share, goal, width, conversions, converted, conversionSquares, products }: ReachedRow): void {
    this.#database.query(UPSERT_REACHED, bucket, step, arm, share, goal, width, conversions, converted, conversionSquares, products);
  }

  /** Forgets all counts. */
  clear(): void {
    for (const table of ["arms", "reached"]) this.#database.query(`DELETE FROM ${table}`);
    this.#joined = { fine: 0, settled: 0 };
    this.#widths.forget();
  }

  /** Where impressions of a time are counted. A bucket that has no rows any more has joined the step 0. */
  #placeOf(shownAt: number, windows: Windows, widths: Map<number, number>): Place {
    const bucket = bucketAt(shownAt, windows.window.ms);
    let width = widths.get(bucket);
    if (width === undefined) {
      const query = "SELECT width FROM arms WHERE bucket = ? LIMIT 1";
      const stored = this.#widths.to(bucket, () => this.#database.query<{ width: number }>(query, bucket)[0]?.width);
      const isSettled = bucket < this.#settledBefore(windows);
      width = stored ?? (isSettled ? 0 : widthsOf(windows).fine);
      widths.set(bucket, width);
    }
    return width === 0 ? SETTLED : { bucket, step: stepAt(shownAt, bucket, width), width };
  }

  /** Joins the steps that are older than a lift needs. */
  #join(windows: Windows): void {
    const { fine, coarse } = widthsOf(windows);
    const settled = this.#settledBefore(windows);
    const fineUntil = bucketAt(Math.max(0, Date.now() - FINE_WINDOWS * STEPS * fine), windows.window.ms);
    if (settled > this.#joined.settled) this.#move(settled, Number.MAX_SAFE_INTEGER, () => SETTLED);
    if (fineUntil > this.#joined.fine && fine < coarse) {
      this.#move(fineUntil, coarse, ({ bucket, step }) => ({ bucket, step: stepAt(step, bucket, coarse), width: coarse }));
    }
    this.#joined = { fine: Math.max(fineUntil, this.#joined.fine), settled: Math.max(settled, this.#joined.settled) };
  }

  /** Buckets before this time are closed. A conversion that arrives late may still count until then. */
  #settledBefore({ window: { ms } }: Windows): number {
    return bucketAt(Math.max(0, Math.min(this.#model.state.watermark, Date.now() - ms)), ms);
  }

  /** Moves the rows of buckets before a time whose steps are shorter than a width. */
  #move(before: number, width: number, placeOf: (row: Place) => Place): void {
    this.#widths.forget();
    const condition = "width > 0 AND bucket < ? AND width < ?";
    const arms = this.#database.query<StoredArm>(`DELETE FROM arms WHERE ${condition} RETURNING *`, before, width);
    const reached = this.#database.query<ReachedRow>(`DELETE FROM reached WHERE ${condition} RETURNING *`, before, width);
    for (const row of arms) {
      const place = placeOf(row);
      const elapsed = place.width === 0 ? 0 : row.elapsed + (row.step - place.step) * row.impressions;
      this.#upsertArm({ ...row, ...place, elapsed, groups: JSON.parse(row.groups) });
    }
    for (const row of reached) this.#upsertReached({ ...row, ...placeOf(row) });
  }

  /** The counts in the steps of comparisons at a time and later. Open buckets keep the steps of windows that the model had when they began. */
  counts(windows: Windows, now: number): { readonly arms: ArmCounts[]; readonly reached: ReachedCounts[] } {
    const stepOf = comparedSteps(windows, now);
    const placed = ({ width, step }: Place): number => (width === 0 ? 0 : stepOf(step));
    const arms = this.#database.query<StoredArm>("SELECT * FROM arms WHERE impressions <> 0").map((row): ArmCounts => {
      const { arm, share, impressions, lists, squares } = row;
      const step = placed(row);
      const elapsed = step === 0 ? 0 : row.elapsed + (row.step - step) * impressions;
      return { arm, share, step, impressions, elapsed, lists, squares, groups: JSON.parse(row.groups) };
    });
    const reached = this.#database.query<ReachedRow>("SELECT * FROM reached WHERE conversions <> 0").map((row): ReachedCounts => {
      const { arm, share, goal, conversions, converted, conversionSquares, products } = row;
      return { arm, share, step: placed(row), goal, conversions, converted, conversionSquares, products };
    });
    return { arms: summed(arms, ["arm", "share", "step"]), reached: summed(reached, ["arm", "share", "step", "goal"]) };
  }
}

const NOTHING = { conversions: 0, converted: 0, conversionSquares: 0, products: 0 };

function withSizes(row: ArmRow, shownAt: number, before: number, after: number): ArmRow {
  const impressions = row.impressions + after - before;
  const elapsed = row.width === 0 ? 0 : row.elapsed + (after - before) * (shownAt - row.step);
  if (row.share === UNASSIGNED) return { ...row, impressions, elapsed };
  const lists = row.lists + Number(after > 0) - Number(before > 0);
  return { ...row, impressions, elapsed, lists, squares: row.squares + after ** 2 - before ** 2 };
}

function withCame(row: ReachedRow, goal: string, before: ListState | null, after: ListState | null): ReachedRow {
  const [was, is] = [before?.came.get(goal) ?? 0, after?.came.get(goal) ?? 0];
  return {
    ...row,
    conversions: row.conversions + is - was,
    converted: row.converted + Number(is > 0) - Number(was > 0),
    conversionSquares: row.conversionSquares + is ** 2 - was ** 2,
    products: row.products + is * (after?.size ?? 0) - was * (before?.size ?? 0),
  };
}
