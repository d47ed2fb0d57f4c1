import { expect, it } from "vitest";
import { freshCore } from "../../support/core.ts";

const { core } = freshCore();

/** Error in units of the last place of `expected`. */
function ulps(actual: number, expected: number): number {
  return Math.abs(actual - expected) / (2 ** Math.floor(Math.log2(Math.abs(expected))) * Number.EPSILON);
}

// Rounded from 50 digits of mpmath.
it.each([
  [0.5, 1.6487212707001282],
  [1, Math.E],
  [-1, 0.36787944117144233],
  [0.1, 1.1051709180756477],
  [-0.3465, 0.7071588192872713],
  [0.3466, 1.4142509118505286],
  [2.5, 12.182493960703473],
  [-7.25, 0.000710174388842549],
  [13, 442413.3920089205],
  [-29.5, 1.5428112031918877e-13],
  [100.125, 3.0460357809113723e43],
  [-345.75, 6.961180291638681e-151],
  [700, 1.0142320547350045e304],
  [709, 8.218407461554972e307],
  [-707.5, 5.453232991066742e-308],
  [-708, 3.307553003638408e-308],
])("e^%d is %d within a unit in the last place", (x, expected) => {
  expect(ulps(core.exp(x), expected)).toBeLessThanOrEqual(1);
});

it.each([
  [0.5, -Math.LN2],
  [2, Math.LN2],
  [10, Math.LN10],
  [1e-300, -690.7755278982137],
  [0.9999, -0.00010000500033334732],
  [1.0001, 0.00009999500033329732],
  [3.25, 1.1786549963416462],
  [1e17, 39.14394658089878],
  [7.25, 1.9810014688665833],
  [5e-324, -744.4400719213812],
  [0.7, -0.35667494393873245],
])("log %d is %d within a unit in the last place", (x, expected) => {
  expect(ulps(core.log(x), expected)).toBeLessThanOrEqual(1);
});

it("the exponential has its ends: 0 below -708, 1 at 0, infinity above 709, and no number of no number", () => {
  expect([0, -0].map((x) => core.exp(x))).toEqual([1, 1]);
  expect([-708.0000000000001, -1e9, -Infinity].map((x) => core.exp(x))).toEqual([0, 0, 0]);
  expect([709.0000000000001, 1e9, Infinity].map((x) => core.exp(x))).toEqual([Infinity, Infinity, Infinity]);
  expect(core.exp(Number.NaN)).toBeNaN();
});

// u Phi(u) + phi(u), and its logarithm, rounded from 80 digits of mpmath.
it.each([
  [40, 40, 3.6888794541139363],
  [1.75, 1.7661737943148317, 0.5688155086164979],
  [0.25, 0.5363446982235801, -0.6229782309067678],
  [-0.75, 0.13116691787215326, -2.031284584632082],
  [-1.5, 0.02930679376260463, -3.52993592080571],
  [-1.74, 0.016578724987780808, -4.099635032848349],
  [-1.75, 0.016173794314831607, -4.124362981414742],
  [-1.76, 0.01577749152205276, -4.149170941850168],
  [-3.5, 5.848091842142244e-5, -9.746810037765387],
  [-8.25, 9.336324638870773e-18, -39.21261900671206],
  [-20, 1.3700124947295798e-90, -206.9178385094251],
  [-30, 1.631956734091401e-199, -457.724653760598],
])("the expected improvement at %d is %d, and its logarithm %d", (u, value, logarithm) => {
  expect(Math.abs(core.improvement(u) / value - 1)).toBeLessThan(1e-13);
  expect(Math.abs(core.logImprovement(u) / logarithm - 1)).toBeLessThan(1e-14);
});
