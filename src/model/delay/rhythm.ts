// The hours and days at which conversions get through, so that a quiet night is no alarm.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";

/** Bins of a day: a quarter of an hour each. */
const DAY = 96;
const WEEK = 7 * DAY;
/** Weeks that are remembered. */
const WEEKS = 4;
const MEMORY = WEEKS * WEEK;
/** Bins per number of the saved form. */
const WORD = 32;
/** A pause is over when it has lasted this many times as long as the normal one. */
const SLACK = 4 / 3;
/** Times before 1980 are no dates: their clock starts anywhere. */
const DATES = 3652 * DAY;
/** Where a weekend may lie in a week that starts on Thursday, as 1970 did: Friday 18:00 to Monday 12:00 UTC, for all time zones. */
const WEEKEND_FROM = 1.75 * DAY;
const WEEKEND_TO = 4.5 * DAY;
/** Noon of Saturday and of Sunday, UTC. A silence that begins later does not contain this day of rest. */
const SATURDAY = 2.5 * DAY;
const SUNDAY = 3.5 * DAY;

/** A gap between two arrivals, in bins. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

/** The normal pause at the start of a silence, in bins. */
interface Custom {
  readonly at: number;
  /** Bins with an arrival, ascending, and the first of them. */
  readonly bins: Float64Array;
  readonly start: number;
  readonly pause: number;
  /** Bins in gaps that were longer than a normal pause. */
  readonly quiet: ReadonlySet<number>;
}

/**
 * When conversions get through: around the clock, by day only, in daily batches, on weekdays only.
 *
 * A silence is normal while it is not longer than other pauses, and while the same time was quiet in one of the last three weeks. The
 * normal pause is the longest of the last four weeks, without one exception per week: the weekend, or a failure. The rhythm of the
 * first two days and the first weekend is unknown. A batch a day and a weekend of two days are then assumed.
 *
 * The state is the set of quarter hours with an arrival. It does not depend on the order of arrivals.
 */
export class Rhythm {
  readonly #unit: number;
  readonly #bins = new Set<number>();
  #newest = Number.MIN_SAFE_INTEGER;

  /** `day`: length of a day in the unit of times. */
  constructor(day: number) {
    this.#unit = day / DAY;
  }

  /** Counts an arrival. */
  count(time: number): void {
    const bin = Math.floor(time / this.#unit);
    if (bin <= this.#newest - MEMORY) return;
    this.#bins.add(bin);
    if (bin <= this.#newest) return;
    this.#newest = bin;
    for (const each of this.#bins) if (each <= bin - MEMORY) this.#bins.delete(each);
  }

  /**
   * The share of a silence that is beyond the normal pause and outside times of rest. 0 while the silence is not clearly longer than
   * normal. **Cost:** linear in the bins remembered.
   */
  excess(since: number, now: number): number {
    const custom = this.#custom(Math.floor(since / this.#unit));
    const pause = custom.pause * this.#unit;
    const last = Math.min(Math.floor(now / this.#unit), custom.at + MEMORY);
    let waited = 0;
    let rested = 0;
    for (let bin = custom.at; bin <= last; bin++) {
      if (isQuiet(custom, bin) || mayRest(custom, bin, rested, waited >= pause)) rested++;
      else waited += (bin === last ? now : (bin + 1) * this.#unit) - Math.max(bin * this.#unit, since);
    }
    return waited < SLACK * pause || now <= since ? 0 : (waited - pause) / (now - since);
  }

  #custom(at: number): Custom {
    const bins = Float64Array.from(this.#bins)
      .sort()
      .filter((bin) => bin <= at);
    const start = bins[0] ?? at;
    const gaps: Gap[] = [];
    // Arrivals in neighbouring bins may follow one another at once.
    for (let i = 1; i < bins.length; i++) if (bins[i] > bins[i - 1] + 1) gaps.push({ from: bins[i - 1], to: bins[i] });
    const lengths = gaps.map(({ from, to }) => to - from).sort((a, b) => b - a);
    const usual = lengths[Math.ceil((at - start) / WEEK)] ?? 0;
    const pause = isNew(bins) ? Math.max(usual, DAY) : usual;
    const quiet = new Set<number>();
    for (const { from, to } of gaps) {
      if (to - from > SLACK * pause) for (let bin = Math.floor(from + pause) + 1; bin < to; bin++) quiet.add(bin);
    }
    return { at, bins, start, pause, quiet };
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    const first = Math.floor((this.#newest - MEMORY) / WORD);
    const words = new Uint32Array(this.#bins.size === 0 ? 0 : MEMORY / WORD + 1);
    for (const bin of this.#bins) words[Math.floor(bin / WORD) - first] |= 1 << (bin - WORD * Math.floor(bin / WORD));
    writer.numbers([this.#newest, ...words]);
  }

  load(reader: Pick<SnapshotReader, "numbers">): void {
    const [newest, ...words] = reader.numbers();
    const isEmpty = newest === Number.MIN_SAFE_INTEGER;
    if (!Number.isSafeInteger(newest) || words.length !== (isEmpty ? 0 : MEMORY / WORD + 1)) throw malformed();
    const first = Math.floor((newest - MEMORY) / WORD);
    this.#newest = newest;
    this.#bins.clear();
    for (const [i, word] of words.entries()) {
      if (word >>> 0 !== word) throw malformed();
      for (let bit = 0; bit < WORD; bit++) if ((word >>> bit) & 1) this.#bins.add(WORD * (first + i) + bit);
    }
    for (const bin of this.#bins) if (bin > newest || bin <= newest - MEMORY) throw malformed();
    if (!isEmpty && !this.#bins.has(newest)) throw malformed();
  }
}

/** Place of a bin in a week that starts on Thursday. */
const placeOf = (bin: number): number => bin - WEEK * Math.floor(bin / WEEK);

/** Whether arrivals came on fewer than three days: then no daily pause need have occurred twice yet. */
function isNew(bins: Float64Array): boolean {
  let days = 0;
  let next = Number.NEGATIVE_INFINITY;
  for (const bin of bins) {
    if (bin < next) continue;
    days++;
    // The first arrival of a day may be earlier than that of the day before.
    next = bin + 0.75 * DAY;
  }
  return days < 3;
}

/** How many of ascending bins are less than `bin`. */
function countBefore(bins: Float64Array, bin: number): number {
  let [low, high] = [0, bins.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bins[middle] < bin) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether a weekend had arrivals, but less than 0.4 of the density of the working days after it. `friday`: its start. */
function isSparse(bins: Float64Array, friday: number): boolean {
  const [saturday, sunday] = [friday - WEEKEND_FROM + 2 * DAY, friday - WEEKEND_FROM + 4 * DAY];
  const [monday, next] = [friday - WEEKEND_FROM + WEEKEND_TO, friday + WEEK];
  const share = (from: number, to: number): number => (countBefore(bins, to) - countBefore(bins, from)) / (to - from);
  const weekend = share(saturday, sunday);
  return weekend > 0 && weekend < 0.4 * share(monday, next);
}

/** Whether the same time was quiet in one of the last three weeks. */
function isQuiet({ quiet }: Custom, bin: number): boolean {
  return quiet.has(bin - WEEK) || quiet.has(bin - 2 * WEEK) || quiet.has(bin - 3 * WEEK);
}

/** Whether a bin may be in a weekend like one that nothing or little is known of. */
function mayRest({ at, bins, start }: Custom, bin: number, rested: number, over: boolean): boolean {
  const isKnown = bin - WEEK >= start;
  if (start < DATES) return !isKnown && over && rested < 2 * DAY;
  const place = placeOf(bin);
  const since = at - bin + place;
  const days = since < SATURDAY ? 2 : since < SUNDAY ? 1 : 0;
  if (rested >= days * DAY || place < WEEKEND_FROM + (2 - days) * DAY || place >= WEEKEND_TO) return false;
  return !isKnown || isSparse(bins, bin - place + WEEKEND_FROM - WEEK);
}
