import { expect, it } from "vitest";
import { Covering } from "../../../../src/model/lipschitz/covering.ts";
import type { MetricSpace } from "../../../../src/model/lipschitz/metric-space.ts";
import { stream } from "../../../support/scenario.ts";

// Which points lie in none of a set of shrinking balls, by looking at every ball and every point again.

/** Points of a line. */
function line(coordinates: readonly number[]): MetricSpace {
  const distance = (a: number, b: number): number => Math.abs(coordinates[a] - coordinates[b]);
  return { count: coordinates.length, dimension: 1, distance } as unknown as MetricSpace;
}

it("a covering knows the uncovered points in order, however its balls shrink", () => {
  const random = stream(71);
  // Multiples of a sixteenth, so that many points are touched exactly.
  const coordinates = Array.from({ length: 120 }, () => Math.floor(160 * random()) / 16);
  const space = line(coordinates);
  const covering = new Covering(space);
  const balls: { centre: number; radius: number }[] = [];
  let most = 0;
  for (let step = 0; step < 400; step++) {
    if (step % 5 === 0) {
      const ball = { centre: Math.floor(120 * random()), radius: (1 + Math.floor(16 * random())) / 8 };
      balls.push(ball);
      covering.cover(ball.centre, ball.radius);
    } else {
      const number = Math.floor(balls.length * random());
      balls[number].radius = Math.max(balls[number].radius - 1 / 16, 0);
      covering.shrink(number, balls[number].radius);
    }
    const uncovered = coordinates.flatMap((_, place) => {
      return balls.some(({ centre, radius }) => space.distance(centre, place) <= radius) ? [] : [place];
    });
    expect(covering.uncovered).toBe(uncovered.length);
    expect(uncovered.map((_, k) => covering.uncoveredAt(k))).toEqual(uncovered);
    most = Math.max(most, uncovered.length);
  }
  expect(most).toBeGreaterThan(20);
});

it("a ball covers what is 1e-12 beyond its radius, from the start, once shrunk, and in place of another ball", () => {
  const [edge, beyond] = [1 + 1e-12, 1 + 2e-12];
  // The point at place 1 is near enough to place 0, the point at place 2 is not.
  const space = line([0, edge, -beyond, 1.5]);
  const fresh = new Covering(space);
  fresh.cover(0, 1);
  const shrunk = new Covering(space);
  shrunk.cover(0, 2);
  shrunk.shrink(0, 1);
  const replaced = new Covering(space);
  replaced.cover(3, 4);
  replaced.cover(0, 1);
  replaced.shrink(0, 0);
  for (const covering of [fresh, shrunk]) {
    expect(covering.uncovered).toBe(2);
    expect([0, 1].map((k) => covering.uncoveredAt(k))).toEqual([2, 3]);
  }
  expect(replaced.uncovered).toBe(1);
  expect(replaced.uncoveredAt(0)).toBe(2);
});
