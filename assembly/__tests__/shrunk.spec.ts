import { NOT_POSITIVE_DEFINITE, OK } from "../abi";
import { shrunkSolve } from "../ridge/shrunk";
import { get, vector, zeros } from "./vectors";

/** The squares of (1, 2) and (3, 1), packed; with the ridge 0.5 that is [[10.5, 5], [5, 5.5]], of determinant 32.75. */
const gram = vector([10, 5, 5]);

describe("shrunkSolve", () => {
  it("solves for each vector and takes the diagonal of the inverse", () => {
    const vectors = vector([1, 0, 2, -1]);
    const variances = zeros(2);
    expect<i32>(shrunkSolve(gram, 2, 0.5, vectors, 2, variances)).toBe(OK);
    const expected = vector([5.5 / 32.75, -5 / 32.75, 16 / 32.75, -20.5 / 32.75]);
    for (let i = 0; i < 4; i++) expect<f64>(abs(get(vectors, i) - get(expected, i))).toBeLessThan(1e-15);
    expect<f64>(abs(get(variances, 0) - 5.5 / 32.75)).toBeLessThan(1e-15);
    expect<f64>(abs(get(variances, 1) - 10.5 / 32.75)).toBeLessThan(1e-15);
  });

  it("takes what only rounding has made indefinite", () => {
    const vectors = vector([1, 1]);
    const variances = zeros(2);
    expect<i32>(shrunkSolve(vector([1e20, 1e20, 1e20 - 65536]), 2, 0.5, vectors, 1, variances)).toBe(OK);
    expect<f64>(abs(get(vectors, 0) + get(vectors, 1) - 1e-20)).toBeLessThan(1e-30);
    expect<f64>(abs(get(variances, 0) + get(variances, 1) - 8)).toBeLessThan(1e-12);
  });

  it("refuses what is not finite and writes nothing", () => {
    const packed = vector([NaN, 5, 5]);
    const vectors = vector([7, 8]);
    const variances = zeros(2);
    expect<i32>(shrunkSolve(packed, 2, 0.5, vectors, 1, variances)).toBe(NOT_POSITIVE_DEFINITE);
    expect<f64>(get(vectors, 0)).toBe(7);
    expect<f64>(get(variances, 0)).toBe(0);
  });
});
