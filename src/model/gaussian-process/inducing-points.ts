import type { Core, KernelSpec } from "../../core/core.ts";

/**
 * Chooses `size` of n points (n x d) to represent all of them. Returns n places: for each point the chosen one that represents it.
 *
 * Each step chooses the point of greatest loss: its count times its prior variance given the points chosen so far. This is a
 * pivoted Cholesky factorisation of the kernel matrix weighted by counts, and reduces the remaining trace greedily. The chosen
 * point of greatest covariance represents a point. Rewards play no part.
 * **Cost:** O(n size (d + size)). **Source:** Harbrecht, Peters, Schneider 2012; Burt, Rasmussen, van der Wilk 2019.
 */
export function inducingPoints(core: Core, kernel: KernelSpec, points: Float64Array, counts: ArrayLike<number>, size: number): Int32Array {
  const n = counts.length;
  const d = kernel.lengthscale.length;
  const at = (place: number): Float64Array => points.subarray(place * d, (place + 1) * d);
  const nearest = new Int32Array(n).fill(-1);
  const closest = new Float64Array(n).fill(-1);
  // Chosen places come first in this order, and need no further computation.
  const order = Int32Array.from(counts, (_, place) => place);
  const rest = Float64Array.from(counts, (_, place) => core.kernelMatrix(kernel, at(place), at(place))[0]);
  const columns: Float64Array[] = [];
  for (let chosen = 0; chosen < Math.min(size, n); chosen++) {
    const from = greatestLoss(counts, rest, order, chosen);
    for (const each of [order, rest, ...columns]) [each[chosen], each[from]] = [each[from], each[chosen]];
    const pivot = order[chosen];
    const covariance = core.kernelMatrix(kernel, points, at(pivot));
    for (let i = chosen + 1; i < n; i++) {
      const place = order[i];
      if (covariance[place] > closest[place]) [nearest[place], closest[place]] = [pivot, covariance[place]];
    }
    nearest[pivot] = pivot;
    const column = Float64Array.from(order, (place) => covariance[place]);
    eliminate(columns, column, rest, chosen);
    columns.push(column);
  }
  return nearest;
}

/** The index from `chosen` on of the greatest loss. Among equal losses the first place wins. */
function greatestLoss(counts: ArrayLike<number>, rest: Float64Array, order: Int32Array, chosen: number): number {
  let best = chosen;
  let most = -1;
  for (let i = chosen; i < rest.length; i++) {
    const loss = counts[order[i]] * rest[i];
    if (loss > most || (loss === most && order[i] < order[best])) [best, most] = [i, loss];
  }
  return best;
}

/** Turns a column of the matrix into one of the factor, below its pivot, and subtracts its squares from the rest of the diagonal. */
function eliminate(columns: readonly Float64Array[], column: Float64Array, rest: Float64Array, pivot: number): void {
  const scale = rest[pivot] > 0 ? 1 / Math.sqrt(rest[pivot]) : 0;
  for (const earlier of columns) {
    const factor = earlier[pivot];
    for (let i = pivot + 1; i < column.length; i++) column[i] -= factor * earlier[i];
  }
  for (let i = pivot + 1; i < column.length; i++) {
    column[i] *= scale;
    rest[i] = Math.max(rest[i] - column[i] * column[i], 0);
  }
}
