import { finiteNumber, onlyKeys, outOfRange, positiveNumber, record, wholeNumber } from "./argument.ts";
import { type DelayCurve, Delays } from "./model/delay/delays.ts";
import { malformed } from "./snapshot.ts";

/** Options of `DelayEstimate`. */
export interface DelayEstimateOptions {
  /** How long after its impression a conversion still counts, in any unit of time: that of all times and delays here. */
  readonly window: number;
  /** Chance per conversion, if all is well, of a silence that is taken for a broken webhook; default 1e-5. */
  readonly falseAlarm?: number;
}

/** The distribution of delays of conversions that come at all within the window. */
export interface DelayDistribution {
  /** Ends of the bins, ascending; an eighth apart. */
  readonly delays: Float64Array;
  /** P(delay < end), and its band: each of its points is right in 95 % of cases. */
  readonly probability: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
}

/** Whether conversions have stopped coming. */
export interface Silence {
  /** Conversions that should have come since. */
  readonly expected: number;
  /** Chance that none of them did, if all is well. */
  readonly chance: number;
  /** Whether that is too small to believe. */
  readonly alarm: boolean;
}

/** A delay estimate as a plain value that survives JSON. */
export interface DelayEstimateState extends Required<DelayEstimateOptions> {
  readonly sections: readonly (readonly number[])[];
}

/** Of the window: length of the youngest cohorts, and what delays are told apart by at least. */
const COHORT = 1 / 256;
const RESOLUTION = 1 / 16384;
/** Cohorts are kept for so many windows, so that a silence can be told from one that is still to be expected. */
const KEPT = 2;
/** Conversions without which nothing is said of a silence. */
const FEW = 30;

/**
 * How late conversions come, from those that have come so far: an impression made a moment ago has had no time for a long delay.
 *
 * Memory is bounded (about 40 cohorts of some hundred numbers), whatever the traffic. Impressions and conversions may come in any
 * order; time only goes forward.
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
  readonly #delays: Delays;
  #shown = 0;
  #conversions = 0;
  /** When the latest conversion happened: what had not come by then may come yet. */
  #last = Number.MIN_SAFE_INTEGER;
  #now = Number.MIN_SAFE_INTEGER;

  /** @throws {TypeError | RangeError} naming the option. */
  constructor(options: DelayEstimateOptions) {
    onlyKeys("options", record("options", options), ["window", "falseAlarm"]);
    this.#window = positiveNumber("window", options.window);
    this.#falseAlarm = finiteNumber("falseAlarm", options.falseAlarm ?? 1e-5, Number.MIN_VALUE, 0.5);
    this.#delays = new Delays({
      resolution: this.#window * RESOLUTION,
      cohort: this.#window * COHORT,
      span: KEPT * this.#window,
    });
  }

  /** Counts an impression made at `time`, or `count` of them. @throws {TypeError | RangeError} */
  show(time: number, count = 1): void {
    const [at, number] = [finiteNumber("time", time), wholeNumber("count", count, 1)];
    this.#advance(at);
    this.#delays.add(at, number);
    this.#shown += number;
  }

  /**
   * Counts the first conversion of an impression that was counted; one after the window is none.
   * @throws {TypeError | RangeError} naming the argument; nothing has changed then.
   */
  convert({ shownAt, at }: { readonly shownAt: number; readonly at: number }): void {
    const shown = finiteNumber("shownAt", shownAt);
    if (finiteNumber("at", at) < shown) throw outOfRange("at", `a time not before the impression's, ${shown}`, at);
    if (at - shown > this.#window) return;
    this.#advance(at);
    this.#delays.convert(shown, at - shown);
    this.#last = Math.max(this.#last, at);
    this.#conversions++;
  }

  #advance(time: number): void {
    this.#now = Math.max(this.#now, time);
    this.#delays.advance(this.#now);
  }

  /** By what had come when the latest conversion came, so that a silence after it is not taken for short delays. */
  #curve(): DelayCurve {
    return this.#delays.curve(this.#last);
  }

  /** Impressions by `time`, each for the share of its conversions that should have come. */
  #matured(time: number): number {
    const curve = this.#curve();
    const { cohorts } = this.#delays;
    let open = 0;
    for (const cohort of cohorts.list) {
      const matured = cohorts.age(cohort, time) < 0 ? 0 : this.#delays.matured(cohort, curve, time);
      open += cohort.count * (1 - matured);
    }
    return this.#shown - open;
  }

  get conversions(): number {
    return this.#conversions;
  }

  /** The distribution of delays, as far as it is known; all 1 without conversions. */
  distribution(): DelayDistribution {
    const { ends, probability, error } = this.#curve();
    return {
      delays: ends,
      probability,
      low: probability.map((each, i) => Math.max(each - 1.96 * error[i], 0)),
      high: probability.map((each, i) => Math.min(each + 1.96 * error[i], 1)),
    };
  }

  /** P(delay < x) of a conversion that comes at all. */
  below(delay: number): number {
    return this.#curve().below(finiteNumber("delay", delay, 0));
  }

  /** Share of impressions that convert, once all have had their time, by what has come so far; NaN before the first conversion. */
  rate(): number {
    const matured = this.#matured(this.#now);
    return this.#conversions === 0 ? Number.NaN : Math.min(this.#conversions / matured, 1);
  }

  /** Chance that an impression of this age that has not converted still does; NaN before the first conversion. */
  stillConverts(age: number): number {
    const rate = this.rate();
    const seen = this.below(age);
    return rate * seen >= 1 ? 0 : (rate * (1 - seen)) / (1 - rate * seen);
  }

  /** Conversions still to come after `now`, of all impressions; NaN before the first conversion. */
  toCome(now: number): number {
    this.#advance(finiteNumber("now", now));
    return this.rate() * (this.#shown - this.#matured(now));
  }

  /** The window that would catch this share of conversions, default 0.95. */
  quantile(share = 0.95): number {
    const wanted = finiteNumber("share", share, 0, 1);
    const { ends, probability } = this.#curve();
    const bin = probability.findIndex((each) => each >= wanted);
    return Math.min(bin < 0 ? this.#window : ends[bin], this.#window);
  }

  /**
   * Whether nobody converts, or the conversions do not get through: what should have come by `now` since the last one did.
   *
   * With n conversions of N matured impressions, the rate unknown, the chance that E more bring none is (N / (N + E))^n.
   *
   * @param since when the last one got through, by the clock of `now`; unless given, when the latest of them happened.
   */
  silence(now: number, since = this.#last): Silence {
    const from = finiteNumber("since", since);
    const time = Math.max(finiteNumber("now", now), from);
    if (this.#conversions < FEW) return { expected: 0, chance: 1, alarm: false };
    this.#advance(time);
    const before = this.#matured(from);
    // What got through was shown later, by another clock: nothing is known of a time before it.
    if (!(before > 0)) return { expected: 0, chance: 1, alarm: false };
    const more = Math.max(this.#matured(time) - before, 0);
    const chance = power(before / (before + more), this.#conversions);
    return { expected: (this.#conversions * more) / before, chance, alarm: chance < this.#falseAlarm };
  }

  /** All state; `from` goes on where it stood. */
  toJSON(): DelayEstimateState {
    const sections: number[][] = [[this.#shown, this.#conversions, this.#last, this.#now]];
    this.#delays.save({ numbers: (values) => void sections.push(Array.from(values)) });
    return { window: this.#window, falseAlarm: this.#falseAlarm, sections };
  }

  /** @throws {TypeError | RangeError | SnapshotError} if it is not what `toJSON` gave. */
  static from({ sections, ...options }: DelayEstimateState): DelayEstimate {
    const estimate = new DelayEstimate(options);
    let next = 0;
    const reader = {
      numbers(length?: number): Float64Array {
        const values = Float64Array.from(sections[next++] ?? []);
        if (values.length !== (length ?? values.length) || !values.every(Number.isFinite)) throw malformed();
        return values;
      },
    };
    [estimate.#shown, estimate.#conversions, estimate.#last, estimate.#now] = reader.numbers(4);
    estimate.#delays.load(reader);
    return estimate;
  }
}

/** base^exponent by squaring. */
function power(base: number, exponent: number): number {
  let product = 1;
  for (let factor = base, left = exponent; left > 0; left = Math.floor(left / 2), factor *= factor) {
    if (left % 2 === 1) product *= factor;
  }
  return product;
}
