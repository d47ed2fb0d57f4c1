import { logarithm } from "../numbers/logarithm";
import { get, noise } from "./vectors";

function expectSame(x: f64): void {
  expect<u64>(reinterpret<u64>(logarithm(x))).toBe(reinterpret<u64>(Math.log(x)));
}

describe("the logarithm", () => {
  it("has the bits of AssemblyScript's own, whose tables it computes", () => {
    // Each of the 128 intervals many times, and all exponents.
    for (let x: f64 = 0.6875; x < 1.375; x += 0.0000731) expectSame(x);
    const xs = noise(7, 2000);
    for (let i = 0; i < 2000; i++) {
      const mantissa = reinterpret<u64>(get(xs, i)) & 0xfffffffffffff;
      expectSame(reinterpret<f64>(mantissa | ((<u64>i % 2047) << 52)));
    }
  });

  it("has them at the ends of intervals, near 1 and below the normal numbers", () => {
    for (let i: u64 = 0; i <= 128; i++) {
      const end = 0x3fe6000000000000 + (i << 45);
      for (let step: u64 = 0; step < 3; step++) expectSame(reinterpret<f64>(end + step - 1));
    }
    for (let x: f64 = 1; x > 1e-17; x /= 2) {
      expectSame(1 + x);
      expectSame(1 - x / 2);
    }
    for (let x: f64 = 2.3e-308; x > 1e-323; x *= 0.41) expectSame(x);
  });

  it("is infinite at both ends, and no number below 0", () => {
    expect<f64>(logarithm(0)).toBe(-Infinity);
    expect<f64>(logarithm(-0.0)).toBe(-Infinity);
    expect<f64>(logarithm(Infinity)).toBe(Infinity);
    expect<f64>(logarithm(1)).toBe(0);
    expect<bool>(isNaN(logarithm(-1))).toBe(true);
    expect<bool>(isNaN(logarithm(-Infinity))).toBe(true);
    expect<bool>(isNaN(logarithm(NaN))).toBe(true);
  });
});
