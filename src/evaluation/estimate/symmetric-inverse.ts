/** Pivots below this share of the diagonal count as zero. */
const LEAST_PIVOT = 1e-12;

/** The inverse of a symmetric positive definite matrix, by rows. Undefined if it is singular. **Cost:** O(n^3). */
export function inverse(matrix: readonly Float64Array[]): Float64Array[] | undefined {
  const n = matrix.length;
  const rest = matrix.map((row) => row.slice());
  const inverted = rest.map((_, i) => Float64Array.from({ length: n }, (_, j) => Number(i === j)));
  // Gauss and Jordan. A positive definite matrix needs no exchange of rows.
  for (let i = 0; i < n; i++) {
    const pivot = rest[i][i];
    if (!(pivot > LEAST_PIVOT * matrix[i][i])) return undefined;
    for (const rows of [rest, inverted]) for (let j = 0; j < n; j++) rows[i][j] /= pivot;
    for (let other = 0; other < n; other++) {
      const factor = rest[other][i];
      if (other === i || factor === 0) continue;
      for (const rows of [rest, inverted]) for (let j = 0; j < n; j++) rows[other][j] -= factor * rows[i][j];
    }
  }
  return inverted;
}
