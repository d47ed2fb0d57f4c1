import { Problem } from "../../../protocol/problem.ts";
import { countArms } from "./arms-migration.ts";
import { intoBlocks } from "./blocks-migration.ts";
import { countDelays } from "./delays-migration.ts";

// The schema of a learner's database. Version n is the result of the first n migrations. Impressions, conversions and marks are
// numbered by one sequence.

const MIGRATIONS: readonly (string | ((sql: SqlStorage) => void))[] = [
  `CREATE TABLE model (
    only INTEGER PRIMARY KEY CHECK (only = 1), name TEXT NOT NULL, config TEXT NOT NULL, generation INTEGER NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0, watermark INTEGER NOT NULL, audited INTEGER NOT NULL, horizon INTEGER NOT NULL,
    published INTEGER NOT NULL DEFAULT -1, published_at INTEGER, lag INTEGER);
  CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE actions (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, content TEXT NOT NULL);
  CREATE TABLE impressions (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, state TEXT NOT NULL, bucket INTEGER NOT NULL, arm TEXT NOT NULL,
    action TEXT NOT NULL, features BLOB NOT NULL, context TEXT, slots TEXT, round INTEGER, version INTEGER NOT NULL, decision TEXT,
    reward REAL, converted INTEGER NOT NULL DEFAULT 0);
  CREATE UNIQUE INDEX impressions_name ON impressions (name) WHERE name IS NOT NULL;
  CREATE TABLE keys (key TEXT, impression TEXT, PRIMARY KEY (key, impression)) WITHOUT ROWID;
  CREATE INDEX keys_impression ON keys (impression);
  CREATE TABLE conversions (
    seq INTEGER PRIMARY KEY, impression TEXT NOT NULL, goal TEXT NOT NULL, event TEXT NOT NULL, reward REAL, at INTEGER NOT NULL,
    status TEXT NOT NULL, previous REAL, total REAL, key TEXT, action TEXT,
    UNIQUE (impression, goal, event, at, reward));
  CREATE INDEX conversions_key ON conversions (key) WHERE key IS NOT NULL;
  CREATE TABLE closed (
    bucket INTEGER, arm TEXT, impressions INTEGER NOT NULL, converted INTEGER NOT NULL, reward REAL NOT NULL, square REAL NOT NULL,
    PRIMARY KEY (bucket, arm)) WITHOUT ROWID;
  CREATE TABLE snapshots (
    seq INTEGER, part INTEGER, chunk INTEGER, kept INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, part, chunk));
  CREATE TABLE marks (seq INTEGER PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL);`,
  "ALTER TABLE model ADD COLUMN heard INTEGER;",
  "ALTER TABLE impressions ADD COLUMN page INTEGER NOT NULL DEFAULT 0;",
  `CREATE TABLE lists (first TEXT PRIMARY KEY, context TEXT, asked TEXT) WITHOUT ROWID;
  ALTER TABLE impressions ADD COLUMN list TEXT;
  ALTER TABLE impressions ADD COLUMN sampling INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX impressions_deferred ON impressions (id) WHERE state = 'deferred';
  ALTER TABLE model ADD COLUMN sampled INTEGER;
  CREATE TABLE erased (digest TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;`,
  "CREATE TABLE arrivals (slot INTEGER PRIMARY KEY);",
  // Policies observe changes that follow from the conversions, so none are stored.
  "ALTER TABLE conversions DROP COLUMN previous; ALTER TABLE conversions DROP COLUMN total;",
  // The empty goal has what arrived of any goal until then.
  `ALTER TABLE arrivals RENAME TO slots;
  CREATE TABLE arrivals (goal TEXT, slot INTEGER, PRIMARY KEY (slot, goal)) WITHOUT ROWID;
  INSERT INTO arrivals SELECT '', slot FROM slots;
  DROP TABLE slots;
  UPDATE model SET heard = json_object('', heard) WHERE heard IS NOT NULL;`,
  "ALTER TABLE conversions ADD COLUMN restates INTEGER;",
  intoBlocks,
  `CREATE TABLE relearning (only INTEGER PRIMARY KEY CHECK (only = 1), config TEXT NOT NULL, started_at INTEGER NOT NULL, seq INTEGER NOT NULL);
  CREATE TABLE relearnt_blocks (
    seq INTEGER PRIMARY KEY, count INTEGER NOT NULL, span INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    state TEXT NOT NULL, round INTEGER, slots TEXT NOT NULL, content BLOB NOT NULL);
  CREATE INDEX relearnt_blocks_time ON relearnt_blocks (span, first, last);
  CREATE TABLE relearnt_outcomes (id TEXT, seq INTEGER, reward REAL NOT NULL, converted INTEGER NOT NULL, PRIMARY KEY (id, seq)) WITHOUT ROWID;
  CREATE TABLE relearnt_snapshots (
    seq INTEGER, part INTEGER, chunk INTEGER, kept INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, part, chunk));`,
  "ALTER TABLE model ADD COLUMN catalogued INTEGER NOT NULL DEFAULT 0; ALTER TABLE model ADD COLUMN catalogued_at INTEGER;",
  // `marks`: those below this number are archived. Times are ms since 1970.
  `CREATE TABLE archive (only INTEGER PRIMARY KEY CHECK (only = 1), marks INTEGER NOT NULL, volume TEXT);
  CREATE TABLE archived (
    key TEXT PRIMARY KEY, day INTEGER NOT NULL, part INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
    last INTEGER NOT NULL, rows INTEGER NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID;`,
  // `homes`: shards of the model when its generation began. `term`: rollbacks of all shards. `coordinated`: version of the coordinator's
  // catalogue. `allowance`: the shard's part of the model's limits, as JSON. The rows of `notes` wait for the home of their key.
  `ALTER TABLE model ADD COLUMN homes INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE model ADD COLUMN term INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE model ADD COLUMN coordinated INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE model ADD COLUMN allowance TEXT;
  CREATE TABLE shards (
    shard INTEGER PRIMARY KEY, seq INTEGER NOT NULL, first INTEGER NOT NULL, term INTEGER NOT NULL, catalogue INTEGER NOT NULL,
    back INTEGER, used TEXT NOT NULL, committed TEXT NOT NULL);
  CREATE TABLE shard_sums (
    seq INTEGER, part INTEGER, chunk INTEGER, kept INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, part, chunk));
  CREATE TABLE merged_snapshots (
    seq INTEGER, part INTEGER, chunk INTEGER, kept INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, part, chunk));
  CREATE TABLE notes (
    seq INTEGER PRIMARY KEY, home INTEGER NOT NULL, key TEXT NOT NULL, impression TEXT NOT NULL, action TEXT);
  CREATE TABLE links (
    key TEXT, impression TEXT, action TEXT NOT NULL, shard INTEGER NOT NULL, PRIMARY KEY (key, impression)) WITHOUT ROWID;
  CREATE INDEX links_impression ON links (impression);
  CREATE TABLE forwarded (
    digest TEXT PRIMARY KEY, impression TEXT NOT NULL, shard INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX forwarded_impression ON forwarded (impression);`,
  countDelays,
  // The literal is the greatest size of a reward.
  "CREATE INDEX conversions_beyond_range ON conversions (status) WHERE abs(reward) > 1e12;",
  // A running relearning starts again, because it has not noted amounts.
  `ALTER TABLE outcomes ADD COLUMN amounts TEXT;
  ALTER TABLE relearnt_outcomes ADD COLUMN amounts TEXT;
  UPDATE relearning SET seq = 0;
  DELETE FROM relearnt_blocks;
  DELETE FROM relearnt_outcomes;
  DELETE FROM relearnt_snapshots;`,
  countArms,
  // Impressions that were shown before they were registered.
  "CREATE TABLE activations (id TEXT PRIMARY KEY) WITHOUT ROWID;",
];

/** The first schema whose databases count by goal. */
export const BY_GOAL = 16;

/** All tables that hold data of a model. */
export const TABLES = [
  "model",
  "progress",
  "actions",
  "blocks",
  "deferred",
  "activations",
  "names",
  "keys",
  "outcomes",
  "conversions",
  "erased",
  "arrivals",
  "tallies",
  "delays",
  "delay_times",
  "arms",
  "reached",
  "holdouts",
  "snapshots",
  "marks",
  "relearning",
  "relearnt_blocks",
  "relearnt_outcomes",
  "relearnt_snapshots",
  "archive",
  "archived",
  "shards",
  "shard_sums",
  "merged_snapshots",
  "notes",
  "links",
  "forwarded",
];

/** Brings the database to the newest schema. Returns that of before. @throws {Problem} 500 if a newer worker has written it. */
export function migrate(sql: SqlStorage): number {
  const tables = tablesOf(sql);
  const stored = tables.has("schema") ? sql.exec<{ version: number }>("SELECT version FROM schema").one().version : undefined;
  if (stored === MIGRATIONS.length) return stored;
  const version = stored ?? unnumbered(tables.get("model"));
  if (version > MIGRATIONS.length) {
    throw new Problem(500, `the model's database has schema ${version}, this worker knows ${MIGRATIONS.length}: deploy a newer worker`);
  }
  for (const migration of MIGRATIONS.slice(version)) {
    if (typeof migration === "string") sql.exec(migration);
    else migration(sql);
  }
  sql.exec("CREATE TABLE IF NOT EXISTS schema (version INTEGER NOT NULL); DELETE FROM schema");
  sql.exec("INSERT INTO schema VALUES (?)", MIGRATIONS.length);
  return version;
}

/** The statement that made each table, by the table's name. */
function tablesOf(sql: SqlStorage): Map<string, string> {
  const rows = sql.exec<{ name: string; sql: string }>("SELECT name, sql FROM sqlite_master WHERE type = 'table'");
  return new Map(Array.from(rows, (row) => [row.name, row.sql]));
}

/** Version of a database without the table `schema`, which the first two versions did not have. */
function unnumbered(model: string | undefined): number {
  if (model === undefined) return 0;
  return model.includes("heard") ? 2 : 1;
}
