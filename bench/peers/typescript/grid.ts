import type { GridInputs } from "../../inputs.ts";
import { rowStart } from "./factor.ts";
import { GaussianProcess } from "./gaussian-process.ts";

/** GP-UCB-SDF over a fixed set of points in plain TypeScript. A round adds a row of V. Returns each round's index and score. */
export function playGrid({
  dimension: d,
  points,
  values,
  rounds,
  window,
  delay,
  lengthscale,
  noiseVariance,
  beta,
}: GridInputs): Float64Array {
  const k = values.length;
  const process = new GaussianProcess({ dimension: d, lengthscale, noiseVariance, capacity: rounds });
  const solved = Array.from({ length: rounds }, () => new Float64Array(k));
  const means = new Float64Array(k);
  const variances = new Float64Array(k).fill(1);
  const chosen: number[] = [];
  const answer = new Float64Array(2 * rounds);
  for (let round = 1; round <= rounds; round++) {
    const z = process.whitened();
    means.fill(0);
    for (let i = 0; i < round - 1; i++) addScaled(means, solved[i], z[i]);
    const nu = beta + chosen.slice(-window).reduce((sum, index) => sum + Math.sqrt(variances[index]), 0);
    let best = 0;
    let score = Number.NEGATIVE_INFINITY;
    for (let c = 0; c < k; c++) {
      const upper = means[c] + nu * Math.sqrt(variances[c]);
      if (upper > score) [best, score] = [c, upper];
    }
    chosen.push(best);
    answer.set([best, score], 2 * (round - 1));
    process.append(points.subarray(best * d, (best + 1) * d));
    solveRow(process, points, solved, variances);
    const due = round - delay;
    if (due > 0) process.reward(due - 1, values[chosen[due - 1]]);
  }
  return answer;
}

function addScaled(sums: Float64Array, row: Float64Array, scale: number): void {
  for (let c = 0; c < sums.length; c++) sums[c] += scale * row[c];
}

/** Fills the row of V for the newest row of L, and subtracts its squares from the variances. */
function solveRow(process: GaussianProcess, points: Float64Array, solved: readonly Float64Array[], variances: Float64Array): void {
  const newest = process.size - 1;
  const start = rowStart(newest);
  const row = solved[newest];
  for (let c = 0; c < row.length; c++) row[c] = process.kernel(process.points, newest, points, c);
  for (let j = 0; j < newest; j++) addScaled(row, solved[j], -process.factor[start + j]);
  const pivot = process.factor[start + newest];
  for (let c = 0; c < row.length; c++) {
    row[c] /= pivot;
    variances[c] = Math.max(variances[c] - row[c] * row[c], 0);
  }
}
