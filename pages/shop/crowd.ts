// Draws the simulated visitors of the demo shop, who decide by their tastes alone.

import { type Profile, profiles } from "../../src/simulation/assortment.ts";
import type { Shown } from "./shown.ts";

/** Simulated visitors come over several seconds, so that a reader can watch, and the first purchases are reported meanwhile. */
const AT_ONCE = 10;
const PAUSE_MS = 600;
/** A few more visitors come while purchases are being reported: the model measures the age of impressions by the latest visit. */
const STRAGGLERS = 3;
const STRAGGLER_EVERY_MS = 4000;
/** Simulated visitors buy after an exponential delay. */
const MEAN_DELAY_MS = 4000;
const LONGEST_DELAY_MS = 20_000;

/** A simulated visit, with the sums over the visits so far. */
export interface Visit {
  /** Whether the first product shown was the visitor's favourite. */
  readonly favourite: boolean;
  /** Expected purchases lost because the first product shown was not the visitor's favourite. */
  readonly model: number;
  /** Expected purchases lost by products drawn uniformly for the same visitors. */
  readonly uniform: number;
}

/** Draws a visitor of any kind. */
export function drawVisitor(): Profile {
  return profiles[Math.floor(Math.random() * profiles.length)];
}

/** Draws the time until a purchase is reported, in ms. */
export function drawDelay(): number {
  return Math.min(-Math.log(1 - Math.random()) * MEAN_DELAY_MS, LONGEST_DELAY_MS);
}

/** The visit of a visitor with these tastes to whom the product `first` was shown first. */
function visitAfter(before: Visit | undefined, tastes: Profile["tastes"], first: string): Visit {
  const { model, uniform } = before ?? { model: 0, uniform: 0 };
  const chances = Object.values(tastes);
  const best = Math.max(...chances);
  const mean = chances.reduce((sum, chance) => sum + chance, 0) / chances.length;
  return { favourite: tastes[first] === best, model: model + best - tastes[first], uniform: uniform + best - mean };
}

/** Simulated visitors of random kinds, who buy by their tastes. */
export class Crowd {
  readonly #show: (profile: string) => Promise<Shown[] | undefined>;
  readonly #received: (profile: string, list: readonly Shown[]) => void;
  #stragglers = 0;
  #straggledAt = 0;
  /** Whether purchases are still to be reported. */
  #buys = false;
  /** Visitors who are still to come. */
  left = 0;
  visits: readonly Visit[] = [];

  /** @param show recommends products to a visitor. @param received is called after each visit. */
  constructor(show: (profile: string) => Promise<Shown[] | undefined>, received: (profile: string, list: readonly Shown[]) => void) {
    this.#show = show;
    this.#received = received;
  }

  /** Resolves when all have come. Their purchases are reported later. */
  async send(visitors: number): Promise<void> {
    this.left = visitors;
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.#come()));
    [this.#buys, this.#stragglers, this.#straggledAt] = [true, STRAGGLERS, Date.now()];
  }

  async #come(): Promise<void> {
    while (this.left > 0) {
      this.left--;
      await this.#visit();
      if (this.left > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #visit(): Promise<void> {
    const { id, tastes } = drawVisitor();
    const list = (await this.#show(id)) ?? [];
    if (list.length > 0) this.visits = [...this.visits, visitAfter(this.visits.at(-1), tastes, list[0].product)];
    for (const shown of list) {
      if (Math.random() >= tastes[shown.product]) continue;
      shown.status = "bought";
      // They decide late, and what they buy is reported at once.
      shown.boughtAt = Date.now() + drawDelay();
      shown.reportAt = shown.boughtAt;
    }
    this.#received(id, list);
  }

  /**
   * Lets a straggler come if it is time.
   * @param waiting whether purchases are still to be reported. @returns whether the last one was just reported.
   */
  async followUp(waiting: boolean): Promise<boolean> {
    if (!this.#buys) return false;
    if (!waiting) this.#buys = false;
    else if (this.#stragglers > 0 && Date.now() - this.#straggledAt >= STRAGGLER_EVERY_MS) {
      this.#stragglers--;
      this.#straggledAt = Date.now();
      await this.#visit();
    }
    return !waiting;
  }
}
