import type { Database } from "./database.ts";

/** Facts for the sampling of impressions: when some were left out, and how many came from pages. */
export class SampleStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Notes that an impression was left out whose keys a backend's conversion may name. */
  note(now: number): void {
    this.#database.set("sampled = ?", now);
  }

  /** Whether such impressions were left out at a time or later. */
  anySince(time: number): boolean {
    return (this.#database.model.sampled ?? Number.NEGATIVE_INFINITY) >= time;
  }

  /** How many impressions of pages may be learnt beside so many others, so that they are at most a share of all. */
  roomForPages(share: number): number {
    if (share === 1) return Number.POSITIVE_INFINITY;
    const [pages, all] = [this.#database.counted("fromPages"), this.#database.counted("impressions")];
    return Math.floor((share * (all - pages)) / (1 - share)) - pages;
  }
}
