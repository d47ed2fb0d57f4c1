// Counts impressions by the time they were shown, for rates over time.

import { shownAtOf } from "../../../domain/ids/uuid.ts";
import { bucketAt, bucketMs } from "../../../domain/impression/bucket.ts";
import { STEPS, stepAt, widthsOf } from "../../../domain/impression/shown-step.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import type { BucketSums, StepCounts } from "../../../rpc/model-counts.ts";
import type { Database } from "../database.ts";
import { LastAnswer } from "../last-answer.ts";

/** Cohorts are counted as finely as the shortest window asks for, until so many of these windows have passed. */
const FINE_WINDOWS = 3;
/** So many of the model's windows later only buckets are left. */
const COARSE_WINDOWS = 4;

/** Conversions and reward of an impression. */
export interface Brought {
  readonly reward: number;
  readonly converted: boolean;
  /** Whether it has reached goals without a weight alone. It may still convert, so nothing was observed. */
  readonly waits: boolean;
}

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
};

const SUMS = ["impressions", "elapsed", "observed", "converted", "reward", "square"] as const;
const UPSERT = `INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET ${SUMS.map((name) => `${name} = ${name} + excluded.${name}`)}`;

/**
 * Counts live impressions by the time they were shown and by assignment, so that nobody has to read them. A tally has the impressions of
 * one step: a small part of the shortest window at first, later of the model's window, in the end a whole bucket. Sums outlive the
 * impressions. Rewards and their squares are dyadic numbers, so the sums are exact.
 * Every change needs a transaction of the database.
 */
export class TallyStore {
  readonly #database: Database;
  /** Times until which tallies were made coarser. After a start they are looked for again. */
  #coarsened = { fine: 0, coarse: 0 };
  /** Length of the steps of a bucket. */
  readonly #widths: LastAnswer<number, number | undefined>;
  /** Cache of `countSince` for one time. */
  #count?: { readonly time: number; count: number };

  constructor(database: Database) {
    this.#database = database;
    this.#widths = new LastAnswer(database);
    database.onDrop(() => {
      this.#coarsened = { fine: 0, coarse: 0 };
      this.#count = undefined;
    });
  }

  /** Adds impressions without a reward. */
  show(rows: readonly { readonly id: string; readonly arm: string }[], windows: Windows): void {
    const { fine } = widthsOf(windows);
    const widths = new Map<number, number>();
    const tallies = new Map<string, Tally>();
    let newest = 0;
    for (const { id, arm } of rows) {
      const shownAt = shownAtOf(id);
      const bucket = bucketAt(shownAt, windows.window.ms);
      const width = widths.get(bucket) ?? this.#widthOf(bucket) ?? fine;
      widths.set(bucket, width);
      const step = stepAt(shownAt, bucket, width);
      const key = `${step} ${arm}`;
      const tally = tallies.get(key) ?? { ...NOTHING, bucket, step, arm, width };
      tally.impressions++;
      tally.elapsed += shownAt - step;
      tallies.set(key, tally);
      newest = Math.max(newest, shownAt);
      if (this.#count && shownAt >= this.#count.time) this.#count.count++;
    }
    for (const tally of tallies.values()) this.#upsert(tally);
    this.#coarsen(newest, windows);
  }

  #upsert(tally: Tally): void {
    this.#database.query(UPSERT, tally.bucket, tally.step, tally.arm, tally.width, ...SUMS.map((name) => tally[name]));
  }

  /** Notes that an impression has brought something else than before. Null: nothing was observed. */
  change(id: string, arm: string, windows: Windows, before: Brought | null, after: Brought | null): void {
    const [was, is] = [before, after].map((each) => each ?? { reward: 0, converted: false, waits: false });
    const isObserved = (each: Brought | null): boolean => each !== null && !each.waits;
    this.#update(id, arm, windows, {
      observed: Number(isObserved(after)) - Number(isObserved(before)),
      converted: Number(is.converted) - Number(was.converted),
      reward: is.reward - was.reward,
      square: is.reward ** 2 - was.reward ** 2,
    });
  }

  /** Counts anew what the impressions of a bucket have brought: sums that are not finite cannot be changed. */
  recount(bucket: number, windows: Windows, all: Iterable<{ readonly id: string; readonly arm: string; readonly brought: Brought }>): void {
    this.#database.query("UPDATE tallies SET observed = 0, converted = 0, reward = 0, square = 0 WHERE bucket = ?", bucket);
    for (const { id, arm, brought } of all) this.change(id, arm, windows, null, brought);
  }

  /** Forgets the impressions shown at a time or later, which are about to be counted again under other windows. */
  forgetSince(time: number, { window }: Windows): void {
    this.#database.query("DELETE FROM tallies WHERE bucket + ? > ?", bucketMs(window.ms), time);
    this.#coarsened = { fine: 0, coarse: 0 };
    this.#count = undefined;
    this.#widths.forget();
  }

  /** Takes an impression away. @param brought what it has brought. */
  remove(id: string, arm: string, windows: Windows, brought: Brought | null): void {
    this.change(id, arm, windows, brought, null);
    this.#update(id, arm, windows, { impressions: -1 });
    this.#count = undefined;
    this.#widths.forget();
    this.#database.query("DELETE FROM tallies WHERE bucket = ? AND impressions = 0", bucketAt(shownAtOf(id), windows.window.ms));
  }

  #update(id: string, arm: string, { window }: Windows, by: Partial<Tally>): void {
    const shownAt = shownAtOf(id);
    const bucket = bucketAt(shownAt, window.ms);
    const width = this.#widthOf(bucket) as number;
    const step = stepAt(shownAt, bucket, width);
    this.#upsert({ ...NOTHING, bucket, step, arm, width, ...(by.impressions && { elapsed: step - shownAt }), ...by });
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
    const rows = this.#database.query<Tally>(finer, from, before, width);
    for (const [bucket, tallies] of Map.groupBy(rows, (tally) => tally.bucket)) {
      this.#database.query("DELETE FROM tallies WHERE bucket = ?", bucket);
      for (const tally of tallies) {
        const step = stepAt(tally.step, bucket, width);
        this.#upsert({ ...tally, step, width, elapsed: tally.elapsed + (tally.step - step) * tally.impressions });
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

  /** The steps of the buckets that begin at a time or later, in order of time. */
  stepsSince(time: number): StepCounts[] {
    return this.#database.query<StepCounts & Record<string, SqlStorageValue>>(
      `SELECT step, sum(impressions) AS impressions, sum(elapsed) AS elapsed, sum(observed) AS observed, sum(converted) AS converted
       FROM tallies WHERE bucket >= ? GROUP BY bucket, step ORDER BY bucket, step`,
      time,
    );
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

  /** Number of impressions of the buckets between two bounds. */
  countBetween(from: number, before: number): number {
    const query = "SELECT coalesce(sum(impressions), 0) AS count FROM tallies WHERE bucket >= ? AND bucket < ?";
    return this.#database.query<{ count: number }>(query, from, before)[0].count;
  }
}

const NOTHING = { impressions: 0, elapsed: 0, observed: 0, converted: 0, reward: 0, square: 0 };
