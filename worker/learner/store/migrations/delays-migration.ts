import type { StoredConversion } from "../../../domain/conversion/conversion.ts";
import { counting, resolved } from "../../../domain/conversion/reward.ts";
import { shownAtOf } from "../../../domain/ids/uuid.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import { DelayStore } from "../counts/delay-store.ts";

// Databases of schema 12 and earlier do not count delays. This migration counts those of all conversions. A running relearning starts
// again, because it has not noted them.

const TABLES = `
  ALTER TABLE outcomes ADD COLUMN delays TEXT;
  ALTER TABLE relearnt_outcomes ADD COLUMN delays TEXT;
  CREATE TABLE delays (
    goal TEXT, cohort INTEGER, bin INTEGER, length INTEGER NOT NULL, count INTEGER NOT NULL, delay INTEGER NOT NULL,
    PRIMARY KEY (goal, cohort, bin)) WITHOUT ROWID;
  CREATE TABLE delay_times (goal TEXT, at INTEGER, count INTEGER NOT NULL, PRIMARY KEY (goal, at)) WITHOUT ROWID;
  UPDATE relearning SET seq = 0;
  DELETE FROM relearnt_blocks;
  DELETE FROM relearnt_outcomes;
  DELETE FROM relearnt_snapshots;`;

/** Impressions whose conversions are read together. */
const AT_ONCE = 500;

type Row = Omit<StoredConversion, "restates"> & Record<string, SqlStorageValue> & { readonly restates: 1 | null };

/** Notes the delays of the conversions that count, and counts them. */
export function countDelays(sql: SqlStorage): void {
  sql.exec(TABLES);
  const [model] = sql.exec<{ config: string }>("SELECT config FROM model").toArray();
  if (!model) return;
  const windows: Windows = { goals: null, ...JSON.parse(model.config) };
  const query = `SELECT impression, goal, event, reward, at, status, restates FROM conversions
    WHERE impression IN (SELECT id FROM outcomes WHERE converted = 1 AND id > ? ORDER BY id LIMIT ?) ORDER BY impression`;
  for (let last = ""; ; ) {
    const rows = sql.exec<Row>(query, last, AT_ONCE).toArray();
    if (rows.length === 0) break;
    for (const [id, own] of Map.groupBy(rows, ({ impression }) => impression)) {
      const events = own.map(({ restates, ...event }) => ({ ...event, ...(restates && { restates: true }) }) as StoredConversion);
      const reward = resolved(counting(events), windows.goals, shownAtOf(id));
      sql.exec("UPDATE outcomes SET delays = ? WHERE id = ? AND converted = 1", reward && JSON.stringify(reward.delays), id);
      last = id;
    }
  }
  new DelayStore({ query: (text, ...bindings) => sql.exec(text, ...bindings).toArray() as never[], onDrop: () => {} }).recount(windows);
}
