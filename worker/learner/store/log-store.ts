// The event log: rows of several tables in the order of one sequence.

import type { StoredConversion } from "../../domain/conversion/conversion.ts";
import { Fold } from "../../domain/conversion/fold.ts";
import type { RewardChange } from "../../domain/conversion/reward.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { type AppendedImpression, appendedOf, placeOf, type StoredImpression } from "../../domain/impression/impression.ts";
import type { LogRow, MarkRow } from "../../domain/log/log-row.ts";
import type { ModelConfig } from "../../domain/model/model.ts";
import type { ConversionStore } from "./conversion-store.ts";
import type { Database } from "./database.ts";
import type { ImpressionStore } from "./impressions/impression-store.ts";
import { inOrder } from "./in-order.ts";
import type { ModelStore } from "./model-store.ts";

/** Most rows of a page, and about as many bytes. A remote call takes 32 MiB. */
const PAGE_LINES = 1000;
const PAGE_BYTES = 4_000_000;
/** Marks that are read together. One of a catalogue may be long. */
const MARKS_AT_ONCE = 100;
/** Marks of what policies are told. A shard copies them from its coordinator, and its log leaves them out. */
const CHANGES = ["configuration", "actions"];

/** Which marks to read: all before a number, or `only` those of some types, or all `except` some. */
interface Between {
  readonly before?: number;
  readonly only?: readonly string[];
  readonly except?: readonly string[];
}

/** A step of a replay: an impression to append, a change of reward to observe, by the conversion of a row, or a change of the model. */
export type ReplayStep =
  | { readonly changedAt: number; readonly config: ModelConfig }
  | { readonly appended: AppendedImpression; readonly place: number }
  | { readonly changed: RewardChange; readonly seq: number };

/** The event log of a model: the rows of several tables in the order of their common sequence. */
export class LogStore {
  readonly #database: Database;
  readonly #model: ModelStore;
  readonly #impressions: ImpressionStore;
  readonly #conversions: ConversionStore;

  constructor(database: Database, model: ModelStore, impressions: ImpressionStore, conversions: ConversionStore) {
    this.#database = database;
    this.#model = model;
    this.#impressions = impressions;
    this.#conversions = conversions;
  }

  /** The next page of rows after a row, up to another; empty at the end. @param copied includes the marks that a shard has copied. */
  page(
    seq: number,
    upTo = Number.MAX_SAFE_INTEGER,
    { copied = false, most = PAGE_LINES }: { readonly copied?: boolean; readonly most?: number } = {},
  ): LogRow[] {
    const lines: LogRow[] = [];
    let bytes = 0;
    for (const line of this.#after(seq, copied ? [] : this.#copied)) {
      if (line.seq > upTo) break;
      lines.push(line);
      if (line.type === "impression") bytes += line.features.byteLength + JSON.stringify([line.context, line.decision]).length;
      if (line.type === "mark") bytes += line.content.length;
      if (lines.length === most || bytes >= PAGE_BYTES) break;
    }
    return lines;
  }

  /** The rows after a row, in order: at most a page of conversions. */
  #after(seq: number, except: readonly string[]): Generator<LogRow> {
    return inOrder<LogRow>(
      this.#impressions.logged(this.#impressions.after(seq)),
      this.#conversions.after(seq, PAGE_LINES),
      marksBetween(this.#database, seq + 1, { except }),
    );
  }

  get #copied(): readonly string[] {
    return this.#model.state.shard > 0 ? CHANGES : [];
  }

  /** Number of rows after a row, up to another. **Cost:** linear in the numbers of blocks, conversions and marks. */
  count(seq: number, upTo: number): number {
    const [{ count }] = this.#database.query<{ count: number }>(
      `SELECT (SELECT count(*) FROM conversions WHERE seq > ?1 AND seq <= ?2)
         + (SELECT count(*) FROM marks WHERE seq > ?1 AND seq <= ?2 AND type NOT IN (SELECT value FROM json_each(?3))) AS count`,
      seq,
      upTo,
      JSON.stringify(this.#copied),
    );
    return count + this.#impressions.countAfter(seq) - this.#impressions.countAfter(upTo);
  }

  /** When the rollback that undid a row happened, in ms since 1970. Infinity if the log states none. */
  undoneAt(seq: number): number {
    const query = `SELECT content ->> 'time' AS at FROM marks WHERE type = 'rollback' AND seq > ?1 AND content ->> 'to' < ?1
      ORDER BY seq LIMIT 1`;
    return this.#database.query<{ at: number | null }>(query, seq)[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  /**
   * The steps that bring policies from the state after a row to the newest state. Changes of rewards follow from the conversions
   * themselves, also from those before that row. So the policies observe what they observed when the conversions arrived.
   */
  *replay(seq: number): Generator<ReplayStep> {
    const known = new Map<string, Known>();
    const rows = inOrder<StoredImpression | StoredConversion | MarkRow>(
      this.#impressions.after(seq),
      this.#conversions.ofThoseAfter(seq),
      marksBetween(this.#database, seq + 1, { only: CHANGES }),
    );
    let config: ModelConfig | undefined;
    for (const row of rows) {
      if ("mark" in row) {
        config = row.mark === "configuration" ? JSON.parse(row.content) : (config ?? this.#configAt(seq));
        if (config) yield { changedAt: row.seq, config };
      } else if (!("features" in row)) {
        const changed = this.#change(row, known);
        if (changed && row.seq > seq) yield { changed, seq: row.seq };
      } else if (row.state === "live") yield { appended: appendedOf(row), place: placeOf(row) };
    }
  }

  /** The configuration at a row. Undefined before the first. */
  #configAt(seq: number): ModelConfig | undefined {
    const marks = "SELECT content FROM marks WHERE type = 'configuration' AND seq <= ? ORDER BY seq DESC LIMIT 1";
    const [mark] = this.#database.query<{ content: string }>(marks, seq);
    return mark && JSON.parse(mark.content);
  }

  /** The change that a conversion brings, which `known` includes from then on. Undefined if there is nothing to observe. */
  #change({ impression: id, goal, event, reward, at, restates }: StoredConversion, known: Map<string, Known>): RewardChange | undefined {
    const { impression = this.#impressions.find(id), fold = new Fold(shownAtOf(id), this.#model.state.config) } = known.get(id) ?? {};
    if (impression?.state !== "live") return undefined;
    known.set(id, { impression, fold });
    const change = fold.apply({ goal, event, reward, at, restates });
    return change && { impression: appendedOf(impression), ...change };
  }
}

/** The marks from a number on, below another, in order. */
export function* marksBetween(
  database: Database,
  from: number,
  { before = Number.MAX_SAFE_INTEGER, only, except = [] }: Between = {},
): Generator<MarkRow> {
  for (let next = from; ; ) {
    const marks = database.query<{ seq: number; mark: string; content: string }>(
      `SELECT seq, type AS mark, content FROM marks WHERE seq >= ? AND seq < ? AND (type IN (SELECT value FROM json_each(?))) = ?
       ORDER BY seq LIMIT ?`,
      next,
      before,
      JSON.stringify(only ?? except),
      Number(only !== undefined),
      MARKS_AT_ONCE,
    );
    if (marks.length === 0) return;
    for (const mark of marks) yield { type: "mark", ...mark };
    next = marks[marks.length - 1].seq + 1;
  }
}

/** An impression and its conversions, as far as a replay has come. */
interface Known {
  readonly impression: StoredImpression;
  readonly fold: Fold;
}
