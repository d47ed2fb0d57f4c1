// The tables of a learner's SQLite database, each with what one row of it holds. Impressions, conversions and marks are numbered by one
// sequence, `seq`. Times are ms since 1970. Contents are JSON, or the bytes of the codec that the store names.

import { Problem } from "../../protocol/problem.ts";

/** Number of this schema. Databases with a lower one are older than version 0.1.0, the first release. */
const SCHEMA = 20;

const CHUNKS = "seq INTEGER, part INTEGER, chunk INTEGER, kept INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, part, chunk)";
const BLOCKS = `seq INTEGER PRIMARY KEY, count INTEGER NOT NULL, span INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  state TEXT NOT NULL, round INTEGER, slots TEXT NOT NULL, content BLOB NOT NULL`;

/** The columns of each table. */
const COLUMNS = {
  /**
   * The model or its shard, in one row: what changes seldom. `watermark`: buckets before it are closed. `audited`: those before it have been
   * compared with the journal. `horizon`: no impression shown before it is taken. `homes`: shards when the generation began. `term`:
   * rollbacks of all shards. `coordinated`: version of the coordinator's catalogue. `allowance`: the shard's part of the limits.
   */
  model: `only INTEGER PRIMARY KEY CHECK (only = 1), name TEXT NOT NULL, config TEXT NOT NULL, generation INTEGER NOT NULL,
    watermark INTEGER NOT NULL, audited INTEGER NOT NULL, horizon INTEGER NOT NULL, published INTEGER NOT NULL DEFAULT -1,
    published_at INTEGER, sampled INTEGER, catalogued INTEGER NOT NULL DEFAULT 0, catalogued_at INTEGER, homes INTEGER NOT NULL DEFAULT 1,
    term INTEGER NOT NULL DEFAULT 0, coordinated INTEGER NOT NULL DEFAULT 0, allowance TEXT`,
  /** The last number and the counters, in one row: what nearly every transaction changes. */
  progress: "only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, lag INTEGER, heard TEXT NOT NULL, counters TEXT NOT NULL",
  /** An action of the catalogue. */
  actions: "place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, content TEXT NOT NULL",

  /** Impressions that were registered together. `first` and `last`: when they were shown. `span`: class of the time between them. */
  blocks: BLOCKS,
  /** An impression that was decided and is not shown yet. */
  deferred: "id TEXT PRIMARY KEY, seq INTEGER NOT NULL, content BLOB NOT NULL",
  /** An impression that was shown before it was registered. `page`: whether only a page says so. */
  activations: "id TEXT PRIMARY KEY, page INTEGER NOT NULL",
  /** The shop's own name of an impression. */
  names: "name TEXT PRIMARY KEY, id TEXT NOT NULL",
  /** A hashed join key of a decision, by the first impression of its list. */
  keys: "key TEXT, impression TEXT, PRIMARY KEY (key, impression)",
  /** The outcome of an impression: its reward, whether it has converted, the delay and the amounts of each goal. */
  outcomes: "id TEXT PRIMARY KEY, reward REAL NOT NULL, converted INTEGER NOT NULL, delays TEXT, amounts TEXT",
  /** A conversion as it was reported, and whether it counts. `impression`: with a space and `seq` after it, once the event came again. */
  conversions: `seq INTEGER PRIMARY KEY, impression TEXT NOT NULL, goal TEXT NOT NULL, event TEXT NOT NULL, reward REAL, at INTEGER NOT NULL,
    status TEXT NOT NULL, key TEXT, action TEXT, restates INTEGER, UNIQUE (impression, goal, event, at, reward)`,
  /** The digest of an erased impression or key: it is not taken again. */
  erased: "digest TEXT PRIMARY KEY, at INTEGER NOT NULL",

  /** A quarter of an hour in which conversions of a goal arrived. */
  arrivals: "goal TEXT, slot INTEGER, PRIMARY KEY (slot, goal)",
  /**
   * Sums over the live impressions of a step of time and an arm. `width`: length of the step in ms. `groups`, here and below: the counts by
   * group of products.
   */
  tallies: `bucket INTEGER, step INTEGER, arm TEXT, width INTEGER NOT NULL, impressions INTEGER NOT NULL, elapsed INTEGER NOT NULL,
    observed INTEGER NOT NULL, converted INTEGER NOT NULL, reward REAL NOT NULL, square REAL NOT NULL, groups TEXT NOT NULL,
    PRIMARY KEY (bucket, step, arm)`,
  /** Number and sum of the delays in a cell of the grid of cohorts and delays, by arm. */
  delays: `goal TEXT, cohort INTEGER, bin INTEGER, arm TEXT, length INTEGER NOT NULL, count INTEGER NOT NULL, delay INTEGER NOT NULL,
    groups TEXT NOT NULL, PRIMARY KEY (goal, cohort, bin, arm)`,
  /** Number of first conversions of a goal at one time. */
  delay_times: "goal TEXT, at INTEGER, count INTEGER NOT NULL, PRIMARY KEY (goal, at)",
  /** Sums over the lists of a step of time, an arm and a share of the holdout. */
  arms: `bucket INTEGER, step INTEGER, arm TEXT, share TEXT, width INTEGER NOT NULL, impressions INTEGER NOT NULL,
    elapsed INTEGER NOT NULL, lists INTEGER NOT NULL, squares INTEGER NOT NULL, groups TEXT NOT NULL,
    PRIMARY KEY (bucket, step, arm, share)`,
  /** The same sums over the lists that have reached a goal. */
  reached: `bucket INTEGER, step INTEGER, arm TEXT, share TEXT, goal TEXT, width INTEGER NOT NULL, conversions INTEGER NOT NULL,
    converted INTEGER NOT NULL, conversionSquares INTEGER NOT NULL, products INTEGER NOT NULL, PRIMARY KEY (bucket, step, arm, share, goal)`,
  /** The share of the holdout from a version on. */
  holdouts: "seq INTEGER PRIMARY KEY, since INTEGER NOT NULL, holdout REAL NOT NULL",

  /** A chunk of a snapshot of the policies. A rollback can restore the kept ones. */
  snapshots: CHUNKS,
  /** An event of the log that is neither an impression nor a conversion, such as a configuration. */
  marks: "seq INTEGER PRIMARY KEY, type TEXT NOT NULL, content TEXT NOT NULL",

  /** The running relearning, in one row: the configuration that it learns, and the last row that it has learnt. */
  relearning: "only INTEGER PRIMARY KEY CHECK (only = 1), config TEXT NOT NULL, started_at INTEGER NOT NULL, seq INTEGER NOT NULL",
  /** Blocks, outcomes and snapshots of the relearning, until it takes over. */
  relearnt_blocks: BLOCKS,
  relearnt_outcomes:
    "id TEXT, seq INTEGER, reward REAL NOT NULL, converted INTEGER NOT NULL, delays TEXT, amounts TEXT, PRIMARY KEY (id, seq)",
  relearnt_snapshots: CHUNKS,

  /** How far the archive reaches, in one row. Marks below the number `marks` are archived. */
  archive: "only INTEGER PRIMARY KEY CHECK (only = 1), marks INTEGER NOT NULL, volume TEXT",
  /** A file of the archive, with the times of its rows. */
  archived: `key TEXT PRIMARY KEY, day INTEGER NOT NULL, part INTEGER NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
    last INTEGER NOT NULL, rows INTEGER NOT NULL, sha256 TEXT NOT NULL`,

  /** A shard as its coordinator knows it. */
  shards: `shard INTEGER PRIMARY KEY, seq INTEGER NOT NULL, first INTEGER NOT NULL, term INTEGER NOT NULL, catalogue INTEGER NOT NULL,
    back INTEGER, used TEXT NOT NULL, committed TEXT NOT NULL`,
  /** The newest sums of each shard (`seq`: its number), and the snapshots of the merged sums. */
  shard_sums: CHUNKS,
  merged_snapshots: CHUNKS,
  /** A join key that waits for its home, which is another shard. */
  notes: "seq INTEGER PRIMARY KEY, home INTEGER NOT NULL, key TEXT NOT NULL, impression TEXT NOT NULL, action TEXT",
  /** An impression of another shard whose key has its home here. */
  links: "key TEXT, impression TEXT, action TEXT NOT NULL, shard INTEGER NOT NULL, PRIMARY KEY (key, impression)",
  /** An event by join key that was sent on to another shard. */
  forwarded: "digest TEXT PRIMARY KEY, impression TEXT NOT NULL, shard INTEGER NOT NULL",
} as const;

/** Tables that are found by their own key alone, so that they need no number of their own for each row. */
const WITHOUT_ROWID = new Set<string>(
  "deferred activations names keys outcomes erased arrivals tallies delays delay_times arms reached relearnt_outcomes archived links forwarded".split(
    " ",
  ),
);

const INDEXES = `
  CREATE INDEX blocks_time ON blocks (span, first, last);
  CREATE INDEX relearnt_blocks_time ON relearnt_blocks (span, first, last);
  CREATE INDEX names_id ON names (id);
  CREATE INDEX keys_impression ON keys (impression);
  CREATE INDEX conversions_key ON conversions (key) WHERE key IS NOT NULL;
  CREATE INDEX conversions_waiting ON conversions (impression) WHERE status = 'orphan';
  CREATE INDEX conversions_of_pages ON conversions (impression)
    WHERE status = 'orphan' AND event = 'page ' || impression || ' ' || goal;
  CREATE INDEX links_impression ON links (impression);
  CREATE INDEX forwarded_impression ON forwarded (impression);`;

/** All tables that hold data of a model. */
export const TABLES = Object.keys(COLUMNS);

/** Creates the tables in an empty database. */
export function createTables(sql: SqlStorage): void {
  for (const [name, columns] of Object.entries(COLUMNS)) {
    sql.exec(`CREATE TABLE ${name} (${columns})${WITHOUT_ROWID.has(name) ? " WITHOUT ROWID" : ""}`);
  }
  sql.exec(INDEXES);
  sql.exec("CREATE TABLE schema (version INTEGER NOT NULL)");
  sql.exec("INSERT INTO schema VALUES (?)", SCHEMA);
}

/** @throws {Problem} 503 if the database has another schema, which this worker leaves as it is. */
export function checkSchema(sql: SqlStorage): void {
  const numbered = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema'").toArray().length > 0;
  const version = numbered ? sql.exec<{ version: number }>("SELECT version FROM schema").one().version : 0;
  if (version === SCHEMA) return;
  const remedy =
    version > SCHEMA
      ? "deploy the newer worker again; until then conversions with an impression id wait in KV"
      : "it is older than version 0.1.0: export the log with the worker that wrote it, delete the model and import the log";
  throw new Problem(503, `the model's database has schema ${version}, this worker reads schema ${SCHEMA}: ${remedy}`);
}
