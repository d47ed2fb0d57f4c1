// The rewards of a log as of a time, each divided by the probability that it has come by then.

import { type TooFew, tooFew } from "../../values/too-few.ts";
import type { CountedGoals } from "./counted-goals.ts";
import type { LoggedConversion } from "./log.ts";
import { LEAST_MATURITY, type Maturity, maturityOf, type PlacedConversion } from "./maturity.ts";

const DAY_MS = 86_400_000;
/** With a greater share of conversions that the log could not show, nothing is stated. */
const MOST_UNSEEN = 0.25;

/** Rewards of an impression that have come, by goal. */
export interface SeenRewards {
  /** Index in the log. */
  readonly place: number;
  /** Number of decisions for which it stands. */
  readonly count: number;
  /** For each goal: age in ms, at most its window; probability that a conversion has come by then; and the reward that has come. */
  readonly ages: Float64Array;
  readonly maturities: Float64Array;
  readonly rewards: Float64Array;
}

/** An impression of a log, or all impressions of a list. */
interface Shown {
  readonly shownAt: number;
  readonly kept?: number;
  readonly items: readonly { readonly conversions?: readonly LoggedConversion[] }[];
}

/** The rewards of a log that have come by a time, and the laws of their delays, by goal. */
export class MaturedLog {
  readonly goals: CountedGoals;
  readonly laws: readonly Maturity[];
  readonly size: number;
  /** Conversions that have come, by goal. */
  readonly conversions: readonly number[];
  /** Greatest share of all conversions within their windows that may come later than the oldest impression of the log could show. */
  readonly unseen: number;
  /** Greatest age of an impression, in ms. */
  readonly oldest: number;
  readonly #asOf: number;
  /** The goal with the greatest share of unseen conversions. */
  readonly #latest: number;

  constructor(
    log: readonly Shown[],
    { asOf, goals, maturity }: { asOf: number; goals: CountedGoals; maturity?: (ageMs: number, goal: string) => number },
  ) {
    this.goals = goals;
    this.size = log.length;
    this.#asOf = asOf;
    const seen = goals.goals.map((): PlacedConversion[] => []);
    log.forEach(({ shownAt, items }, place) => {
      for (const { conversions } of items) {
        for (const { goal, delay } of goals.arrived({ shownAt, conversions })) {
          const bound = Math.min(asOf - shownAt, goals.goals[goal].windowMs);
          seen[goal].push({ place, delay: Math.min(delay, bound), bound });
        }
      }
    });
    this.conversions = seen.map(({ length }) => length);
    this.oldest = log.reduce((oldest, { shownAt }) => Math.max(oldest, asOf - shownAt), 0);
    const unseen = goals.goals.map((goal, i) =>
      maturity || goal.knownDelay !== undefined ? 0 : unseenShare(seen[i], { oldest: this.oldest, windowMs: goal.windowMs }),
    );
    this.unseen = Math.max(...unseen);
    this.#latest = unseen.indexOf(this.unseen);
    this.laws = goals.goals.map((goal, i) => maturityOf(maturity, goal, { seen: seen[i], decisions: log.length }));
  }

  /** The rewards of each item. Undefined if the impression is too young for one of the goals. */
  rewardsOf({ shownAt, kept = 1, items }: Shown, place: number): SeenRewards[] | undefined {
    const ages = Float64Array.from(this.goals.goals, ({ windowMs }) => Math.min(this.#asOf - shownAt, windowMs));
    const maturities = ages.map((age, goal) => this.laws[goal].at(age));
    if (maturities.some((maturity) => !(maturity >= LEAST_MATURITY))) return undefined;
    return items.map(({ conversions }) => {
      const rewards = new Float64Array(this.laws.length);
      for (const { goal, reward } of this.goals.arrived({ shownAt, conversions })) rewards[goal] += reward;
      return { place, count: 1 / kept, ages, maturities, rewards };
    });
  }

  /** The time that the log needs before its delays are known well enough. Undefined if they are. */
  tooFew(): TooFew | undefined {
    if (this.unseen <= MOST_UNSEEN) return undefined;
    const { windowMs } = this.goals.goals[this.#latest];
    // A log of twice the time shows whether conversions still come, in a window without an end too.
    return tooFew(Math.min(windowMs - this.oldest, this.oldest) / DAY_MS, "days");
  }

  /** Share of the rows that may still convert, and the expected share of conversions still to come. */
  immatureShares(rows: readonly SeenRewards[]): { readonly decisions: number; readonly conversions: number } {
    const immature = rows.filter(({ maturities }) => maturities.some((maturity) => maturity < 1));
    const count = Math.max(rows.length, 1);
    const missing = this.laws.map((_, goal) => immature.reduce((sum, { maturities }) => sum + 1 - maturities[goal], 0) / count);
    // Goals count by their conversions: a rare one hardly changes how many are to come.
    const all = this.conversions.reduce((sum, each) => sum + each, 0);
    const conversions = missing.reduce((sum, each, goal) => sum + each * (all > 0 ? this.conversions[goal] / all : 1 / missing.length), 0);
    return { decisions: immature.length / count, conversions };
  }
}

/** Sum of the rewards, each divided by the probability that it has come. */
export function maturedReward({ rewards, maturities }: SeenRewards): number {
  return rewards.reduce((sum, reward, goal) => sum + reward / maturities[goal], 0);
}

/** Doublings of time over which an endless window is followed. */
const ENDLESS = 10;

/**
 * Greatest share of conversions that come after the oldest age and within the window. It takes for granted that no doubling of time brings
 * more conversions than the last one that was seen: the share is then the number of doublings times that of the last one.
 */
function unseenShare(seen: readonly PlacedConversion[], { oldest, windowMs }: { oldest: number; windowMs: number }): number {
  if (!(oldest > 0) || oldest >= windowMs) return 0;
  // Conversions that could have been seen in most of the last doubling.
  const late = seen.filter(({ bound }) => bound >= 0.75 * oldest);
  const share = late.filter(({ delay }) => delay > oldest / 2).length / Math.max(late.length, 1);
  const error = Math.sqrt((share * (1 - share)) / Math.max(late.length, 1));
  let doublings = 0;
  for (let age = oldest; age < windowMs && doublings < ENDLESS; age *= 2) doublings += Math.min(1, windowMs / age - 1);
  return doublings * (share + 2 * error + 3 / Math.max(late.length, 1));
}
