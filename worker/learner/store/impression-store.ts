import type { Policy } from "afterclick";
import type { Worth } from "../../domain/reward.ts";
import { firstIdAt, shownAtOf } from "../../domain/token.ts";
import type { Action, Features } from "../../protocol/schema.ts";
import type { Arm } from "../metrics.ts";
import type { LearnerStore } from "./learner-store.ts";

/** How an impression was decided. */
export interface Decision {
  readonly score: number;
  readonly mean: number;
  readonly width: number;
  readonly probability?: number;
  /** Place in the ranked list, from 0. */
  readonly place: number;
  /** How many actions were considered; null if the policy chose in its own domain. */
  readonly candidates: number | null;
  /** What each shadow would have shown first, by its name. */
  readonly shadows?: Readonly<Record<string, string>>;
  /** Below the first place of a list: the id of its first impression, by which all of it was drawn. */
  readonly first?: string;
  /** What the request asked for other than all of the catalogue. With it, and with the version, the decision can be made again. */
  readonly asked?: Asked;
}

/** What a request may restrict a decision by. */
export interface Asked {
  readonly actions?: Action[];
  readonly exclude?: string[];
  readonly greedy?: boolean;
}

export interface ImpressionRow {
  readonly id: string;
  /** Names a registration, so that its repetition is known. */
  readonly name: string | null;
  readonly action: string;
  readonly features: Float64Array;
  /** As it was given; null if it was not. */
  readonly context: Features | null;
  readonly arm: Arm;
  /** Version of the model that decided. */
  readonly version: number;
  /** Null if it was decided elsewhere. */
  readonly decision: Decision | null;
  /** Hashes. */
  readonly keys: readonly string[];
}

/** What its policies made of an impression. */
export interface Marks {
  /** One per policy. */
  readonly slots: readonly number[];
  readonly round: number;
}

/** Live: learnt. Deferred: not shown yet. Void: rolled back or erased; what comes for it is late. */
export type ImpressionState = "live" | "deferred" | "void";

export interface StoredImpression extends Omit<ImpressionRow, "keys">, Marks {
  readonly seq: number;
  readonly state: ImpressionState;
  /** What the policy was told: see `Worth`; null before the first conversion. */
  readonly reward: number | null;
  readonly converted: boolean;
  /** Nothing is left of it but that it was there. */
  readonly erased: boolean;
}

/** An impression as policies take it. */
export interface Shown extends Omit<ReturnType<Policy["append"]>, "slot"> {
  readonly slots: readonly number[];
}

export function shownOf({ id, features, slots, round }: Marks & Pick<ImpressionRow, "id" | "features">): Shown {
  return { features, slots, round, now: shownAtOf(id) };
}

export interface ShownImpression {
  readonly shownAt: number;
  /** Whether no reward has come yet. */
  readonly pending: boolean;
}

/** The impressions of a model, and the keys that were given for them. Changes are made within a transaction of the store. */
export class ImpressionStore {
  readonly #store: LearnerStore;

  constructor(store: LearnerStore) {
    this.#store = store;
  }

  find(id: string): StoredImpression | undefined {
    return this.#first("SELECT * FROM impressions WHERE id = ?", id);
  }

  /** The impression of that id, or registered under that name. */
  registered(id: string, name: string | null): StoredImpression | undefined {
    return this.find(id) ?? (name === null ? undefined : this.#first("SELECT * FROM impressions WHERE name = ?", name));
  }

  /** Which of these ids it has. */
  known(ids: readonly string[]): ReadonlySet<string> {
    const query = "SELECT id FROM impressions WHERE id IN (SELECT value FROM json_each(?))";
    return new Set(this.#store.query<{ id: string }>(query, JSON.stringify(ids)).map(({ id }) => id));
  }

  at(seq: number): StoredImpression | undefined {
    return this.#first("SELECT * FROM impressions WHERE seq = ?", seq);
  }

  #first(query: string, value: string | number): StoredImpression | undefined {
    const [row] = this.#store.query(query, value);
    return row && impressionOf(row);
  }

  /** @param marks null unless it is live. */
  add(row: ImpressionRow, bucket: number, state: ImpressionState, marks: Marks | null): void {
    const { id, name, action, features, context, arm, version, decision, keys } = row;
    this.#store.query(
      `INSERT INTO impressions (seq, id, name, state, bucket, arm, action, features, context, slots, round, version, decision)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      this.#store.next(),
      id,
      name,
      state,
      bucket,
      arm,
      action,
      features.slice().buffer,
      context && JSON.stringify(context),
      marks && JSON.stringify(marks.slots),
      marks?.round ?? null,
      version,
      decision && JSON.stringify(decision),
    );
    for (const key of keys) this.#store.query("INSERT OR IGNORE INTO keys VALUES (?, ?)", key, id);
    if (state === "live") this.#store.count("impressions");
  }

  /** A deferred impression was shown. */
  activate(id: string, { slots, round }: Marks): void {
    const query = "UPDATE impressions SET seq = ?, state = 'live', slots = ?, round = ? WHERE id = ? AND state = 'deferred'";
    this.#store.query(query, this.#store.next(), JSON.stringify(slots), round, id);
    this.#store.count("impressions");
  }

  setWorth(id: string, worth: Worth | null): void {
    const { reward, converted } = worth ?? { reward: null, converted: false };
    this.#store.query("UPDATE impressions SET reward = ?, converted = ? WHERE id = ?", reward, Number(converted), id);
  }

  keysOf(id: string): string[] {
    return this.#store.query<{ key: string }>("SELECT key FROM keys WHERE impression = ? ORDER BY key", id).map(({ key }) => key);
  }

  /** Impressions that a key was given for. */
  withKey(key: string): string[] {
    return this.#store.query<{ impression: string }>("SELECT impression FROM keys WHERE key = ?", key).map(({ impression }) => impression);
  }

  /** How many were shown at a time or later, whatever their state. */
  countSince(time: number): number {
    return this.#store.query<{ count: number }>("SELECT count(*) AS count FROM impressions WHERE id >= ?", firstIdAt(time))[0].count;
  }

  /** Live ones shown at a time or later: all, those whose policy was told of a reward, and those that converted. **Cost:** linear in them. */
  liveSince(time: number): { readonly impressions: number; readonly told: number; readonly converted: number } {
    return this.#store.query<{ impressions: number; told: number; converted: number }>(
      `SELECT count(*) AS impressions, count(reward) AS told, coalesce(sum(converted), 0) AS converted
       FROM impressions WHERE id >= ? AND state = 'live'`,
      firstIdAt(time),
    )[0];
  }

  /** Live ones shown at a time or later, oldest first. **Cost:** linear in them. */
  shownSince(time: number): ShownImpression[] {
    const rows = this.#store.sql.exec<{ id: string; pending: number }>(
      "SELECT id, reward IS NULL AS pending FROM impressions WHERE id >= ? AND state = 'live' ORDER BY id",
      firstIdAt(time),
    );
    return Array.from(rows, ({ id, pending }) => ({ shownAt: shownAtOf(id), pending: pending === 1 }));
  }

  /** Deletes those in a range of ids, of one state or of any, and their keys. */
  delete(from: string, before: string, state?: ImpressionState): void {
    const ids = `SELECT id FROM impressions WHERE id >= ?1 AND id < ?2 AND (?3 IS NULL OR state = ?3)`;
    this.#store.query(`DELETE FROM keys WHERE impression IN (${ids})`, from, before, state ?? null);
    this.#store.query(`DELETE FROM impressions WHERE id IN (${ids})`, from, before, state ?? null);
  }

  /** Takes what is known of one away; that it was there stays, so that nothing of it is taken again. */
  erase(id: string): void {
    this.#store.query("DELETE FROM keys WHERE impression = ?", id);
    this.#store.query(
      `UPDATE impressions SET state = 'void', name = NULL, action = '', features = x'', context = NULL, decision = NULL, reward = NULL,
       converted = 0 WHERE id = ?`,
      id,
    );
  }
}

function impressionOf(row: Record<string, SqlStorageValue>): StoredImpression {
  const { features, context, decision, slots, converted, bucket: _, ...fields } = row;
  return {
    ...fields,
    features: new Float64Array(features as ArrayBuffer),
    context: context && JSON.parse(context as string),
    decision: decision && JSON.parse(decision as string),
    slots: slots && JSON.parse(slots as string),
    converted: converted === 1,
    erased: fields.action === "",
  } as unknown as StoredImpression;
}
