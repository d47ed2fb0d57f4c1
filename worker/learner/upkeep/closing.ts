import { toDyadic } from "../../../publication/featurizer.ts";
import type { ConversionEvent } from "../../domain/conversion/event.ts";
import { auditedAt, bucketAt, bucketEnd, closesAt, earliest } from "../../domain/impression/bucket.ts";
import type { Environment } from "../../environment.ts";
import { EventJournal } from "../../kv/event-journal.ts";
import type { CurrentModel } from "../model/current-model.ts";
import { isMissing } from "../model/ledger.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Task } from "./upkeep.ts";

/** Closes the buckets of a model, and audits them a day later. */
export class Closing {
  readonly #env: Environment;
  readonly #store: LearnerStore;
  readonly #current: CurrentModel;

  constructor(env: Environment, store: LearnerStore, current: CurrentModel) {
    this.#env = env;
    this.#store = store;
    this.#current = current;
  }

  get tasks(): readonly Task[] {
    const timing = () => this.#current.get().timing;
    return [
      {
        // Only buckets with rows make it due, because listing the journal costs a request to KV.
        due: () => timeOf(this.#store.oldestSince(this.#store.watermark), (open) => closesAt(open, timing())),
        dueWith: (shownAt) => closesAt(shownAt, timing()),
        run: () => this.close(),
      },
      { due: () => timeOf(this.#unaudited, (closed) => auditedAt(closed, timing())), run: () => this.#audit() },
    ];
  }

  get journal(): EventJournal {
    return new EventJournal(this.#env.EVENTS, this.#store.name, this.#current.get().timing);
  }

  /**
   * Closes the buckets that are due: enters missing events from the journal, then raises the watermark. From then on no conversion
   * of the bucket counts. After an interruption, closing starts again with the same bucket.
   *
   * A bucket without rows is closed too if the journal notes a missing event in it, because the registration of its impression may
   * be lost.
   */
  async close(): Promise<void> {
    const [store, journal, { timing }] = [this.#store, this.journal, this.#current.get()];
    const noted = await journal.bucketsWithMissing();
    for (;;) {
      const oldest = earliest(store.oldestSince(store.watermark), ...noted.filter((at) => at >= store.watermark));
      if (oldest === undefined || closesAt(oldest, timing) > Date.now()) return;
      for await (const unknown of missing(store, journal, bucketAt(oldest, timing.windowMs))) this.#current.get().live.ingest(unknown);
      store.transact(() => store.close(bucketEnd(oldest, timing.windowMs)));
    }
  }

  /** Time of the oldest impression in a closed bucket that is not audited. */
  get #unaudited(): number | undefined {
    const oldest = this.#store.oldestSince(this.#store.audited);
    return oldest !== undefined && oldest < this.#store.watermark ? oldest : undefined;
  }

  /** Compares closed buckets with the journal again, a day later. Events that closing missed are counted and do not enter. */
  async #audit(): Promise<void> {
    const [store, journal, { timing }] = [this.#store, this.journal, this.#current.get()];
    for (;;) {
      const oldest = this.#unaudited;
      if (oldest === undefined || auditedAt(oldest, timing) > Date.now()) return;
      let missed = 0;
      for await (const unknown of missing(store, journal, bucketAt(oldest, timing.windowMs))) missed += unknown.length;
      store.transact(() => {
        store.database.count("missed", missed);
        store.raiseAudited(bucketEnd(oldest, timing.windowMs));
      });
    }
  }
}

/** The time of a task that depends on an impression. Undefined without one. */
function timeOf(shownAt: number | undefined, time: (shownAt: number) => number): number | undefined {
  return shownAt === undefined ? undefined : time(shownAt);
}

/** The events of a bucket that are in the journal and missing here, page by page. */
async function* missing(store: LearnerStore, journal: EventJournal, bucket: number): AsyncGenerator<ConversionEvent[]> {
  const rules = store.config;
  for await (const page of journal.list(bucket)) {
    yield page.filter((event) => isMissing(store, { ...event, reward: event.reward === null ? null : toDyadic(event.reward) }, rules));
  }
}
