// Rows of a process over a fixed domain, kept so that a new impression costs one row.

import type { CoreProcess } from "../../core/core-process.ts";
import type { Domain } from "../domain.ts";

/** Below this many rows, merging the rows of a point costs more than it saves. */
export const UNMERGED_ROWS = 256;

/**
 * The rows of a process whose points are those of a fixed domain.
 *
 * A repeated point gets a row of its own, unless its row is the newest: a change of an earlier row would have to be solved again
 * for every point of the domain. The rows of a point are merged when there are twice as many rows as points. The posterior is the
 * same.
 */
export class DomainRows {
  readonly #domain: Domain;
  readonly #process: CoreProcess;
  /** For each place in the domain its newest row, or -1. */
  readonly #rowOf: Int32Array;
  #points = 0;

  constructor(domain: Domain, process: CoreProcess) {
    this.#domain = domain;
    this.#process = process;
    this.#rowOf = new Int32Array(domain.count).fill(-1);
  }

  /** Distinct points with a row. */
  get points(): number {
    return this.#points;
  }

  /** The newest row of a place, or -1. */
  rowOf(place: number): number {
    return this.#rowOf[place];
  }

  /** Whether the next new row should come after a merge. */
  get crowded(): boolean {
    return this.#process.size >= UNMERGED_ROWS && this.#process.size >= 2 * this.#points;
  }

  /** Adds a row for an impression at a place. */
  append(place: number, features: Float64Array): void {
    const row = this.#process.append(features);
    if (this.#rowOf[place] < 0) this.#points++;
    this.#rowOf[place] = row;
  }

  /** Merges the rows of each point, in order of first appearance, and rebuilds the factor. **Cost:** O(n^3). */
  merge(): void {
    const before = this.#process.state();
    const rowOf = new Int32Array(this.#domain.count).fill(-1);
    const points = new Float64Array(this.#points * this.#domain.dimension);
    const counts = new Float64Array(this.#points);
    const sums = new Float64Array(this.#points);
    let rows = 0;
    this.#eachRow(before.points, (place, row, point) => {
      if (rowOf[place] < 0) {
        points.set(point, rows * point.length);
        rowOf[place] = rows++;
      }
      counts[rowOf[place]] += before.counts[row];
      sums[rowOf[place]] += before.sums[row];
    });
    this.#process.replace({ points, counts, sums, squares: before.squares });
    this.#rowOf.set(rowOf);
  }

  /** The place of each row in the domain. */
  places(): Float64Array {
    const places = new Float64Array(this.#process.size);
    this.#eachRow(this.#process.state().points, (place, row) => {
      places[row] = place;
    });
    return places;
  }

  /** Finds the rows again after the process was loaded. @throws {RangeError} for a point outside the domain. */
  reindex(): void {
    this.#eachRow(this.#process.state().points, (place, row) => {
      this.#rowOf[place] = row;
    });
    this.#points = this.#rowOf.reduce((points, row) => points + Number(row >= 0), 0);
  }

  #eachRow(points: Float64Array, visit: (place: number, row: number, point: Float64Array) => void): void {
    const d = this.#domain.dimension;
    for (let row = 0; row * d < points.length; row++) {
      const point = points.subarray(row * d, (row + 1) * d);
      visit(this.#domain.indexOf(point), row, point);
    }
  }
}
