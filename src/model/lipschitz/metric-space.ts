// Points with distances: a grid over a box, or a finite set.

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

  constructor(region: RegionSettings, metric: Metric, resolution = 2) {
    this.places = "box" in region ? new Grid(region, resolution) : new Domain(region);
    this.#metric = metric;
    this.count = this.places.count;
    this.dimension = this.places.dimension;
  }

  /** The distance of two points. If it is beyond `limit`, the result may be any number beyond it. */
  distance(a: number, b: number, limit = Number.POSITIVE_INFINITY): number {
    const { places, dimension: d } = this;
    const metric = this.#metric;
    let total = 0;
    for (let j = 0; j < d; j++) {
      const gap = Math.abs(places.coordinate(a, j) - places.coordinate(b, j));
      if (gap > limit) return gap;
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
  readonly #box: Box;
  /** The coordinates on every axis of the unit cube. */
  readonly #levels: Float64Array;
  /** count x d, row-major: the number of each coordinate. In two bytes each, a million points on 19 axes take no more than 20 MB. */
  readonly #digits: Uint16Array | Uint32Array;
  readonly #last: number;

  constructor(settings: BoxSettings, resolution: number) {
    this.#box = new Box(settings);
    this.#last = resolution - 1;
    const d = this.#box.dimension;
    this.dimension = d;
    this.count = gridSize(resolution, d);
    this.#levels = Float64Array.from({ length: resolution }, (_, digit) => digit / this.#last);
    this.#digits = new (d > 1 ? Uint16Array : Uint32Array)(this.count * d);
    for (let place = 0; place < this.count; place++) {
      for (let j = d - 1, rest = place; j >= 0; j--, rest = Math.floor(rest / resolution)) {
        this.#digits[place * d + j] = rest % resolution;
      }
    }
  }

  at(place: number): Float64Array {
    return this.#box.fromUnit(Float64Array.from({ length: this.dimension }, (_, j) => this.coordinate(place, j)));
  }

  /** In the unit cube. */
  coordinate(place: number, j: number): number {
    return this.#levels[this.#digits[place * this.dimension + j]];
  }

  /** The place of the nearest point of the grid. @throws {RangeError} for a point outside the box. */
  indexOf(point: Float64Array): number {
    const unit = this.#box.toUnit(point);
    let place = 0;
    for (let j = 0; j < this.dimension; j++) place = place * (this.#last + 1) + Math.round(unit[j] * this.#last);
    return place;
  }
}
