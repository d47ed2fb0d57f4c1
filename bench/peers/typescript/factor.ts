// Packed triangular factors as plain loops over Float64Array: the core's algorithms without WebAssembly.

/** Start of row i of a packed lower triangle. */
export const rowStart = (i: number): number => (i * (i + 1)) / 2;

/** Solves L y = b for entries [from, n) of `vector`, in place. Entries before `from` already hold y. */
export function solve(factor: Float64Array, from: number, n: number, vector: Float64Array): void {
  for (let i = from; i < n; i++) {
    const start = rowStart(i);
    let rest = vector[i];
    for (let j = 0; j < i; j++) rest -= factor[start + j] * vector[j];
    vector[i] = rest / factor[start + i];
  }
}

/** Solves L^T x = b in place. */
export function solveTransposed(factor: Float64Array, n: number, vector: Float64Array): void {
  for (let i = n - 1; i >= 0; i--) {
    const start = rowStart(i);
    const x = vector[i] / factor[start + i];
    vector[i] = x;
    for (let j = 0; j < i; j++) vector[j] -= factor[start + j] * x;
  }
}

/** Turns the factor of A into that of A + x x^T by Givens rotations. `rotations`: workspace of 2 n. */
export function update(factor: Float64Array, n: number, x: Float64Array, rotations: Float64Array): void {
  for (let i = 0; i < n; i++) {
    const start = rowStart(i);
    let rest = x[i];
    for (let j = 0; j < i; j++) {
      const cosine = rotations[2 * j];
      const sine = rotations[2 * j + 1];
      const entry = factor[start + j];
      factor[start + j] = cosine * entry + sine * rest;
      rest = cosine * rest - sine * entry;
    }
    const pivot = factor[start + i];
    const radius = Math.sqrt(pivot * pivot + rest * rest);
    rotations[2 * i] = pivot / radius;
    rotations[2 * i + 1] = rest / radius;
    factor[start + i] = radius;
  }
}
