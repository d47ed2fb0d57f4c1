// The rewards of a log as of a time, each divided by the probability that it has come by then.

import { ENOUGH, FOLLOWED, PART } from "../../model/delay/delay-law.ts";
import { grouped } from "../../values/grouped.ts";
import { type TooFew, tooFew } from "../../values/too-few.ts";
import type { CountedGoals, Kind } from "./counted-goals.ts";
import type { Impressions } from "./impressions.ts";
import { ALL_CAME, knownMaturity, LEAST_MATURITY, type Maturity, type PlacedConversion, seenMaturity } from "./maturity.ts";
import { countWhile } from "./product-limit.ts";
import { type Clock, clockOf } from "./report-clock.ts";

const DAY_MS = 86_400_000;

/** A reward of a row that has come, of all events of one kind. */
interface RowReward {
  readonly row: number;
  /** Number of the kind. */
  readonly event: number;
  readonly reward: number;
  /** Age of the impression in ms, and the factor by which the reward counts. */
  readonly age: number;
  readonly factor: number;
  readonly product: number;
}

interface KindOfRows {
  readonly maturities: Float64Array;
  factorOf(row: number): number;
}

/** Rewards of items that have come. A row is an item, in the order of the log. */
export interface SeenRewards {
  readonly length: number;
  /** The place of the impression of a row. */
  placeOf(row: number): number;
  /** Number of decisions for which a row stands. */
  countOf(row: number): number;
  /** Those that are not 0, in the order of rows and kinds. */
  readonly seen: readonly RowReward[];
  /** The rewards of a row, each times its factor. */
  readonly matured: Float64Array;
  /** For each kind, in all rows: the probability that such an event has come by the age of the row, and the factor by which one counts. */
  kinds(): readonly KindOfRows[];
}

/** An event that has come, and the time from its impression until it was known. */
interface Seen {
  readonly place: number;
  readonly product: number;
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
  readonly impressions: Impressions;
  /** Time within which the rewards of each goal count, in ms. */
  readonly withinMs: Readonly<Record<string, number>>;
  readonly #asOf: number;
  /** For each kind, the least age from which its events count, by product. */
  readonly #least: readonly Float64Array[];

  constructor(impressions: Impressions, { asOf, goals, maturity, closed }: MaturedOptions) {
    const { shownAt, places, products, productCount } = impressions;
    this.goals = goals;
    this.impressions = impressions;
    this.#asOf = asOf;
    const seen = goals.goals.map((): Record<Kind, Seen[]> => ({ order: [], amount: [], refund: [] }));
    for (const { item, goal, kind, delay } of goals.arrived) {
      if (item >= places.length) break;
      seen[goal][kind].push({ place: places[item], product: products[item], delay });
    }
    this.events = goals.goals.flatMap((goal, i): Events[] => {
      const known = closed ? ALL_CAME : knownMaturity(maturity, goal);
      const all = Object.values(seen[i]).flat();
      const clock = clockOf(known ? [] : all.map(({ place, delay }) => shownAt[place] + delay), shownAt, asOf);
      if (known) return [{ goal: i, kind: undefined, within: Number.POSITIVE_INFINITY, law: known, clock, size: all.length }];
      const placedOf = (kind: Kind): PlacedConversion[] =>
        seen[i][kind].map(({ place, product, delay }) => {
          return { place, product, delay: clock.delay(shownAt[place], delay), bound: clock.age(shownAt[place]) };
        });
      const oldest = shownAt.length > 0 ? clock.age(shownAt[0]) : 0;
      const followed = followedFor(placedOf("order"), oldest, goal.windowMs);
      const kinds = (Object.keys(seen[i]) as Kind[]).filter((kind) => kind === "order" || seen[i][kind].length > 0);
      return kinds.map((kind): Events => {
        // Reports may come after the window of what they report.
        const placed = placedOf(kind);
        const latest = placed.reduce((most, { delay }) => Math.max(most, delay), goal.windowMs);
        const within = Math.min(followed, latest);
        const own = placed.filter(({ delay }) => delay <= within).map((each) => ({ ...each, bound: Math.min(each.bound, within) }));
        return { goal: i, kind, within, law: seenMaturity(own, within), clock, size: own.length };
      });
    });
    this.withinMs = Object.fromEntries(
      goals.goals.map(({ name, windowMs }, i) => [
        name,
        this.events.reduce((least, { goal, within }) => (goal === i ? Math.min(least, within) : least), windowMs),
      ]),
    );
    this.#least = this.events.map(({ law }) => new Float64Array(productCount).map((_, product) => law.youngest(product)));
  }

  /**
   * The rewards of the items of the impressions between two places, as far as they are old enough. `young`: days until each kind of event has
   * been seen of impressions that are old enough for it, 0 if it has been.
   *
   * Products may differ in the age from which their events count. The older impressions then stand for all: an event counts by the number of
   * all impressions over that of those old enough. The age depends on no choice, so nothing is preferred.
   */
  rows(from: number, to: number): { readonly rows: SeenRewards; readonly tooYoung: number; readonly young: number } {
    const { shownAt, counts, places } = this.impressions;
    const youngest = this.events.flatMap(({ kind, clock }, i) =>
      kind === "amount" || kind === "refund"
        ? []
        : [{ clock, age: this.#least[i].reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY) }],
    );
    const isOld = (time: number): boolean => youngest.some(({ clock, age }) => clock.age(time) >= age);
    const until = from + countWhile(shownAt.subarray(from, to), isOld);
    const [times, numbers] = [shownAt.subarray(from, until), counts.subarray(from, until)];
    const scales = this.#least.map((ages, event) => {
      const { clock } = this.events[event];
      const old = (age: number): number => countWhile(times, (time) => clock.age(time) >= age);
      const shares = new Map(Array.from(new Set(ages), (age) => [age, shareOf(numbers, old(age))]));
      return ages.map((age) => shares.get(age) as number);
    });
    let young = 0;
    const oldest = until > from ? this.#asOf - shownAt[from] : 0;
    this.events.forEach(({ size }, event) => {
      if (size === 0 || until === from) return;
      this.#least[event].forEach((age, product) => {
        if (scales[event][product] === 0) young = Math.max(young, (age - oldest) / DAY_MS);
      });
    });
    const [first, end] = [from, until].map((place) => countWhile(places, (each) => each < place));
    return { rows: this.#rewardsOf(first, end, scales), tooYoung: to - until, young };
  }

  /** The rewards of the items between two numbers. `scales`: for each kind, the share of the impressions that are old enough, by product. */
  #rewardsOf(first: number, end: number, scales: readonly Float64Array[]): SeenRewards {
    const { counts, places, products } = this.impressions;
    const factorOf = (maturity: number, scale: number): number => (maturity >= LEAST_MATURITY && scale > 0 ? 1 / (maturity * scale) : 0);
    const maturityOf = (item: number, event: number): number => this.events[event].law.at(this.#ageOf(item, event), products[item]);
    const seen = this.#seenBetween(first, end).map(({ item, event, reward }): RowReward => {
      const factor = factorOf(maturityOf(item, event), scales[event][products[item]]);
      return { row: item - first, event, reward, age: this.#ageOf(item, event), factor, product: products[item] };
    });
    const matured = new Float64Array(end - first);
    for (const { row, reward, factor } of seen) matured[row] += reward * factor;
    // The learnt rows never ask for it.
    let kinds: readonly KindOfRows[] | undefined;
    return {
      length: end - first,
      placeOf: (row) => places[first + row],
      countOf: (row) => counts[places[first + row]],
      seen,
      matured,
      kinds() {
        kinds ??= scales.map((own, event): KindOfRows => {
          const maturities = new Float64Array(end - first).map((_, row) => maturityOf(first + row, event));
          return { maturities, factorOf: (row) => factorOf(maturities[row], own[products[first + row]]) };
        });
        return kinds;
      },
    };
  }

  #ageOf(item: number, event: number): number {
    const { shownAt, places } = this.impressions;
    const { clock, within } = this.events[event];
    return Math.min(clock.age(shownAt[places[item]]), within);
  }

  /** The sums of the rewards of each item between two numbers, by the kind of their events, without those that are 0. */
  #seenBetween(first: number, end: number): { readonly item: number; readonly event: number; readonly reward: number }[] {
    const { shownAt, places } = this.impressions;
    const all = this.goals.arrived.filter(({ item }) => item >= first && item < end);
    return Array.from(grouped(all, ({ item }) => item)).flatMap(([item, changes]) => {
      const rewards = new Float64Array(this.events.length);
      for (const { goal, kind, delay, reward } of changes) {
        const event = this.events.findIndex((each) => each.goal === goal && (each.kind ?? kind) === kind);
        if (event < 0) continue;
        const { clock, within } = this.events[event];
        if (clock.delay(shownAt[places[item]], delay) <= within) rewards[event] += reward;
      }
      return Array.from(rewards, (reward, event) => ({ item, event, reward })).filter(({ reward }) => reward !== 0);
    });
  }

  /** Whether the delays of orders differ between products, and between the halves of the log, by tests at about 5 %. */
  delaysDiffer(): { readonly byProduct: boolean; readonly byTime: boolean } {
    const orders = this.events.flatMap(({ kind, law }) => (kind === "order" && law.differ ? [law.differ()] : []));
    return { byProduct: orders.some(({ byProduct }) => byProduct), byTime: orders.some(({ byTime }) => byTime) };
  }

  /** Share of the rows that may still convert, and the expected share of conversions still to come. */
  immatureShares(rows: SeenRewards): { readonly decisions: number; readonly conversions: number } {
    const kinds = rows.kinds();
    const count = Math.max(rows.length, 1);
    let immature = 0;
    for (let row = 0; row < rows.length; row++) if (kinds.some(({ maturities }) => maturities[row] < 1)) immature++;
    const missing = kinds.map(({ maturities }) => maturities.reduce((sum, maturity) => sum + (1 - maturity), 0) / count);
    // Kinds count by their events: a rare one hardly changes how many are to come.
    const all = this.events.reduce((sum, { size }) => sum + size, 0);
    const conversions = missing.reduce(
      (sum, each, event) => sum + each * (all > 0 ? this.events[event].size / all : 1 / missing.length),
      0,
    );
    return { decisions: immature / count, conversions };
  }
}

/** How figures are missing that need older impressions. */
export const tooYoung = (days: number): TooFew => tooFew(days, "days");

/** The share of the first `old` impressions, each by the number for which it stands. */
function shareOf(counts: Float64Array, old: number): number {
  const sum = (part: Float64Array): number => part.reduce((a, b) => a + b, 0);
  const all = sum(counts);
  return all > 0 ? sum(counts.subarray(0, old)) / all : 1;
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
