import { toBlob } from "../../../worker/domain/impression/feature-blob.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";

/** Turns a database of today into one of schema 8, which had a row for each impression. */
export function toEighth(storage: DurableObjectStorage): void {
  const { sql } = storage;
  const store = new LearnerStore(storage);
  const impressions = Array.from(store.impressions.after(0));
  const buckets = store.tallies.buckets(1000).filter(({ start }) => start < store.watermark);
  sql.exec(`
    CREATE TABLE impressions (
      seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, state TEXT NOT NULL, bucket INTEGER NOT NULL, arm TEXT NOT NULL,
      action TEXT NOT NULL, features BLOB NOT NULL, context TEXT, slots TEXT, round INTEGER, version INTEGER NOT NULL, decision TEXT,
      reward REAL, converted INTEGER NOT NULL DEFAULT 0, page INTEGER NOT NULL DEFAULT 0, list TEXT, sampling INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX impressions_deferred ON impressions (id) WHERE state = 'deferred';
    CREATE TABLE lists (first TEXT PRIMARY KEY, context TEXT, asked TEXT) WITHOUT ROWID;
    CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE closed (
      bucket INTEGER, arm TEXT, impressions INTEGER NOT NULL, converted INTEGER NOT NULL, reward REAL NOT NULL, square REAL NOT NULL,
      PRIMARY KEY (bucket, arm)) WITHOUT ROWID;`);
  for (const row of impressions) {
    const { seq, id, name, state, arm, action, features, context, slots, round, version, decision, reward, converted, byPage, sampling } =
      row;
    const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
    const bucket = sql
      .exec<{ bucket: number }>(
        "SELECT max(bucket) AS bucket FROM tallies WHERE step <= ?",
        Number(`0x${id.slice(0, 8)}${id.slice(9, 13)}`),
      )
      .one().bucket;
    sql.exec(
      "INSERT INTO impressions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[seq, id, name, state, bucket, arm, action, toBlob(features), json(context), json(slots), round, version, json(decision)],
      ...[reward, Number(converted), Number(byPage), decision?.first ?? null, sampling],
    );
  }
  for (const { start, arm, impressions: count, converted, reward, square } of buckets) {
    sql.exec("INSERT INTO closed VALUES (?, ?, ?, ?, ?, ?)", start, arm, count, converted, reward, square);
  }
  for (const [name, value] of store.database.counts()) sql.exec("INSERT INTO counters VALUES (?, ?)", name, value);
  const { seq, lag, heard } = store.database.progress;
  sql.exec(`
    ALTER TABLE model DROP COLUMN catalogued;
    ALTER TABLE model DROP COLUMN catalogued_at;
    ALTER TABLE model DROP COLUMN homes;
    ALTER TABLE model DROP COLUMN term;
    ALTER TABLE model DROP COLUMN coordinated;
    ALTER TABLE model DROP COLUMN allowance;
    ALTER TABLE model ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE model ADD COLUMN lag INTEGER;
    ALTER TABLE model ADD COLUMN heard TEXT;`);
  sql.exec("UPDATE model SET seq = ?, lag = ?, heard = ?", seq, lag, Object.keys(heard).length > 0 ? JSON.stringify(heard) : null);
  sql.exec(`
    DROP TABLE shards; DROP TABLE shard_sums; DROP TABLE merged_snapshots; DROP TABLE notes; DROP TABLE links; DROP TABLE forwarded;
    DROP TABLE archive; DROP TABLE archived; DROP TABLE relearning; DROP TABLE relearnt_blocks; DROP TABLE relearnt_outcomes; DROP TABLE relearnt_snapshots;
    DROP TABLE activations; DROP TABLE arms; DROP TABLE reached; DROP TABLE holdouts; DROP TABLE delays; DROP TABLE delay_times; DROP TABLE blocks; DROP TABLE deferred; DROP TABLE names; DROP TABLE outcomes; DROP TABLE tallies; DROP TABLE progress;
    DROP INDEX conversions_waiting; DROP INDEX conversions_beyond_range;`);
}

const TO_SEVENTH = "ALTER TABLE conversions DROP COLUMN restates;";
const TO_SIXTH = `${TO_SEVENTH} CREATE TABLE slots (slot INTEGER PRIMARY KEY); INSERT INTO slots SELECT slot FROM arrivals; DROP TABLE arrivals;
  ALTER TABLE slots RENAME TO arrivals; UPDATE model SET heard = json_extract(heard, '$.""');`;
const TO_FIFTH = `${TO_SIXTH} ALTER TABLE conversions ADD COLUMN previous REAL; ALTER TABLE conversions ADD COLUMN total REAL;`;
const TO_FOURTH = `${TO_FIFTH} DROP TABLE arrivals;`;
const TO_THIRD = `${TO_FOURTH} DROP TABLE lists; DROP TABLE erased; DROP INDEX impressions_deferred; ALTER TABLE impressions DROP COLUMN list;
  ALTER TABLE impressions DROP COLUMN sampling; ALTER TABLE model DROP COLUMN sampled;`;
const TO_SECOND = `${TO_THIRD} ALTER TABLE impressions DROP COLUMN page;`;

/** Statements that turn a database of schema 8 into an earlier one. */
export const EARLIER = {
  "the first version": `${TO_SECOND} ALTER TABLE model DROP COLUMN heard; DROP TABLE schema`,
  "the second version, which did not store its number": `${TO_SECOND} DROP TABLE schema`,
  "the second version, which stores its number": `${TO_SECOND} UPDATE schema SET version = 2`,
  "the third version": `${TO_THIRD} UPDATE schema SET version = 3`,
  "the fourth version": `${TO_FOURTH} UPDATE schema SET version = 4`,
  "the fifth version": `${TO_FIFTH} UPDATE schema SET version = 5`,
  "the sixth version": `${TO_SIXTH} UPDATE schema SET version = 6`,
  "the seventh version": `${TO_SEVENTH} UPDATE schema SET version = 7`,
  "the eighth version": "UPDATE schema SET version = 8",
} as const;
