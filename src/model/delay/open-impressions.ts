// Impressions whose outcome is still open, for posteriors that have to go back to them.

import { outOfRange } from "../../values/argument.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { AppendedPoint } from "../posterior.ts";
import { type Moment, spanOf, timeOf, type Window } from "./window.ts";

interface Open {
  readonly time: number;
  readonly features: Float64Array;
  converted: boolean;
}

/** The impressions whose window is open, numbered in order of arrival. Without a window none are kept. */
export class OpenImpressions {
  readonly #window: Window;
  readonly #dimension: number;
  #open: Open[] = [];
  /** Number of the first impression kept. */
  #first = 0;

  constructor(window: Window, dimension: number) {
    this.#window = window;
    this.#dimension = dimension;
  }

  /** Adds an impression and returns its number. Later changes of the array change nothing here. */
  append(features: Float64Array, moment: Moment): number {
    if (this.#window === "none") return 0;
    this.#open.push({ time: timeOf(this.#window, moment), features: features.slice(), converted: false });
    return this.#first + this.#open.length - 1;
  }

  /** Whether the window of this impression is open. Always true without a window. @throws {RangeError} for a number not yet given. */
  has(number: number): boolean {
    if (this.#window === "none") return true;
    if (number >= this.#first + this.#open.length) throw outOfRange("impression.slot", "a slot that append returned", number);
    return number >= this.#first;
  }

  /** Marks an open impression as converted. */
  convert(number: number): void {
    if (this.#window !== "none") this.#open[number - this.#first].converted = true;
  }

  /** The features of an impression that `has` finds. Undefined without a window. */
  featuresOf(number: number): Float64Array | undefined {
    return this.#open[number - this.#first]?.features;
  }

  /** Replaces features by a stand-in. Without a stand-in no impression counts any more, so all are closed. Returns whether it had them. */
  forget(features: Float64Array, standIn: Float64Array | undefined): boolean {
    const isHeld = (each: Open): boolean => each.features.every((coordinate, j) => coordinate === features[j]);
    if (!this.#open.some(isHeld)) return false;
    if (standIn) this.#open = this.#open.map((each) => (isHeld(each) ? { ...each, features: standIn } : each));
    else this.#drop(this.#open.length);
    return true;
  }

  #drop(count: number): Open[] {
    this.#first += count;
    return this.#open.splice(0, count);
  }

  /** Closes the windows that have passed by `moment`. Returns the impressions that did not convert, each with its number as slot. */
  close(moment: Moment): AppendedPoint[] {
    const oldest = timeOf(this.#window, moment) - spanOf(this.#window);
    const open = this.#open.findIndex(({ time }) => !(time < oldest));
    const first = this.#first;
    const closed = this.#drop(open < 0 ? this.#open.length : open);
    return closed.flatMap(({ features, converted }, i) => (converted ? [] : [{ features, slot: first + i }]));
  }

  save(writer: SnapshotWriter): void {
    const converted = this.#open.map((each) => Number(each.converted));
    const features = this.#open.flatMap((each) => [...each.features]);
    writer.numbers(
      [this.#first],
      this.#open.map(({ time }) => time),
      converted,
      features,
    );
  }

  /** `added`: the number of impressions added so far. */
  load(reader: SnapshotReader, added: number): void {
    [this.#first] = reader.numbers(1);
    const times = reader.numbers();
    const count = times.length;
    const converted = reader.numbers(count);
    const features = reader.numbers(count * this.#dimension);
    this.#open = Array.from(times, (time, i) => {
      return { time, converted: Boolean(converted[i]), features: features.slice(i * this.#dimension, (i + 1) * this.#dimension) };
    });
    if (this.#window === "none" ? count > 0 : this.#first !== added - count) throw malformed();
  }
}
