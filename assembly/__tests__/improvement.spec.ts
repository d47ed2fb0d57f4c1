import { improvement, logImprovement } from "../numbers/improvement";

/** u, h(u), log h(u) in 60-digit arithmetic, rounded. */
const KNOWN: f64[] = [
  8, 8, 2.0794415416798357,
  1, 1.0833154705876864, 0.08002621884930694,
  0.1, 0.4509353312047147, -0.7964313395507471,
  0, 0.3989422804014327, -0.9189385332046728,
  -0.5, 0.19779655740130603, -1.6205162643873199,
  -2, 0.008490702616829637, -4.768783523917114,
  -5, 5.346165533832815e-8, -16.74430116266099,
  -12, 1.4605201169845548e-34, -77.90910054500735,
  -35, 3.208804482602477e-270, -620.532076675948,
  -37, 1.5451991905122024e-301, -692.6429601632705,
  -45, 0, -1021.0337424419137,
  -1000, 0, -500014.73445209116,
];

function near(value: f64, expected: f64, relative: f64): void {
  expect<f64>(abs(value - expected)).toBeLessThanOrEqual(relative * abs(expected));
}

describe("improvement", () => {
  it("has the known values, and so has its logarithm", () => {
    for (let i = 0; i < KNOWN.length; i += 3) {
      near(improvement(KNOWN[i]), KNOWN[i + 1], 2e-13);
      near(logImprovement(KNOWN[i]), KNOWN[i + 2], 1e-14);
    }
  });

  it("keeps h(u) - h(-u) = u, and its slope between 0 and 1", () => {
    for (let u: f64 = 0.01; u < 6; u += 0.01) {
      near(improvement(u) - improvement(-u), u, 1e-15);
      const slope = (improvement(0.01 - u) - improvement(-u)) / 0.01;
      assert(slope > 0 && slope < 1);
    }
  });

  it("goes on smoothly where the series hands over to the fraction", () => {
    const below = improvement(-1.75);
    const above = improvement(-1.7499999999999998);
    near(below, above, 1e-13);
  });

  it("falls for ever, without NaN", () => {
    let last = logImprovement(-1);
    for (let u: f64 = -2; u > -1e150; u *= 2) {
      const value = logImprovement(u);
      assert(value < last);
      last = value;
    }
    expect<f64>(logImprovement(-1e200)).toBe(-Infinity);
    expect<f64>(improvement(-1e200)).toBe(0);
    expect<f64>(improvement(1e200)).toBe(1e200);
  });
});
