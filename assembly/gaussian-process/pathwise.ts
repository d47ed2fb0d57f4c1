// Joint draws at the watched candidates without a factor of their posterior covariance. A draw of the prior is corrected by the
// observations. One factor of the prior serves all draws.
//
// With f0 a draw of the prior and e a draw of the noise, f0(x) - K(x, X) A^-1 (f0(X) + e) has exactly the posterior covariance.
// Source: Wilson et al., Efficiently sampling functions from Gaussian process posteriors (ICML 2020), eq. 12 (Matheron's rule).

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "../abi";
import { gpScoreWatched, subtractWatched } from "./watched";
import { GaussianProcess } from "./gaussian-process";
import { kernelDiagonal, kernelPanel } from "./kernels";
import { allFinite, factorRow, triangle } from "../matrix/linalg";
import { allocateDoubles, release } from "../memory";
import { LANES, packPanel, PANEL_ROW, unpackLane } from "../matrix/panel";
import { factoriseSemidefinite } from "../matrix/semidefinite";
import { solve } from "../matrix/vector";

/**
 * Factorises the prior covariance of the watched candidates, passed again as `xs` (k x d), unless the factor exists.
 * As in `gpSample`, a pivot that is rounding gets a zero column. Returns OK, OUT_OF_MEMORY or NOT_POSITIVE_DEFINITE.
 * **Cost:** k r^2 for rank r, and k^2 / 2 numbers of lasting memory.
 */
export function gpFactorPrior(gp: GaussianProcess, xs: usize): i32 {
  if (gp.prior) return OK;
  const d = gp.dimension;
  const k = gp.watchedSize;
  const prior = allocateDoubles(triangle(k));
  // One panel for candidates, one for rows.
  const candidates = allocateDoubles((<u64>d + k) * LANES);
  if (!prior || !candidates) {
    release(prior);
    release(candidates);
    return OUT_OF_MEMORY;
  }
  const panel = candidates + d * PANEL_ROW;
  let largest: f64 = 0;
  for (let start: usize = 0; start < k; start += LANES) {
    const count = min(LANES, k - start);
    packPanel(xs + (start * d << 3), count, d, candidates);
    kernelPanel(gp.kernel, xs, start + count, candidates, panel);
    for (let a: usize = 0; a < count; a++) unpackLane(panel, a, start + a, factorRow(prior, start + a));
    kernelDiagonal(gp.kernel, candidates, panel);
    for (let a: usize = 0; a < count; a++) {
      const variance = load<f64>(panel + (a << 3));
      store<f64>(factorRow(prior, start + a) + ((start + a) << 3), variance);
      largest = max(largest, variance);
    }
  }
  release(candidates);
  const status = factoriseSemidefinite(prior, k, <f64>k * f64.EPSILON * largest);
  if (status != OK) {
    release(prior);
    return status;
  }
  gp.prior = prior;
  return OK;
}

/**
 * Writes the results of `gpScoreWatched`, and m draws in opposite pairs: samples[2 s k + x] = means[x] + scale draw_s[x], and
 * samples[(2 s + 1) k + x] with a minus.
 *
 * `gpFactorPrior` must come first. `places` (n): for each row its place among the candidates. `normals`: (m / 2, rounded up) x 2 k, k
 * normals of the prior and k normals of the noise. All rows of a candidate share one noise, so merging rows changes nothing.
 * `samples`: m x k. Returns the status of `gpScoreWatched`. **Cost:** that of the scores, and m (k^2 + 2 n k + n^2) / 4.
 */
export function gpSampleWatched(
  gp: GaussianProcess,
  places: usize,
  normals: usize,
  scale: f64,
  m: usize,
  means: usize,
  variances: usize,
  samples: usize,
): i32 {
  const status = gpScoreWatched(gp, means, variances);
  if (status != OK) return status;
  const k = gp.watchedSize;
  const n = gp.size;
  const draw = allocateDoubles(2 * <u64>k + n);
  if (!draw) return OUT_OF_MEMORY;
  const counts = draw + (k << 3);
  const observed = counts + (k << 3);
  memory.fill(counts, 0, k << 3);
  for (let i: usize = 0; i < n << 3; i += 8) {
    const count = counts + (<usize>load<f64>(places + i) << 3);
    store<f64>(count, load<f64>(count) + load<f64>(gp.counts + i));
  }
  for (let s: usize = 0; s < m; s += 2, normals += k << 4) {
    multiply(gp.prior, k, normals, draw);
    for (let i: usize = 0; i < n << 3; i += 8) {
      const place = <usize>load<f64>(places + i) << 3;
      const noise = sqrt(gp.noise / load<f64>(counts + place)) * load<f64>(normals + (k << 3) + place);
      store<f64>(observed + i, load<f64>(draw + place) + noise);
    }
    solve(gp.factor, gp.reciprocals, n, observed);
    subtractWatched(gp, observed, draw);
    const plus = samples + (s * k << 3);
    for (let x: usize = 0; x < k << 3; x += 8) {
      const change = scale * load<f64>(draw + x);
      store<f64>(plus + x, load<f64>(means + x) + change);
      if (s + 1 < m) store<f64>(plus + (k << 3) + x, load<f64>(means + x) - change);
    }
  }
  release(draw);
  return allFinite(samples, m * k) ? OK : NOT_FINITE;
}

/** out = L z for a packed triangle of n rows. Four rows run in parallel, because each waits for its own last addition. */
function multiply(factor: usize, n: usize, z: usize, out: usize): void {
  let i: usize = 0;
  for (; i + 4 <= n; i += 4) {
    let sum0: f64 = 0;
    let sum1: f64 = 0;
    let sum2: f64 = 0;
    let sum3: f64 = 0;
    const l0 = factorRow(factor, i);
    const l1 = factorRow(factor, i + 1);
    const l2 = factorRow(factor, i + 2);
    const l3 = factorRow(factor, i + 3);
    for (let j: usize = 0; j < i << 3; j += 8) {
      const entry = load<f64>(z + j);
      sum0 += load<f64>(l0 + j) * entry;
      sum1 += load<f64>(l1 + j) * entry;
      sum2 += load<f64>(l2 + j) * entry;
      sum3 += load<f64>(l3 + j) * entry;
    }
    finish(l0, z, i, i + 1, sum0, out);
    finish(l1, z, i, i + 2, sum1, out);
    finish(l2, z, i, i + 3, sum2, out);
    finish(l3, z, i, i + 4, sum3, out);
  }
  for (; i < n; i++) finish(factorRow(factor, i), z, 0, i + 1, 0, out);
}

/** Adds the products [from, to) of a row and z to `sum`, and writes it to out[to - 1]. */
function finish(row: usize, z: usize, from: usize, to: usize, sum: f64, out: usize): void {
  for (let j = from << 3; j < to << 3; j += 8) sum += load<f64>(row + j) * load<f64>(z + j);
  store<f64>(out + ((to - 1) << 3), sum);
}
