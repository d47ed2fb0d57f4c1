import { describe, expect, it } from "vitest";
import { Domain } from "../../../../src/model/domain.ts";
import { type Ball, BoxArms, PointArms } from "../../../../src/model/lipschitz/ball-arms.ts";

// How a ball of given points is divided, and which points a ball of a box holds.

const around: Ball = { number: 0, centre: Float64Array.of(0.5, 0.5), radius: 0.5 };
const corners = [[0, 0], [1, 0], [0, 1], [1, 1]]; // biome-ignore format: one line

describe("the children of a ball of points", () => {
  it.each([
    ["ascending", corners],
    ["descending", corners.toReversed()],
    ["mixed", [corners[2], corners[0], corners[3], corners[1]]],
  ])("are in the order of their numbers, whatever that of the points: %s", (_, points) => {
    const { arms, children } = new PointArms(new Domain({ points })).divided([around], false);
    expect(children).toEqual([[0, 1, 2, 3]]);
    for (const [number, corner] of corners.entries()) expect(arms.holds({ ...around, number }, Float64Array.from(corner))).toBe(true);
  });

  it("are those that hold points: the others are none, and a face belongs to the upper side", () => {
    const points = [[1, 1], [0.5, 0.2], [0, 0.1]]; // biome-ignore format: one line
    const { arms, children } = new PointArms(new Domain({ points })).divided([around], false);
    // The points' middle is (0.5, 0.55): in the unit cube the second is at (0.5, 0.15).
    expect(children).toEqual([[0, 1, 3]]);
    expect(points.map((point) => [0, 1, 2].findIndex((number) => arms.holds({ ...around, number }, Float64Array.from(point))))).toEqual([
      2, 1, 0,
    ]);
  });

  it("are numbered on from ball to ball, and a whole ball is its own only child", () => {
    const domain = new Domain({ points: corners });
    const { arms } = new PointArms(domain).divided([around], false);
    const balls = [1, 3].map((number) => ({ ...around, number }));
    const held = (of: typeof arms): number[] =>
      corners.map((corner) => [0, 1].findIndex((number) => of.holds({ ...around, number }, Float64Array.from(corner))));
    for (const whole of [true, false]) {
      const next = arms.divided(
        balls.map((ball) => ({ ...ball, centre: ball.number === 1 ? Float64Array.of(0.75, 0.25) : Float64Array.of(0.75, 0.75) })),
        whole,
      );
      expect(next.children).toEqual(whole ? [[0], [0]] : [[1], [3]]);
      expect(held(next.arms)).toEqual([-1, 0, -1, 1]);
    }
  });
});

describe("a ball of a box", () => {
  const ball: Ball = { number: 0, centre: Float64Array.of(0.25, 0.75), radius: 0.25 };
  const arms = new BoxArms({ box: [[0, 4], [0, 4]] }); // biome-ignore format: one line

  it.each([
    ["its centre", [1, 3], true],
    ["a face, on each side", [0, 2], true],
    ["the opposite corner", [2, 4], true],
    ["beyond the upper face of the first axis", [2.001, 3], false],
    ["beyond the lower face of the second axis", [1, 1.999], false],
  ])("holds the points within its radius on every axis: %s", (_, point, held) => {
    expect(arms.holds(ball, Float64Array.from(point))).toBe(held);
  });
});
