import { outOfRange } from "../../values/argument.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { AppendedPoint } from "../posterior.ts";
import { type Moment, spanOf, timeOf, type Window } from "./window.ts";

/** The impressions whose window is open, numbered in order of arrival. Without a window none are kept. */
export class OpenImpressions {
  readonly #window: Window;
  readonly #dimension: number;
  #times: number[] = [];
  #converted: boolean[] = [];
  #features: Float64Array[] = [];
  /** Number of the first impression kept. */
  #first = 0;

  constructor(window: Window, dimension: number) {
    this.#window = window;
    this.#dimension = dimension;
  }

  /** Adds an impression and returns its number. Later changes of the array change nothing here. */
  append(features: Float64Array, moment: Moment): number {
    if (this.#window === "none") return 0;
    this.#times.push(timeOf(this.#window, moment));
    this.#converted.push(false);
    this.#features.push(features.slice());
    return this.#first + this.#times.length - 1;
  }

  /** Whether the window of this impression is open. Always true without a window. @throws {RangeError} for a number not yet given. */
  has(number: number): boolean {
    if (this.#window === "none") return true;
    if (number >= this.#first + this.#times.length) throw outOfRange("impression.slot", "a slot that append returned", number);
    return number >= this.#first;
  }

  /** Marks an open impression as converted. */
  convert(number: number): void {
    if (this.#window !== "none") this.#converted[number - this.#first] = true;
  }

  /** The features of an impression that `has` finds. Undefined without a window. */
  featuresOf(number: number): Float64Array | undefined {
    return this.#features[number - this.#first];
  }

  /** Replaces features by a stand-in. Without a stand-in no impression counts any more, so all are closed. Returns whether it had them. */
  forget(features: Float64Array, standIn: Float64Array | undefined): boolean {
    const held = this.#features.map((each) => each.every((coordinate, j) => coordinate === features[j]));
    if (!held.includes(true)) return false;
    if (standIn) this.#features = this.#features.map((each, i) => (held[i] ? standIn : each));
    else this.#drop(this.#times.length);
    return true;
  }

  #drop(count: number): void {
    this.#first += count;
    for (const list of [this.#times, this.#converted, this.#features]) list.splice(0, count);
  }

  /** Closes the windows that have passed by `moment`. Returns the impressions that did not convert, each with its number as slot. */
  close(moment: Moment): AppendedPoint[] {
    const oldest = timeOf(this.#window, moment) - spanOf(this.#window);
    let open = 0;
    while (open < this.#times.length && this.#times[open] < oldest) open++;
    const closed = this.#features.slice(0, open).map((features, i) => ({ features, slot: this.#first + i }));
    const silent = closed.filter((_, i) => !this.#converted[i]);
    this.#drop(open);
    return silent;
  }

  save(writer: SnapshotWriter): void {
    const features = this.#features.flatMap((each) => [...each]);
    writer.numbers([this.#first], this.#times, this.#converted.map(Number), features);
  }

  /** `added`: the number of impressions added so far. */
  load(reader: SnapshotReader, added: number): void {
    [this.#first] = reader.numbers(1);
    this.#times = [...reader.numbers()];
    const count = this.#times.length;
    this.#converted = Array.from(reader.numbers(count), Boolean);
    const features = reader.numbers(count * this.#dimension);
    this.#features = this.#times.map((_, i) => features.slice(i * this.#dimension, (i + 1) * this.#dimension));
    if (this.#window === "none" ? count > 0 : this.#first !== added - count) throw malformed();
  }
}
