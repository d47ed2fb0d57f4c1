import { Problem } from "../../protocol/problem.ts";
import type { Shares } from "../model/shares.ts";

const MINUTE_MS = 60_000;
/** Most new impressions and goals that a learner takes from pages in a minute. Those of all pages count together. */
export const MOST_A_MINUTE = 6000;
/** Most items of one impression in a minute that change nothing, such as repetitions and refused goals. */
export const MOST_REPEATED = 100;

/**
 * Bounds what pages report to one learner, so that a copied key cannot keep it busy. An item that changes nothing counts for its impression
 * alone, so it costs nobody else. A restart begins anew.
 */
export class PageAllowance {
  #minute = 0;
  #taken = 0;
  readonly #repeated = new Map<string, number>();
  readonly #shares: Shares;

  constructor(shares: Shares) {
    this.#shares = shares;
  }

  /** @throws {Problem} 429 if a limit is reached, or an asker's share of it. A page sends its report again later. */
  check(impressions: readonly string[], now: number, asker?: string): void {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) {
      [this.#minute, this.#taken] = [minute, 0];
      this.#repeated.clear();
    }
    if (this.#taken >= MOST_A_MINUTE) throw new Problem(429, `the model takes ${MOST_A_MINUTE} reports of pages in a minute`);
    if (!this.#shares.fits("reports", asker, 1, MOST_A_MINUTE - this.#taken)) {
      throw new Problem(429, "the model takes a tenth of its reports of pages from one address in a minute");
    }
    if (impressions.some((id) => (this.#repeated.get(id) ?? 0) >= MOST_REPEATED)) {
      throw new Problem(429, `an impression was reported ${MOST_REPEATED} times in this minute without effect: report each goal once`);
    }
  }

  count(impression: string, isNew: boolean, asker?: string): void {
    if (isNew) {
      this.#taken++;
      this.#shares.use("reports", asker, 1);
    } else {
      // Memory stays bounded, whoever repeats.
      if (this.#repeated.size >= MOST_A_MINUTE) this.#repeated.clear();
      this.#repeated.set(impression, (this.#repeated.get(impression) ?? 0) + 1);
    }
  }
}
