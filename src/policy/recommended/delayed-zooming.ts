// Paper: Liu, Kang, Lee, 2025, Lipschitz Bandits with Stochastic Delayed Feedback, Algorithm 1 (Delayed Zooming).
// Assumes: the expected reward changes by at most the distance between two points; noise is sub-Gaussian; delays are bounded.
// Model: mean and confidence radius of each active arm. Its rewards are set aside once its radius has halved since its last pull.
// Expired means: a pull without a reward. A reward of 0 must be reported like any other.
// Cost: with a active arms and n points O(a) to choose, O(1) per impression and reward, O(a n) in total when radii fall below gaps.

import { ActiveArms } from "../../model/lipschitz/active-arms.ts";
import { parseRegion, type RegionSettings } from "../../model/lipschitz/box.ts";
import { type ConfidenceSettings, confidenceOptions, confidenceTerm, parseConfidence } from "../../model/lipschitz/confidence.ts";
import { checkGrid, defaultResolution, type Metric, MetricSpace, metrics } from "../../model/lipschitz/metric-space.ts";
import { flag, oneOf, onlyKeys, outOfRange, wholeNumber } from "../../values/argument.ts";
import { definePolicy, type PolicyFactory } from "../rule.ts";

/** Options of `delayedZooming`. */
export interface DelayedZoomingOptions extends ConfidenceSettings {
  /** A box, scaled to [0, 1] on each axis, or a finite set of points, which are not scaled. */
  readonly domain: RegionSettings;
  /** Grid points per axis of a box. Default: 1001 on a line, and about 10,000 points in total in more dimensions. */
  readonly resolution?: number;
  /** Distance in which the reward is 1-Lipschitz, default "maximum" (l-infinity). */
  readonly metric?: Metric;
  /** Whether rewards are set aside so that no radius falls below half its size at the arm's last pull, default true. */
  readonly lazy?: boolean;
  /** Lower bound of the count of rewards at an arm's last pull, default 1. The printed rule has 0. */
  readonly lazyFloor?: 0 | 1;
  /** An arm without a reward is pulled "first" (default), or has the mean "zero". */
  readonly unobserved?: "first" | "zero";
  /** The uncovered point that is activated: the "first" in row-major order (default), or a "random" one. */
  readonly activation?: "first" | "random";
}

const own = ["domain", "resolution", "metric", "lazy", "lazyFloor", "unobserved", "activation"];

/** Axes of a box, at most. Two grid points on each are half a million points. */
const MAX_AXES = 19;

/** Delayed Zooming: upper confidence bounds of balls that shrink as rewards come, in a box or a finite set of points. */
export const delayedZooming: PolicyFactory<DelayedZoomingOptions> = /* @__PURE__ */ definePolicy({
  id: "delayed-zooming",
  stateVersion: 1,
  countsZeros: true,
  sequential: "it activates a new arm by choosing it, and repeats the choice until it is counted",

  parse(options: DelayedZoomingOptions) {
    onlyKeys("options", options, [...confidenceOptions, ...own]);
    const domain = parseRegion(options.domain, MAX_AXES);
    return {
      domain,
      ...parseConfidence(options),
      ...parseResolution(domain, options.resolution),
      metric: oneOf("metric", options.metric ?? "maximum", metrics),
      lazy: flag("lazy", options.lazy ?? true),
      lazyFloor: wholeNumber("lazyFloor", options.lazyFloor ?? 1, 0, 1) as 0 | 1,
      unobserved: oneOf("unobserved", options.unobserved ?? "first", ["first", "zero"]),
      activation: oneOf("activation", options.activation ?? "first", ["first", "random"]),
    };
  },

  start({ core }, { domain, resolution, metric, activation, lazy, lazyFloor, unobserved, ...confidence }) {
    // Deviation: over a box the covering oracle has the points of a grid. Between them the reward is at most half a step better.
    const space = new MetricSpace(domain, metric, resolution);
    const radius = confidence.sigma * Math.sqrt(confidenceTerm(core, confidence));
    // Deviation: the printed v_s = 0 at an arm's activation sets its first reward aside until its next pull, which never comes if its
    // index is low. `lazyFloor: 1` and `unobserved: "first"` give every arm a mean. 0 and "zero" are the printed rule.
    const state = new ActiveArms(space, { radius, lazy, lazyFloor, unobserved });

    return {
      dimension: space.dimension,
      orderInvariant: false,
      deterministic: activation === "first",
      delayOffset: 0,
      state,
      check: (features) => void space.places.indexOf(features),
      propose({ uniforms }) {
        const { covering } = state;
        const lot = activation === "random" && covering.uncovered > 0 ? uniforms(1)[0] : 0;
        // Lines 11 to 15: activation before selection. A given uniform may be 1.
        const last = covering.uncovered - 1;
        const index = last >= 0 ? covering.uncoveredAt(Math.min(Math.floor(lot * (last + 1)), last)) : state.best();
        const { mean, radius } = state.estimate(index);
        return { index, features: space.places.at(index), score: mean + 2 * radius, mean, width: 2 * radius };
      },
    };
  },
});

function parseResolution(domain: RegionSettings, resolution: number | undefined): { resolution?: number } {
  if (!("box" in domain)) {
    if (resolution !== undefined) throw outOfRange("resolution", "none, as domain.points are given", resolution);
    return {};
  }
  const parsed = wholeNumber("resolution", resolution ?? defaultResolution(domain), 2);
  checkGrid(domain, parsed);
  return { resolution: parsed };
}
