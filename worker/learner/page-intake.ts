import { Problem } from "../protocol/problem.ts";

const MINUTE_MS = 60_000;
/** Most impressions and goals that a learner takes from pages in a minute. Those of all pages count together. */
export const MOST_A_MINUTE = 6000;

/** Bounds what pages report to one learner, so that a copied key cannot keep it busy. A restart begins anew. */
export class PageIntake {
  #minute = 0;
  #taken = 0;

  /** @throws {Problem} 429 if so many more are over the limit. A page sends them again later. */
  take(count: number, now: number): void {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) [this.#minute, this.#taken] = [minute, 0];
    if (this.#taken + count > MOST_A_MINUTE) throw new Problem(429, `the model takes ${MOST_A_MINUTE} reports of pages in a minute`);
    this.#taken += count;
  }
}
