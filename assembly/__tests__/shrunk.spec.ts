import { shrunkSolve } from "../shrunk";
import { allocateDoubles } from "../memory";

/** gram of (1, 2) and (3, 1), packed; with the ridge 0.5 that is [[10.5, 5], [5, 5.5]], of determinant 32.75. */
function gram(): usize {
  const packed = allocateDoubles(3);
  store<f64>(packed, 10);
  store<f64>(packed, 5, 8);
  store<f64>(packed, 5, 16);
  return packed;
}

describe("shrunkSolve", () => {
  it("solves for each vector and takes the trace of the inverse", () => {
    const vectors = allocateDoubles(4);
    store<f64>(vectors, 1);
    store<f64>(vectors, 0, 8);
    store<f64>(vectors, 2, 16);
    store<f64>(vectors, -1, 24);
    const trace = allocateDoubles(1);
    expect(shrunkSolve(gram(), 2, 0.5, vectors, 2, trace)).toBe(0);
    expect(load<f64>(vectors)).toBeCloseTo(5.5 / 32.75, 14);
    expect(load<f64>(vectors, 8)).toBeCloseTo(-5 / 32.75, 14);
    expect(load<f64>(vectors, 16)).toBeCloseTo(16 / 32.75, 14);
    expect(load<f64>(vectors, 24)).toBeCloseTo(-20.5 / 32.75, 14);
    expect(load<f64>(trace)).toBeCloseTo(16 / 32.75, 14);
  });

  it("refuses what is not positive definite and writes nothing", () => {
    const packed = gram();
    store<f64>(packed, -10);
    const vectors = allocateDoubles(2);
    store<f64>(vectors, 7);
    expect(shrunkSolve(packed, 2, 0.5, vectors, 1, allocateDoubles(1))).toBeLessThan(0);
    expect(load<f64>(vectors)).toBe(7);
  });
});
