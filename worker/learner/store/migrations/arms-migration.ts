import { UNASSIGNED } from "../../../domain/figures/holdout-share.ts";
import { shardOf } from "../../../domain/ids/shard.ts";
import { Block } from "../../../domain/impression/block.ts";
import { type ModelConfig, withDefaults } from "../../../domain/model/model.ts";
import { ArmStore, type ListKey } from "../counts/arm-store.ts";
import { HoldoutStore } from "../counts/holdout-store.ts";
import { countedRow, listOf, listState } from "../counts/list-counts.ts";

// Databases of schema 16 and earlier do not count lists by the share of the holdout. This migration counts those that the log still has.

const TABLES = `
  CREATE TABLE holdouts (seq INTEGER PRIMARY KEY, since INTEGER NOT NULL, holdout REAL NOT NULL);
  CREATE TABLE arms (
    bucket INTEGER, step INTEGER, arm TEXT, share TEXT, width INTEGER NOT NULL, impressions INTEGER NOT NULL, elapsed INTEGER NOT NULL,
    lists INTEGER NOT NULL, squares INTEGER NOT NULL, PRIMARY KEY (bucket, step, arm, share)) WITHOUT ROWID;
  CREATE TABLE reached (
    bucket INTEGER, step INTEGER, arm TEXT, share TEXT, goal TEXT, width INTEGER NOT NULL, conversions INTEGER NOT NULL,
    converted INTEGER NOT NULL, conversionSquares INTEGER NOT NULL, products INTEGER NOT NULL,
    PRIMARY KEY (bucket, step, arm, share, goal)) WITHOUT ROWID;`;

/** A list, or the part of it in one block. */
interface Part extends ListKey {
  readonly list: string;
  readonly ids: string[];
}

type BlockRow = Record<string, SqlStorageValue> & { readonly seq: number; readonly content: ArrayBuffer };

/** Notes the shares that the holdout has had, and counts the live impressions. */
export function countArms(sql: SqlStorage): void {
  sql.exec(TABLES);
  const [model] = sql.exec<{ name: string; config: string }>("SELECT name, config FROM model").toArray();
  if (!model) return;
  const windows = withDefaults(JSON.parse(model.config));
  const database = {
    query: (text: string, ...bindings: unknown[]) => sql.exec(text, ...bindings).toArray() as never[],
    onDrop: () => {},
  };
  const { shard } = shardOf(model.name);
  const [arms, holdouts] = [new ArmStore(database), new HoldoutStore(database, { shard })];
  noteShares(sql, holdouts, shard > 0);
  const late = new Map<string, Part>();
  const count = (parts: readonly Part[]) =>
    arms.change(
      parts.map((part) => ({ ...part, before: null, after: listState(database, part.ids) })),
      windows,
    );
  let open: Part | undefined;
  for (let seq = -1; ; ) {
    const [row] = sql
      .exec<BlockRow>("SELECT seq, content FROM blocks WHERE state = 'live' AND seq > ? ORDER BY seq LIMIT 1", seq)
      .toArray();
    if (!row) break;
    seq = row.seq;
    const parts = partsOf(row, holdouts, open);
    // The next block may have the rest of a list.
    open = parts.pop();
    count(parts.filter((part) => isWhole(part) || !keep(late, part)));
  }
  if (open && (isWhole(open) || !keep(late, open))) count([open]);
  const joined = Array.from(late.values(), (part) => {
    const known = liveMembers(sql, holdouts, part).filter((id) => !part.ids.includes(id));
    const before = listState(database, known);
    return { ...part, before, after: listState(database, [...known, ...part.ids]) };
  });
  arms.change(joined, windows);
}

/** A shard has no versions of its model beside its rows. So its impressions count by the share under which they were stored. */
function noteShares(sql: SqlStorage, holdouts: HoldoutStore, isShard: boolean): void {
  const marks = "SELECT seq, type, content FROM marks WHERE type IN ('configuration', 'relearnt') ORDER BY seq";
  for (const { seq, type, content } of sql.exec<{ seq: number; type: string; content: string }>(marks).toArray()) {
    const config: Partial<ModelConfig> = type === "relearnt" ? JSON.parse(content).config : JSON.parse(content);
    holdouts.note(config.holdout ?? 0, seq, isShard ? 0 : seq);
  }
}

/** Whether the first impression of a list is in its part. The others follow it, unless they were deferred. */
const isWhole = ({ list, share, ids }: Part): boolean => share === UNASSIGNED || ids.includes(list);

function keep(late: Map<string, Part>, part: Part): boolean {
  const key = `${part.list} ${part.share}`;
  const known = late.get(key);
  if (known) known.ids.push(...part.ids);
  else late.set(key, part);
  return true;
}

/** The lists of a block, in order. @param open the last one of the block before. */
function partsOf({ seq, content }: BlockRow, holdouts: HoldoutStore, open?: Part): Part[] {
  const parts = new Map<string, Part>();
  const keyOf = ({ list, share, ids }: Part): string => (share === UNASSIGNED ? ids[0] : `${list} ${share}`);
  if (open) parts.set(keyOf(open), open);
  for (const part of impressionsOf({ seq, content }, holdouts)) {
    const key = keyOf(part);
    const known = parts.get(key);
    if (known) known.ids.push(...part.ids);
    else parts.set(key, part);
  }
  return Array.from(parts.values());
}

/** Each impression of a block as a part of its list. */
function impressionsOf({ seq, content }: BlockRow, holdouts: HoldoutStore): Part[] {
  const block = new Block(new Uint8Array(content));
  const places = block.map((i) => i).filter((i) => !block.isErased(i));
  return places.map((i) => {
    const row = countedRow(block, seq, i);
    return { list: listOf(row), share: holdouts.nameOf(row), arm: row.arm, shownAt: block.shownAt(i), ids: [row.id] };
  });
}

function liveMembers(sql: SqlStorage, holdouts: HoldoutStore, { list, share, shownAt }: Part): string[] {
  const around = "SELECT seq, content FROM blocks WHERE state = 'live' AND first <= ? AND last >= ?";
  const parts = sql
    .exec<BlockRow>(around, shownAt, shownAt)
    .toArray()
    .flatMap((row) => impressionsOf(row, holdouts));
  return parts.filter((part) => part.list === list && part.share === share).flatMap(({ ids }) => ids);
}
