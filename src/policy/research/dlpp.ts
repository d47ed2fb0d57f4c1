// Paper: Liu, Kang, Lee, 2025, Lipschitz Bandits with Stochastic Delayed Feedback, Algorithm 2 (Delayed Lipschitz Phased Pruning).
// Assumes: the expected reward changes by at most the l-infinity distance between two points; noise is sub-Gaussian; any delays.
// Model: mean reward of each ball of the phase. Feedback of an older phase is dropped.
// Expired means: a pull without a reward. A reward of 0 must be reported like any other.
// Cost: O(1) to choose, per impression and per reward, each O(balls) once in a phase; finding the ball of a given point is O(points).

import { Domain } from "../../model/domain.ts";
import { BoxArms, checkExtent, MAX_POINT_AXES, PointArms } from "../../model/lipschitz/ball-arms.ts";
import { BallPhase } from "../../model/lipschitz/ball-phase.ts";
import { parseRegion, type RegionSettings } from "../../model/lipschitz/box.ts";
import { type ConfidenceSettings, confidenceOptions, confidenceTerm, parseConfidence } from "../../model/lipschitz/confidence.ts";
import { flag, onlyKeys, outOfRange, positiveNumber } from "../../values/argument.ts";
import { definePolicy, type PolicyFactory } from "../rule.ts";

/** Options of `dlpp`. */
export interface DlppOptions extends ConfidenceSettings {
  /** A box of at most 10 axes, each scaled to [0, 1], or a finite set of points, at most 1 apart on each axis. */
  readonly domain: RegionSettings;
  /** A ball is pruned when its mean is this many radii below the best, default 4. */
  readonly pruneMultiplier?: number;
  /** Whether a ball that has the rewards it needs drops later rewards, default false. */
  readonly freeze?: boolean;
}

/** Axes of a box, at most: a ball has 2^axes children. */
const MAX_BOX_AXES = 10;

/** DLPP: balls take turns until each has enough rewards. Balls far below the best are then pruned, and the others divided. */
export const dlpp: PolicyFactory<DlppOptions> = /* @__PURE__ */ definePolicy({
  id: "dlpp",
  stateVersion: 1,
  countsZeros: true,
  sequential: "its balls take turns, and the next turn begins when the choice is counted",

  parse(options: DlppOptions) {
    onlyKeys("options", options, [...confidenceOptions, "domain", "pruneMultiplier", "freeze"]);
    return {
      domain: parseBalls(options.domain),
      ...parseConfidence(options),
      pruneMultiplier: positiveNumber("pruneMultiplier", options.pruneMultiplier ?? 4),
      freeze: flag("freeze", options.freeze ?? false),
    };
  },

  start({ core }, { domain, pruneMultiplier, freeze, ...confidence }) {
    const rewards = confidence.sigma * confidence.sigma * confidenceTerm(core, confidence);
    const settings = { rewards, pruneMultiplier, freeze };
    // Deviation: over given points a covering is the set of dyadic cubes that contain some of them.
    const arms = "box" in domain ? new BoxArms(domain) : new PointArms(new Domain(domain));
    let phase = BallPhase.first(settings, arms);
    // Lines 15 to 17, delayed until the next choice: rewards that arrive together with a phase's last one still count.
    const current = (): BallPhase => (phase.complete ? phase.divided() : phase);

    return {
      dimension: arms.dimension,
      orderInvariant: false,
      deterministic: false,
      delayOffset: 0,
      check: (features) => arms.check(features),
      state: {
        append(features) {
          phase = current();
          return phase.append(features);
        },
        observe: (impression, reward, previous) => phase.observe(impression, reward, previous),
        statistics: () => phase.statistics(),
        save: (writer) => phase.save(writer),
        load(reader) {
          phase = BallPhase.load(reader, settings, arms);
        },
      },
      propose({ uniforms }) {
        const playing = current();
        const { next, arms, radius } = playing;
        const mean = playing.mean(next.number);
        // Points of a box have no index: it is the ball's number in its phase.
        const { features, place = next.number } = arms.sample(next, uniforms(arms.draws));
        return { index: place, features, score: mean + radius, mean, width: radius };
      },
    };
  },
});

function parseBalls(value: unknown): RegionSettings {
  const region = parseRegion(value, MAX_BOX_AXES);
  if ("box" in region) return region;
  if (region.points[0].length > MAX_POINT_AXES)
    throw outOfRange("domain.points", `points of at most ${MAX_POINT_AXES} axes`, region.points);
  checkExtent(region);
  return region;
}
