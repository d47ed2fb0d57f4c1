import { inverse, Matrix } from "ml-matrix";
import type { ScoringInputs } from "../inputs.ts";

/**
 * Means and norms of the candidates, in the usual style of ml-matrix. A product with the inverse of V is three times as fast there as
 * solving with its Cholesky factor.
 */
export function mlMatrixScoring({ d, k, n, shown, rewards, candidates }: ScoringInputs): () => Float64Array {
  const features = Matrix.from1DArray(n, d, Array.from(shown));
  const transposed = features.transpose();
  const inverted = inverse(transposed.mmul(features).add(Matrix.eye(d, d)));
  const theta = inverted.mmul(transposed.mmul(Matrix.columnVector(Array.from(rewards))));
  const xs = Matrix.from1DArray(k, d, Array.from(candidates));
  return () => {
    const means = xs.mmul(theta).to1DArray();
    const squares = xs.mmul(inverted).mul(xs).sum("row");
    return Float64Array.from([...means, ...squares.map(Math.sqrt)]);
  };
}
