import type { Plan } from "./plan.ts";

// The outage of a soak: for some time no request reaches the learner of one model.

/** The header of a request that cannot reach the learner of the model that it names. */
export const UNREACHABLE_LEARNER = "x-unreachable-learner";

/** The worker takes a conversion into KV alone only if its bucket closes later than this, in ms. The rest is room for slow answers. */
const CLOSES_AFTER_MS = 120_000 + 15_000;
const SHARE = 0.05;
const FEWEST = 200;
/** The outage lasts this long per recommendation of the soak, within limits. */
const LASTS = { msEach: 6, leastMs: 20_000, mostMs: 180_000 };

export interface Outage {
  /** All of its recommendations convert. */
  readonly plan: Plan;
  readonly ms: number;
}

export function outageOf({ seed, recommendations }: Plan): Outage {
  const ms = Math.min(LASTS.mostMs, Math.max(LASTS.leastMs, recommendations * LASTS.msEach));
  const count = Math.max(FEWEST, Math.round(recommendations * SHARE));
  return { plan: { seed, recommendations: count, conversions: count, windowMs: ms + CLOSES_AFTER_MS }, ms };
}
