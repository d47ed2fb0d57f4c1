// Policies and store, changed together: if a transaction fails, the policies are restored from the store.

import { SnapshotError } from "afterclick";
import type { Catalogue } from "../../domain/catalogue/catalogue.ts";
import type { ConversionEvent } from "../../domain/conversion/event.ts";
import type { KeyHashes } from "../../domain/ids/join-key.ts";
import type { Block } from "../../domain/impression/block.ts";
import type { ImpressionRow, ImpressionState, Marks, StoredImpression } from "../../domain/impression/impression.ts";
import { causeOf, leftOut, type Unlearnt } from "../../domain/impression/sampling.ts";
import { isGaussianProcess } from "../../domain/model/capacity.ts";
import { inform } from "../../domain/model/inform.ts";
import { isEncodable, type ModelConfig, startModel } from "../../domain/model/model.ts";
import { type Policies, partsOf, restorePolicies } from "../../domain/model/policies.ts";
import type { StoredSnapshot } from "../../domain/model/publication.ts";
import { Problem } from "../../protocol/problem.ts";
import type { Registered } from "../../rpc/message.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import { append, appendNext, appendTo, tryObserve } from "./learning.ts";
import { type Entry, enter, enterUncounted, joinOrphans, type Logged, ofErased, storedForm } from "./ledger.ts";
import { batchesOf, oldestOf, type PastConversionRow, type PastRow } from "./past-rows.ts";

/** Most rows that a cold start replays after the newest snapshot. */
const SNAPSHOT_ROWS = 2000;
/** Rows times bytes of a snapshot that a cold start replays in well under a second: each row changes most of the state. */
const REPLAYED_BYTES = 1e9;

export interface RegisteredRow {
  readonly row: ImpressionRow | StoredImpression;
  readonly status: Registered["status"];
}

/** How a snapshot is saved. */
interface Saving {
  readonly kept: boolean;
  /** A change of the policies before. */
  readonly first?: () => void;
  /** A change of the store in the same transaction. */
  readonly andThen?: () => void;
}

/**
 * The policies in memory, restored from the store and changed together with it. Each change is one transaction, in which the
 * policies learn. If it fails, the store has not changed, and the policies are restored from the store.
 */
export class LearningModel {
  readonly #store: LearnerStore;
  readonly #config: ModelConfig;
  readonly #epoch: number;
  #policies?: Policies;
  /** The catalogue by whose features the policies know the prior. */
  #told?: Catalogue;
  #starting?: Promise<Policies>;
  /** The error of a state that this version cannot read. */
  #unreadable?: SnapshotError;
  #snapshot = { seq: 0, bytes: 0 };

  constructor(store: LearnerStore, config: ModelConfig) {
    this.#store = store;
    this.#config = config;
    this.#epoch = store.epoch;
  }

  /** Whether this model was made in the present epoch. If not, its calls fail with 503. */
  get isCurrent(): boolean {
    return this.#store.epoch === this.#epoch;
  }

  /**
   * The running policies. After a start or a failure, they are restored from the newest snapshot and the rows after it.
   * @throws {Problem} 503 if the configuration has changed. @throws {SnapshotError} if another version of this worker wrote the state.
   */
  async start(): Promise<Policies> {
    if (this.#policies && this.isCurrent) return this.#informed(this.#policies);
    if (this.#unreadable) throw this.#unreadable;
    this.#starting ??= this.#rebuild().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting.catch((error) => {
      this.#unreadable = error instanceof SnapshotError ? error : undefined;
      throw error;
    });
  }

  /** Whether a start has failed because another version of this worker wrote the state. */
  get isUnreadable(): boolean {
    return this.#unreadable !== undefined;
  }

  /** The policies, which know the present catalogue. */
  #informed(policies: Policies): Policies {
    const { catalogue } = this.#store;
    if (this.#told !== catalogue) inform(policies, this.#config, catalogue.actions);
    this.#told = catalogue;
    return policies;
  }

  async #rebuild(): Promise<Policies> {
    for (;;) {
      if (!isEncodable(this.#config)) throw new SnapshotError("version", "another version of the encoder made the learnt features");
      const snapshot = this.#store.snapshots.newest();
      const policies = snapshot ? await restorePolicies(snapshot.parts) : await startModel(this.#config);
      if (!this.isCurrent) throw startingAgain();
      // No await from here on: the replay includes all rows so far, and later rows find running policies.
      this.#told = this.#store.catalogue;
      const failed = this.#replay(policies, snapshot?.seq ?? 0);
      if (failed === undefined) {
        this.#snapshot = { seq: snapshot?.seq ?? 0, bytes: sizeOf(snapshot?.parts ?? []) };
        this.#policies = policies;
        this.#saveIfDue();
        return policies;
      }
      // No stored conversion may stop the model. The policies may have learnt a part of it, so they are restored again.
      this.#store.transact(() => this.#store.skip(failed));
    }
  }

  /** Learns the rows after a snapshot. Returns the number of a conversion that the policies did not take. */
  #replay(policies: Policies, from: number): number | undefined {
    for (const step of this.#store.log.replay(from)) {
      if ("appended" in step) {
        if (step.appended.slots.length === 0) throw new SnapshotError("state-version", "another version took impressions without a model");
        append(policies, { ...step.appended, place: step.place });
      } else if ("changedAt" in step) {
        const { changedAt, config } = step;
        // Only a prior needs the catalogue of that time, which takes long to put together.
        inform(policies, config, config.prior ? this.#store.catalogues.actionsAt(changedAt) : []);
      } else if (!tryObserve(policies, step.changed)) return step.seq;
    }
    return undefined;
  }

  /**
   * Registers unknown impressions that the sampling keeps, each with its orphans.
   *
   * @param policies the ones that decided or checked the impressions. Undefined if the state cannot be read: the relearning appends them.
   * @param deferred impressions that are not shown yet. They come after the others in the answer.
   * @throws {Problem} 503 if they no longer run.
   */
  register(policies: Policies | undefined, shown: readonly ImpressionRow[], deferred: readonly ImpressionRow[] = []): RegisteredRow[] {
    this.#checkRunning(policies);
    return this.change(() => [
      ...(shown.length > 0 ? this.#registered(policies, shown, "live") : []),
      ...(deferred.length > 0 ? this.#registered(policies, deferred, "deferred") : []),
    ]);
  }

  /** Registers a block of unknown impressions that are shown. @param keys, features of each impression. @see register */
  registerBlock(
    policies: Policies | undefined,
    block: Block,
    { keys, features }: { readonly keys: (place: number) => readonly KeyHashes[]; readonly features: (place: number) => Float64Array },
  ): void {
    this.#checkRunning(policies);
    this.change(() => {
      const marks = this.#marksOf(policies, block.count, (running, i) => {
        return appendNext(running, { action: block.action(i), features: features(i), place: block.listPlace(i), now: block.shownAt(i) });
      });
      this.#store.impressions.insertBlock(block, marks, keys, this.#config);
      // Usually nothing waits, and then no row has to be read.
      for (let i = 0; i < block.count && this.#store.conversions.anyWaits; i++) {
        this.#observe(joinOrphans(this.#store, { ...block.row(i), keys: keys(i) }, this.#config));
      }
    });
  }

  /** Counts impressions that the sampling left out, or that are not learnt for another cause. Needs a transaction. */
  leaveOut(count = 0, byPage = false, cause?: Unlearnt): void {
    if (count === 0) return;
    this.#store.database.count(cause ?? "unsampled", count);
    if (cause) return;
    if (!byPage || this.#config.pageKeys === "shared") this.#store.samples.note(Date.now());
  }

  /** Takes rows of a past log in their order, into open and closed buckets alike. */
  takePast(policies: Policies, rows: readonly PastRow[]): (RegisteredRow["status"] | Entry["status"] | "void" | "refused")[] {
    this.#checkRunning(policies);
    return this.change(() => {
      const statuses = batchesOf(rows).flatMap((batch) => {
        // Policies that did not take a row know no later one.
        this.#checkRunning(policies);
        if (Array.isArray(batch)) return this.#registered(policies, batch, batch[0].state, "in time").map(({ status }) => status);
        const row = batch as PastConversionRow;
        const event = storedForm(row.event, this.#config);
        const { key } = row.event;
        if (key && this.#store.conversions.isErased({ key }, event)) return ofErased(this.#store, event).status;
        if (row.status === "void" || row.status === "refused") return enterUncounted(this.#store, event, row.status);
        return this.enter(event, row.status === "late" ? "late" : "in time").status;
      });
      // Closed buckets do not close again.
      this.#store.conversions.expire(oldestOf(rows), this.#store.model.watermark);
      return statuses;
    });
  }

  /** Registers impressions of one state, and enters their orphans. @param logged set if a past log has them, which kept them all. */
  #registered(policies: Policies | undefined, rows: readonly ImpressionRow[], state: ImpressionState, logged?: Logged): RegisteredRow[] {
    const { impressions } = this.#store;
    // By name where there is one, because a repetition may state another time and so has another id.
    const freshByName = new Map<string, ImpressionRow>();
    const registered = rows.map((row): RegisteredRow => {
      const known = () => (state === "void" ? impressions.find(row.id) : impressions.registered(row.id, row.name));
      const earlier = freshByName.get(row.name ?? row.id) ?? known();
      if (earlier) return { row: earlier, status: "duplicate" };
      const { id, sampling = 0, byPage } = row;
      const left = logged ? undefined : leftOut({ id, sampling });
      if (left) {
        this.leaveOut(1, byPage, causeOf(sampling));
        return { row, status: left.status };
      }
      freshByName.set(row.name ?? row.id, row);
      return { row, status: "registered" };
    });
    const fresh = Array.from(freshByName.values());
    const marks = () => this.#marksOf(policies, fresh.length, (running, i) => appendTo(running, fresh[i]));
    if (state === "deferred") this.#defer(policies, fresh);
    else impressions.insert(fresh, state === "live" ? marks() : [], this.#config);
    if (state === "live") for (const row of fresh) this.#observe(joinOrphans(this.#store, row, this.#config, logged));
    return registered;
  }

  /** Appends impressions. If no policies run, those that learn the log again append them. */
  #marksOf(policies: Policies | undefined, count: number, append: (running: Policies, place: number) => Marks): Marks[] {
    const next = policies ? 0 : this.#store.impressions.blocks.nextRound;
    return Array.from({ length: count }, (_, place) => (policies ? append(policies, place) : { slots: [], round: next + place }));
  }

  /** Registers impressions that are not shown yet, or that were shown before they were registered. */
  #defer(policies: Policies | undefined, rows: readonly ImpressionRow[]): void {
    const { impressions } = this.#store;
    // All of them first, because an orphan has to know the whole list.
    for (const row of rows) impressions.defer(row);
    for (const { id } of rows) if (impressions.takeShown(id)) this.#activate(policies, impressions.find(id) as StoredImpression);
  }

  /** Makes a deferred impression live. A repetition changes nothing. */
  activate(policies: Policies | undefined, impression: StoredImpression): void {
    this.#checkRunning(policies);
    if (impression.state === "deferred") this.change(() => this.#activate(policies, impression));
  }

  #activate(policies: Policies | undefined, impression: StoredImpression): void {
    const [marks] = this.#marksOf(policies, 1, (running) => appendTo(running, impression));
    this.#store.impressions.activate(impression.id, marks, this.#config);
    this.#observe(joinOrphans(this.#store, impression, this.#config));
  }

  /** Makes some join keys those of one visitor: their impressions get all of them, and what waits joins. Returns how many got another. */
  joinKeys(keys: readonly KeyHashes[]): number {
    return this.change(() => {
      const { impressions } = this.#store;
      const joined = impressions.keys.join(keys).flatMap((id) => impressions.find(id) ?? []);
      // The newest first, because that one gets a conversion.
      for (const impression of joined) this.#observe(joinOrphans(this.#store, { ...impression, keys }, this.#config));
      return joined.length;
    });
  }

  /** Enters a conversion, in a `change`, and lets the policies observe it. */
  enter(event: ConversionEvent, logged?: Logged): Entry {
    const entry = enter(this.#store, event, this.#config, logged);
    this.#observe([entry]);
    return entry;
  }

  /** If the policies do not take a change, its rows stay: the next start learns them and skips that one. */
  #observe(entries: readonly Entry[]): void {
    for (const { change } of entries) {
      if (change && this.#policies && !tryObserve(this.#policies, change)) this.#policies = undefined;
    }
  }

  /**
   * Erases impressions. Linear policies keep sums only, which stay. A Gaussian process forgets the feature vectors that no other
   * impression has, and every snapshot that may have them is deleted. Returns whether there were any.
   */
  async erase(ids: readonly string[]): Promise<boolean> {
    const policies = await this.start();
    const holdsVectors = [this.#config, ...this.#config.shadows].some(({ options }) => isGaussianProcess(options));
    const vectors = holdsVectors ? this.#store.impressions.vectorsOnlyOf(ids) : [];
    this.#save(policies, {
      kept: false,
      first: () => {
        for (const features of vectors) for (const { policy } of policies) policy.forget(features);
      },
      andThen: () => {
        for (const id of ids) this.#store.erase(id);
        if (vectors.length > 0) this.#store.snapshots.deleteOlder();
      },
    });
    return vectors.length > 0;
  }

  /** Makes a change together with a snapshot of the state before it, because the change deletes rows that a replay would need. */
  async snapshotAnd(change: () => void): Promise<void> {
    this.#save(await this.start(), { kept: false, andThen: change });
  }

  /** Keeps a snapshot of the newest state, unless there is one. */
  async snapshot(): Promise<void> {
    const policies = await this.start();
    if ((this.#store.snapshots.versions()[0] ?? -1) < this.#store.changedAt) this.#save(policies, { kept: true });
  }

  /** A snapshot of the newest state, which takes no place among the kept ones. */
  async newest(): Promise<StoredSnapshot> {
    const policies = await this.start();
    const newest = this.#store.snapshots.newest();
    if (newest?.seq === this.#store.seq) return newest;
    this.#save(policies, { kept: false });
    return this.#store.snapshots.newest() as StoredSnapshot;
  }

  /**
   * Goes back to a kept snapshot, from which the model of the next epoch starts.
   * @param andThen a change of the store in the same transaction.
   * @throws {Problem} 503 if it is not kept any more.
   */
  async rollBack(version: number, andThen?: () => void): Promise<void> {
    const kept = this.#store.snapshots.kept(version);
    // Fails if this version of the worker cannot read it.
    const policies = kept && (await restorePolicies(kept.parts));
    if (!kept || !policies || !this.isCurrent || !this.#store.snapshots.versions().includes(version)) throw startingAgain();
    this.change(() => {
      inform(policies, this.#config, this.#store.catalogue.actions);
      this.#store.rollBack({ ...kept, parts: partsOf(policies) });
      andThen?.();
    });
  }

  #checkRunning(policies: Policies | undefined): void {
    // Another call failed while the caller waited for a start, so these policies may be ahead of the store.
    if (policies !== this.#policies || !this.isCurrent) throw startingAgain();
  }

  /** Makes a change of the current model in one transaction, in which the policies learn. A change within another one joins it. */
  change<T>(work: () => T): T {
    if (this.#store.database.isChanging) return work();
    const result = this.#changed(work);
    try {
      this.#saveIfDue();
    } catch (error) {
      // The change is made. Without the snapshot, the next start learns more rows.
      console.error("a snapshot was not saved", error instanceof Error ? error.name : typeof error);
    }
    return result;
  }

  #changed<T>(work: () => T): T {
    try {
      // The catalogue may have changed since the caller waited for a start, and a replay learns of that first.
      if (this.#policies && this.isCurrent) this.#informed(this.#policies);
      return this.#store.transact(work);
    } catch (error) {
      this.#policies = undefined;
      throw error;
    }
  }

  #saveIfDue(): void {
    const due = Math.min(SNAPSHOT_ROWS, REPLAYED_BYTES / this.#snapshot.bytes);
    if (this.#policies && this.#store.seq - this.#snapshot.seq >= due && this.isCurrent) this.#save(this.#policies, { kept: false });
  }

  #save(policies: Policies, { kept, first, andThen }: Saving): void {
    this.#checkRunning(policies);
    try {
      first?.();
      // Factors are computed again from the sums, so that a kept snapshot does not depend on the order of conversions.
      for (const { policy } of policies) policy.refactor();
      const parts = partsOf(policies);
      this.#store.transact(() => {
        this.#store.saveSnapshot(parts, { digest: policies[0].digest(), kept });
        andThen?.();
      });
      this.#snapshot = { seq: this.#store.seq, bytes: sizeOf(parts) };
    } catch (error) {
      this.#policies = undefined;
      throw error;
    }
  }
}

const startingAgain = (): Problem => new Problem(503, "the model is starting again");

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((bytes, part) => bytes + part.length, 0);
}
