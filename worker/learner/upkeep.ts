import { shardOf } from "../domain/ids/shard.ts";
import { auditedAt, bucketAt, closesAt, forgottenAt, forgottenBefore, type Timing } from "../domain/impression/bucket.ts";
import type { ModelConfig } from "../domain/model/model.ts";
import { KV_WRITE_MS, publishesAt } from "../domain/model/publication.ts";
import { type Environment, graceMs } from "../environment.ts";
import { EventJournal } from "../kv/event-journal.ts";
import { PublicationStore } from "../kv/publication-store.ts";
import { learner, Unreachable } from "../rpc/learner-client.ts";
import type { Archive } from "./archive.ts";
import { auditDue, closeDue } from "./closing.ts";
import type { Coordinator } from "./coordinator.ts";
import type { KeyHome } from "./key-home.ts";
import type { LiveModel } from "./live-model.ts";
import type { Publisher } from "./publishing.ts";
import type { Relearning } from "./relearning.ts";
import type { LearnerStore } from "./store/learner-store.ts";

/** How long one alarm learns a log again, in ms. */
const RELEARNING_MS = 10_000;
/** Time after which a coordinator asks again whether all shards have learnt their logs, in ms. */
const SHARDS_MS = 5000;
/** Time before a failed task runs again. */
const RETRY_MS = 30_000;

/** The model that the upkeep works on. */
export interface Kept {
  readonly store: LearnerStore;
  readonly config: ModelConfig;
  readonly live: LiveModel;
  readonly publisher: Publisher;
  readonly relearning: Relearning;
  readonly coordinator: Coordinator;
  readonly keyHome: KeyHome;
  /** Absent: rows are forgotten without a copy. */
  readonly archive?: Archive;
}

/** The tasks of a model that time makes due: publish, close, audit, archive and prune. One alarm serves them all. */
export class Upkeep {
  readonly #storage: DurableObjectStorage;
  readonly #env: Environment;
  readonly #exists: () => boolean;
  readonly #kept: () => Kept;
  #alarmAt?: number;
  #turn = Promise.resolve();

  /** @param kept the current model. Throws if no model `exists`. */
  constructor(storage: DurableObjectStorage, env: Environment, exists: () => boolean, kept: () => Kept) {
    this.#storage = storage;
    this.#env = env;
    this.#exists = exists;
    this.#kept = kept;
  }

  timing(): Timing {
    return { windowMs: this.#kept().config.window.ms, graceMs: graceMs(this.#env) };
  }

  /** Runs the tasks that are due. It never throws, because an alarm that fails six times does not ring again. */
  async run(): Promise<void> {
    this.#alarmAt = undefined;
    let notBefore = 0;
    const deliver = async () => this.#exists() && this.#kept().keyHome.deliver();
    const tasks = [
      () => this.#relearn(),
      deliver,
      () => this.#publishIfDue(),
      () => this.#close({ whenRowsAreDue: true }),
      () => this.#prune(),
    ];
    for (const task of tasks) {
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
      // The next task could not be determined, so the alarm only tries again.
      await this.#storage.setAlarm(Date.now() + RETRY_MS);
    }
  }

  /**
   * Sets the alarm again in case it was lost, and closes buckets without rows: KV may hold conversions whose impressions were
   * never registered.
   */
  async heal(): Promise<void> {
    this.#alarmAt = undefined;
    await this.#close({ whenRowsAreDue: false }).catch(report);
    await this.arm();
  }

  /**
   * Sets the alarm for the next task.
   * @param shownAt time of a new impression. The alarm is set only if that impression could make a task due earlier.
   */
  async arm(shownAt?: number, notBefore = 0): Promise<void> {
    const overdue = this.#alarmAt !== undefined && this.#alarmAt < Date.now() - RETRY_MS;
    const publishesAt = this.#publishesAt() ?? Number.POSITIVE_INFINITY;
    const soonest = shownAt === undefined ? 0 : Math.min(closesAt(shownAt, this.timing()), publishesAt);
    if (shownAt !== undefined && this.#alarmAt !== undefined && !overdue && this.#alarmAt <= soonest) return;
    const due = this.#nextDue();
    if (due === undefined) return;
    this.#alarmAt = Math.max(notBefore, due);
    await this.#storage.setAlarm(this.#alarmAt);
  }

  /** Sets the alarm when a learner starts, in case it was lost. After a failure the next call sets it. */
  async start(): Promise<void> {
    try {
      if (this.#exists()) await this.arm();
    } catch (error) {
      report(error);
    }
  }

  /** Delivers the keys of new impressions to their homes. After a failure the alarm tries again. */
  async deliver(): Promise<void> {
    await this.#kept()
      .keyHome.deliver()
      .catch(() => this.hurry());
  }

  /** Sets the alarm to ring at once. */
  async hurry(): Promise<void> {
    this.#alarmAt = Date.now();
    await this.#storage.setAlarm(this.#alarmAt);
  }

  /** Learns the log again for a while, if that has begun. Other calls have their turn between two pages. A shard waits for its coordinator. */
  async #relearn(): Promise<void> {
    const { store, relearning, coordinator } = this.#kept();
    const until = Date.now() + RELEARNING_MS;
    while (relearning.isRunning) {
      if (await relearning.step()) {
        if (store.shard > 0) return;
        return (await coordinator.takeOver(relearning)) ? this.publishNow() : undefined;
      }
      await scheduler.wait(0);
      if (Date.now() >= until) return;
    }
  }

  /** When the next page of a relearning is due, or the coordinator asks again whether all shards have learnt theirs. */
  #relearnsAt(): number | undefined {
    const { store, relearning } = this.#kept();
    if (!relearning.isRunning) return undefined;
    if (!relearning.isCaughtUp) return Date.now();
    return store.shard > 0 ? undefined : Date.now() + SHARDS_MS;
  }

  /** Forgets the time of the alarm, so that the next `arm` sets it. */
  disarm(): void {
    this.#alarmAt = undefined;
  }

  /** Publishes a change at once: to isolates that ask the learner, and to KV. If KV fails, the alarm publishes it again. */
  async publishNow(): Promise<void> {
    await this.#publish().catch(report);
    await this.arm();
  }

  /** Publishes a change of the catalogue at once, as `publishNow` does. */
  async publishCatalogue(): Promise<void> {
    await this.inTurn(() => this.#putCatalogue()).catch(report);
    await this.arm();
  }

  /** Runs one write of the publication after the other, because KV keeps the last one. */
  inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** When the next task is due: a publication, a closing, an audit or a pruning. */
  #nextDue(): number | undefined {
    const { store, config, archive } = this.#kept();
    const timing = this.timing();
    const due: number[] = store.links.undelivered ? [Date.now()] : [];
    for (const at of [this.#relearnsAt(), this.#publishesAt(), this.#cataloguesAt()]) if (at !== undefined) due.push(at);
    const open = store.oldestSince(store.watermark);
    if (open !== undefined) due.push(closesAt(open, timing));
    const unaudited = store.oldestSince(store.audited);
    if (unaudited !== undefined && unaudited < store.watermark) due.push(auditedAt(unaudited, timing));
    const oldest = store.oldestSince(0);
    if (oldest !== undefined) due.push(forgottenAt(archive ? archive.untilOf(oldest) - 1 : oldest, timing, config.retention.ms));
    return due.length > 0 ? Math.min(...due) : undefined;
  }

  #publishesAt(): number | undefined {
    const { store, config } = this.#kept();
    const { published, offered, seq } = store;
    if (store.shard > 0) return publishesAt(published, seq, config);
    // A kept snapshot that KV does not have is due as soon as KV takes it.
    return offered > published.version ? (published.at ?? 0) + KV_WRITE_MS : publishesAt(published, seq, config);
  }

  /** When a catalogue that KV does not have is due. */
  #cataloguesAt(): number | undefined {
    const { store } = this.#kept();
    const { version, at } = store.catalogued;
    if (store.shard > 0) return undefined;
    return store.catalogueVersion() > version ? (at ?? 0) + KV_WRITE_MS : undefined;
  }

  async #publishIfDue(): Promise<void> {
    if (Date.now() >= (this.#cataloguesAt() ?? Number.POSITIVE_INFINITY)) await this.inTurn(() => this.#putCatalogue());
    const due = this.#publishesAt();
    if (due !== undefined && Date.now() >= due) await this.#publish();
  }

  /**
   * Keeps a snapshot, which isolates may take from now on, puts it into KV, then notes it as published. After an interruption, each
   * step can be repeated.
   */
  async #publish(): Promise<void> {
    const { name, shard } = this.#kept().store;
    // The coordinator publishes for all shards.
    if (shard > 0) {
      const { store } = this.#kept();
      const { seq } = store;
      const isMember = await learner(this.#env, shardOf(name).model, (stub) => stub.gather(shard));
      // The model may never get a shard that was made for it. It has no impressions, so nothing is missing from a publication.
      if (!isMember) store.transact(() => store.setPublished(seq, Date.now()));
      // Else the alarm would ring again at once, and again.
      if ((this.#publishesAt() ?? Number.POSITIVE_INFINITY) <= Date.now())
        throw new Unreachable("the coordinator has not reached this shard");
      return;
    }
    await this.#keepEdition();
    return this.inTurn(async () => {
      // First, because the publication names the catalogue that it needs.
      await this.#putCatalogue();
      const { version, at } = this.#kept().store.published;
      // The turn before has published this change too.
      if (version === this.#kept().store.editions.newestVersion()) return;
      await kvWrite(at);
      await this.#keepEdition();
      const { store, publisher } = this.#kept();
      const { publication, bytes } = await publisher.newest();
      await new PublicationStore(this.#env.EVENTS).put(bytes, publication);
      // Not the time of encoding, because KV counts from its write.
      store.transact(() => store.setPublished(publication.version, Date.now()));
    });
  }

  /** Keeps a snapshot of the model as isolates get it. */
  #keepEdition(): Promise<void> {
    const { store, live, coordinator } = this.#kept();
    return store.coordinates ? coordinator.gather({ keep: true }) : live.snapshot();
  }

  /** Puts the catalogue into KV unless it is there, and notes that. */
  async #putCatalogue(): Promise<void> {
    if (this.#cataloguesAt() === undefined) return;
    await kvWrite(this.#kept().store.catalogued.at);
    const { store, publisher } = this.#kept();
    const { name: model, catalogue } = store;
    await new PublicationStore(this.#env.EVENTS).putCatalogue(await publisher.catalogue(), { model });
    store.transact(() => store.setCatalogued(catalogue.version, Date.now()));
  }

  async #close(options: { readonly whenRowsAreDue: boolean }): Promise<void> {
    const { store } = this.#kept();
    const timing = this.timing();
    const journal = new EventJournal(this.#env.EVENTS, store.name, timing);
    await closeDue(store, journal, timing, (events) => this.#kept().live.enter(events), options);
    await auditDue(store, journal, timing);
  }

  async #prune(): Promise<void> {
    const { store, config, live, archive, relearning } = this.#kept();
    const due = forgottenBefore(Date.now(), this.timing(), config.retention.ms);
    // A model that learns its log again needs its rows until it takes over.
    if (archive) return relearning.isRunning ? undefined : this.#archive(archive, due);
    const before = Math.min(store.audited, due);
    if ((store.oldestSince(0) ?? before) < before) await live.snapshotAnd(() => store.prune(before));
  }

  /** Archives rows by whole days, and forgets a day when all of it is archived. */
  async #archive(archive: Archive, due: number): Promise<void> {
    const { store, config } = this.#kept();
    const unaudited = store.oldestSince(store.audited);
    const before = unaudited === undefined ? due : Math.min(due, bucketAt(unaudited, config.window.ms));
    await archive.run(before, ({ until, marksBefore }, andThen) =>
      this.#kept().live.snapshotAnd(() => {
        andThen();
        store.prune(until, marksBefore);
      }),
    );
  }
}

/** Waits until KV takes a write of a key again. */
async function kvWrite(last: number | null): Promise<void> {
  const passed = Math.abs(Date.now() - (last ?? 0));
  if (passed < KV_WRITE_MS) await scheduler.wait(KV_WRITE_MS - passed);
}

// Logs the name only, because a message may hold data of a caller.
function report(error: unknown): void {
  console.error("an alarm's task failed", error instanceof Error ? error.name : typeof error);
}
