// Paper: Vernade, Carpentier, Lattimore, Zappella, Ermis, Brueckner, ICML 2020, Algorithm 2 (OTFLinTS).
// Assumes: linear expected reward; a conversion comes after a random delay or never; one more than m rounds late is ignored.
// Model: ridge regression in which an impression counts at once, with reward 0 until it converts.
// Expired means: the reward stays 0.
// Cost: O(d^2 + k d) to choose, O(d^2) for each place ranked and per impression, O(d) per conversion.

import { drawnList, Ridge, ridgeNumbers } from "../../model/linear/ridge.ts";
import { DelayedPosterior } from "../../model/pending/delayed-posterior.ts";
import { errorProbability, finiteNumber, oneOf, onlyKeys, positiveNumber, wholeNumber } from "../../values/argument.ts";
import { definePolicy, type PolicyFactory, type ScoreRequest } from "../rule.ts";

/** Options of `otfLinTs`. */
export interface OtfLinTsOptions {
  /** Features per candidate (d). */
  readonly dimension: number;
  /** Probability that the confidence bound fails, default 0.1. Only `width: "theory"` reads it. */
  readonly delta?: number;
  /** lambda. Default 1 with `width: "theory"`, as in the paper, and 0.25 with "released", as in its authors' simulation. */
  readonly ridge?: number;
  /** Multiplier on the sampling standard deviation, default 1. */
  readonly exploration?: number;
  /** Covariance: as printed ("theory"), or as in the authors' simulation ("released", default). */
  readonly width?: "theory" | "released";
  /** Upper limit of the standard deviation's multiplier, which pending impressions raise, before `exploration`. Default: none. */
  readonly widthCap?: number;
  /** Norms of pending impressions: under the present posterior, or under the one that chose them ("buffered", default), in O(m) memory. */
  readonly norms?: "exact" | "buffered";
}

/** OTFLinTS: Thompson sampling for late linear rewards. Pending impressions widen its samples. */
export const otfLinTs: PolicyFactory<OtfLinTsOptions> = /* @__PURE__ */ definePolicy({
  id: "otf-lin-ts",
  stateVersion: 2,

  parse(options: OtfLinTsOptions) {
    onlyKeys("options", options, ["dimension", "delta", "ridge", "exploration", "width", "widthCap", "norms"]);
    const width = oneOf("width", options.width ?? "released", ["theory", "released"]);
    return {
      dimension: wholeNumber("dimension", options.dimension, 1, 4096),
      delta: errorProbability("delta", options.delta ?? 0.1),
      ridge: positiveNumber("ridge", options.ridge ?? (width === "released" ? 0.25 : 1)),
      exploration: finiteNumber("exploration", options.exploration ?? 1, 0),
      width,
      widthCap: options.widthCap === undefined ? Number.MAX_VALUE : positiveNumber("widthCap", options.widthCap),
      norms: oneOf("norms", options.norms ?? "buffered", ["exact", "buffered"]),
    };
  },

  leastNumbers: ridgeNumbers,

  start({ core, window }, { dimension: d, delta, ridge: lambda, exploration, width, widthCap, norms }) {
    const released = width === "released";
    const measure = (norm: number): number => (released ? norm * norm : norm);
    const posterior = new Ridge(core, { dimension: d, ridge: lambda });
    const state = new DelayedPosterior(posterior, window, { norms, measure, buffer: released ? "after" : "before" });

    const multiplierOf = (request: ScoreRequest): number => {
      const { trial: t } = request;
      const f = Math.sqrt(lambda) + Math.sqrt(2 * core.log(1 / delta) + d * core.log((d * lambda + t) / (d * lambda)));
      // Deviation: the released rule divides mean and covariance by sqrt(lambda) + pending. This draw is the released one times
      // that number: the choice is the same, and the mean stays an estimate of the reward.
      const beta = released ? Math.sqrt(lambda) + state.openWidth(request) : 1 + state.openWidth(request) / f;
      return exploration * Math.min(Math.sqrt(beta), widthCap);
    };

    return {
      dimension: d,
      orderInvariant: true,
      merges: norms === "exact" || 'norms: "exact"',
      deterministic: false,
      delayOffset: 0,
      state,
      means: (candidates) => posterior.means(candidates),
      score(request) {
        const multiplier = multiplierOf(request);
        if (request.draws > 0) return drawnList(core, [posterior.stage(request, request.normals, multiplier)], request);
        return { score: posterior.sampleScores(request, request.normals(d), multiplier) };
      },
      moments(request, indices) {
        // First, because the width of open impressions overwrites moments.
        const multiplier = multiplierOf(request);
        const { mean, deviation: norm } = posterior.moments(request.rows(indices));
        return { mean, width: norm.map((each) => multiplier * each) };
      },
    };
  },
});
