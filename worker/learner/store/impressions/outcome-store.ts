// The table of outcomes. A change of one goes from here to everything that counts it.

import { firstIdAt, shownAtOf } from "../../../domain/ids/uuid.ts";
import { bucketAt, bucketEnd } from "../../../domain/impression/bucket.ts";
import type { StoredImpression } from "../../../domain/impression/impression.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import type { DelayStore } from "../counts/delay-store.ts";
import type { ListCounts } from "../counts/list-counts.ts";
import type { Brought, TallyStore } from "../counts/tally-store.ts";
import type { Database } from "../database.ts";
import type { BlockStore } from "./block-store.ts";
import {
  broughtOf,
  type Details,
  type DetailsRow,
  detailsOf,
  isRetracted,
  NOTHING_BROUGHT,
  type OutcomeRow,
  outcomeColumns,
  type StoredOutcome,
  stateOf,
} from "./outcome.ts";

/** Figures of the amounts of a goal that are counted. */
const AMOUNTS = ["orders", "refunds", "paid", "refunded"] as const;
/** What changes with an outcome. */
interface Counting {
  readonly blocks: BlockStore;
  readonly tallies: TallyStore;
  readonly delays: DelayStore;
  readonly lists: ListCounts;
}

/** The outcomes of live impressions, and all that counts them. Every change needs a transaction of the database. */
export class OutcomeStore {
  readonly #database: Database;
  readonly #blocks: BlockStore;
  readonly #tallies: TallyStore;
  readonly #delays: DelayStore;
  readonly #lists: ListCounts;
  /** Details of outcomes that were read together with their impressions. */
  readonly #details = new WeakMap<StoredImpression, Details>();

  constructor(database: Database, { blocks, tallies, delays, lists }: Counting) {
    this.#database = database;
    this.#blocks = blocks;
    this.#tallies = tallies;
    this.#delays = delays;
    this.#lists = lists;
  }

  /** The outcome of an impression. Without one, its columns are undefined. */
  of(id: string): { readonly columns: OutcomeRow | undefined; readonly details: Details } {
    const query = "SELECT reward, converted, delays, amounts FROM outcomes WHERE id = ?";
    const [columns] = this.#database.query<OutcomeRow & DetailsRow>(query, id);
    return { columns, details: detailsOf(columns) };
  }

  /** Keeps the details that were read together with an impression, for its change. */
  keep(impression: StoredImpression, details: Details): void {
    this.#details.set(impression, details);
  }

  ofAll(ids: readonly string[]): Map<string, OutcomeRow> {
    const query = "SELECT id, reward, converted FROM outcomes WHERE id IN (SELECT value FROM json_each(?))";
    return new Map(
      this.#database.query<OutcomeRow & { id: string }>(query, JSON.stringify(ids)).map(({ id, ...outcome }) => [id, outcome]),
    );
  }

  /** Stores what a live impression has brought. A rollback restores the counters itself. */
  restore(impression: StoredImpression, after: StoredOutcome | null, windows: Windows): void {
    this.#set(impression, this.#detailsOf(impression), after, windows);
  }

  #set(impression: StoredImpression, before: Details, after: StoredOutcome | null, windows: Windows): void {
    this.#tallies.change(impression.id, impression.arm, windows, broughtOf(impression), after);
    this.#store(impression, before, after, windows);
  }

  #store(impression: StoredImpression, before: Details, after: StoredOutcome | null, windows: Windows): void {
    const { id } = impression;
    const reached = { before: before.delays, after: after?.delays ?? null };
    this.#delays.change([{ id, ...reached }], windows);
    this.#lists.reach(impression, reached, windows);
    if (!after) {
      this.#database.query("DELETE FROM outcomes WHERE id = ?", id);
      return;
    }
    const insert = "INSERT OR REPLACE INTO outcomes (id, reward, converted, delays, amounts) VALUES (?, ?, ?, ?, ?)";
    this.#database.query(insert, id, ...outcomeColumns(after));
  }

  #detailsOf(impression: StoredImpression): Details {
    const query = "SELECT delays, amounts FROM outcomes WHERE id = ?";
    return this.#details.get(impression) ?? detailsOf(this.#database.query<DetailsRow>(query, impression.id)[0]);
  }

  /** Stores what a live impression has brought, and counts the change. */
  change(impression: StoredImpression, after: StoredOutcome | null, windows: Windows): void {
    const before = this.#detailsOf(impression);
    this.#countChange(impression, before, after);
    this.#set(impression, before, after, windows);
  }

  /** Stores what live impressions have brought without conversions that were refused, and counts their buckets anew. */
  correct(impression: StoredImpression, after: StoredOutcome | null, windows: Windows): void {
    const before = this.#detailsOf(impression);
    this.#countChange(impression, before, after);
    this.#store(impression, before, after, windows);
    const { ms } = windows.window;
    const bucket = bucketAt(shownAtOf(impression.id), ms);
    this.#tallies.recount(bucket, windows, this.#broughtBetween(bucket, bucketEnd(bucket, ms)));
  }

  *#broughtBetween(from: number, before: number): Generator<{ readonly id: string; readonly arm: string; readonly brought: Brought }> {
    const query = "SELECT id, reward, converted FROM outcomes WHERE id >= ? AND id < ?";
    const rows = this.#database.query<OutcomeRow & { id: string }>(query, firstIdAt(from), firstIdAt(before));
    for (const { id, reward, converted } of rows) {
      const found = this.#blocks.find(id);
      if (found && reward !== null) yield { id, arm: found.row.arm, brought: { reward, ...stateOf(converted) } };
    }
  }

  /** Counts the change from an impression and its stored details. */
  #countChange(was: StoredImpression, before: Details, after: StoredOutcome | null): void {
    const is = { ...NOTHING_BROUGHT, ...after };
    this.#database.count("converted", Number(is.converted) - Number(was.converted));
    this.#database.count("retracted", Number(isRetracted(is)) - Number(isRetracted(was)));
    this.#countGoals(before, -1);
    this.#countGoals(after, 1);
  }

  #countGoals(details: Details | null, by: 1 | -1): void {
    for (const goal of Object.keys(details?.delays ?? {})) if (goal !== "") this.#database.count(`goal converted ${goal}`, by);
    for (const [goal, amounts] of Object.entries(details?.amounts ?? {})) {
      for (const name of AMOUNTS) this.#database.count(`goal ${name} ${goal}`, by * amounts[name]);
    }
  }

  /** Counts an erasure before the end of the window. What the impression would have brought stays unknown. */
  countErased({ reward, converted, waits }: StoredImpression): void {
    this.#database.count("erased");
    this.#database.count("erasedObserved", Number(reward !== null && !waits));
    this.#database.count("erasedConverted", Number(converted));
  }

  /** Takes the outcome of an impression that is live no more out of the sums. */
  takeAway(impression: StoredImpression, windows: Windows): void {
    const { id, arm } = impression;
    this.#tallies.remove(id, arm, windows, broughtOf(impression));
    this.#delays.change([{ id, before: this.#detailsOf(impression).delays, after: null }], windows);
    this.#database.query("DELETE FROM outcomes WHERE id = ?", id);
  }
}
