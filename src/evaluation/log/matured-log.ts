// The rewards of a log as of a time, each divided by the probability that it has come by then.

import { ENOUGH, FOLLOWED, PART } from "../../model/delay/delay-law.ts";
import { type TooFew, tooFew } from "../../values/too-few.ts";
import type { CountedGoals, Kind } from "./counted-goals.ts";
import type { LoggedConversion } from "./log.ts";
import { ALL_CAME, knownMaturity, LEAST_MATURITY, type Maturity, type PlacedConversion, seenMaturity } from "./maturity.ts";
import { type Clock, clockOf } from "./report-clock.ts";

const DAY_MS = 86_400_000;

/** Rewards of an impression that have come, by kind of event. */
export interface SeenRewards {
  /** Index in the log. */
  readonly place: number;
  /** Number of decisions for which it stands. */
  readonly count: number;
  readonly product: string | number;
  /** For each kind: age in ms; probability that such an event has come by then; the reward that has come; and the factor by which it counts. */
  readonly ages: Float64Array;
  readonly maturities: Float64Array;
  readonly rewards: Float64Array;
  readonly factors: Float64Array;
}

/** An impression of a log, or all impressions of a list. */
interface Shown {
  readonly shownAt: number;
  readonly kept?: number;
  readonly visitor?: string;
  readonly items: readonly { readonly product: string | number; readonly conversions?: readonly LoggedConversion[] }[];
}

/** An event that has come, and the time from its impression until it was known. */
interface Seen {
  readonly place: number;
  readonly shownAt: number;
  readonly product: string | number;
  readonly delay: number;
}

/** Events of one goal that have delays of their own: all its events, if their maturity is given. */
interface Events {
  readonly goal: number;
  readonly kind: Kind | undefined;
  /** Rewards count within this time, in ms. */
  readonly within: number;
  readonly law: Maturity;
  /** Ages and delays. */
  readonly clock: Clock;
  /** How many have come. */
  readonly size: number;
}

interface MaturedOptions {
  readonly asOf: number;
  readonly goals: CountedGoals;
  readonly maturity?: (ageMs: number, goal: string) => number;
  /** Whether all windows have closed. */
  readonly closed: boolean;
}

/**
 * The rewards of a log that have come by a time, and the laws of their delays.
 *
 * Orders, later amounts and refunds of a goal are events of different kinds. Each kind has a law of its own, by product, and each event is
 * weighed by the law of its kind (inverse probability of censoring weights for a marked process).
 *
 * A law knows nothing of delays that no impression was followed for. Rewards of a goal therefore count within its window if five conversions
 * have been followed for all of it. Otherwise they count within the longest time for which a tenth of the conversions have been followed, at
 * least five and at most 50.
 *
 * If all events of a goal become known at one time of the day, ages and delays are numbers of reports.
 *
 * **Source:** Bang and Tsiatis, Biometrika 87, 2000; Lin, Biostatistics 1, 2000 (censored marks).
 */
export class MaturedLog {
  readonly goals: CountedGoals;
  readonly events: readonly Events[];
  /** The observation that each impression is a part of, and the number of observations. What one visitor does is one observation. */
  readonly observations: Int32Array;
  readonly size: number;
  /** Time within which the rewards of each goal count, in ms. */
  readonly withinMs: Readonly<Record<string, number>>;
  readonly #log: readonly Shown[];
  readonly #asOf: number;
  /** For each kind, the least age from which its events count, by product. */
  readonly #least: readonly ReadonlyMap<string | number, number>[];

  constructor(log: readonly Shown[], { asOf, goals, maturity, closed }: MaturedOptions) {
    this.goals = goals;
    const visitors = new Map<string | number, number>();
    this.observations = Int32Array.from(log, ({ visitor }, place) => {
      const name = visitor ?? place;
      const own = visitors.get(name) ?? visitors.size;
      visitors.set(name, own);
      return own;
    });
    this.size = visitors.size;
    this.#log = log;
    this.#asOf = asOf;
    const seen = goals.goals.map((): Record<Kind, Seen[]> => ({ order: [], amount: [], refund: [] }));
    log.forEach(({ shownAt, items }, place) => {
      for (const { product, conversions } of items)
        for (const { goal, kind, delay } of goals.arrived({ shownAt, conversions }))
          seen[goal][kind].push({ place, shownAt, product, delay });
    });
    this.events = goals.goals.flatMap((goal, i): Events[] => {
      const known = closed ? ALL_CAME : knownMaturity(maturity, goal);
      const all = Object.values(seen[i]).flat();
      const clock = clockOf(known ? [] : all.map(({ shownAt, delay }) => shownAt + delay), log, asOf);
      if (known) return [{ goal: i, kind: undefined, within: Number.POSITIVE_INFINITY, law: known, clock, size: all.length }];
      const placedOf = (kind: Kind): PlacedConversion[] =>
        seen[i][kind].map(({ place, shownAt, product, delay }) => {
          return { place, product, delay: clock.delay(shownAt, delay), bound: clock.age(shownAt) };
        });
      const oldest = log.reduce((most, { shownAt }) => Math.max(most, clock.age(shownAt)), 0);
      const followed = followedFor(placedOf("order"), oldest, goal.windowMs);
      const kinds = (Object.keys(seen[i]) as Kind[]).filter((kind) => kind === "order" || seen[i][kind].length > 0);
      return kinds.map((kind): Events => {
        // Reports may come after the window of what they report.
        const placed = placedOf(kind);
        const latest = placed.reduce((most, { delay }) => Math.max(most, delay), goal.windowMs);
        const within = Math.min(followed, latest);
        const own = placed.filter(({ delay }) => delay <= within).map((each) => ({ ...each, bound: Math.min(each.bound, within) }));
        return { goal: i, kind, within, law: seenMaturity(own, { longest: within, decisions: log.length }), clock, size: own.length };
      });
    });
    this.withinMs = Object.fromEntries(
      goals.goals.map(({ name, windowMs }, i) => [
        name,
        this.events.reduce((least, { goal, within }) => (goal === i ? Math.min(least, within) : least), windowMs),
      ]),
    );
    const products = new Set(log.flatMap(({ items }) => items.map(({ product }) => product)));
    this.#least = this.events.map(({ law }) => new Map(Array.from(products, (product) => [product, law.youngest(product)])));
  }

  /**
   * The rewards of the items of the log between two places, as far as they are old enough. `young`: days until each kind of event has been
   * seen of impressions that are old enough for it, 0 if it has been.
   *
   * Products may differ in the age from which their events count. The older impressions then stand for all: an event counts by the number of
   * all impressions over that of those old enough. The age depends on no choice, so nothing is preferred.
   */
  rows(from: number, to: number): { readonly rows: SeenRewards[]; readonly tooYoung: number; readonly young: number } {
    const leastOf = (ages: ReadonlyMap<string | number, number>): number =>
      Array.from(ages.values()).reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    const youngest = this.events.flatMap(({ kind, clock }, i) =>
      kind === "amount" || kind === "refund" ? [] : [{ clock, age: leastOf(this.#least[i]) }],
    );
    const isOld = ({ shownAt }: Shown): boolean => youngest.some(({ clock, age }) => clock.age(shownAt) >= age);
    const part = this.#log.slice(from, to);
    const old = part.filter(isOld);
    const scales = this.#least.map((ages, event) => {
      const shares = new Map<number, number>();
      const { clock } = this.events[event];
      for (const age of ages.values()) shares.set(age, shares.get(age) ?? shareFrom(old, ({ shownAt }) => clock.age(shownAt) >= age));
      return new Map(Array.from(ages, ([product, age]) => [product, shares.get(age) as number]));
    });
    let young = 0;
    const rows = part.flatMap((shown, i): SeenRewards[] => {
      if (!isOld(shown)) return [];
      return shown.items.map((item) => this.#rewardsOf(shown, item, from + i, (event) => scales[event].get(item.product) as number));
    });
    const oldest = old.reduce((most, { shownAt }) => Math.max(most, this.#asOf - shownAt), 0);
    this.events.forEach(({ size }, event) => {
      if (size === 0 || old.length === 0) return;
      for (const [product, age] of this.#least[event])
        if (scales[event].get(product) === 0) young = Math.max(young, (age - oldest) / DAY_MS);
    });
    return { rows, tooYoung: part.length - old.length, young };
  }

  #rewardsOf(
    { shownAt, kept = 1 }: Shown,
    { product, conversions }: Shown["items"][number],
    place: number,
    scaleOf: (event: number) => number,
  ): SeenRewards {
    const ages = Float64Array.from(this.events, ({ within, clock }) => Math.min(clock.age(shownAt), within));
    const maturities = ages.map((age, event) => this.events[event].law.at(age, product));
    const rewards = new Float64Array(this.events.length);
    for (const { goal, kind, delay, reward } of this.goals.arrived({ shownAt, conversions })) {
      const event = this.events.findIndex((each) => each.goal === goal && (each.kind ?? kind) === kind);
      if (event >= 0 && this.events[event].clock.delay(shownAt, delay) <= this.events[event].within) rewards[event] += reward;
    }
    const factors = maturities.map((maturity, event) =>
      maturity >= LEAST_MATURITY && scaleOf(event) > 0 ? 1 / (maturity * scaleOf(event)) : 0,
    );
    return { place, count: 1 / kept, product, ages, maturities, rewards, factors };
  }

  /** Whether the delays of orders differ between products, and between the halves of the log, by tests at about 5 %. */
  delaysDiffer(): { readonly byProduct: boolean; readonly byTime: boolean } {
    const orders = this.events.flatMap(({ kind, law }) => (kind === "order" && law.differ ? [law.differ()] : []));
    return { byProduct: orders.some(({ byProduct }) => byProduct), byTime: orders.some(({ byTime }) => byTime) };
  }

  /** Share of the rows that may still convert, and the expected share of conversions still to come. */
  immatureShares(rows: readonly SeenRewards[]): { readonly decisions: number; readonly conversions: number } {
    const immature = rows.filter(({ maturities }) => maturities.some((maturity) => maturity < 1));
    const count = Math.max(rows.length, 1);
    const missing = this.events.map((_, event) => immature.reduce((sum, { maturities }) => sum + 1 - maturities[event], 0) / count);
    // Kinds count by their events: a rare one hardly changes how many are to come.
    const all = this.events.reduce((sum, { size }) => sum + size, 0);
    const conversions = missing.reduce(
      (sum, each, event) => sum + each * (all > 0 ? this.events[event].size / all : 1 / missing.length),
      0,
    );
    return { decisions: immature.length / count, conversions };
  }
}

/** Sum of the rewards, each divided by the probability that it has come. */
export function maturedReward({ rewards, factors }: SeenRewards): number {
  return rewards.reduce((sum, reward, event) => sum + reward * factors[event], 0);
}

/** How figures are missing that need older impressions. */
export const tooYoung = (days: number): TooFew => tooFew(days, "days");

/** The share of impressions that are old, each by the number for which it stands. */
function shareFrom(log: readonly Shown[], isOld: (shown: Shown) => boolean): number {
  let [all, old] = [0, 0];
  for (const shown of log) {
    const { kept = 1 } = shown;
    all += 1 / kept;
    if (isOld(shown)) old += 1 / kept;
  }
  return all > 0 ? old / all : 1;
}

/** The longest time for which enough conversions were followed. At least the window, if five were followed for all of it. */
function followedFor(seen: readonly PlacedConversion[], oldest: number, windowMs: number): number {
  if (seen.length === 0) return Math.min(oldest, windowMs);
  const bounds = Float64Array.from(seen, ({ bound }) => bound)
    .sort()
    .reverse();
  const closed = bounds[Math.min(FOLLOWED, bounds.length) - 1];
  const enough = bounds[Math.min(Math.max(Math.ceil(PART * bounds.length), FOLLOWED), ENOUGH, bounds.length) - 1];
  return closed >= windowMs ? closed : Math.min(enough, windowMs);
}
