import type { Core } from "../../core/core.ts";

/** What a model has been shown. */
export interface Traffic {
  readonly impressions: number;
  /** Number of features that impressions have had, at least 1. See `Ridge.features`. */
  readonly features: number;
}

/** Up to this many dimensions, candidates are explored each by its own width. With more features, exploration is less. */
const FEW = 16;
/** Scale of the factor by own widths, beside that of the common factor, and the weight of the impressions in it. */
const OWN = 1.9;
const WEIGHT = 3;

/**
 * Factors on the deviations of candidates, beside `exploration`, after n impressions that had d features.
 *
 * Up to 16 dimensions each candidate has its own: 1.9 times the root of log(2 + 3 n w^2 / d), where w is its width |x| in V^-1. For
 * one-hot features n w^2 / d is n / (d n_a), where n_a counts the candidate's impressions. A candidate that is shown rarely is never
 * given up, and one that is shown often is hardly explored.
 * **Source:** Audibert and Bubeck 2009, MOSS. Deviation: the constants, and a logarithm that never ends.
 *
 * With more dimensions, or where the latent value is no reward, all have the same factor: the root of log(2 + n / d), and for more than
 * 16 features the fourth root of 16 / d.
 * **Source:** Abbasi-Yadkori, Pal, Szepesvari 2011, theorem 2: the radius of the confidence ellipsoid, per feature.
 * Deviation: the fourth root. A draw deviates in all features at once, and few visitors cannot pay for exploring many features.
 */
export class Exploration {
  readonly #core: Core;
  readonly #own: boolean;

  constructor(core: Core, dimension: number, rewards: "linear" | "bernoulli") {
    this.#core = core;
    // The width of log-odds is that of information, which is less than an impression.
    this.#own = dimension <= FEW && rewards === "linear";
  }

  /** One factor for each of `count` candidates. `widths`: theirs, for unit noise. */
  factors(count: number, widths: () => Float64Array, { impressions, features }: Traffic): Float64Array {
    const growth = (ratio: number): number => Math.sqrt(this.#core.log(2 + ratio));
    if (this.#own) return widths().map((width) => OWN * growth((WEIGHT * impressions * width * width) / features));
    return new Float64Array(count).fill(growth(impressions / features) * Math.min(1, Math.sqrt(Math.sqrt(FEW / features))));
  }
}
