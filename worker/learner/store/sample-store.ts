import type { Database } from "./database.ts";
import type { ModelStore } from "./model-store.ts";

/** Facts for the sampling of impressions: when some were left out, and how many came from pages. */
export class SampleStore {
  readonly #database: Database;
  readonly #model: ModelStore;

  constructor(database: Database, model: ModelStore) {
    this.#database = database;
    this.#model = model;
  }

  /** Notes that an impression was left out whose keys a backend's conversion may name. */
  note(now: number): void {
    this.#model.set("sampled = ?", now);
  }

  /** Whether such impressions were left out at a time or later. */
  anySince(time: number): boolean {
    return (this.#model.state.sampled ?? Number.NEGATIVE_INFINITY) >= time;
  }

  /** How many impressions of pages may be learnt beside so many others, so that they are at most a share of all. */
  roomForPages(share: number): number {
    if (share === 1) return Number.POSITIVE_INFINITY;
    const [pages, all] = [this.#database.counted("fromPages"), this.#database.counted("impressions")];
    return Math.floor((share * (all - pages)) / (1 - share)) - pages;
  }
}
