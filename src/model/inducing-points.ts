import type { Core, KernelSpec } from "../core/core.ts";

/**
 * Chooses `size` of n points (n x d) that stand for all, and says for each point which of the chosen ones does: n places.
 *
 * Greedily, each time the point at which the most is lost: its count times its prior variance given those chosen so far. This
 * is a pivoted Cholesky factorisation of the kernel matrix weighted by counts, whose remaining trace it brings down. A point is
 * then stood for by the chosen one with which it has the greatest covariance. It looks at no rewards.
 * **Cost:** O(n size (d + size)). **Source:** Harbrecht, Peters, Schneider 2012; Burt, Rasmussen, van der Wilk 2019.
 */
export function inducingPoints(core: Core, kernel: KernelSpec, points: Float64Array, counts: ArrayLike<number>, size: number): Int32Array {
  const n = counts.length;
  const d = kernel.lengthscale.length;
  const at = (place: number): Float64Array => points.subarray(place * d, (place + 1) * d);
  const rest = Float64Array.from(counts, (_, i) => core.kernelMatrix(kernel, at(i), at(i))[0]);
  const nearest = new Int32Array(n).fill(-1);
  const closest = new Float64Array(n).fill(-1);
  const columns: Float64Array[] = [];
  for (let chosen = 0; chosen < Math.min(size, n); chosen++) {
    let pivot = -1;
    let most = -1;
    for (let i = 0; i < n; i++) {
      const loss = counts[i] * rest[i];
      if (nearest[i] !== i && loss > most) [pivot, most] = [i, loss];
    }
    const covariance = core.kernelMatrix(kernel, points, at(pivot));
    for (let i = 0; i < n; i++) {
      if (nearest[i] === i || covariance[i] <= closest[i]) continue;
      [nearest[i], closest[i]] = [pivot, covariance[i]];
    }
    nearest[pivot] = pivot;
    columns.push(eliminate(columns, covariance, rest, pivot));
  }
  return nearest;
}

/** The next column of the factor, from that of the matrix; takes its squares from what remains of the diagonal. */
function eliminate(columns: readonly Float64Array[], column: Float64Array, rest: Float64Array, pivot: number): Float64Array {
  const scale = rest[pivot] > 0 ? 1 / Math.sqrt(rest[pivot]) : 0;
  for (const earlier of columns) {
    const factor = earlier[pivot];
    for (let i = 0; i < column.length; i++) column[i] -= factor * earlier[i];
  }
  for (let i = 0; i < column.length; i++) {
    column[i] *= scale;
    rest[i] = Math.max(rest[i] - column[i] * column[i], 0);
  }
  return column;
}
