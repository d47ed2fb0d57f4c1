/** Solves a x = b for a matrix a (n x n, row-major) that needs no pivoting. */
export function solved(a: Float64Array, b: readonly number[]): number[] {
  const n = b.length;
  const rows = b.map((each, i) => [...a.subarray(i * n, (i + 1) * n), each]);
  for (let i = 0; i < n; i++) {
    for (let other = 0; other < n; other++) {
      const factor = other === i ? 0 : rows[other][i] / rows[i][i];
      for (let j = i; factor !== 0 && j <= n; j++) rows[other][j] -= factor * rows[i][j];
    }
  }
  return rows.map((row, i) => row[n] / row[i]);
}
