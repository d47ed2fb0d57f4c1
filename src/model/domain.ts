// The finite set of points that a policy without candidates chooses among.

import { finiteVector, onlyKeys, outOfRange, record, wrongType } from "../values/argument.ts";

/** The fixed set of points that a policy chooses among. */
export interface DomainSettings {
  readonly points: readonly (readonly number[])[];
}

/**
 * Checks a finite domain from untyped data.
 * @throws {TypeError | RangeError} naming the point, also for a duplicate.
 */
export function parsePoints(value: unknown): DomainSettings {
  const domain = record("domain", value);
  onlyKeys("domain", domain, ["points"]);
  const { points } = domain;
  if (!Array.isArray(points)) throw wrongType("domain.points", "an array of points", points);
  if (points.length === 0) throw outOfRange("domain.points", "at least one point", points);
  const [first] = points;
  if (!Array.isArray(first)) throw wrongType("domain.points[0]", "an array of numbers", first);
  const dimension = first.length;
  if (dimension === 0) throw outOfRange("domain.points[0]", "at least one number", first);
  const parsed = Array.from(points, (point, i) =>
    Array.from(finiteVector(`domain.points[${i}]`, point, dimension), (coordinate) => coordinate + 0),
  );
  const seen = new Map<string, number>();
  parsed.forEach((point, i) => {
    const twin = seen.get(point.join());
    if (twin !== undefined) throw new RangeError(`domain.points[${i}]: expected distinct points, got that of domain.points[${twin}]`);
    seen.set(point.join(), i);
  });
  return { points: parsed };
}

/** A finite domain with a search for points. */
export class Domain {
  /** count x d, row-major. */
  readonly points: Float64Array;
  readonly count: number;
  readonly dimension: number;
  /** Places in lexicographic order of their points. */
  readonly #sorted: Int32Array;

  constructor({ points }: DomainSettings) {
    this.count = points.length;
    this.dimension = points[0].length;
    this.points = Float64Array.from(points.flat());
    this.#sorted = Int32Array.from(points.keys()).sort((a, b) => this.#compare(this.points, a * this.dimension, b));
  }

  at(place: number): Float64Array {
    return this.points.slice(place * this.dimension, (place + 1) * this.dimension);
  }

  coordinate(place: number, j: number): number {
    return this.points[place * this.dimension + j];
  }

  /** The place of a point. @throws {RangeError} if it is not in the domain. */
  indexOf(point: Float64Array): number {
    const place = this.placeOf(point);
    if (place < 0) throw outOfRange("features", "a point of the domain", `[${point.join(", ")}]`);
    return place;
  }

  /** The place of the point whose coordinates start at `from`, or -1. -0 equals 0. **Cost:** O(d log count). */
  placeOf(coordinates: Float64Array, from = 0): number {
    let low = 0;
    let high = this.count - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const order = this.#compare(coordinates, from, this.#sorted[middle]);
      if (order === 0) return this.#sorted[middle];
      if (order < 0) high = middle - 1;
      else low = middle + 1;
    }
    return -1;
  }

  #compare(coordinates: Float64Array, from: number, place: number): number {
    const start = place * this.dimension;
    for (let j = 0; j < this.dimension; j++) {
      const difference = coordinates[from + j] - this.points[start + j];
      if (difference !== 0) return difference;
    }
    return 0;
  }
}
