import { shownAtOf } from "../../../domain/ids/uuid.ts";
import { type BlockRow, encodeBlock, MOST_ROWS } from "../../../domain/impression/block.ts";
import { bucketAt, bucketMs } from "../../../domain/impression/bucket.ts";
import { fromBlob } from "../../../domain/impression/feature-blob.ts";
import type { Marks } from "../../../domain/impression/impression.ts";
import { stepAt, widthsOf } from "../../../domain/impression/shown-step.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import { slotsOf, spanOf } from "../impressions/block-store.ts";

// Databases of schema 8 and earlier have a row per impression. This migration puts them into blocks, with the same numbers.

const TABLES = `
  CREATE TABLE blocks (
    seq INTEGER PRIMARY KEY, count INTEGER NOT NULL, span INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    state TEXT NOT NULL, round INTEGER, slots TEXT NOT NULL, content BLOB NOT NULL);
  CREATE INDEX blocks_time ON blocks (span, first, last);
  CREATE TABLE deferred (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, content BLOB NOT NULL) WITHOUT ROWID;
  CREATE TABLE names (name TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX names_id ON names (id);
  CREATE TABLE outcomes (id TEXT PRIMARY KEY, reward REAL NOT NULL, converted INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE tallies (
    bucket INTEGER, step INTEGER, arm TEXT, width INTEGER NOT NULL, impressions INTEGER NOT NULL, elapsed INTEGER NOT NULL,
    observed INTEGER NOT NULL, converted INTEGER NOT NULL, reward REAL NOT NULL, square REAL NOT NULL,
    PRIMARY KEY (bucket, step, arm)) WITHOUT ROWID;
  CREATE TABLE progress (
    only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, lag INTEGER, heard TEXT NOT NULL, counters TEXT NOT NULL);
  CREATE INDEX conversions_waiting ON conversions (impression) WHERE status = 'orphan';
  INSERT INTO names SELECT name, id FROM impressions WHERE name IS NOT NULL;
  INSERT INTO outcomes SELECT id, reward, converted FROM impressions WHERE state = 'live' AND reward IS NOT NULL;
  INSERT INTO progress SELECT 1, seq, lag, coalesce(heard, '{}'), (SELECT json_group_object(name, value) FROM counters) FROM model;`;

const DROPPED = `
  DROP TABLE impressions;
  DROP TABLE lists;
  DROP TABLE closed;
  DROP TABLE counters;
  ALTER TABLE model DROP COLUMN seq;
  ALTER TABLE model DROP COLUMN lag;
  ALTER TABLE model DROP COLUMN heard;`;

type Row = Record<string, SqlStorageValue> & { readonly seq: number; readonly id: string; readonly bucket: number; readonly state: string };

/** Puts impressions into blocks, and their counts into tallies. */
export function intoBlocks(sql: SqlStorage): void {
  sql.exec(TABLES);
  const [model] = sql.exec<{ config: string; watermark: number }>("SELECT config, watermark FROM model").toArray();
  if (model) {
    const windows: Windows = JSON.parse(model.config);
    blocks(sql);
    tallies(sql, windows, Math.max(0, bucketAt(model.watermark, windows.window.ms)));
  }
  sql.exec(DROPPED);
}

function blocks(sql: SqlStorage): void {
  let batch: Row[] = [];
  const write = () => {
    if (batch.length === 0) return;
    const times = batch.map(({ id }) => shownAtOf(id));
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const [{ seq, state }] = batch;
    const marks = batch.flatMap((row) => marksOf(row) ?? []);
    sql.exec(
      "INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[seq, batch.length, spanOf(last - first), first, last, state],
      ...[marks[0]?.round ?? null, JSON.stringify(slotsOf(marks)), encodeBlock(batch.map(blockRow))],
    );
    batch = [];
  };
  for (let seq = -1; ; ) {
    const rows = sql
      .exec<Row>(
        `SELECT i.*, l.context AS list_context, l.asked FROM impressions i LEFT JOIN lists l ON l.first = i.list
         WHERE i.seq > ? ORDER BY i.seq LIMIT ?`,
        seq,
        MOST_ROWS,
      )
      .toArray();
    if (rows.length === 0) break;
    for (const row of rows) {
      seq = row.seq;
      const last = batch.at(-1);
      if (last && !follows(last, row)) write();
      if (row.state === "deferred") sql.exec("INSERT INTO deferred VALUES (?, ?, ?)", row.id, seq, encodeBlock([blockRow(row)]));
      else batch.push(row);
      if (batch.length === MOST_ROWS) write();
    }
  }
  write();
}

function follows(last: Row, row: Row): boolean {
  const isNext = row.seq === last.seq + 1 && (row.round === null ? last.round === null : row.round === (last.round as number) + 1);
  return isNext && row.state === last.state && row.bucket === last.bucket && !isLong(row);
}

/** Whether a row's text alone could fill a block. */
const isLong = ({ context, list_context, asked }: Row): boolean =>
  [context, list_context, asked].some((text) => typeof text === "string" && text.length > 2000);

function marksOf({ round, slots }: Row): Marks | null {
  return round === null ? null : { round: round as number, slots: JSON.parse(slots as string) };
}

function blockRow(row: Row): BlockRow {
  const { id, name, arm, action, version, page, sampling, context, list_context, asked, list } = row;
  const parsed = (text: SqlStorageValue) => text && JSON.parse(text as string);
  const own = parsed(row.decision);
  const decision = own && { ...own, ...(list !== null && own.place > 0 && { first: list }), ...(asked && { asked: parsed(asked) }) };
  return {
    ...{ id, name, arm, action, version, sampling, decision, byPage: page === 1 },
    context: parsed(context ?? list_context),
    features: action === "" ? new Float64Array(0) : fromBlob(row.features as ArrayBuffer),
  } as BlockRow;
}

/** Counts the impressions of open buckets and of those that estimates of delays need. Others have their sums. */
function tallies(sql: SqlStorage, windows: Windows, watermark: number): void {
  const { ms } = windows.window;
  const from = Math.max(0, bucketAt(Math.max(0, watermark - 4 * ms), ms));
  sql.exec(
    "INSERT INTO tallies SELECT bucket, bucket, arm, ?, impressions, 0, 0, converted, reward, square FROM closed WHERE bucket < ?",
    bucketMs(ms),
    from,
  );
  const { fine: width } = widthsOf(windows);
  const rows = sql.exec<Row>("SELECT id, bucket, arm, reward, converted FROM impressions WHERE bucket >= ? AND state = 'live'", from);
  for (const { id, bucket, arm, reward, converted } of rows.toArray()) {
    const shownAt = shownAtOf(id);
    const step = stepAt(shownAt, bucket, width);
    const [observed, total] = [Number(reward !== null), Number(reward ?? 0)];
    sql.exec(
      `INSERT INTO tallies VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET impressions = impressions + 1,
         elapsed = elapsed + excluded.elapsed, observed = observed + excluded.observed, converted = converted + excluded.converted,
         reward = reward + excluded.reward, square = square + excluded.square`,
      ...[bucket, step, arm, width, shownAt - step, observed, converted, total, total * total],
    );
  }
}
