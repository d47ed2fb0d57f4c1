// The points inside a ball, of a box or of a finite set.

import { outOfRange } from "../../values/argument.ts";
import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { Domain, DomainSettings } from "../domain.ts";
import { Box, type BoxSettings } from "./box.ts";

/** A cube of the unit cube. */
export interface Ball {
  /** Number of the ball within its phase. */
  readonly number: number;
  readonly centre: Float64Array;
  readonly radius: number;
}

/** The arms inside the balls. A child of a ball is a number. Its bit j is the side of the centre on axis j. */
export interface BallArms {
  readonly dimension: number;
  /** The number of uniforms for one sample. */
  readonly draws: number;
  /** @throws {RangeError} if no arm has these features. */
  check(features: Float64Array): void;
  holds(ball: Ball, features: Float64Array): boolean;
  /** A random arm of a ball. `place`: its place among the given points. */
  sample(ball: Ball, uniforms: Float64Array): { readonly features: Float64Array; readonly place?: number };
  /** Most balls that a division makes of one ball, or 1 if the number of points bounds the number of balls. */
  readonly branching: number;
  /** Keeps these balls alone, divided or `whole`. Returns the arms, and for each ball its children that hold arms, in order. */
  divided(balls: readonly Ball[], whole: boolean): { readonly arms: BallArms; readonly children: readonly (readonly number[])[] };
  save(writer: SnapshotWriter): void;
  load(reader: SnapshotReader, balls: number): void;
}

/** Tolerance for rounding when a point is mapped back to the unit cube: a cube holds points this far beyond its radius. */
const SLACK = 1e-12;

/** All points of a box. */
export class BoxArms implements BallArms {
  readonly dimension: number;
  readonly draws: number;
  readonly branching: number;
  readonly #box: Box;
  readonly #children: readonly number[];

  constructor(settings: BoxSettings) {
    this.#box = new Box(settings);
    this.dimension = this.#box.dimension;
    this.draws = this.dimension;
    this.branching = 1 << this.dimension;
    this.#children = Array.from({ length: this.branching }, (_, child) => child);
  }

  check(features: Float64Array): void {
    this.#box.toUnit(features);
  }

  holds({ centre, radius }: Ball, features: Float64Array): boolean {
    return this.#box.toUnit(features).every((coordinate, j) => Math.abs(coordinate - centre[j]) <= radius + SLACK);
  }

  sample({ centre, radius }: Ball, uniforms: Float64Array): { features: Float64Array } {
    return { features: this.#box.fromUnit(centre.map((coordinate, j) => coordinate + radius * (2 * uniforms[j] - 1))) };
  }

  divided(balls: readonly Ball[], whole: boolean): { arms: BallArms; children: (readonly number[])[] } {
    return { arms: this, children: balls.map(() => (whole ? [0] : this.#children)) };
  }

  // The balls determine the arms that they hold.
  save(): void {}
  load(): void {}
}

/** Most axes of a finite set of points. The number of a child has a bit for each axis. */
export const MAX_POINT_AXES = 50;

/** @throws {RangeError} if two points are more than 1 apart on an axis: no ball of radius 1/2 holds both. */
export function checkExtent({ points }: DomainSettings): void {
  points[0].forEach((_, j) => {
    const coordinates = points.map((point) => point[j]);
    const extent = coordinates.reduce((a, b) => Math.max(a, b)) - coordinates.reduce((a, b) => Math.min(a, b));
    if (extent > 1) throw outOfRange("domain.points", `points at most 1 apart on axis ${j}`, extent);
  });
}

/** Finitely many points, in the unit cube around their middle. A cube without points is no ball. Faces belong to the upper cube. */
export class PointArms implements BallArms {
  readonly dimension: number;
  readonly draws = 1;
  readonly branching = 1;
  readonly #domain: Domain;
  /** For each axis the shift of the points into the unit cube. */
  readonly #shift: Float64Array;
  /** For each point the number of its ball, or -1 if that was pruned. */
  #ballOf: Int32Array;

  constructor(domain: Domain, ballOf = new Int32Array(domain.count)) {
    this.dimension = domain.dimension;
    this.#domain = domain;
    this.#ballOf = ballOf;
    this.#shift = domain.at(0).map((_, j) => {
      const coordinates = domain.points.filter((_, i) => i % domain.dimension === j);
      return (1 - coordinates.reduce((a, b) => Math.max(a, b)) - coordinates.reduce((a, b) => Math.min(a, b))) / 2;
    });
  }

  check(features: Float64Array): void {
    this.#domain.indexOf(features);
  }

  holds({ number }: Ball, features: Float64Array): boolean {
    return this.#ballOf[this.#domain.indexOf(features)] === number;
  }

  sample({ number }: Ball, [uniform]: Float64Array): { features: Float64Array; place: number } {
    let count = 0;
    for (const ball of this.#ballOf) if (ball === number) count++;
    // A uniform from the caller may be 1.
    let left = Math.min(Math.floor(uniform * count), count - 1);
    let place = this.#ballOf.indexOf(number);
    for (; left > 0; left--) place = this.#ballOf.indexOf(number, place + 1);
    return { features: this.#domain.at(place), place };
  }

  divided(balls: readonly Ball[], whole: boolean): { arms: BallArms; children: number[][] } {
    const members = new Map<number, number[]>(balls.map(({ number }) => [number, []]));
    this.#ballOf.forEach((ball, place) => void members.get(ball)?.push(place));
    const ballOf = new Int32Array(this.#ballOf.length).fill(-1);
    let first = 0;
    const children = balls.map(({ number, centre }) => {
      const places = members.get(number) as number[];
      const childOf = places.map((place) => (whole ? 0 : this.#childAt(place, centre)));
      const children = [...new Set(childOf)].sort((a, b) => a - b);
      places.forEach((place, i) => {
        ballOf[place] = first + children.indexOf(childOf[i]);
      });
      first += children.length;
      return children;
    });
    return { arms: new PointArms(this.#domain, ballOf), children };
  }

  #childAt(place: number, centre: Float64Array): number {
    const point = this.#domain.points.subarray(place * this.dimension, (place + 1) * this.dimension);
    return centre.reduceRight((child, coordinate, j) => 2 * child + Number(point[j] + this.#shift[j] >= coordinate), 0);
  }

  save(writer: SnapshotWriter): void {
    writer.numbers(this.#ballOf);
  }

  load(reader: SnapshotReader, balls: number): void {
    this.#ballOf = Int32Array.from(reader.numbers(this.#ballOf.length));
    const held = new Set(this.#ballOf.filter((ball) => ball !== -1));
    for (let ball = 0; ball < balls; ball++) if (!held.delete(ball)) throw malformed();
    if (held.size > 0) throw malformed();
  }
}
