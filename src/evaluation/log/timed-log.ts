// A log in the order of time, whose entries are read one by one.

import { wrongType } from "../../values/argument.ts";
import { countWhile } from "./product-limit.ts";

/** Entries by their number from 0: an array, or an object that makes an entry when it is asked for, so that a long log takes little memory. */
export interface EntriesOf<Entry> {
  readonly length: number;
  at(number: number): Entry | undefined;
}

interface Timed {
  readonly shownAt: number;
}

/** The entries of a log that were shown by a time, oldest first. **Memory:** 12 bytes per entry. */
export class TimedLog<Entry extends Timed> {
  /** In ms since 1970. */
  readonly shownAt: Float64Array;
  readonly #entries: EntriesOf<Entry>;
  readonly #numbers: Uint32Array;

  private constructor(entries: EntriesOf<Entry>, { shownAt, numbers }: { readonly shownAt: Float64Array; readonly numbers: Uint32Array }) {
    this.#entries = entries;
    this.shownAt = shownAt;
    this.#numbers = numbers;
  }

  /** @param check throws if an entry is not well-formed. @throws {TypeError} unless the log is one `of` such entries. */
  static until<Entry extends Timed>(
    asOf: number,
    entries: EntriesOf<Entry>,
    { of, check }: { readonly of: string; readonly check: (entry: Entry, number: number) => void },
  ): TimedLog<Entry> {
    if (!areEntries(entries)) throw wrongType("log", `an array of ${of}`, entries);
    const all = new Float64Array(entries.length);
    for (let number = 0; number < all.length; number++) {
      const entry = entries.at(number) as Entry;
      check(entry, number);
      all[number] = entry.shownAt;
    }
    const inOrder = all.every((time, number) => number === 0 || time >= all[number - 1]);
    const numbers = new Uint32Array(all.length).map((_, number) => number);
    if (!inOrder) numbers.sort((a, b) => all[a] - all[b] || a - b);
    const shownAt = inOrder ? all : new Float64Array(all.length).map((_, place) => all[numbers[place]]);
    const whole = new TimedLog(entries, { shownAt, numbers });
    return whole.slice(0, whole.countUntil(asOf));
  }

  get length(): number {
    return this.shownAt.length;
  }

  at(place: number): Entry {
    return this.#entries.at(this.#numbers[place]) as Entry;
  }

  /** How many entries were shown by a time. */
  countUntil(time: number): number {
    return countWhile(this.shownAt, (each) => each <= time);
  }

  slice(from: number, to: number): TimedLog<Entry> {
    return new TimedLog(this.#entries, { shownAt: this.shownAt.subarray(from, to), numbers: this.#numbers.subarray(from, to) });
  }

  *[Symbol.iterator](): Generator<Entry> {
    for (let place = 0; place < this.length; place++) yield this.at(place);
  }
}

function areEntries(log: unknown): log is EntriesOf<unknown> {
  if (Array.isArray(log)) return true;
  const { length, at } = (log ?? {}) as Partial<EntriesOf<unknown>>;
  return typeof log === "object" && Number.isInteger(length) && typeof at === "function";
}
