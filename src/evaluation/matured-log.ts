import type { CountedGoals } from "./counted-goals.ts";
import type { LoggedConversion } from "./log.ts";
import { LEAST_MATURITY, type Maturity, maturityOf, type PlacedConversion } from "./maturity.ts";

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
  readonly #asOf: number;

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
        for (const { goal, delay } of goals.arrived({ shownAt, conversions }))
          seen[goal].push({ place, delay, bound: Math.min(asOf - shownAt, goals.goals[goal].windowMs) });
      }
    });
    this.conversions = seen.map(({ length }) => length);
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
