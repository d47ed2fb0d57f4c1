import { describe, expect, it } from "vitest";
import { freshCore } from "../../support/core.ts";
// Philox4x32-10 and normal quantiles in 60 digits, computed with Python and mpmath. The draws in `far` have probabilities below 1e-11.
import literals from "./random.json" with { type: "json" };

const { core, exports } = freshCore();

function distance(actual: Float64Array, expected: readonly number[]): number {
  expect(actual).toHaveLength(expected.length);
  return Math.max(...expected.map((value, i) => Math.abs(actual[i] / value - 1)));
}

describe.each(literals.sequences)("seed $seed and id $id from place $first on", ({ seed, id, first, uniforms, normals }) => {
  it("give the uniforms of Philox4x32-10, to the bit", () => {
    expect(Array.from(core.uniforms(seed, id, uniforms.length, first))).toEqual(uniforms);
  });

  it("give the normal quantiles of another stream, to 1e-15", () => {
    expect(distance(core.normals(seed, id, normals.length, first), normals)).toBeLessThan(1e-15);
  });
});

it.each(literals.far)("the normal number at place $index is $normal", ({ seed: [seedLow, seedHigh], id: [low, high], index, normal }) => {
  const out = exports.allocate(8);
  exports.normals(seedLow, seedHigh, low, high, index, 1, out);
  expect(distance(new Float64Array(exports.memory.buffer, out, 1), [normal])).toBeLessThan(1e-15);
});

it.each(["uniforms", "normals"] as const)("%s are the same however many are read, and from wherever", (law) => {
  const whole = core[law](9, "piece", 23);
  for (let first = 0; first < 23; first++) {
    for (let count = 0; count <= 23 - first; count++)
      expect(core[law](9, "piece", count, first)).toEqual(whole.subarray(first, first + count));
  }
});

it.each(["uniforms", "normals"] as const)("%s leave what follows them in memory alone", (law) => {
  for (let count = 0; count < 9; count++) {
    const out = exports.allocate(8 * (count + 4));
    const room = new Float64Array(exports.memory.buffer, out, count + 4).fill(7);
    exports[law](1, 2, 3, 4, 0, count, out);
    expect(Array.from(room.subarray(count))).toEqual([7, 7, 7, 7]);
    exports.release(out);
  }
});
