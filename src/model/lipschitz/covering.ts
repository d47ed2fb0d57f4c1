// The points that no confidence ball covers, without a look at every point for every ball.

import type { MetricSpace } from "./metric-space.ts";

/** Tolerance for rounding at an exact touch: a ball covers points this far beyond its radius. */
const SLACK = 1e-12;

/**
 * The points of a space that lie in none of a set of shrinking balls.
 *
 * Every covered point has one ball as its witness. Every ball knows its reach, the distance of the farthest point that it is a
 * witness for. Points are checked again only when a ball shrinks below its reach. The choice of witnesses does not change the result.
 */
export class Covering {
  readonly #space: MetricSpace;
  /** For each point the ball that is its witness, or -1. */
  readonly #witness: Int32Array;
  #uncovered: number;
  readonly #centres: number[] = [];
  readonly #radii: number[] = [];
  readonly #reach: number[] = [];

  constructor(space: MetricSpace) {
    this.#space = space;
    this.#witness = new Int32Array(space.count).fill(-1);
    this.#uncovered = space.count;
  }

  /** The number of uncovered points. */
  get uncovered(): number {
    return this.#uncovered;
  }

  /** Place of the k-th uncovered point, from k = 0. */
  uncoveredAt(k: number): number {
    let place = this.#witness.indexOf(-1);
    for (; k > 0; k--) place = this.#witness.indexOf(-1, place + 1);
    return place;
  }

  /** Covers the points of a ball around `centre`. **Cost:** O(points). */
  cover(centre: number, radius: number): void {
    const ball = this.#centres.push(centre) - 1;
    this.#radii.push(radius);
    this.#reach.push(0);
    for (let place = 0; place < this.#space.count; place++) {
      if (this.#witness[place] >= 0) continue;
      const distance = this.#space.distance(centre, place, radius + SLACK);
      if (distance > radius + SLACK) continue;
      this.#witness[place] = ball;
      this.#reach[ball] = Math.max(this.#reach[ball], distance);
      this.#uncovered--;
    }
  }

  /** Reduces the radius of a ball. `ball`: its number in order of addition, from 0. */
  shrink(ball: number, radius: number): void {
    this.#radii[ball] = radius;
    if (this.#reach[ball] <= radius + SLACK) return;
    let reach = 0;
    for (let place = 0; place < this.#space.count; place++) {
      if (this.#witness[place] !== ball) continue;
      const distance = this.#space.distance(this.#centres[ball], place, radius + SLACK);
      if (distance <= radius + SLACK) reach = Math.max(reach, distance);
      else this.#findWitness(place);
    }
    this.#reach[ball] = reach;
  }

  /** Finds a new witness: the ball that extends farthest beyond the point, so that it stays a witness for long. */
  #findWitness(place: number): void {
    let witness = -1;
    let reach = 0;
    let margin = -1;
    for (let ball = 0; ball < this.#centres.length; ball++) {
      const radius = this.#radii[ball];
      // A distance is at least 0, so a ball that is too small needs no measurement.
      if (radius <= margin) continue;
      const distance = this.#space.distance(this.#centres[ball], place, radius + SLACK);
      if (distance > radius + SLACK || radius - distance <= margin) continue;
      witness = ball;
      reach = distance;
      margin = radius - distance;
    }
    this.#witness[place] = witness;
    if (witness >= 0) this.#reach[witness] = Math.max(this.#reach[witness], reach);
    else this.#uncovered++;
  }
}
