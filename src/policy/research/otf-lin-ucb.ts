// Paper: Vernade, Carpentier, Lattimore, Zappella, Ermis, Brueckner, ICML 2020, Algorithm 1 (OTFLinUCB).
// Assumes: linear expected reward; a conversion comes after a random delay or never; one more than m rounds late is ignored.
// Model: ridge regression in which an impression counts at once, with reward 0 until it converts.
// Expired means: the reward stays 0.
// Cost: O(k d^2) to choose, O(d^2) per impression, O(d) per conversion.

import { Ridge, ridgeNumbers } from "../../model/linear/ridge.ts";
import { DelayedPosterior } from "../../model/pending/delayed-posterior.ts";
import { known } from "../../model/ranking.ts";
import { errorProbability, finiteNumber, oneOf, onlyKeys, positiveNumber, wholeNumber } from "../../values/argument.ts";
import { definePolicy, type PolicyFactory, type ScoreRequest } from "../rule.ts";

/** Options of `otfLinUcb`. */
export interface OtfLinUcbOptions {
  /** Features per candidate (d). */
  readonly dimension: number;
  /** Probability that the confidence bound fails, default 0.1. */
  readonly delta?: number;
  /** lambda, default 1. */
  readonly ridge?: number;
  /** Multiplier on the bonus, default 1. */
  readonly exploration?: number;
  /** Bonus: as printed ("theory"), or as in the authors' simulation ("released", default). The printed one swamps the estimate. */
  readonly width?: "theory" | "released";
  /** Norms of pending impressions: under the present posterior, or under the one that chose them ("buffered", default), in O(m) memory. */
  readonly norms?: "exact" | "buffered";
}

/** OTFLinUCB: upper confidence bound for late linear rewards, with a bonus for pending impressions. */
export const otfLinUcb: PolicyFactory<OtfLinUcbOptions> = /* @__PURE__ */ definePolicy({
  id: "otf-lin-ucb",
  stateVersion: 1,

  parse(options: OtfLinUcbOptions) {
    onlyKeys("options", options, ["dimension", "delta", "ridge", "exploration", "width", "norms"]);
    return {
      dimension: wholeNumber("dimension", options.dimension, 1, 4096),
      delta: errorProbability("delta", options.delta ?? 0.1),
      ridge: positiveNumber("ridge", options.ridge ?? 1),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
      width: oneOf("width", options.width ?? "released", ["theory", "released"]),
      norms: oneOf("norms", options.norms ?? "buffered", ["exact", "buffered"]),
    };
  },

  leastNumbers: ridgeNumbers,

  start({ core, window }, { dimension: d, delta, ridge: lambda, exploration, width, norms }) {
    const released = width === "released";
    // Deviation: the released rule squares every norm, of the candidate and of pending impressions.
    const measure = (norm: number): number => (released ? norm * norm : norm);
    const posterior = new Ridge(core, { dimension: d, ridge: lambda });
    const state = new DelayedPosterior(posterior, window, { norms, measure, buffer: "before" });
    const confidence = 2 * core.log(1 / delta);
    const alphaOf = (request: ScoreRequest): number => {
      const { trial: t } = request;
      const f = released
        ? Math.sqrt(confidence + d * core.log(1 + t / (lambda * d)) + lambda)
        : 2 * (Math.sqrt(lambda) + Math.sqrt(confidence + d * core.log((d * lambda + t) / (d * lambda))));
      return exploration * (f + state.openWidth(request));
    };
    // Buffers that every choice reuses.
    let score = new Float64Array(0);
    let bonus = new Float64Array(0);

    return {
      dimension: d,
      orderInvariant: true,
      merges: norms === "exact" || 'norms: "exact"',
      deterministic: true,
      delayOffset: 0,
      state,
      means: (candidates) => posterior.means(candidates),
      moments(request, indices) {
        // First, because the width of open impressions overwrites moments.
        const alpha = alphaOf(request);
        const { mean, deviation: norm } = posterior.moments(request.rows(indices));
        return { mean, width: norm.map((each) => alpha * measure(each)) };
      },
      score(request) {
        const { points } = request;
        const alpha = alphaOf(request);
        const { mean, deviation: norm } = posterior.moments(points);
        if (score.length !== mean.length) [score, bonus] = [new Float64Array(mean.length), new Float64Array(mean.length)];
        for (let i = 0; i < mean.length; i++) {
          bonus[i] = alpha * measure(norm[i]);
          score[i] = mean[i] + bonus[i];
        }
        return { score, moments: known(mean, bonus) };
      },
    };
  },
});
