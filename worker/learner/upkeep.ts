import { auditedAt, closesAt, forgottenAt, forgottenBefore, type Timing } from "../domain/bucket.ts";
import type { ModelConfig } from "../domain/model.ts";
import { encodePublication, PublicationStore, publicationOf } from "../domain/publication.ts";
import { type Environment, graceMs } from "../environment.ts";
import { EventStore } from "../kv/event-journal.ts";
import { auditDue, closeDue } from "./closing.ts";
import type { Replica } from "./live-model.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** After something that failed and is tried again. */
const RETRY_MS = 30_000;

/** The model that is kept up, as it is at the moment. */
export interface Kept {
  readonly store: LearnerStore;
  readonly config: ModelConfig;
  readonly replica: Replica;
}

/** What has to be done for a model as time passes: publish, close, audit and forget, each when it is due, by one alarm. */
export class Upkeep {
  readonly #storage: DurableObjectStorage;
  readonly #env: Environment;
  readonly #exists: () => boolean;
  readonly #kept: () => Kept;
  #alarmAt?: number;
  #turn = Promise.resolve();

  /** @param kept throws if no model `exists`. */
  constructor(storage: DurableObjectStorage, env: Environment, exists: () => boolean, kept: () => Kept) {
    this.#storage = storage;
    this.#env = env;
    this.#exists = exists;
    this.#kept = kept;
  }

  timing(): Timing {
    return { windowMs: this.#kept().config.window.ms, graceMs: graceMs(this.#env) };
  }

  /** Publishes, closes, audits and forgets what is due. It never throws: an alarm that fails six times would not come again. */
  async run(): Promise<void> {
    this.#alarmAt = undefined;
    let notBefore = 0;
    for (const task of [() => this.#publishIfDue(), () => this.#close({ whenRowsAreDue: true }), () => this.#forget()]) {
      try {
        await task();
      } catch (error) {
        report(error);
        notBefore = Date.now() + RETRY_MS;
      }
    }
    try {
      await this.arm(undefined, notBefore);
    } catch (error) {
      report(error);
      // What is due could not be read: then it is looked at again.
      await this.#storage.setAlarm(Date.now() + RETRY_MS);
    }
  }

  /**
   * Sets the alarm again, should it have been lost, and closes what no row of its own would wake it for: KV may know of
   * conversions whose impressions were never registered.
   */
  async heal(): Promise<void> {
    this.#alarmAt = undefined;
    await this.#close({ whenRowsAreDue: false }).catch(report);
    await this.arm();
  }

  /** Sets the alarm for what is due next; given a time shown, only if that could move it. */
  async arm(shownAt?: number, notBefore = 0): Promise<void> {
    const overdue = this.#alarmAt !== undefined && this.#alarmAt < Date.now() - RETRY_MS;
    const soonest = shownAt === undefined ? 0 : Math.min(closesAt(shownAt, this.timing()), Date.now() + this.#kept().config.publish.ms);
    if (shownAt !== undefined && this.#alarmAt !== undefined && !overdue && this.#alarmAt <= soonest) return;
    const due = this.#nextDue();
    if (due === undefined) return;
    this.#alarmAt = Math.max(notBefore, due);
    await this.#storage.setAlarm(this.#alarmAt);
  }

  /** Sets the alarm as a learner starts, which may have lost it; what fails is done by whatever comes next. */
  async start(): Promise<void> {
    try {
      if (this.#exists()) await this.arm();
    } catch (error) {
      report(error);
    }
  }

  /** The alarm that was set is of no account any more. */
  disarm(): void {
    this.#alarmAt = undefined;
  }

  /** Publishes a change at once; if KV fails, the alarm does it again. */
  async publishNow(): Promise<void> {
    await this.#publish().catch(report);
    await this.arm();
  }

  /** What writes to KV's publication goes one after the other: KV keeps what is written last. */
  inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** When something is due next: a publication, a closing, an audit, or rows to forget. */
  #nextDue(): number | undefined {
    const { store, config } = this.#kept();
    const timing = this.timing();
    const due: number[] = [];
    const { version, at } = store.published;
    if (version < store.seq) due.push((at ?? 0) + config.publish.ms);
    const open = store.oldestSince(store.watermark);
    if (open !== undefined) due.push(closesAt(open, timing));
    const unaudited = store.oldestSince(store.audited);
    if (unaudited !== undefined && unaudited < store.watermark) due.push(auditedAt(unaudited, timing));
    const oldest = store.oldestSince(0);
    if (oldest !== undefined) due.push(forgottenAt(oldest, timing, config.retention.ms));
    return due.length > 0 ? Math.min(...due) : undefined;
  }

  async #publishIfDue(): Promise<void> {
    const { store, config } = this.#kept();
    const { version, at } = store.published;
    if (version < store.seq && Date.now() >= (at ?? 0) + config.publish.ms) await this.#publish();
  }

  /** A snapshot is kept, then put into KV, then noted as published: stopped anywhere, it goes on from there. */
  #publish(): Promise<void> {
    return this.inTurn(async () => {
      const { store, replica } = this.#kept();
      await replica.snapshot();
      const publication = publicationOf(store, Date.now());
      await new PublicationStore(this.#env.EVENTS).put(await encodePublication(publication), publication);
      store.transact(() => store.setPublished(publication.version, publication.publishedAt));
    });
  }

  async #close(options: { readonly whenRowsAreDue: boolean }): Promise<void> {
    const { store, replica } = this.#kept();
    const timing = this.timing();
    const journal = new EventStore(this.#env.EVENTS, store.name, timing);
    await closeDue(store, journal, timing, (events) => replica.enter(events), options);
    await auditDue(store, journal, timing);
  }

  async #forget(): Promise<void> {
    const { store, config, replica } = this.#kept();
    const before = Math.min(store.audited, forgottenBefore(Date.now(), this.timing(), config.retention.ms));
    if ((store.oldestSince(0) ?? before) < before) await replica.snapshotAnd(() => store.prune(before));
  }
}

// The name only: a message may hold what a caller sent.
function report(error: unknown): void {
  console.error("an alarm's task failed", error instanceof Error ? error.name : typeof error);
}
