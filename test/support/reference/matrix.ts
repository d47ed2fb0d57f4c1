/** Features of candidates as a matrix: k x d, row-major. */
export function matrixOf(points: Float64Array | { matrix(): Float64Array }): Float64Array {
  return points instanceof Float64Array ? points : points.matrix();
}
