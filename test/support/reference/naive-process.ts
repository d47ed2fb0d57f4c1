import { ADDITIVE_MATERN32, KERNEL_IDS, LINEAR, MATERN12, MATERN32, MATERN52, SQUARED_EXPONENTIAL } from "../../../assembly/abi.ts";
import type { KernelSpec } from "../../../src/core/core.ts";

// A naive Gaussian process: the kernel matrix of every single evaluation, solved by Gauss-Jordan elimination.

export interface Evaluation {
  readonly x: readonly number[];
  readonly y: number;
}

const matern32 = (r: number): number => (1 + Math.sqrt(3) * r) * Math.exp(-Math.sqrt(3) * r);

/** The kernels as printed in Rasmussen and Williams (2006), chapter 4. */
export function covariance({ kernel, variance, bias, lengthscale }: KernelSpec, a: readonly number[], b: readonly number[]): number {
  const scaled = a.map((value, j) => (value - b[j]) / lengthscale[j]);
  const distance = (from: number, to: number) => Math.sqrt(scaled.slice(from, to).reduce((sum, each) => sum + each * each, 0));
  const r = distance(0, scaled.length);
  switch (kernel % KERNEL_IDS) {
    case SQUARED_EXPONENTIAL:
      return variance * Math.exp((-r * r) / 2);
    case MATERN12:
      return variance * Math.exp(-r);
    case MATERN32:
      return variance * matern32(r);
    case MATERN52:
      return variance * (1 + Math.sqrt(5) * r + (5 / 3) * r * r) * Math.exp(-Math.sqrt(5) * r);
    case LINEAR:
      return bias + variance * a.reduce((sum, value, j) => sum + (value * b[j]) / lengthscale[j] ** 2, 0);
    case ADDITIVE_MATERN32: {
      const context = Math.floor(kernel / KERNEL_IDS);
      const [c, e] = [matern32(distance(0, context)), matern32(distance(context, scaled.length))];
      return variance * (bias + c + e + c * e);
    }
    default:
      throw new Error(`no kernel ${kernel}`);
  }
}

/** Solves A X = B for row-major arrays of rows, and returns log |det A| too. */
export function solve(
  a: readonly (readonly number[])[],
  b: readonly (readonly number[])[],
): { readonly x: number[][]; readonly logDeterminant: number } {
  const n = a.length;
  const rows = a.map((row, i) => [...row, ...b[i]]);
  let logDeterminant = 0;
  for (let column = 0; column < n; column++) {
    let pivot = column;
    for (let i = column; i < n; i++) if (Math.abs(rows[i][column]) > Math.abs(rows[pivot][column])) pivot = i;
    [rows[column], rows[pivot]] = [rows[pivot], rows[column]];
    logDeterminant += Math.log(Math.abs(rows[column][column]));
    for (let i = 0; i < n; i++) {
      const factor = i === column ? 0 : rows[i][column] / rows[column][column];
      for (let j = column; factor !== 0 && j < rows[i].length; j++) rows[i][j] -= factor * rows[column][j];
    }
  }
  return { x: rows.map((row, i) => row.slice(n).map((value) => value / row[i])), logDeterminant };
}

/** The lower Cholesky factor of a positive definite matrix. */
export function cholesky(a: readonly (readonly number[])[]): number[][] {
  const factor = a.map((row) => row.map(() => 0));
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = a[i][j];
      for (let t = 0; t < j; t++) rest -= factor[i][t] * factor[j][t];
      factor[i][j] = i === j ? Math.sqrt(rest) : rest / factor[j][j];
    }
  }
  return factor;
}

export const matrixOf = (spec: KernelSpec, xs: readonly (readonly number[])[], ys: readonly (readonly number[])[]): number[][] =>
  xs.map((x) => ys.map((y) => covariance(spec, x, y)));

export interface NaivePosterior {
  readonly mean: readonly number[];
  readonly covariance: readonly (readonly number[])[];
  readonly logMarginalLikelihood: number;
  readonly informationGain: number;
}

export function naivePosterior(
  spec: KernelSpec,
  noise: number,
  evaluations: readonly Evaluation[],
  candidates: readonly (readonly number[])[],
): NaivePosterior {
  const points = evaluations.map(({ x }) => x);
  const prior = matrixOf(spec, points, points);
  const noisy = prior.map((row, i) => row.map((value, j) => value + (i === j ? noise : 0)));
  const cross = matrixOf(spec, points, candidates);
  const { x: solved, logDeterminant } = solve(
    noisy,
    evaluations.map(({ y }, i) => [y, ...cross[i]]),
  );
  const inner = (i: number, column: number) => cross.reduce((sum, row, t) => sum + row[i] * solved[t][column], 0);
  const quadratic = evaluations.reduce((sum, { y }, i) => sum + y * solved[i][0], 0);
  return {
    mean: candidates.map((_, i) => inner(i, 0)),
    covariance: candidates.map((a, i) => candidates.map((b, j) => covariance(spec, a, b) - inner(i, j + 1))),
    logMarginalLikelihood: -0.5 * (quadratic + logDeterminant + evaluations.length * Math.log(2 * Math.PI)),
    informationGain: 0.5 * (logDeterminant - evaluations.length * Math.log(noise)),
  };
}
