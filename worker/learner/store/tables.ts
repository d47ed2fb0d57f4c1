/** Of one model. Impressions, conversions and marks are numbered by one sequence. */
export const SCHEMA = `
  CREATE TABLE model (
    only INTEGER PRIMARY KEY CHECK (only = 1), name TEXT NOT NULL, config TEXT NOT NULL, generation INTEGER NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0, watermark INTEGER NOT NULL, audited INTEGER NOT NULL, horizon INTEGER NOT NULL,
    published INTEGER NOT NULL DEFAULT -1, published_at INTEGER, lag INTEGER, heard INTEGER);
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
  CREATE TABLE marks (seq INTEGER PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL);
`;

export const TABLES = ["model", "counters", "actions", "impressions", "keys", "conversions", "closed", "snapshots", "marks"];
