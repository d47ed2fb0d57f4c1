// The table of outcomes.

import { firstIdAt } from "../../../domain/ids/uuid.ts";
import { NOTHING, type Outcome } from "../../../domain/impression/outcome.ts";
import type { Change, Projection } from "../counts/projection.ts";
import type { Database } from "../database.ts";

/** States of an outcome in the column `converted`. */
const [RETRACTED, CONVERTED, WAITS] = [0, 1, 2];

/** Outcomes that are read together. */
const READ_AT_ONCE = 1000;

/** The columns of an outcome. Null in `reward`: there is none. */
export type OutcomeColumns = {
  readonly reward: number | null;
  readonly converted: number;
  readonly delays: string | null;
  readonly amounts: string | null;
};

/** The outcomes of the live impressions that have one. */
export class OutcomeStore implements Projection {
  readonly #database: Pick<Database, "query">;

  constructor(database: Pick<Database, "query">) {
    this.#database = database;
  }

  of(id: string): Outcome {
    const query = "SELECT reward, converted, delays, amounts FROM outcomes WHERE id = ?";
    return outcomeOfColumns(this.#database.query<OutcomeColumns>(query, id)[0]);
  }

  ofAll(ids: readonly string[]): Map<string, Outcome> {
    const query = "SELECT * FROM outcomes WHERE id IN (SELECT value FROM json_each(?))";
    const found: (OutcomeColumns & { id: string })[] = [];
    // A value of the database has 2 MB at most.
    for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
      found.push(...this.#database.query<OutcomeColumns & { id: string }>(query, JSON.stringify(ids.slice(from, from + READ_AT_ONCE))));
    }
    return byId(found);
  }

  /** The outcomes of impressions shown from one time to before another, by their ids. */
  between(from: number, before: number): Map<string, Outcome> {
    const query = "SELECT * FROM outcomes WHERE id >= ? AND id < ?";
    return byId(this.#database.query<OutcomeColumns & { id: string }>(query, firstIdAt(from), firstIdAt(before)));
  }

  /** All outcomes, by the ids of their impressions. They are read page by page. */
  *all(): Generator<readonly [id: string, Outcome]> {
    const query = "SELECT * FROM outcomes WHERE id > ? ORDER BY id LIMIT ?";
    for (let last = ""; ; ) {
      const page = byId(this.#database.query<OutcomeColumns & { id: string }>(query, last, READ_AT_ONCE));
      yield* page;
      if (page.size < READ_AT_ONCE) return;
      last = Array.from(page.keys())[page.size - 1];
    }
  }

  /** Deletes the outcomes of impressions shown before a time, and returns them. */
  deleteBefore(time: number): Map<string, Outcome> {
    return byId(this.#database.query<OutcomeColumns & { id: string }>("DELETE FROM outcomes WHERE id < ? RETURNING *", firstIdAt(time)));
  }

  apply(changes: readonly Change[]): void {
    for (const { impression, before, after } of changes) {
      if (after && after.reward !== null) {
        const insert = "INSERT OR REPLACE INTO outcomes (id, reward, converted, delays, amounts) VALUES (?, ?, ?, ?, ?)";
        this.#database.query(insert, impression.id, ...columnsOf(after));
      } else if (before && before.reward !== null) this.#database.query("DELETE FROM outcomes WHERE id = ?", impression.id);
    }
  }
}

/** The columns `reward`, `converted`, `delays` and `amounts` of an outcome. */
export function columnsOf({ reward, converted, waits, delays, amounts }: Outcome): readonly unknown[] {
  const state = waits ? WAITS : converted ? CONVERTED : RETRACTED;
  return [reward, state, delays && JSON.stringify(delays), amounts && JSON.stringify(amounts)];
}

export function outcomeOfColumns(columns: OutcomeColumns | undefined): Outcome {
  if (!columns || columns.reward === null) return NOTHING;
  const { reward, converted, delays, amounts } = columns;
  const details = { delays: JSON.parse(delays ?? "null"), amounts: JSON.parse(amounts ?? "null") };
  return { reward, converted: converted === CONVERTED, waits: converted === WAITS, ...details };
}

function byId(rows: readonly (OutcomeColumns & { readonly id: string })[]): Map<string, Outcome> {
  return new Map(rows.map(({ id, ...columns }) => [id, outcomeOfColumns(columns)]));
}
