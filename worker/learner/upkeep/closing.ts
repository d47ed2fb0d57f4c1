// Closes a bucket once its windows are over, and looks in the journal for conversions that never arrived.

import type { ConversionEvent } from "../../domain/conversion/event.ts";
import { isSilent } from "../../domain/conversion/silence.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import { auditedAt, bucketAt, bucketEnd, closesAt } from "../../domain/impression/bucket.ts";
import type { Environment } from "../../environment.ts";
import { EventJournal, type NotedEvent } from "../../kv/event-journal.ts";
import type { Ingestion } from "../model/ingestion.ts";
import { isMissing, storedForm } from "../model/ledger.ts";
import type { Model, ModelHolder } from "../model/model-holder.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Task } from "./upkeep.ts";

/** The mark of a learner that could not open its state, in its key-value storage: whatever the schema, every version can set it. */
export const WAS_BEHIND = "was behind";

/** Closes the buckets of a model, and audits them a day later. */
export class Closing {
  readonly #env: Environment;
  readonly #store: LearnerStore;
  readonly #current: ModelHolder;
  readonly #ingestion: Ingestion;
  readonly #marks: SyncKvStorage;

  constructor({ kv }: DurableObjectStorage, env: Environment, store: LearnerStore, current: ModelHolder, ingestion: Ingestion) {
    this.#marks = kv;
    this.#env = env;
    this.#store = store;
    this.#current = current;
    this.#ingestion = ingestion;
  }

  get tasks(): readonly Task[] {
    return [
      { due: () => (this.#marks.get(WAS_BEHIND) === undefined ? undefined : Date.now()), run: () => this.#enterRefused() },
      {
        // Only buckets with rows make it due, because listing the journal costs a request to KV.
        due: ({ state, timing }) => timeOf(this.#store.oldestSince(state.watermark), (open) => closesAt(open, timing)),
        dueWith: ({ timing }, shownAt) => closesAt(shownAt, timing),
        run: () => this.close(),
      },
      { due: (model) => timeOf(this.#unaudited(model), (closed) => auditedAt(closed, model.timing)), run: () => this.#audit() },
    ];
  }

  get journal(): EventJournal {
    const { state, timing } = this.#current.get();
    return new EventJournal(this.#env.EVENTS, state.name, timing);
  }

  /**
   * Closes the buckets that are due: enters missing events from the journal, then raises the watermark. From then on no conversion
   * of the bucket counts. After an interruption, closing starts again with the same bucket.
   *
   * Noted events enter first, so that a bucket without rows is closed too: the registration of its impression may be lost.
   */
  async close(): Promise<void> {
    await this.#enterNoted();
    const [store, journal, { timing }] = [this.#store, this.journal, this.#current.get()];
    for (;;) {
      const oldest = store.oldestSince(store.model.watermark);
      if (oldest === undefined || closesAt(oldest, timing) > Date.now()) return;
      for await (const unknown of missing(store, journal.list(bucketAt(oldest, timing.windowMs)))) this.#ingestion.enter(unknown);
      store.transact(() => store.close(bucketEnd(oldest, timing.windowMs)));
    }
  }

  /** Enters the events of open buckets that are noted as missing. A note goes when its event is here. */
  async #enterNoted(): Promise<void> {
    const [store, journal] = [this.#store, this.journal];
    for await (const noted of journal.noted()) {
      const open = noted.filter(({ impression }) => shownAtOf(impression) >= store.model.watermark);
      this.#ingestion.enter(open.filter((event) => lacks(store, event)));
      await journal.settle(open);
    }
  }

  /** Enters what this learner refused while it was of an earlier version than its state. */
  async #enterRefused(): Promise<void> {
    await this.#enterNoted();
    this.#marks.delete(WAS_BEHIND);
  }

  /** Time of the oldest impression in a closed bucket that is not audited. */
  #unaudited({ state }: Model): number | undefined {
    const oldest = this.#store.oldestSince(state.audited);
    return oldest !== undefined && oldest < state.watermark ? oldest : undefined;
  }

  /** Compares closed buckets with the journal again, a day later. Events that closing missed are counted and do not enter. */
  async #audit(): Promise<void> {
    const [store, journal, { config, timing }] = [this.#store, this.journal, this.#current.get()];
    for (;;) {
      const oldest = this.#unaudited(this.#current.get());
      if (oldest === undefined || auditedAt(oldest, timing) > Date.now()) return;
      let missed = 0;
      for await (const unknown of missing(store, journal.list(bucketAt(oldest, timing.windowMs)))) {
        missed += unknown.filter((event) => !isSilent(storedForm(event, config), config)).length;
      }
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

/** The journalled events that are missing here, page by page. */
async function* missing(store: LearnerStore, pages: AsyncGenerator<ConversionEvent[]>): AsyncGenerator<ConversionEvent[]> {
  for await (const page of pages) yield page.filter((event) => lacks(store, event));
}

function lacks(store: LearnerStore, { notedAt, ...event }: NotedEvent): boolean {
  const { config } = store.model;
  return isMissing(store, storedForm(event, config), config, notedAt);
}
