import { type Policy, policies, Recommender } from "afterclick";
import { bucketAt } from "../domain/bucket.ts";
import { type ModelConfig, startModel, toDyadic } from "../domain/model.ts";
import { shownAtOf } from "../domain/token.ts";
import type { ConversionEvent, KeyedEvent } from "../kv/event-journal.ts";
import { Problem } from "../protocol/problem.ts";
import type { Intake } from "../rpc/message.ts";
import { type Entry, enter, enterUndone, joinOrphans, type Logged, refusal } from "./ledger.ts";
import type { Movement, RowStatus } from "./store/conversion-store.ts";
import type { ImpressionRow, ImpressionState, Marks, Shown, StoredImpression } from "./store/impression-store.ts";
import type { LearnerStore } from "./store/learner-store.ts";
import type { StoredSnapshot } from "./store/snapshot-store.ts";

/** A cold start replays the rows after the newest snapshot: no more than this, nor than take well under a second. */
const SNAPSHOT_ROWS = 1000;
/** A row changes about all that a snapshot holds: so many rows times so many bytes are gone through within that time. */
const REPLAYED_BYTES = 1e9;

export interface Addition {
  readonly row: ImpressionRow | StoredImpression;
  readonly status: "registered" | "duplicate";
}

/** The running policies of a model: the one that is served, then its shadows. */
export type Team = readonly Recommender[];

/** What a log says happened. */
export type PastRow =
  | (ImpressionRow & { readonly state: ImpressionState })
  | { readonly event: ConversionEvent; readonly status: RowStatus };

/**
 * Recommenders in memory, made from what is stored and changed together with it: each change is one transaction, in which
 * the policies learn. If anything fails, storage is as before, and memory is made from it again.
 */
export class Replica {
  readonly #store: LearnerStore;
  readonly #config: ModelConfig;
  #team?: Team;
  #starting?: Promise<Team>;
  #snapshot = { seq: 0, bytes: 0 };
  #retired = false;

  constructor(store: LearnerStore, config: ModelConfig) {
    this.#store = store;
    this.#config = config;
  }

  /**
   * The running recommenders; at first, and after a failure, from the newest snapshot and the rows after it.
   * @throws {Problem} 503 if another replica has taken over.
   */
  async start(): Promise<Team> {
    if (this.#team) return this.#team;
    this.#starting ??= this.#rebuild().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Another one takes over: what is stored is no longer as this one knows it. Whoever still waits for this one is turned away. */
  retire(): void {
    this.#retired = true;
    this.#team = undefined;
  }

  async #rebuild(): Promise<Team> {
    const snapshot = this.#store.snapshots.newest();
    const team = snapshot ? await restoreTeam(snapshot.parts) : await startModel(this.#config);
    // A rollback has been faster.
    if (this.#team) return this.#team;
    if (this.#retired) throw startingAgain();
    // No waiting from here on: rows that came meanwhile are among these, later ones find the recommenders.
    for (const row of this.#store.log.replay(snapshot?.seq ?? 0)) {
      if ("shown" in row) append(team, row.shown);
      else move(team, row.moved);
    }
    this.#snapshot = { seq: snapshot?.seq ?? 0, bytes: sizeOf(snapshot?.parts ?? []) };
    this.#team = team;
    this.#saveIfDue();
    return team;
  }

  /**
   * Adds impressions that are not known yet, each with the conversions that came before it; deferred ones are not shown yet.
   *
   * @param team the one that decided on them or checked them.
   * @throws {Problem} 503 if that one runs no more.
   */
  add(team: Team, rows: readonly ImpressionRow[], { deferred = false }: { readonly deferred?: boolean } = {}): Addition[] {
    this.#checkRunning(team);
    return this.#change(() => rows.map((row) => this.#added(team, row, deferred ? "deferred" : "live")));
  }

  /** Takes what a log says, in its order, into open and closed books alike. */
  takePast(team: Team, rows: readonly PastRow[]): (Addition["status"] | Entry["status"] | "void")[] {
    this.#checkRunning(team);
    return this.#change(() =>
      rows.map((row) => {
        if ("features" in row) return this.#added(team, row, row.state, "in time").status;
        const event = rounded(row.event);
        if (row.status === "void") return enterUndone(this.#store, event);
        return this.#entered(event, row.status === "late" ? "late" : "in time").status;
      }),
    );
  }

  #added(team: Team, row: ImpressionRow, state: ImpressionState, logged?: Logged): Addition {
    const earlier = this.#store.impressions.registered(row.id, row.name);
    if (earlier) return { row: earlier, status: "duplicate" };
    const shownAt = shownAtOf(row.id);
    const live = state === "live";
    const marks = live ? append(team, { ...row, round: team[0].policy.impressions + 1, now: shownAt }) : null;
    this.#store.impressions.add(row, bucketAt(shownAt, this.#config.window.ms), state, marks);
    if (live) this.#tell(joinOrphans(this.#store, row, this.#config, logged));
    return { row, status: "registered" };
  }

  /** A deferred impression was shown. Once more changes nothing. */
  activate(team: Team, impression: StoredImpression): void {
    this.#checkRunning(team);
    const { id, features, state } = impression;
    if (state !== "deferred") return;
    this.#change(() => {
      this.#store.impressions.activate(id, append(team, { features, round: team[0].policy.impressions + 1, now: shownAtOf(id) }));
      this.#tell(joinOrphans(this.#store, impression, this.#config));
    });
  }

  /** Enters conversions. They need no running recommender: one that starts later learns them then. */
  enter(events: readonly (ConversionEvent | KeyedEvent)[]): Intake[] {
    return this.#change(() =>
      events.map((event): Intake => {
        const detail = refusal(event, this.#config);
        if (detail) return { status: "refused", detail };
        const { status } = this.#entered(this.#addressed(rounded(event)));
        return { status };
      }),
    );
  }

  #addressed(event: ConversionEvent | KeyedEvent): ConversionEvent {
    return "impression" in event ? event : { ...event, impression: this.#store.conversions.attribute(event, this.#config.window.ms) };
  }

  #entered(event: ConversionEvent, logged?: Logged): Entry {
    const entry = enter(this.#store, event, this.#config, logged);
    this.#tell([entry]);
    return entry;
  }

  #tell(entries: readonly Entry[]): void {
    for (const { movement } of entries) if (movement && this.#team) move(this.#team, movement);
  }

  /** Takes a change together with a snapshot of the state before it, so that rows it takes away are not missed. */
  async snapshotAnd(change: () => void): Promise<void> {
    this.#save(await this.start(), { kept: false, andThen: change });
  }

  /** Keeps a snapshot of the state now, unless the newest one is of it. */
  async snapshot(): Promise<void> {
    const team = await this.start();
    if (this.#store.snapshots.versions()[0] !== this.#store.seq) this.#save(team, { kept: true });
  }

  /** A snapshot of the state now, which a start may begin from, but no rollback goes back to unless it is kept anyway. */
  async newest(): Promise<StoredSnapshot> {
    const team = await this.start();
    const newest = this.#store.snapshots.newest();
    if (newest?.seq === this.#store.seq) return newest;
    this.#save(team, { kept: false });
    return this.#store.snapshots.newest() as StoredSnapshot;
  }

  /** Goes back to a kept snapshot. */
  async rollBack(version: number): Promise<void> {
    const kept = this.#store.snapshots.kept(version);
    if (!kept)
      throw new Problem(404, `version: no snapshot of it is kept; kept are ${this.#store.snapshots.versions().join(", ") || "none"}`);
    const team = await restoreTeam(kept.parts);
    if (this.#retired || !this.#store.snapshots.versions().includes(version)) throw startingAgain();
    // None runs meanwhile: a snapshot that falls due is not one of what is undone.
    this.#team = undefined;
    this.#change(() => this.#store.rollBack(kept));
    this.#team = team;
    this.#snapshot = { seq: this.#store.seq, bytes: sizeOf(kept.parts) };
  }

  #checkRunning(team: Team): void {
    // Another call failed while the caller waited for a start: what this one holds may be ahead of storage.
    if (team !== this.#team) throw startingAgain();
  }

  #change<T>(work: () => T): T {
    try {
      const result = this.#store.transact(work);
      this.#saveIfDue();
      return result;
    } catch (error) {
      this.#team = undefined;
      throw error;
    }
  }

  #saveIfDue(): void {
    const due = Math.min(SNAPSHOT_ROWS, REPLAYED_BYTES / this.#snapshot.bytes);
    if (this.#team && this.#store.seq - this.#snapshot.seq >= due) this.#save(this.#team, { kept: false });
  }

  #save(team: Team, { kept, andThen = () => {} }: { readonly kept: boolean; readonly andThen?: () => void }): void {
    this.#checkRunning(team);
    try {
      // Derived anew from the sums: a kept snapshot does not depend on the order in which conversions came.
      for (const { policy } of team) policy.refactor();
      const parts = team.map((recommender) => recommender.snapshot());
      this.#store.transact(() => {
        this.#store.saveSnapshot(parts, { digest: team[0].digest(), kept });
        andThen();
      });
      this.#snapshot = { seq: this.#store.seq, bytes: sizeOf(parts) };
    } catch (error) {
      this.#team = undefined;
      throw error;
    }
  }
}

export function restoreTeam(parts: readonly Uint8Array[]): Promise<Team> {
  return Promise.all(parts.map((bytes) => Recommender.restore(bytes, { policies })));
}

/** Of a multiple of 2^-12, so that sums are exact. */
function rounded<Event extends ConversionEvent | KeyedEvent>(event: Event): Event {
  return { ...event, reward: event.reward === null ? null : toDyadic(event.reward) };
}

const startingAgain = (): Problem => new Problem(503, "the model is starting again");

function append(team: Team, shown: Omit<Shown, "slots"> & { readonly round: number }): Marks {
  const { features, round, now } = shown;
  return { slots: team.map(({ policy }) => policy.append({ ...fitting(policy, features), round, now }).slot), round };
}

function move(team: Team, { impression, previous, total }: Movement): void {
  const { slots, ...shown } = impression;
  team.forEach(({ policy }, place) => {
    policy.observe({ impression: { ...shown, slot: slots[place] }, reward: total, ...(previous !== null && { previous }) });
  });
}

/** A policy that looks at no features is given none. */
function fitting(policy: Policy, features: Float64Array): { readonly features?: Float64Array } {
  return policy.dimension > 0 ? { features } : {};
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((bytes, part) => bytes + part.length, 0);
}
