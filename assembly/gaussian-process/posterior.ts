// Posterior moments and draws of a Gaussian process at k candidates, four at a time: with V = L^-1 K(points, candidates) and
// z = L^-1 (s/c), mean = V^T z and covariance = K(candidates, candidates) - V^T V.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "../abi";
import { GaussianProcess, weights, whitened } from "./gaussian-process";
import { kernelDiagonal, kernelPanel } from "./kernels";
import { addProducts, allFinite, factorRow, solvePanel, subtractProducts, triangle } from "../matrix/linalg";
import { findPoint } from "./lookup";
import { allocateDoubles, release } from "../memory";
import { clearRows, copyLanes, LANES, packPanel, PANEL_ROW } from "../matrix/panel";
import { factoriseSemidefinite } from "../matrix/semidefinite";

/** out[lane] = <column of the panel (n x 4), vector (n)> for `count` lanes. `lanes`: workspace of 4. */
export function products(panel: usize, vector: usize, n: usize, lanes: usize, count: usize, out: usize): void {
  clearRows(lanes, 1);
  addProducts(panel, vector, n, lanes);
  copyLanes(out, lanes, count);
}

/** Fills a panel (n x 4) with V for the candidates packed in `candidates` (d x 4). */
function whitenedKernel(gp: GaussianProcess, candidates: usize, panel: usize): void {
  kernelPanel(gp.kernel, gp.points, gp.size, candidates, panel);
  solvePanel(gp.factor, gp.reciprocals, 0, gp.size, panel);
}

/** variances[lane] -= the squares in a panel (n x 4), in order of rows, so that several pieces give the same bits as one. */
export function reduceVariances(panel: usize, n: usize, variances: usize): void {
  let lower = v128.load(variances);
  let upper = v128.load(variances, 16);
  for (const end = panel + n * PANEL_ROW; panel < end; panel += PANEL_ROW) {
    lower = f64x2.sub(lower, f64x2.mul(v128.load(panel), v128.load(panel)));
    upper = f64x2.sub(upper, f64x2.mul(v128.load(panel, 16), v128.load(panel, 16)));
  }
  v128.store(variances, lower);
  v128.store(variances, upper, 16);
}

/** Writes `count` <= 4 variances from their lanes. A variance that rounding made negative becomes 0. */
export function writeVariances(lanes: usize, count: usize, out: usize): void {
  for (let at: usize = 0; at < count << 3; at += 8) store<f64>(out + at, max(load<f64>(lanes + at), 0));
}

/**
 * Writes the posterior means and variances (without noise, never below 0) at `xs`.
 *
 * `xs`: k x d, row-major; `means`, `variances`: k; none may overlap. Returns OK or NOT_FINITE. **Cost:** k (n d + n^2).
 */
export function gpScore(gp: GaussianProcess, xs: usize, k: usize, means: usize, variances: usize): i32 {
  const z = whitened(gp);
  const lanes = gp.work;
  const panel = lanes + PANEL_ROW;
  for (let start: usize = 0; start < k; start += LANES) {
    const count = min(LANES, k - start);
    const at = start << 3;
    packPanel(xs + at * gp.dimension, count, gp.dimension, gp.panel);
    whitenedKernel(gp, gp.panel, panel);
    products(panel, z, gp.size, lanes, count, means + at);
    kernelDiagonal(gp.kernel, gp.panel, lanes);
    reduceVariances(panel, gp.size, lanes);
    writeVariances(lanes, count, variances + at);
  }
  return allFinite(means, k) && allFinite(variances, k) ? OK : NOT_FINITE;
}

/**
 * Writes the posterior means alone, as k^T A^-1 (s/c), equal to those of `gpScore` up to rounding.
 * Shapes and status as in `gpScore`. **Cost:** k n d.
 */
export function gpMean(gp: GaussianProcess, xs: usize, k: usize, means: usize): i32 {
  const w = weights(gp);
  const lanes = gp.work;
  const panel = lanes + PANEL_ROW;
  for (let start: usize = 0; start < k; start += LANES) {
    const count = min(LANES, k - start);
    const at = start << 3;
    packPanel(xs + at * gp.dimension, count, gp.dimension, gp.panel);
    kernelPanel(gp.kernel, gp.points, gp.size, gp.panel, panel);
    products(panel, w, gp.size, lanes, count, means + at);
  }
  return allFinite(means, k) ? OK : NOT_FINITE;
}

/**
 * Writes the means and the packed lower triangle of the joint covariance. Its diagonal is not clamped.
 * Returns the largest prior variance of a candidate, or a status < 0.
 */
function jointPosterior(gp: GaussianProcess, xs: usize, k: usize, means: usize, packed: usize): f64 {
  const d = gp.dimension;
  const n = gp.size;
  const groups = (k + LANES - 1) / LANES;
  // Each group of four keeps its candidates (d x 4) and its V (n x 4). Behind all groups is a block of 4 x 4.
  const stride = (d + n) * PANEL_ROW;
  const kept = allocateDoubles(<u64>groups * (d + n) * LANES + LANES * LANES);
  if (!kept) return OUT_OF_MEMORY;
  const block = kept + groups * stride;
  const z = whitened(gp);
  let largest: f64 = 0;
  for (let p: usize = 0; p < groups; p++) {
    const start = p * LANES;
    const count = min(LANES, k - start);
    const candidates = kept + p * stride;
    const panel = candidates + d * PANEL_ROW;
    packPanel(xs + (start * d << 3), count, d, candidates);
    whitenedKernel(gp, candidates, panel);
    products(panel, z, n, block, count, means + (start << 3));
    for (let q: usize = 0; q <= p; q++) {
      const others = kept + q * stride;
      kernelPanel(gp.kernel, xs + (start * d << 3), count, others, block);
      if (p == q) {
        kernelDiagonal(gp.kernel, candidates, gp.work);
        for (let a: usize = 0; a < count; a++) {
          const prior = load<f64>(gp.work + (a << 3));
          store<f64>(block + a * (PANEL_ROW + 8), prior);
          largest = max(largest, prior);
        }
      }
      subtractProducts(panel, others + d * PANEL_ROW, n, block);
      for (let a: usize = 0; a < count; a++) {
        const entries = p == q ? a + 1 : LANES;
        copyLanes(factorRow(packed, start + a) + (q * PANEL_ROW), block + a * PANEL_ROW, entries);
      }
    }
  }
  release(kept);
  return largest;
}

// @ts-ignore: decorator
@inline function variance(packed: usize, i: usize): f64 {
  return max(load<f64>(factorRow(packed, i) + (i << 3)), 0);
}

/**
 * Writes the posterior means (k) and covariance (k x k, row-major, symmetric, with the diagonal of `gpScore`) at `xs` (k x d).
 * Returns OK, OUT_OF_MEMORY or NOT_FINITE. **Cost:** k n^2 + k^2 n.
 */
export function gpCovariance(gp: GaussianProcess, xs: usize, k: usize, means: usize, covariance: usize): i32 {
  const packed = allocateDoubles(triangle(k));
  if (!packed) return OUT_OF_MEMORY;
  const largest = jointPosterior(gp, xs, k, means, packed);
  if (largest >= 0) {
    for (let i: usize = 0; i < k; i++) {
      const row = factorRow(packed, i);
      for (let j: usize = 0; j < i; j++) {
        const entry = load<f64>(row + (j << 3));
        store<f64>(covariance + ((i * k + j) << 3), entry);
        store<f64>(covariance + ((j * k + i) << 3), entry);
      }
      store<f64>(covariance + ((i * k + i) << 3), variance(packed, i));
    }
  }
  release(packed);
  if (largest < 0) return OUT_OF_MEMORY;
  return allFinite(means, k) && allFinite(covariance, k * k) ? OK : NOT_FINITE;
}

/**
 * Draws the process at `xs` jointly, m times in opposite pairs: samples[2 s k + i] = means[i] + scale (L z_s)[i], and
 * samples[(2 s + 1) k + i] with a minus. L is the lower Cholesky factor of the posterior covariance in the order of the candidates,
 * without jitter.
 *
 * A squared pivot of at most k 2^-52 times the largest prior variance is rounding, and gets a zero column. Equal candidates get
 * equal samples, to the bit. `xs`: k x d; `normals` z: at least m / 2 rows of k; `means`, `variances`: k; `samples`: m x k; none may
 * overlap. Returns OK, OUT_OF_MEMORY, NOT_POSITIVE_DEFINITE or NOT_FINITE.
 * **Cost:** k n^2 + k^2 n + k r^2 + m k^2 / 4, where r is the rank of the covariance.
 */
export function gpSample(
  gp: GaussianProcess,
  xs: usize,
  k: usize,
  normals: usize,
  scale: f64,
  m: usize,
  means: usize,
  variances: usize,
  samples: usize,
): i32 {
  const packed = allocateDoubles(triangle(k));
  if (!packed) return OUT_OF_MEMORY;
  const largest = jointPosterior(gp, xs, k, means, packed);
  let status: i32 = OUT_OF_MEMORY;
  if (largest >= 0) {
    for (let i: usize = 0; i < k; i++) store<f64>(variances + (i << 3), variance(packed, i));
    status = factoriseSemidefinite(packed, k, <f64>k * f64.EPSILON * largest);
  }
  if (status == OK) {
    for (let i: usize = 0; i < k; i++) correlate(gp, xs, i, k, packed, normals, scale, m, means, samples);
    status = allFinite(variances, k) && allFinite(samples, m * k) ? OK : NOT_FINITE;
  }
  release(packed);
  return status;
}

/** Writes entry i of each of m samples: means[i] + scale (L z)[i] and means[i] - scale (L z)[i] in turn, with L packed. */
function correlate(
  gp: GaussianProcess,
  xs: usize,
  i: usize,
  k: usize,
  factor: usize,
  normals: usize,
  scale: f64,
  m: usize,
  means: usize,
  samples: usize,
): void {
  const bytes = gp.dimension << 3;
  const stride = k << 3;
  const at = i << 3;
  const mean = load<f64>(means + at);
  const row = factorRow(factor, i);
  // The factor rows of equal candidates differ by rounding, which a small pivot would amplify.
  const twin = findPoint(xs, i, xs + i * bytes, bytes);
  for (let s: usize = 0; s < m; s += 2, normals += stride, samples += 2 * stride) {
    let plus: f64;
    let minus: f64;
    if (twin >= 0) {
      plus = load<f64>(samples + (twin << 3));
      minus = s + 1 < m ? load<f64>(samples + stride + (twin << 3)) : 0;
    } else {
      let sum: f64 = 0;
      for (let j: usize = 0; j <= at; j += 8) sum += load<f64>(row + j) * load<f64>(normals + j);
      plus = mean + scale * sum;
      minus = mean - scale * sum;
    }
    store<f64>(samples + at, plus);
    if (s + 1 < m) store<f64>(samples + stride + at, minus);
  }
}
