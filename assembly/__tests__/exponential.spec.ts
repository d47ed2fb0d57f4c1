import { exponential, exponentials } from "../numbers/exponential";
import { get, noise } from "./vectors";

function at(x: f64): f64 {
  return f64x2.extract_lane(exponentials(f64x2.splat(x)), 0);
}

describe("exponentials", () => {
  it("are within a unit in the last place, of which the other exponential has half", () => {
    let largest: f64 = 0;
    for (let x: f64 = 709; x > -708; x -= 0.0137) largest = max(largest, abs(at(x) / Math.exp(x) - 1));
    expect<f64>(largest).toBeLessThanOrEqual(1.5 * f64.EPSILON);
  });

  it("are the same in either lane", () => {
    const xs = noise(1, 100);
    for (let i = 0; i < 100; i += 2) {
      const first = -abs(get(xs, i));
      const second = -100 * abs(get(xs, i + 1));
      const both = exponentials(f64x2(first, second));
      expect<f64>(f64x2.extract_lane(both, 0)).toBe(at(first));
      expect<f64>(f64x2.extract_lane(both, 1)).toBe(at(second));
    }
  });

  it("are 1 at 0, never more, and 0 far below", () => {
    expect<f64>(at(0)).toBe(1);
    expect<f64>(at(-1e-300)).toBe(1);
    for (let x: f64 = 1e-17; x < 1e-3; x *= 4) expect<f64>(at(-x)).toBeLessThanOrEqual(1);
    expect<f64>(at(-708)).toBeGreaterThan(0);
    for (let x: f64 = 709; x < Infinity; x *= 10) expect<f64>(at(-x)).toBe(0);
    expect<f64>(at(-Infinity)).toBe(0);
  });

  it("of one number are infinite far above, and none of what is no number", () => {
    expect<f64>(exponential(709)).toBe(at(709));
    expect<f64>(exponential(710)).toBe(Infinity);
    expect<f64>(exponential(Infinity)).toBe(Infinity);
    expect<bool>(isNaN(exponential(NaN))).toBe(true);
    expect<f64>(exponential(-Infinity)).toBe(0);
  });
});
