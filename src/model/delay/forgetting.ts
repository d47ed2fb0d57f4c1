// The option `forgetting`, and the weights that it gives to old impressions.

import type { Core } from "../../core/core.ts";
import { onlyKeys, outOfRange, record, wholeNumber } from "../../values/argument.ts";

/** How fast observations lose their weight, for changing worlds. */
export interface ForgettingSettings {
  /** Impressions after which an observation weighs half, as if its noise had twice the variance. At least 1. */
  readonly halfLife: number;
}

/** Checks the option. Null: nothing is forgotten. @throws {TypeError | RangeError} naming the option. */
export function parseForgetting(value: unknown): ForgettingSettings | null {
  if (value === undefined || value === null) return null;
  const { halfLife, ...others } = record("forgetting", value);
  onlyKeys("forgetting", others, ["halfLife"]);
  return { halfLife: wholeNumber("forgetting.halfLife", halfLife, 1) };
}

/** Whether weights fall with each half-life. */
export function isHalved(forgetting: ForgettingSettings | "changes" | null): forgetting is ForgettingSettings {
  return forgetting !== null && forgetting !== "changes";
}

/** A point whose impressions weigh less than this is dropped. One impression has this weight after ten half-lives. */
export const FORGOTTEN = 1 / 1024;
/** Blocks per half-life. */
const BLOCKS = 8;

/**
 * Weights 2^(-age / halfLife) of impressions, which are numbered from 0 on.
 *
 * Ages are counted in blocks of an eighth of a half-life, so sums are scaled only once per block.
 * **Source:** Bogunovic, Scarlett, Cevher 2016, time-varying Gaussian process bandit optimization; Russac, Vernade, Cappé 2019,
 * weighted linear bandits for non-stationary environments.
 */
export class Forgetting {
  readonly #core: Core;
  readonly #block: number;
  readonly #logDecay: number;

  constructor(core: Core, { halfLife }: ForgettingSettings) {
    this.#core = core;
    this.#block = Math.ceil(halfLife / BLOCKS);
    this.#logDecay = (-core.log(2) * this.#block) / halfLife;
  }

  /** Factor on all weights from one block to the next. */
  get decay(): number {
    return this.#core.exp(this.#logDecay);
  }

  /** Whether this impression is the first of a block. False for impression 0. */
  opens(number: number): boolean {
    return number > 0 && number % this.#block === 0;
  }

  /** Weight of impression `number` while `latest` is the latest impression. @throws {RangeError} for a later one. */
  weight(number: number, latest: number): number {
    if (number > latest) throw outOfRange("impression.slot", "a slot that append returned", number);
    const blocks = Math.floor(latest / this.#block) - Math.floor(number / this.#block);
    return this.#core.exp(blocks * this.#logDecay);
  }
}
