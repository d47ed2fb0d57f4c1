import { finiteVector, onlyKeys, outOfRange, record, wrongType } from "../argument.ts";

/** The points among which a policy with a fixed domain chooses. */
export interface DomainSettings {
  readonly points: readonly (readonly number[])[];
}

/**
 * Checks a finite domain that came as data.
 * @throws {TypeError | RangeError} naming the point, also if one is there twice.
 */
export function parsePoints(value: unknown): DomainSettings {
  const domain = record("domain", value);
  onlyKeys("domain", domain, ["points"]);
  const { points } = domain;
  if (!Array.isArray(points)) throw wrongType("domain.points", "an array of points", points);
  if (points.length === 0) throw outOfRange("domain.points", "at least one point", points);
  const dimension = Array.isArray(points[0]) ? points[0].length : 0;
  const parsed = points.map((point, i) =>
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

/** A finite domain, with a look-up of its points. */
export class Domain {
  /** count x d, row-major. */
  readonly points: Float64Array;
  readonly count: number;
  readonly dimension: number;
  readonly #places: Map<string, number>;

  constructor({ points }: DomainSettings) {
    this.count = points.length;
    this.dimension = points[0].length;
    this.points = Float64Array.from(points.flat());
    this.#places = new Map(points.map((point, place) => [point.join(), place]));
  }

  /** Coordinates of the point at `place`. */
  at(place: number): Float64Array {
    return this.points.slice(place * this.dimension, (place + 1) * this.dimension);
  }

  /** @throws {RangeError} if the point is not in the domain. */
  indexOf(point: Float64Array): number {
    const place = this.#places.get(point.map((coordinate) => coordinate + 0).join());
    if (place === undefined) throw outOfRange("features", "a point of the domain", `[${point.join(", ")}]`);
    return place;
  }
}
