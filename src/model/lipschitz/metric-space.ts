import { Domain } from "../domain.ts";
import { Box, type BoxSettings, type RegionSettings } from "./box.ts";

export const metrics = ["maximum", "euclidean", "manhattan"] as const;
export type Metric = (typeof metrics)[number];

/** Most points of a space. Each takes a few numbers of memory, and some calls scan all of them. */
const POINT_LIMIT = 1e6;

/** Default points per axis: 1,001 on a line. With more axes, as many as a grid of 10,201 points allows, and at least 2. */
export function defaultResolution({ box }: BoxSettings): number {
  if (box.length === 1) return 1001;
  let resolution = 2;
  while (gridSize(resolution + 1, box.length) <= 10_201) resolution++;
  return resolution;
}

function gridSize(resolution: number, dimension: number): number {
  let size = 1;
  for (let j = 0; j < dimension; j++) size *= resolution;
  return size;
}

/** @throws {RangeError} if the grid would have more than a million points. */
export function checkGrid({ box }: BoxSettings, resolution: number): void {
  if (gridSize(resolution, box.length) > POINT_LIMIT) {
    throw new RangeError(`resolution: expected a grid of at most ${POINT_LIMIT} points, got ${resolution} on each of ${box.length} axes`);
  }
}

/** Finitely many points and their distances. The points of a box are a grid in row-major order, the last axis fastest. */
export class MetricSpace {
  readonly count: number;
  readonly dimension: number;
  readonly places: Domain | Grid;
  readonly #metric: Metric;
  /** count x d, row-major: the coordinates that distances are computed from. */
  readonly #points: Float64Array;

  constructor(region: RegionSettings, metric: Metric, resolution = 2) {
    this.places = "box" in region ? new Grid(region, resolution) : new Domain(region);
    this.#metric = metric;
    this.#points = this.places.points;
    this.count = this.places.count;
    this.dimension = this.places.dimension;
  }

  distance(a: number, b: number): number {
    const d = this.dimension;
    const points = this.#points;
    const metric = this.#metric;
    let total = 0;
    for (let j = 0; j < d; j++) {
      const gap = Math.abs(points[a * d + j] - points[b * d + j]);
      if (metric === "maximum") total = Math.max(total, gap);
      else total += metric === "euclidean" ? gap * gap : gap;
    }
    return metric === "euclidean" ? Math.sqrt(total) : total;
  }
}

/** A grid over a box, including its ends. */
class Grid {
  readonly dimension: number;
  readonly count: number;
  /** In the unit cube. */
  readonly points: Float64Array;
  readonly #box: Box;
  readonly #last: number;

  constructor(settings: BoxSettings, resolution: number) {
    this.#box = new Box(settings);
    this.#last = resolution - 1;
    const d = this.#box.dimension;
    this.dimension = d;
    this.count = gridSize(resolution, d);
    this.points = new Float64Array(this.count * d);
    for (let place = 0; place < this.count; place++) {
      for (let j = d - 1, rest = place; j >= 0; j--, rest = Math.floor(rest / resolution)) {
        this.points[place * d + j] = (rest % resolution) / this.#last;
      }
    }
  }

  at(place: number): Float64Array {
    return this.#box.fromUnit(this.points.subarray(place * this.dimension, (place + 1) * this.dimension));
  }

  /** The place of the nearest point of the grid. @throws {RangeError} for a point outside the box. */
  indexOf(point: Float64Array): number {
    const unit = this.#box.toUnit(point);
    let place = 0;
    for (let j = 0; j < this.dimension; j++) place = place * (this.#last + 1) + Math.round(unit[j] * this.#last);
    return place;
  }
}
