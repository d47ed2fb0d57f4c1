import type { Model } from "../model/model-holder.ts";
import type { Relearning } from "../model/relearning.ts";
import type { Coordinator } from "../shards/coordinator.ts";
import type { LearnerStore } from "../store/learner-store.ts";
import type { Publishing } from "./publishing.ts";
import type { Task } from "./upkeep.ts";

/** How long one alarm learns a log again, in ms. */
const RELEARNING_MS = 10_000;
/** Time after which a coordinator asks again whether all shards have learnt their logs, in ms. */
const SHARDS_MS = 5000;

/**
 * Learns the log again for a while, if that has begun. Other calls have their turn between two pages. A shard that has caught up waits for
 * its coordinator.
 */
export class RelearningTask implements Task {
  readonly #store: LearnerStore;
  readonly #relearning: Relearning;
  readonly #coordinator: Coordinator;
  readonly #publishing: Publishing;
  /** When the coordinator last asked all shards, in ms since 1970. */
  #askedAt = 0;

  constructor(store: LearnerStore, relearning: Relearning, coordinator: Coordinator, publishing: Publishing) {
    this.#store = store;
    this.#relearning = relearning;
    this.#coordinator = coordinator;
    this.#publishing = publishing;
  }

  due({ state }: Model): number | undefined {
    if (!this.#relearning.isRunning) return undefined;
    if (!this.#relearning.isCaughtUp) return Date.now();
    return state.shard > 0 ? undefined : this.#askedAt + SHARDS_MS;
  }

  async run(): Promise<void> {
    const until = Date.now() + RELEARNING_MS;
    while (this.#relearning.isRunning) {
      if (await this.#relearning.step()) return this.#takeOver();
      await scheduler.wait(0);
      if (Date.now() >= until) return;
    }
  }

  async #takeOver(): Promise<void> {
    if (this.#store.model.shard > 0) return;
    this.#askedAt = Date.now();
    if (await this.#coordinator.takeOver(this.#relearning)) await this.#publishing.publish();
  }
}
