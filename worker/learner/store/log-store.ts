import type { StoredConversion } from "../../domain/conversion.ts";
import type { Outcome } from "../../domain/event.ts";
import type { Goals } from "../../domain/goals.ts";
import { type AppendedImpression, appendedOf, placeOf, type StoredImpression } from "../../domain/impression.ts";
import type { LogRow } from "../../domain/log-line.ts";
import { differs, type ResolvedReward, type RewardChange, resolved } from "../../domain/reward.ts";
import { shownAtOf } from "../../domain/uuid.ts";
import type { ConversionStore } from "./conversion-store.ts";
import type { Database } from "./database.ts";
import type { ImpressionStore } from "./impression-store.ts";

/** Most rows of a page, and about as many bytes. A remote call takes 32 MiB. */
const PAGE_LINES = 1000;
const PAGE_BYTES = 4_000_000;

/** A step of a replay: an impression to append, or a change of reward to observe. */
export type ReplayStep = { readonly appended: AppendedImpression; readonly place: number } | { readonly changed: RewardChange };

type Mark = { readonly seq: number; readonly mark: string; readonly content: string };

/** The event log of a model: the rows of several tables in the order of their common sequence. */
export class LogStore {
  readonly #database: Database;
  readonly #impressions: ImpressionStore;
  readonly #conversions: ConversionStore;

  constructor(database: Database, impressions: ImpressionStore, conversions: ConversionStore) {
    this.#database = database;
    this.#impressions = impressions;
    this.#conversions = conversions;
  }

  /** The next page of rows after a row; empty at the end. */
  page(seq: number): LogRow[] {
    const lines: LogRow[] = [];
    let bytes = 0;
    for (const line of this.#after(seq)) {
      lines.push(line);
      if (line.type === "impression") bytes += line.features.byteLength + JSON.stringify([line.context, line.decision]).length;
      if (line.type === "mark") bytes += line.content.length;
      if (lines.length === PAGE_LINES || bytes >= PAGE_BYTES) break;
    }
    return lines;
  }

  /** At most a page of rows of each table, in the order of all. */
  *#after(seq: number): Generator<LogRow> {
    const marks = this.#database.query<Mark>(
      "SELECT seq, type AS mark, content FROM marks WHERE seq > ? ORDER BY seq LIMIT ?",
      seq,
      PAGE_LINES,
    );
    const others: LogRow[] = [
      ...this.#conversions.after(seq, PAGE_LINES).map((conversion) => ({ type: "conversion" as const, ...conversion })),
      ...marks.map((mark) => ({ type: "mark" as const, ...mark })),
    ].sort((a, b) => a.seq - b.seq);
    let next = 0;
    for (const impression of this.#impressions.after(seq)) {
      for (; next < others.length && others[next].seq < impression.seq; next++) yield others[next];
      yield { type: "impression", ...impression, keys: this.#impressions.keysOf(impression) };
    }
    yield* others.slice(next);
  }

  /** Number of rows after a row. **Cost:** linear in the numbers of blocks, conversions and marks. */
  countAfter(seq: number): number {
    const counts = ["conversions", "marks"].map((table) => `(SELECT count(*) FROM ${table} WHERE seq > ?1)`);
    const [{ count }] = this.#database.query<{ count: number }>(`SELECT ${counts.join(" + ")} AS count`, seq);
    return count + this.#impressions.countAfter(seq);
  }

  /**
   * The steps that bring policies from the state after a row to the newest state. Changes of rewards follow from the conversions
   * themselves, also from those before that row. So the policies observe what they observed when the conversions arrived.
   */
  *replay(seq: number, goals: Goals | null): Generator<ReplayStep> {
    const conversions = this.#conversions.ofThoseAfter(seq);
    const known = new Map<string, Known>();
    const before = (end: number) => conversions.splice(0, conversions.findIndex((each) => each.seq > end) >>> 0);
    for (const impression of this.#impressions.after(seq)) {
      yield* this.#changes(before(impression.seq), seq, goals, known);
      if (impression.state === "live") yield { appended: appendedOf(impression), place: placeOf(impression) };
    }
    yield* this.#changes(conversions, seq, goals, known);
  }

  *#changes(
    conversions: readonly StoredConversion[],
    after: number,
    goals: Goals | null,
    known: Map<string, Known>,
  ): Generator<ReplayStep> {
    for (const { seq, impression: id, goal, event, reward, at, restates } of conversions) {
      const { impression = this.#impressions.find(id), events: earlier = [], resolved: last = null } = known.get(id) ?? {};
      if (impression?.state !== "live") continue;
      const events = [...earlier, { goal, event, reward, at, restates }];
      const now = resolved(events, goals, shownAtOf(id));
      known.set(id, { impression, events, resolved: now });
      if (seq > after && differs(last, now)) yield { changed: { impression: appendedOf(impression), before: last, after: now } };
    }
  }
}

/** What a replay knows of an impression so far. */
interface Known {
  readonly impression: StoredImpression;
  readonly events: readonly Outcome[];
  readonly resolved: ResolvedReward | null;
}
