// Sends what an isolate has shown to the learner, after the answer and many decisions at once.

import type { Seen } from "../domain/decision/left-out.ts";
import { encodeBlock, MOST_ROWS } from "../domain/impression/block.ts";
import type { ImpressionRow } from "../domain/impression/impression.ts";
import { Problem } from "../protocol/problem.ts";
import type { SeenQuestion, ShownBatch, ShownDecision } from "../rpc/message.ts";

/** How long an isolate gathers impressions before it registers them, in ms. */
const GATHER_MS = 50;
/** After this long, assume the sending request was cancelled, in ms. */
const CANCELLED_MS = 200;
/** Most bytes of one registration, which becomes a row of 2 MB at most. */
const MAX_BATCH_BYTES = 1_000_000;
/** Most bytes that wait. Beyond, the oldest impressions are dropped: an isolate has 128 MB in all. */
const MAX_BYTES = 16_000_000;
/** Approximate size of an impression without its features, its context and the restrictions of its request. */
const ROW_BYTES = 400;
const CHARACTER_BYTES = 2;

/** A decision with its impressions. */
export interface Shown extends Omit<ShownDecision, "count" | "keys"> {
  readonly rows: readonly ImpressionRow[];
}

interface Entry {
  readonly shown: Shown;
  readonly bytes: number;
  /** Whether the learner was reached once and failed. */
  readonly failed: boolean;
}

/** Impressions that an isolate has shown and not registered yet. They are gathered for a moment, then one request sends them all. */
export class Outbox {
  readonly #entries: Entry[] = [];
  readonly #most: number;
  #bytes = 0;
  #gatheringSince = 0;
  #dropped = 0;
  #keptOut = 0;

  /** @param outboxes number of outboxes that share the memory of the isolate. */
  constructor(outboxes = 1) {
    this.#most = MAX_BYTES / outboxes;
  }

  /** Counts a publication that the isolate did not take. The next registration reports it. */
  keptOut(): void {
    this.#keptOut++;
  }

  /** Adds impressions. Returns whether the caller must send, because no other request does. */
  put(shown: Shown, now: number): boolean {
    const bytes = bytesOf(shown);
    this.#entries.push({ shown, bytes, failed: false });
    this.#bytes += bytes;
    while (this.#bytes > this.#most) this.#dropped += this.#shift().shown.rows.length;
    if (Math.abs(now - this.#gatheringSince) < CANCELLED_MS) return false;
    this.#gatheringSince = now;
    return true;
  }

  /** Shown impressions that wait, with one of some join keys. A page hears of those of pages alone. */
  seen({ keys, byPage }: SeenQuestion): Seen[] {
    const shown = this.#entries.flatMap(({ shown }) => (shown.deferred ? [] : shown.rows));
    const own = shown.filter((row) => (row.byPage || !byPage) && row.keys.flat().some((hash) => keys.includes(hash)));
    return own.map(({ id, action }) => ({ impression: id, action, bought: false }));
  }

  /** Whether something waits that no request is about to send, because a registration has failed. */
  isLeft(now: number): boolean {
    return this.#waits && Math.abs(now - this.#gatheringSince) >= CANCELLED_MS;
  }

  get #waits(): boolean {
    return this.#entries.length + this.#dropped + this.#keptOut > 0;
  }

  /** Waits a moment, then registers everything. After a failure the impressions wait for the next sender. */
  async send(register: (batch: ShownBatch) => Promise<void>): Promise<void> {
    await scheduler.wait(GATHER_MS);
    this.#gatheringSince = 0;
    while (this.#waits) {
      const batch = this.#batch();
      const [dropped, keptOut] = [this.#dropped, this.#keptOut];
      [this.#dropped, this.#keptOut] = [0, 0];
      try {
        await register({ ...encoded(batch.map(({ shown }) => shown)), dropped, keptOut });
      } catch (error) {
        this.#dropped += dropped;
        this.#keptOut += keptOut;
        return this.#putBack(batch, error);
      }
    }
  }

  /** The oldest entries that fit one block. */
  #batch(): Entry[] {
    const batch: Entry[] = [];
    let [rows, bytes] = [0, 0];
    for (const { shown, bytes: own } of this.#entries) {
      rows += shown.rows.length;
      bytes += own;
      if (batch.length > 0 && (rows > MOST_ROWS || bytes > MAX_BATCH_BYTES || batch.length === MOST_ROWS)) break;
      batch.push(this.#entries[batch.length]);
    }
    return batch.map(() => this.#shift());
  }

  #putBack(batch: readonly Entry[], error: unknown): void {
    // The model was deleted with its impressions.
    if (error instanceof Problem && error.status === 404) return;
    // Any other problem says that the learner cannot take impressions at the moment.
    const reached = !(error instanceof Problem) || error.status === 422;
    // A batch at which the learner fails twice is dropped, or else it would block all later ones.
    for (const { shown, bytes, failed } of batch.toReversed()) {
      if (reached && failed) this.#dropped += shown.rows.length;
      else this.#entries.unshift({ shown, bytes, failed: failed || reached });
    }
    this.#bytes = this.#entries.reduce((sum, entry) => sum + entry.bytes, 0);
  }

  #shift(): Entry {
    const entry = this.#entries.shift() as Entry;
    this.#bytes -= entry.bytes;
    return entry;
  }
}

/** Decisions in the form of a batch: their impressions in one block. */
export function encoded(shown: readonly Shown[]): Pick<ShownBatch, "decisions" | "block"> {
  const rows = shown.flatMap((decision) => decision.rows);
  const decisions = shown.map(({ rows: own, ...decision }) => ({ ...decision, count: own.length, keys: own[0]?.keys ?? [] }));
  return { decisions, block: rows.length > 0 ? encodeBlock(rows) : null };
}

/** The rows of a decision share its context and its restrictions, and a message contains a shared object once. */
function bytesOf({ rows }: Shown): number {
  if (rows.length === 0) return ROW_BYTES;
  const [{ features, context, decision }] = rows;
  const shared = context || decision?.asked ? JSON.stringify([context, decision?.asked]).length : 0;
  return rows.length * (ROW_BYTES + features.byteLength) + CHARACTER_BYTES * shared;
}
