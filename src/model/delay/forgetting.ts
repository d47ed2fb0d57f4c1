import { onlyKeys, record, wholeNumber } from "../../argument.ts";
import type { Core } from "../../core/core.ts";

/** How fast what was seen loses its weight, where the world changes. */
export interface ForgettingSettings {
  /** Impressions after which one weighs half: its noise has then twice the variance. At least 1. */
  readonly halfLife: number;
}

/** Null if nothing is forgotten. @throws {TypeError | RangeError} naming the option. */
export function parseForgetting(value: unknown): ForgettingSettings | null {
  if (value === undefined || value === null) return null;
  const { halfLife, ...others } = record("forgetting", value);
  onlyKeys("forgetting", others, ["halfLife"]);
  return { halfLife: wholeNumber("forgetting.halfLife", halfLife, 1) };
}

/** A point at which all impressions weigh less, as one does after ten half-lives, is forgotten. */
export const FORGOTTEN = 1 / 1024;
/** Blocks to a half-life. */
const BLOCKS = 8;

/**
 * Weights 2^(-age / halfLife) of impressions, each known by its number, from 0 on.
 *
 * Ages are counted in blocks of an eighth of a half-life, so that sums of what was seen are scaled once in a block.
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

  /** What weights are multiplied with from one block to the next. */
  get decay(): number {
    return this.#core.exp(this.#logDecay);
  }

  /** Whether the impression of this number is the first of a block that is not the first one. */
  opens(number: number): boolean {
    return number > 0 && number % this.#block === 0;
  }

  /** What an impression weighs while that of number `latest` is the latest. */
  weight(number: number, latest: number): number {
    const blocks = Math.floor(latest / this.#block) - Math.floor(number / this.#block);
    return this.#core.exp(blocks * this.#logDecay);
  }
}
