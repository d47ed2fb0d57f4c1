import { ADDITIVE_MATERN32, KERNEL_IDS, LINEAR, MATERN12, MATERN32, MATERN52, OK, SQUARED_EXPONENTIAL } from "../abi";
import { kernelMatrix } from "../gaussian-process/kernels";
import { get, noise, sameBits, vector, zeros } from "./vectors";

/** variance 2, bias 0.5, lengthscales 0.5 and 4 */
const params = vector([2, 0.5, 0.5, 4]);
const origin = vector([0, 0]);

function at(kernel: i32, x: f64, y: f64): f64 {
  const out = zeros(1);
  expect<i32>(kernelMatrix(kernel, params, 2, vector([x, y]), 1, origin, 1, out)).toBe(OK);
  return get(out, 0);
}

describe("kernels", () => {
  it("follow their formulas", () => {
    // r = 5 at (1.5, 16): (3, 4) in units of the lengthscales.
    const t3 = 5 * sqrt<f64>(3);
    const t5 = 5 * sqrt<f64>(5);
    expect<f64>(abs(at(SQUARED_EXPONENTIAL, 1.5, 16) / (2 * Math.exp(-12.5)) - 1)).toBeLessThan(1e-14);
    expect<f64>(abs(at(MATERN12, 1.5, 16) / (2 * Math.exp(-5)) - 1)).toBeLessThan(1e-14);
    expect<f64>(abs(at(MATERN32, 1.5, 16) / (2 * (1 + t3) * Math.exp(-t3)) - 1)).toBeLessThan(1e-14);
    expect<f64>(abs(at(MATERN52, 1.5, 16) / (2 * (1 + t5 + 125.0 / 3) * Math.exp(-t5)) - 1)).toBeLessThan(1e-14);
  });

  it("add the bias to the linear kernel alone", () => {
    expect<f64>(at(LINEAR, 1.5, 16)).toBe(0.5);
    const out = zeros(1);
    kernelMatrix(LINEAR, params, 2, vector([1.5, 16]), 1, vector([1, -4]), 1, out);
    expect<f64>(get(out, 0)).toBe(2 * (3 * 2 - 4) + 0.5);
    expect<f64>(at(MATERN32, 0, 0)).toBe(2);
  });

  it("add up context, action and their product, and an intercept in units of the variance", () => {
    const t = 3 * sqrt<f64>(3);
    const u = 4 * sqrt<f64>(3);
    const context = (1 + t) * Math.exp(-t);
    const action = (1 + u) * Math.exp(-u);
    const both = 2 * (0.5 + context + action + context * action);
    expect<f64>(abs(at(ADDITIVE_MATERN32 + KERNEL_IDS, 1.5, 16) / both - 1)).toBeLessThan(1e-14);
    // Without features on one side, its correlation is 1.
    const r = 5 * sqrt<f64>(3);
    const joint = 2 * (1.5 + 2 * (1 + r) * Math.exp(-r));
    expect<f64>(abs(at(ADDITIVE_MATERN32, 1.5, 16) / joint - 1)).toBeLessThan(1e-14);
    expect<f64>(abs(at(ADDITIVE_MATERN32 + 2 * KERNEL_IDS, 1.5, 16) / joint - 1)).toBeLessThan(1e-14);
    expect<f64>(at(ADDITIVE_MATERN32 + KERNEL_IDS, 0, 0)).toBe(7);
  });

  it("are finite at any distance", () => {
    for (let kernel = SQUARED_EXPONENTIAL; kernel <= MATERN52; kernel++) {
      expect<f64>(at(kernel, 1e308, -1e308)).toBe(0);
      expect<f64>(at(kernel, 1e-300, 0)).toBe(2);
    }
    const tiny = vector([1, 0, 5e-324]);
    const out = zeros(4);
    kernelMatrix(MATERN52, tiny, 1, vector([3, 4]), 2, vector([3, 4]), 2, out);
    expect<bool>(sameBits(out, vector([1, 0, 0, 1]), 4)).toBe(true);
  });

  it("see neighbours far from the origin as they see them near it", () => {
    const near = zeros(1);
    const far = zeros(1);
    kernelMatrix(MATERN52, params, 2, vector([0.25, 1]), 1, origin, 1, near);
    kernelMatrix(MATERN52, params, 2, vector([1e6 + 0.25, 1e6 + 1]), 1, vector([1e6, 1e6]), 1, far);
    expect<f64>(get(far, 0)).toBe(get(near, 0));
  });

  it("are symmetric to the bit, and do not see how many others there are", () => {
    const xs = noise(1, 14);
    for (let kernel = SQUARED_EXPONENTIAL; kernel <= ADDITIVE_MATERN32; kernel++) {
      const all = zeros(49);
      const one = zeros(7);
      kernelMatrix(kernel, params, 2, xs, 7, xs, 7, all);
      for (let j = 0; j < 7; j++) {
        kernelMatrix(kernel, params, 2, xs, 7, xs + 16 * j, 1, one);
        for (let i = 0; i < 7; i++) {
          expect<f64>(get(all, 7 * i + j)).toBe(get(all, 7 * j + i));
          expect<f64>(get(all, 7 * i + j)).toBe(get(one, i));
        }
      }
    }
  });
});
