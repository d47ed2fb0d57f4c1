// Counts impressions by the time they were shown, for rates over time.

import type { GroupCounts } from "../../../domain/figures/product-group.ts";
import { shownAtOf } from "../../../domain/ids/uuid.ts";
import { bucketAt, bucketEnd, bucketMs } from "../../../domain/impression/bucket.ts";
import { NOTHING, type Outcome } from "../../../domain/impression/outcome.ts";
import { STEPS, stepAt, widthsOf } from "../../../domain/impression/shown-step.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import { addedGroups, type BucketSums, type StepCounts, type StepSums } from "../../../rpc/model-counts.ts";
import type { Database } from "../database.ts";
import type { BlockStore } from "../impressions/block-store.ts";
import type { OutcomeStore } from "../impressions/outcome-store.ts";
import { LastAnswer } from "../last-answer.ts";
import type { ModelStore } from "../model-store.ts";
import { countChange, groupColumn, SET_GROUPS } from "./group-column.ts";
import type { Change, Projection } from "./projection.ts";

/** Cohorts are counted as finely as the shortest window asks for, until so many of these windows have passed. */
const FINE_WINDOWS = 3;
/** So many of the model's windows later only buckets are left. */
const COARSE_WINDOWS = 4;

type Tally = {
  bucket: number;
  step: number;
  arm: string;
  /** Length of the steps of this bucket, in ms. */
  width: number;
  impressions: number;
  elapsed: number;
  observed: number;
  converted: number;
  reward: number;
  square: number;
  groups: Record<string, number>;
};

/** A sum of multiples of 2^-12 up to this number is exact. */
const MOST_EXACT = 2 ** 40;

/** Tables that are read to count a bucket anew. */
interface Read {
  readonly blocks: BlockStore;
  readonly outcomes: OutcomeStore;
}

const SUMS = ["impressions", "elapsed", "observed", "converted", "reward", "square"] as const;
const UPSERT = `INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  ${SUMS.map((name) => `${name} = ${name} + excluded.${name}`)}, ${SET_GROUPS}`;

/**
 * Counts live impressions by the time they were shown and by assignment, so that nobody has to read them. A tally has the impressions of
 * one step: a small part of the shortest window at first, later of the model's window, in the end a whole bucket. Sums outlive the
 * impressions. Rewards and their squares are dyadic numbers, so the sums are exact.
 * Every change needs a transaction of the database.
 */
export class TallyStore implements Projection {
  readonly #database: Database;
  readonly #model: Pick<ModelStore, "state">;
  readonly #read: Read;
  /** Times until which tallies were made coarser. After a start they are looked for again. */
  #coarsened = { fine: 0, coarse: 0 };
  /** Length of the steps of a bucket. */
  readonly #widths: LastAnswer<number, number | undefined>;
  /** Cache of `countSince` for one time. */
  #count?: { readonly time: number; count: number };

  constructor(database: Database, model: Pick<ModelStore, "state">, read: Read) {
    this.#database = database;
    this.#model = model;
    this.#read = read;
    this.#widths = new LastAnswer(database);
    database.onDrop(() => this.#forget());
  }

  apply(changes: readonly Change[], windows: Windows): void {
    const { fine } = widthsOf(windows);
    const widths = new Map<number, number>();
    const tallies = new Map<string, Tally>();
    const [left, broken] = [new Set<number>(), new Set<number>()];
    let newest = 0;
    for (const change of changes) {
      const { impression, before, after } = change;
      const { id, arm } = impression;
      const shownAt = shownAtOf(id);
      const bucket = bucketAt(shownAt, windows.window.ms);
      const width = widths.get(bucket) ?? this.#widthOf(bucket) ?? fine;
      widths.set(bucket, width);
      const step = stepAt(shownAt, bucket, width);
      const key = `${step} ${arm}`;
      const tally = tallies.get(key) ?? { ...NONE, groups: {}, bucket, step, arm, width };
      tallies.set(key, tally);
      add(tally, before, shownAt, -1);
      add(tally, after, shownAt, 1);
      countChange(tally.groups, change);
      if (!isExact(before)) broken.add(bucket);
      if (!before) newest = Math.max(newest, shownAt);
      if (!after) left.add(bucket);
      if (this.#count && shownAt >= this.#count.time) this.#count.count += Number(after !== null) - Number(before !== null);
    }
    for (const tally of tallies.values()) this.#upsert(tally);
    for (const bucket of broken) this.#recount(bucket, windows);
    for (const bucket of left) this.#database.query("DELETE FROM tallies WHERE bucket = ? AND impressions = 0", bucket);
    if (left.size > 0) this.#widths.forget();
    if (newest > 0) this.#coarsen(newest, windows);
  }

  rebuild(windows: Windows, before: Windows): ((changes: readonly Change[]) => void) | undefined {
    if (windows.window.ms === before.window.ms) return undefined;
    // The sums of what the log has forgotten stay.
    const { horizon } = this.#model.state;
    this.#database.query("DELETE FROM tallies WHERE bucket + ? > ?", bucketMs(before.window.ms), horizon);
    this.#forget();
    return (changes) => this.apply(changes, windows);
  }

  #forget(): void {
    this.#coarsened = { fine: 0, coarse: 0 };
    this.#count = undefined;
    this.#widths.forget();
  }

  #upsert(tally: Tally): void {
    if (SUMS.every((name) => tally[name] === 0)) return;
    const { bucket, step, arm, width } = tally;
    const stored = "SELECT groups FROM tallies WHERE bucket = ? AND step = ? AND arm = ?";
    const groups = groupColumn(tally.groups, () => this.#database.query<{ groups: string }>(stored, bucket, step, arm)[0]);
    this.#database.query(UPSERT, bucket, step, arm, width, ...SUMS.map((name) => tally[name]), groups);
  }

  /** Counts the outcomes of the impressions of a bucket anew. */
  #recount(bucket: number, windows: Windows): void {
    this.#database.query("UPDATE tallies SET observed = 0, converted = 0, reward = 0, square = 0 WHERE bucket = ?", bucket);
    const outcomes = this.#read.outcomes.between(bucket, bucketEnd(bucket, windows.window.ms));
    const changes = Array.from(outcomes).flatMap(([id, after]): Change[] => {
      const found = this.#read.blocks.find(id);
      return found ? [{ impression: { ...found.row, seq: found.seq }, before: NOTHING, after }] : [];
    });
    this.apply(changes, windows);
  }

  /** Length of the steps of a bucket, in ms; undefined if the bucket has no tally. */
  #widthOf(bucket: number): number | undefined {
    const query = "SELECT width FROM tallies WHERE bucket = ? LIMIT 1";
    return this.#widths.to(bucket, () => this.#database.query<{ width: number }>(query, bucket)[0]?.width);
  }

  /** Joins the tallies of steps that are older than the estimates of delays need. */
  #coarsen(now: number, windows: Windows): void {
    const { ms } = windows.window;
    const widths = widthsOf(windows);
    const ages = [FINE_WINDOWS * STEPS * widths.fine, COARSE_WINDOWS * ms];
    const [fine, coarse] = ages.map((age) => bucketAt(Math.max(0, now - age), ms));
    const last = this.#coarsened;
    if (fine > last.fine && widths.fine < widths.coarse) this.#join(Math.max(last.fine, coarse), fine, widths.coarse);
    if (coarse > last.coarse) this.#join(last.coarse, coarse, bucketMs(ms));
    this.#coarsened = { fine: Math.max(fine, last.fine), coarse: Math.max(coarse, last.coarse) };
  }

  #join(from: number, before: number, width: number): void {
    this.#widths.forget();
    const finer = "SELECT * FROM tallies WHERE bucket >= ? AND bucket < ? AND width < ?";
    const rows = this.#database.query<Omit<Tally, "groups"> & { groups: string }>(finer, from, before, width);
    for (const [bucket, tallies] of Map.groupBy(rows, (tally) => tally.bucket)) {
      this.#database.query("DELETE FROM tallies WHERE bucket = ?", bucket);
      for (const tally of tallies) {
        const step = stepAt(tally.step, bucket, width);
        const elapsed = tally.elapsed + (tally.step - step) * tally.impressions;
        this.#upsert({ ...tally, step, width, elapsed, groups: JSON.parse(tally.groups) });
      }
    }
  }

  /** Number of live impressions shown in buckets that begin at a time or later. */
  countSince(time: number): number {
    if (this.#count?.time !== time) {
      const query = "SELECT coalesce(sum(impressions), 0) AS count FROM tallies WHERE bucket >= ?";
      this.#count = { time, count: this.#database.query<{ count: number }>(query, time)[0].count };
    }
    return this.#count.count;
  }

  /** The sums of the steps of the buckets that begin at a time or later, in order of time. */
  sumsSince(time: number): StepSums[] {
    return this.#steps<StepSums>(STEP_SUMS, time);
  }

  /** The same steps with their groups of products. */
  stepsSince(time: number): StepCounts[] {
    const steps = this.#steps<StepSums & { groups: string }>(`${STEP_SUMS}, json_group_array(json(groups)) AS groups`, time);
    return steps.map((step) => ({ ...step, groups: addedGroups(JSON.parse(step.groups) as GroupCounts[]) }));
  }

  #steps<Row>(columns: string, time: number): Row[] {
    const query = `SELECT ${columns} FROM tallies WHERE bucket >= ? GROUP BY bucket, step ORDER BY bucket, step`;
    return this.#database.query<Row & Record<string, SqlStorageValue>>(query, time);
  }

  /** Sums of the newest buckets, oldest first. */
  buckets(limit: number): BucketSums[] {
    return this.#database.query<BucketSums & Record<string, SqlStorageValue>>(
      `SELECT * FROM (
         SELECT bucket AS start, arm, sum(impressions) AS impressions, sum(converted) AS converted, sum(reward) AS reward, sum(square) AS square
         FROM tallies GROUP BY bucket, arm ORDER BY bucket DESC, arm LIMIT ?)
       ORDER BY start, arm`,
      limit,
    );
  }

  /** Impressions of the buckets between two bounds, by group of products. */
  groupsBetween(from: number, before: number): GroupCounts {
    const query = "SELECT groups FROM tallies WHERE bucket >= ? AND bucket < ?";
    return addedGroups(this.#database.query<{ groups: string }>(query, from, before).map(({ groups }) => JSON.parse(groups)));
  }
}

const STEP_SUMS = "step, sum(impressions) AS impressions, sum(elapsed) AS elapsed, sum(observed) AS observed, sum(converted) AS converted";
const NONE = { impressions: 0, elapsed: 0, observed: 0, converted: 0, reward: 0, square: 0 };

/** Whether a sum with this reward keeps what it has of others. If not, a recount takes the reward away. */
const isExact = (outcome: Outcome | null): boolean => Math.abs(outcome?.reward ?? 0) <= MOST_EXACT;

/** Adds an impression with an outcome to its tally, or subtracts it. */
function add(tally: Tally, outcome: Outcome | null, shownAt: number, sign: 1 | -1): void {
  if (!outcome) return;
  const { reward, converted, waits } = outcome;
  tally.impressions += sign;
  tally.elapsed += sign * (shownAt - tally.step);
  tally.observed += sign * Number(reward !== null && !waits);
  tally.converted += sign * Number(converted);
  if (reward === null || (sign < 0 && !isExact(outcome))) return;
  tally.reward += sign * reward;
  tally.square += sign * reward ** 2;
}
