// The delay figures that worker and commands state: distribution, conversion rate, and an alarm for silence. No policy learns from it.

import { binOf, settingsOf } from "./model/delay/delays.ts";
import { ProductCounts } from "./model/delay/product-counts.ts";
import { type ConversionRate, type Expected, ProductLaws } from "./model/delay/product-laws.ts";
import { Rhythm } from "./model/delay/rhythm.ts";
import { finiteNumber, onlyKeys, outOfRange, positiveNumber, record, wholeNumber, wrongType } from "./values/argument.ts";
import { malformed } from "./values/snapshot.ts";

/** Options of `DelayEstimate`. */
export interface DelayEstimateOptions {
  /** How long after its impression a conversion still counts, in any unit. All times and delays here have this unit. */
  readonly window: number;
  /** Probability per conversion of a false alarm while all is well, default 1e-5. */
  readonly falseAlarm?: number;
  /**
   * Length of a day in the unit of times, default 86,400,000: times are then milliseconds. If the window is at least a day, the alarm
   * learns the rhythm of arrivals. Times in milliseconds since 1970 UTC also tell it where the first weekend lies.
   */
  readonly day?: number;
}

/** A first conversion of an impression, or several of one cell of the estimate's grid. */
export interface DelayedConversion {
  readonly shownAt: number;
  /** That of the impression. */
  readonly product?: string;
  /** When it happened. */
  readonly at: number;
  /** Number of conversions, default 1. */
  readonly count?: number;
  /** When the latest of them happened. Default: `at`. */
  readonly latest?: number;
  /**
   * When it got through, by the clock of `silence`. Default: the latest time that the estimate knows. Give it when you replay a log.
   * Null: `arrive` tells.
   */
  readonly arrivedAt?: number | null;
}

/** The cells in which an estimate counts conversions. */
export interface DelayGrid {
  /** Impressions of one multiple of this time are counted together, and more of them as they grow old. */
  readonly cohort: number;
  /** Delays with one number are counted together. */
  bin(delay: number): number;
}

/** The distribution of delays of the conversions that come within some time. */
export interface DelayDistribution {
  /** Upper ends of the bins, ascending. An eighth apart. */
  readonly delays: Float64Array;
  /** P(delay < end), with a pointwise 95 % band. `low` is 0 throughout if no impression has been followed for the whole time. */
  readonly probability: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
  /** Standard error of `probability`. */
  readonly error: Float64Array;
}

/** Whether conversions have stopped arriving. */
export interface Silence {
  /** Conversions expected since the last one. */
  readonly expected: number;
  /** Probability that none of them arrives while all is well. */
  readonly chance: number;
  /** Whether this probability is below `falseAlarm` and the silence breaks the rhythm of arrivals. */
  readonly alarm: boolean;
}

/** A delay estimate as a plain value that survives JSON. */
export interface DelayEstimateState extends Required<DelayEstimateOptions> {
  readonly version: typeof VERSION;
  readonly products: readonly string[];
  readonly sections: readonly (readonly number[])[];
}

/** Conversions needed for an alarm. */
const FEW = 30;
/** Version of the saved form. */
const VERSION = 4;
/** An hour of the day may have fewer conversions than the mean: with a rhythm, `falseAlarm` is divided by this. */
const UNEVEN = 10;
/** Greatest probability of the silence beyond a normal pause. Such a pause is rare already. */
const BEYOND = 1e-3;
/** Some hundred hazards are each known to 1e-12, so probabilities this close are equal. Counts that differ are further apart. */
const EQUAL = 1e-9;

/**
 * Estimates how late conversions come. The estimate allows for young impressions, which have had no time for long delays.
 *
 * All figures are as of the clock: the latest time that the estimate was given. Nothing is known of delays that no impression has been
 * followed for, so figures are about the conversions that come within `followed`. That is the window once five conversions belong to
 * impressions whose window has passed.
 *
 * Products may differ in their delays: name the product of each impression and conversion. Each then has a law of its own, which is drawn
 * towards the common one as far as products resemble each other. One law for all would be wrong after a policy has moved traffic to a
 * product with later conversions. Where laws differ, `followed` is a time for which each product with much traffic has been followed.
 *
 * Memory is bounded whatever the traffic: about 40 cohorts of some hundred numbers for each product, and the quarter hours of four weeks.
 * Impressions and conversions may arrive in any order; `arrivedAt` must then be given. The clock only goes forward.
 *
 * @example
 * const delays = new DelayEstimate({ window: 7 * 86_400_000 });
 * delays.show(shownAt);
 * delays.convert({ shownAt, at });
 * delays.silence(now).alarm;
 */
export class DelayEstimate {
  readonly #window: number;
  readonly #falseAlarm: number;
  readonly #day: number;
  readonly #counts: ProductCounts;
  /** Absent if the window is shorter than a day. */
  readonly #rhythm?: Rhythm;
  #conversions = 0;
  /** Time of the latest conversion, and of the latest arrival. */
  #last = Number.MIN_SAFE_INTEGER;
  #arrived = Number.MIN_SAFE_INTEGER;
  #now = Number.MIN_SAFE_INTEGER;
  /** Figures as of the clock. Absent after a change. */
  #laws?: ProductLaws;

  /** @throws {TypeError | RangeError} naming the option. */
  constructor(options: DelayEstimateOptions) {
    onlyKeys("options", record("options", options), ["window", "falseAlarm", "day"]);
    this.#window = positiveNumber("window", options.window);
    this.#falseAlarm = finiteNumber("falseAlarm", options.falseAlarm ?? 1e-5, Number.MIN_VALUE, 0.5);
    this.#day = positiveNumber("day", options.day ?? 86_400_000);
    if (this.#window >= this.#day) this.#rhythm = new Rhythm(this.#day);
    this.#counts = new ProductCounts(settingsOf(this.#window));
  }

  /** Counts `count` impressions of a product shown at `time`. @throws {TypeError | RangeError} naming the argument. */
  show(time: number, count = 1, product = ""): void {
    const [at, number] = [finiteNumber("time", time), wholeNumber("count", count, 1)];
    const named = name(product);
    this.#advance(at);
    this.#counts.append(named, at, number, this.#now);
    this.#laws = undefined;
  }

  /** The cells in which an estimate with this window counts. Both have the unit of times. @throws {TypeError | RangeError} naming the argument. */
  static grid(window: number): DelayGrid {
    const { resolution, cohort } = settingsOf(positiveNumber("window", window));
    return { cohort, bin: (delay) => binOf(delay / resolution) };
  }

  /**
   * Counts the first conversion of a counted impression, or `count` of them. A conversion after the window is ignored.
   * @throws {TypeError | RangeError} naming the argument. The estimate is then unchanged.
   */
  convert({ shownAt, at, count = 1, latest = at, arrivedAt, product = "" }: DelayedConversion): void {
    const shown = finiteNumber("shownAt", shownAt);
    if (finiteNumber("at", at) < shown) throw outOfRange("at", `a time not before the impression's, ${shown}`, at);
    const number = wholeNumber("count", count, 1);
    if (finiteNumber("latest", latest) < at) throw outOfRange("latest", `a time not before the conversion's, ${at}`, latest);
    const arrival = arrivedAt ?? Math.max(latest, this.#now);
    if (finiteNumber("arrivedAt", arrival) < latest)
      throw outOfRange("arrivedAt", `a time not before the conversion's, ${latest}`, arrival);
    const named = name(product);
    if (at - shown > this.#window) return;
    if (arrivedAt !== null) this.arrive(arrival);
    this.#advance(latest);
    this.#counts.convert(named, shown, at - shown, number, this.#now);
    this.#laws = undefined;
    this.#last = Math.max(this.#last, latest);
    this.#conversions += number;
  }

  /** Notes that conversions got through at `time`, by the clock of `silence`. @throws {TypeError | RangeError} naming the argument. */
  arrive(time: number): void {
    const arrived = finiteNumber("time", time);
    if (!this.#rhythm) return;
    this.#rhythm.count(arrived);
    this.#arrived = Math.max(this.#arrived, arrived);
  }

  /** Moves the clock forward to `time`: all conversions until then are counted. @throws {TypeError | RangeError} naming the argument. */
  advance(time: number): void {
    this.#advance(finiteNumber("time", time));
  }

  #advance(time: number): void {
    if (time > this.#now) this.#laws = undefined;
    this.#now = Math.max(this.#now, time);
    this.#counts.delays.advance(this.#now);
  }

  #stated(): ProductLaws {
    this.#laws ??= new ProductLaws(this.#counts, { window: this.#window, now: this.#now });
    return this.#laws;
  }

  get conversions(): number {
    return this.#conversions;
  }

  /** All figures are about the conversions that come within this time. At most the window. */
  get followed(): number {
    return this.#stated().law.followed;
  }

  /** Conversions of impressions whose window has passed. A fraction while ages of impressions are known in groups only. */
  get closed(): number {
    return this.#stated().law.closed;
  }

  /** Whether conversions of some products come later than those of others, by a test at about 5 %. */
  get productsDiffer(): boolean {
    return this.#stated().differ;
  }

  /** The distribution of delays of the conversions that come within a time, default: the window. All 1 before the first conversion. */
  distribution(within = this.#window): DelayDistribution {
    const time = positiveNumber("within", within);
    const laws = this.#stated();
    const { law } = laws;
    const { probability, low, high, error } = laws.within(Math.min(time, law.followed));
    const unknown = Math.min(time, this.#window) > law.followed;
    return {
      delays: law.ends.slice(),
      probability: probability.slice(),
      low: unknown ? low.map(() => 0) : low.slice(),
      high: high.slice(),
      error: error.slice(),
    };
  }

  /** Probability that a conversion comes sooner than `delay`, if it comes. Of a product: by its own law. */
  below(delay: number, product?: string): number {
    return this.#stated().below(finiteNumber("delay", delay, 0), product);
  }

  /** Estimated share of impressions that convert. NaN before the first conversion. */
  rate(): number {
    return this.rateInterval().rate;
  }

  /** The rate with a 95 % interval, which allows for the error of the delays. 0 to 1 before the first conversion. */
  rateInterval(): ConversionRate {
    return this.#stated().rate();
  }

  /** Probability that a pending impression of this age still converts. NaN before the first conversion. */
  stillConverts(age: number): number {
    const rate = this.rate();
    const seen = this.below(age);
    return rate * seen >= 1 ? 0 : (rate * (1 - seen)) / (1 - rate * seen);
  }

  /** Conversions expected after `now` from the impressions so far. NaN before the first conversion. */
  toCome(now: number): number {
    return this.toComeInterval(now).expected;
  }

  /**
   * Conversions expected after `now` from the impressions so far, with the 95 % interval in which their number will be. Those within
   * `followed` count.
   */
  toComeInterval(now: number): Expected {
    this.#advance(finiteNumber("now", now));
    return this.#stated().toCome();
  }

  /** The window that would catch this share of conversions, default 0.95. */
  quantile(share = 0.95): number {
    const wanted = finiteNumber("share", share, 0, 1);
    const laws = this.#stated();
    const { law } = laws;
    const bin = laws.within().probability.findIndex((each) => each >= wanted - EQUAL);
    return Math.min(law.ends[bin], law.followed);
  }

  /**
   * Impressions at `time`, each weighted by the share of its conversions that should have come, by the law as of the latest
   * conversion: as of a later time, a silence would look like short delays.
   */
  #expected(time: number): number {
    const { delays, shown } = this.#counts;
    const { cohorts } = delays;
    const curve = delays.curve(this.#last);
    let open = 0;
    for (const cohort of cohorts.list) {
      const matured = cohorts.age(cohort, time) < 0 ? 0 : delays.matured(cohort, curve, time);
      open += cohort.count * (1 - matured);
    }
    return shown - open;
  }

  /**
   * Tests whether conversions have stopped getting through, from the number expected by `now` since the last one.
   *
   * With n conversions of N matured impressions and an unknown rate, E more matured impressions bring none with probability
   * (N / (N + E))^n. With a rhythm, the part of the silence beyond a normal pause must be improbable too.
   *
   * @param since when the last conversion got through, by the clock of `now`. Default: when the latest one happened or arrived.
   */
  silence(now: number, since = Math.max(this.#last, this.#arrived)): Silence {
    const from = finiteNumber("since", since);
    const time = Math.max(finiteNumber("now", now), from);
    if (this.#conversions < FEW) return { expected: 0, chance: 1, alarm: false };
    this.#advance(time);
    const before = this.#expected(from);
    // All impressions were shown after `since`, by another clock. Nothing is known of the time before.
    if (!(before > 0)) return { expected: 0, chance: 1, alarm: false };
    const more = Math.max(this.#expected(time) - before, 0);
    const none = (expected: number): number => power(before / (before + expected), this.#conversions);
    const chance = none(more);
    const odd = this.#rhythm
      ? chance < this.#falseAlarm / UNEVEN && none(more * this.#rhythm.excess(from, time)) < BEYOND
      : chance < this.#falseAlarm;
    return { expected: (this.#conversions * more) / before, chance, alarm: odd };
  }

  /** All state, for `from`. */
  toJSON(): DelayEstimateState {
    const sections: number[][] = [[this.#counts.shown, this.#conversions, this.#last, this.#arrived, this.#now]];
    const writer = { numbers: (...arrays: ArrayLike<number>[]) => void sections.push(...arrays.map((values) => Array.from(values))) };
    this.#rhythm?.save(writer);
    this.#counts.save(writer);
    return { version: VERSION, window: this.#window, falseAlarm: this.#falseAlarm, day: this.#day, products: this.#counts.names, sections };
  }

  /** Restores the state that `toJSON` returned. @throws {TypeError | RangeError | SnapshotError} if it is anything else. */
  static from({ version, products, sections, ...options }: DelayEstimateState): DelayEstimate {
    if (version !== VERSION) throw outOfRange("version", `${VERSION}, the form that toJSON returns; count the log again`, version);
    const estimate = new DelayEstimate(options);
    let next = 0;
    const reader = {
      numbers(length?: number): Float64Array {
        const values = Float64Array.from(sections[next++] ?? []);
        if (values.length !== (length ?? values.length) || !values.every(Number.isFinite)) throw malformed();
        return values;
      },
    };
    const [shown, ...rest] = reader.numbers(5);
    [estimate.#conversions, estimate.#last, estimate.#arrived, estimate.#now] = rest;
    estimate.#rhythm?.load(reader);
    estimate.#counts.load(reader, shown, products.map(name));
    return estimate;
  }
}

function name(product: unknown): string {
  if (typeof product !== "string") throw wrongType("product", "a string", product);
  return product;
}

/** base^exponent by squaring. */
function power(base: number, exponent: number): number {
  let product = 1;
  for (let factor = base, left = exponent; left > 0; left = Math.floor(left / 2), factor *= factor) {
    if (left % 2 === 1) product *= factor;
  }
  return product;
}
