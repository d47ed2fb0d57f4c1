import { type Policy, policies, Recommender } from "afterclick";
import type { ConversionEvent } from "./event-store.ts";
import type { ImpressionRow, LearnerStore, Movement } from "./learner-store.ts";
import { enter, joinOrphans } from "./ledger.ts";
import type { Intake } from "./message.ts";
import { type ModelConfig, startModel, toDyadic } from "./model.ts";
import { Problem } from "./problem.ts";
import { shownAtOf } from "./token.ts";

/** A cold start replays the rows after the newest snapshot: no more than take well under a second. */
const SNAPSHOT_ROWS = 1000;
/** About what a row takes: a snapshot of many rows' size waits for as many rows. */
const ROW_BYTES = 512;

export interface Addition {
  readonly row: ImpressionRow;
  readonly status: "registered" | "duplicate";
}

/**
 * A recommender in memory, made from what is stored and changed together with it: each change is one transaction, in which
 * the policy learns. If anything fails, storage is as before, and memory is made from it again.
 */
export class Replica {
  readonly #store: LearnerStore;
  readonly #config: ModelConfig;
  #recommender?: Recommender;
  #starting?: Promise<Recommender>;
  #snapshot = { seq: 0, bytes: 0 };

  constructor(store: LearnerStore, config: ModelConfig) {
    this.#store = store;
    this.#config = config;
  }

  /** The running recommender; at first, and after a failure, from the newest snapshot and the rows after it. */
  async start(): Promise<Recommender> {
    if (this.#recommender) return this.#recommender;
    this.#starting ??= this.#rebuild().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #rebuild(): Promise<Recommender> {
    const snapshot = this.#store.snapshot();
    const recommender = snapshot ? await Recommender.restore(snapshot.bytes, { policies }) : await startModel(this.#config);
    // No waiting from here on: rows that came meanwhile are among these, later ones find the recommender.
    for (const row of this.#store.after(snapshot?.seq ?? 0)) {
      if ("shown" in row) recommender.policy.append(row.shown);
      else move(recommender.policy, row.moved);
    }
    this.#snapshot = { seq: snapshot?.seq ?? 0, bytes: snapshot?.bytes.length ?? 0 };
    this.#recommender = recommender;
    this.#saveIfDue();
    return recommender;
  }

  /**
   * Adds impressions that are not known yet, each with the conversions that came before it.
   *
   * @param policy the one that decided on them or checked them.
   * @throws {Problem} 503 if that one runs no more.
   */
  add(policy: Policy, rows: readonly ImpressionRow[]): Addition[] {
    // Another call failed while the caller waited for a start: what this policy holds may be ahead of storage.
    if (policy !== this.#recommender?.policy) throw new Problem(503, "the model is starting again");
    return this.#change(() =>
      rows.map((row) => {
        const earlier = this.#store.registered(row.id, row.key);
        if (earlier) return { row: earlier, status: "duplicate" };
        const shown = { features: row.features, round: policy.impressions + 1, now: shownAtOf(row.id) };
        this.#store.addImpression(row, policy.append(shown));
        for (const { movement } of joinOrphans(this.#store, row.id, this.#config.window.ms)) if (movement) move(policy, movement);
        return { row, status: "registered" };
      }),
    );
  }

  /** Enters conversions. They need no running recommender: one that starts later learns them then. */
  enter(events: readonly ConversionEvent[]): Intake[] {
    const { window, reward } = this.#config;
    return this.#change(() =>
      events.map((event): Intake => {
        if (event.reward < reward.min || event.reward > reward.max) {
          return { status: "refused", detail: `reward: expected a number between ${reward.min} and ${reward.max}, got ${event.reward}` };
        }
        const { status, movement } = enter(this.#store, { ...event, reward: toDyadic(event.reward) }, window.ms);
        if (movement && this.#recommender) move(this.#recommender.policy, movement);
        return { status };
      }),
    );
  }

  /** Forgets what was shown before a time; the snapshot that outlives those rows is made in the same transaction. */
  async forget(before: number): Promise<void> {
    this.#save(await this.start(), () => this.#store.prune(before));
  }

  #change<T>(work: () => T): T {
    try {
      const result = this.#store.transact(work);
      this.#saveIfDue();
      return result;
    } catch (error) {
      this.#recommender = undefined;
      throw error;
    }
  }

  #saveIfDue(): void {
    const due = Math.max(SNAPSHOT_ROWS, this.#snapshot.bytes / ROW_BYTES);
    if (this.#recommender && this.#store.seq - this.#snapshot.seq >= due) this.#save(this.#recommender);
  }

  #save(recommender: Recommender, andThen = () => {}): void {
    const bytes = recommender.snapshot();
    this.#store.transact(() => {
      this.#store.saveSnapshot(bytes);
      andThen();
    });
    this.#snapshot = { seq: this.#store.seq, bytes: bytes.length };
  }
}

function move(policy: Policy, { impression, previous, total }: Movement): void {
  policy.observe({ impression, reward: total, ...(previous !== null && { previous }) });
}
