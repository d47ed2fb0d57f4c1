import { Problem } from "../protocol/problem.ts";
import type { Registration } from "../rpc/message.ts";

/** How long an isolate gathers impressions before it registers them, in ms. */
const GATHER_MS = 50;
/** After this long, assume the sending request was cancelled, in ms. */
const CANCELLED_MS = 200;
/** Most decisions and bytes of one registration. A remote call takes 32 MiB. */
const MAX_BATCH = 500;
const MAX_BATCH_BYTES = 4_000_000;
/** Most bytes that wait. Beyond, the oldest impressions are dropped: an isolate has 128 MB in all. */
const MAX_BYTES = 16_000_000;
/** Approximate size of an impression without its features, its context and the restrictions of its request. */
const ROW_BYTES = 400;
const CHARACTER_BYTES = 2;

type Shown = Registration["batch"][number];

interface Entry {
  readonly shown: Shown;
  readonly bytes: number;
  /** Whether the learner was reached once and failed. */
  readonly failed: boolean;
}

/** Impressions that an isolate has shown and not registered yet. They are gathered for a moment, then one request sends them all. */
export class Outbox {
  readonly #entries: Entry[] = [];
  #bytes = 0;
  #gatheringSince = 0;
  #dropped = 0;
  #keptOut = 0;

  /** Counts a publication that the isolate did not take. The next registration reports it. */
  keptOut(): void {
    this.#keptOut++;
  }

  /** Adds impressions. Returns whether the caller must send, because no other request does. */
  put(shown: Shown, now: number): boolean {
    const bytes = bytesOf(shown);
    this.#entries.push({ shown, bytes, failed: false });
    this.#bytes += bytes;
    while (this.#bytes > MAX_BYTES) this.#dropped += this.#take().shown.rows.length;
    if (Math.abs(now - this.#gatheringSince) < CANCELLED_MS) return false;
    this.#gatheringSince = now;
    return true;
  }

  /** Waits a moment, then registers everything. After a failure the impressions wait for the next sender. */
  async send(register: (registration: Registration) => Promise<void>): Promise<void> {
    await scheduler.wait(GATHER_MS);
    this.#gatheringSince = 0;
    while (this.#entries.length > 0) {
      const batch = this.#batch();
      const [dropped, keptOut] = [this.#dropped, this.#keptOut];
      [this.#dropped, this.#keptOut] = [0, 0];
      try {
        await register({ batch: batch.map(({ shown }) => shown), dropped, keptOut });
      } catch (error) {
        this.#dropped += dropped;
        this.#keptOut += keptOut;
        return this.#putBack(batch, error);
      }
    }
  }

  #batch(): Entry[] {
    const batch: Entry[] = [];
    const most = this.#bytes - MAX_BATCH_BYTES;
    while (this.#entries.length > 0 && batch.length < MAX_BATCH && (batch.length === 0 || this.#bytes > most)) batch.push(this.#take());
    return batch;
  }

  #putBack(batch: readonly Entry[], error: unknown): void {
    // The model was deleted with its impressions.
    if (error instanceof Problem && error.status === 404) return;
    const reached = !(error instanceof Problem);
    // A batch at which the learner fails twice is dropped, or else it would block all later ones.
    for (const { shown, bytes, failed } of batch.toReversed()) {
      if (reached && failed) this.#dropped += shown.rows.length;
      else this.#entries.unshift({ shown, bytes, failed: failed || reached });
    }
    this.#bytes = this.#entries.reduce((sum, entry) => sum + entry.bytes, 0);
  }

  #take(): Entry {
    const entry = this.#entries.shift() as Entry;
    this.#bytes -= entry.bytes;
    return entry;
  }
}

/** The rows of a decision share its context and its restrictions, and a message contains a shared object once. */
function bytesOf({ rows }: Shown): number {
  if (rows.length === 0) return ROW_BYTES;
  const [{ features, context, decision }] = rows;
  const shared = context || decision?.asked ? JSON.stringify([context, decision?.asked]).length : 0;
  return rows.length * (ROW_BYTES + features.byteLength) + CHARACTER_BYTES * shared;
}
