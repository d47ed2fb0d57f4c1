// Gaussian-process regression over unique points, each with a count c of evaluations and a sum s of rewards.
//
// L L^T = A = K + noise diag(1/c). At x, with k the kernel values at the points: mean = k^T A^-1 (s/c) and
// variance = k(x, x) - k^T A^-1 k. This is the posterior of all single evaluations, at the cost of the unique ones.
// Source: Calandriello et al. 2022, eq. 3, with averages s/c where the paper prints sums.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "./abi";
import { downdate, factorise, invertDiagonal, LIFT } from "./factor";
import { createKernel, Kernel, kernelDiagonal, kernelPanel } from "./kernels";
import { factorRow, triangle } from "./linalg";
import { allocate, allocateDoubles, release } from "./memory";
import { LANES, packPanel, PANEL_ROW, unpackLane } from "./panel";
import { solveFrom, solveTransposed } from "./vector";

/** How far a group of watched candidates is. */
@unmanaged export class Progress {
  /** Rows of V that still hold. */
  solved: usize;
  /** Rows that are in the variances already, and in the means. */
  reduced: usize;
  summed: usize;
}

@unmanaged export class GaussianProcess {
  noise: f64;
  /** Sum of all squared rewards, for the likelihood. */
  squares: f64;
  kernel: Kernel;
  dimension: usize;
  capacity: usize;
  size: usize;
  /** Pivots lifted to their lower bound since the factor was last built. */
  clamped: usize;
  /** How many entries of `whitened` belong to the present factor and sums, and whether `weights` does. */
  whitenedRows: usize;
  weightsFresh: bool;
  /** Owned, packed, of `capacity` rows. */
  factor: usize;
  /** Owned; the others, of `capacity` rows too, stand behind it in the same block. */
  points: usize;
  counts: usize;
  sums: usize;
  /** noise / c: what A has on its diagonal beside K, and the exact lower bound of the squared pivot. */
  noises: usize;
  reciprocals: usize;
  /** L^-1 (s/c) */
  whitened: usize;
  /** A^-1 (s/c) */
  weights: usize;
  /** Workspace: (d + capacity + 4) x 4. */
  panel: usize;
  /** Owned, see domain.ts: the watched candidates, and V = L^-1 K(points, candidates). */
  domain: usize;
  domainSize: usize;
  solved: usize;
  solvedCapacity: usize;
  /** `Progress` of each group of candidates, in the same block as they, and the greatest of it. */
  progress: usize;
  progressEnd: usize;
  solvedRows: usize;
  summedRows: usize;
  /** The first row whose share in the means had changed when they were asked for last, or since; and whether none has since. */
  changedRow: usize;
  meansAsked: bool;
  /** Owned, see pathwise.ts: the factor of the watched candidates' prior covariance, packed, once it was asked for. */
  prior: usize;

  /** The workspace's parts: candidates (d x 4), and behind them 4 lanes for results, then n x 4. */
  @inline get work(): usize {
    return this.panel + this.dimension * PANEL_ROW;
  }
}

/** Doubles behind `points` per row: 6 vectors and a panel. */
const ROW_DOUBLES: usize = 6 + LANES;

/**
 * Starts with no points. `params`: variance, bias, then d lengthscales; `noiseVariance` > 0.
 * Returns a handle, which the caller owns until `gpRelease`, or 0 without memory.
 */
export function gpCreate(d: usize, kernelId: i32, params: usize, noiseVariance: f64, capacity: usize): GaussianProcess | null {
  const gp = changetype<GaussianProcess>(allocate(offsetof<GaussianProcess>()));
  const kernel = createKernel(kernelId, params, d);
  if (gp && kernel) {
    memory.fill(changetype<usize>(gp), 0, offsetof<GaussianProcess>());
    gp.noise = noiseVariance;
    gp.kernel = kernel;
    gp.dimension = d;
    if (reserve(gp, max(capacity, LANES))) return gp;
  }
  release(changetype<usize>(kernel));
  release(changetype<usize>(gp));
  return null;
}

export function gpRelease(gp: GaussianProcess): void {
  release(gp.factor);
  release(gp.points);
  release(gp.domain);
  release(gp.solved);
  release(gp.prior);
  release(changetype<usize>(gp.kernel));
  release(changetype<usize>(gp));
}

/** Moves everything to where `capacity` rows fit; false, nothing changed, without memory. */
function reserve(gp: GaussianProcess, capacity: usize): bool {
  const d = gp.dimension;
  const factor = allocateDoubles(triangle(capacity));
  const points = allocateDoubles(<u64>capacity * (d + ROW_DOUBLES) + (d + LANES) * LANES);
  if (!factor || !points) {
    release(points);
    release(factor);
    return false;
  }
  const vector = capacity << 3;
  const counts = points + vector * d;
  const rows = gp.size << 3;
  memory.copy(factor, gp.factor, factorRow(0, gp.size));
  memory.copy(points, gp.points, rows * d);
  memory.copy(counts, gp.counts, rows);
  memory.copy(counts + vector, gp.sums, rows);
  memory.copy(counts + 2 * vector, gp.noises, rows);
  memory.copy(counts + 3 * vector, gp.reciprocals, rows);
  memory.copy(counts + 4 * vector, gp.whitened, gp.whitenedRows << 3);
  release(gp.factor);
  release(gp.points);
  gp.factor = factor;
  gp.points = points;
  gp.counts = counts;
  gp.sums = counts + vector;
  gp.noises = counts + 2 * vector;
  gp.reciprocals = counts + 3 * vector;
  gp.whitened = counts + 4 * vector;
  gp.weights = counts + 5 * vector;
  gp.panel = counts + 6 * vector;
  gp.capacity = capacity;
  gp.weightsFresh = false;
  return true;
}

/** Sums, counts or the factor have changed from `row` on, and with them what the means derive from. */
function forgetMeans(gp: GaussianProcess, row: usize): void {
  gp.weightsFresh = false;
  gp.whitenedRows = min(gp.whitenedRows, row);
  gp.changedRow = gp.meansAsked ? row : min(gp.changedRow, row);
  gp.meansAsked = false;
  if (row >= gp.summedRows) return;
  gp.summedRows = row;
  for (let at = gp.progress; at < gp.progressEnd; at += offsetof<Progress>()) {
    const group = changetype<Progress>(at);
    if (row < group.summed) group.summed = 0;
  }
}

/** Rows of the factor from `row` on have changed, and with them what the watched candidates derive from them. */
function forgetRows(gp: GaussianProcess, row: usize): void {
  forgetMeans(gp, row);
  if (row >= gp.solvedRows) return;
  gp.solvedRows = row;
  for (let at = gp.progress; at < gp.progressEnd; at += offsetof<Progress>()) {
    const group = changetype<Progress>(at);
    group.solved = min(group.solved, row);
    if (row < group.reduced) group.reduced = 0;
  }
}

/** Reserves room for n rows and sets their number; the caller then writes the state and calls `gpTouch`. OK or OUT_OF_MEMORY. */
export function gpResize(gp: GaussianProcess, n: usize): i32 {
  if (n > gp.capacity && !reserve(gp, n)) return OUT_OF_MEMORY;
  gp.size = n;
  return OK;
}

/** Derives everything anew from the state that was written. */
export function gpTouch(gp: GaussianProcess): void {
  for (let i: usize = 0; i < gp.size << 3; i += 8) store<f64>(gp.noises + i, gp.noise / load<f64>(gp.counts + i));
  invertDiagonal(gp.factor, gp.size, gp.reciprocals);
  gp.clamped = 0;
  forgetRows(gp, 0);
}

export function gpSize(gp: GaussianProcess): usize {
  return gp.size;
}

/** How often rounding pushed a pivot below its exact lower bound since the factor was last built or read. */
export function gpClamped(gp: GaussianProcess): usize {
  return gp.clamped;
}

/** Where the points stand, n x d, row-major. This and the pointers below hold until a row is added. */
export function gpPoints(gp: GaussianProcess): usize {
  return gp.points;
}

export function gpCounts(gp: GaussianProcess): usize {
  return gp.counts;
}

export function gpSums(gp: GaussianProcess): usize {
  return gp.sums;
}

/** Where the factor stands, packed lower triangle. */
export function gpFactor(gp: GaussianProcess): usize {
  return gp.factor;
}

export function gpSquares(gp: GaussianProcess): f64 {
  return gp.squares;
}

export function gpSetSquares(gp: GaussianProcess, squares: f64): void {
  gp.squares = squares;
}

/** Writes rows [from, to) of A, packed, below `factor`'s row `from`; reads points and noises. */
function fillRows(gp: GaussianProcess, kernel: Kernel, factor: usize, from: usize, to: usize): void {
  const d = gp.dimension;
  const lanes = gp.work;
  const panel = lanes + PANEL_ROW;
  for (let start = from; start < to; start += LANES) {
    const count = min(LANES, to - start);
    packPanel(gp.points + (start * d << 3), count, d, gp.panel);
    kernelPanel(kernel, gp.points, start + count, gp.panel, panel);
    kernelDiagonal(kernel, gp.panel, lanes);
    for (let a: usize = 0; a < count; a++) {
      const row = factorRow(factor, start + a);
      const at = (start + a) << 3;
      unpackLane(panel, a, start + a, row);
      store<f64>(row + at, load<f64>(lanes + (a << 3)) + load<f64>(gp.noises + at));
    }
  }
}

/** `gpAppendGroup` of one evaluation. */
export function gpAppend(gp: GaussianProcess, x: usize): i32 {
  return gpAppendGroup(gp, x, 1);
}

/**
 * Adds a point with that count and sum 0: a row of L. **Cost:** O(n d + n^2).
 * Returns the row, or, nothing changed, OUT_OF_MEMORY or NOT_POSITIVE_DEFINITE.
 */
export function gpAppendGroup(gp: GaussianProcess, x: usize, count: f64): i32 {
  const n = gp.size;
  if (n == gp.capacity && !reserve(gp, 2 * n)) return OUT_OF_MEMORY;
  const at = n << 3;
  memory.copy(gp.points + at * gp.dimension, x, gp.dimension << 3);
  store<f64>(gp.counts + at, count);
  store<f64>(gp.sums + at, 0);
  store<f64>(gp.noises + at, gp.noise / count);
  fillRows(gp, gp.kernel, gp.factor, n, n + 1);
  const lifted = factorise(gp.factor, gp.reciprocals, gp.noises, LIFT, n, n + 1, gp.panel);
  if (lifted < 0) return lifted;
  gp.clamped += lifted;
  gp.size = n + 1;
  forgetMeans(gp, n);
  return <i32>n;
}

/**
 * Adds one to the count of a row: the diagonal of A falls by noise (1/c - 1/(c + 1)) there. **Cost:** O((n - row)^2).
 *
 * Taking away is usually ill-conditioned. Here it is not: K is semi-definite, so the squared pivot of row i of
 * K + noise diag(1/c) is at least noise / c_i, and the first rotation lowers it by c / (c + 1) >= 1/2 at most.
 */
export function gpReplicate(gp: GaussianProcess, row: usize): void {
  const at = row << 3;
  const count = load<f64>(gp.counts + at);
  store<f64>(gp.counts + at, count + 1);
  store<f64>(gp.noises + at, gp.noise / (count + 1));
  const shift = gp.noise / (count * (count + 1));
  forgetRows(gp, row);
  gp.clamped += downdate(gp.factor, gp.reciprocals, gp.noises, row, gp.size, shift, gp.panel);
}

/** Adds to the reward sum of a row, and to the sum of squared rewards. OK, or NOT_FINITE, nothing changed. **Cost:** O(1). */
export function gpReward(gp: GaussianProcess, row: usize, deltaSum: f64, deltaSquares: f64): i32 {
  const sum = gp.sums + (row << 3);
  const total = load<f64>(sum) + deltaSum;
  const squares = gp.squares + deltaSquares;
  if (!(abs(total) < Infinity && abs(squares) < Infinity)) return NOT_FINITE;
  store<f64>(sum, total);
  gp.squares = squares;
  forgetMeans(gp, row);
  return OK;
}

/** L^-1 (s/c), from the first row on that has changed. */
export function whitened(gp: GaussianProcess): usize {
  const from = gp.whitenedRows;
  if (from == gp.size) return gp.whitened;
  for (let i = from << 3; i < gp.size << 3; i += 8) {
    store<f64>(gp.whitened + i, load<f64>(gp.sums + i) / load<f64>(gp.counts + i));
  }
  solveFrom(gp.factor, gp.reciprocals, from, gp.size, gp.whitened);
  gp.whitenedRows = gp.size;
  return gp.whitened;
}

/** A^-1 (s/c), once per change. */
export function weights(gp: GaussianProcess): usize {
  if (!gp.weightsFresh) {
    memory.copy(gp.weights, whitened(gp), gp.size << 3);
    solveTransposed(gp.factor, gp.reciprocals, gp.size, gp.weights);
    gp.weightsFresh = true;
  }
  return gp.weights;
}

/** Builds the factor under a kernel anew, beside the old one, which stays in force unless this returns OK. */
function refactor(gp: GaussianProcess, kernel: Kernel): i32 {
  const factor = allocateDoubles(triangle(gp.capacity) + gp.capacity);
  if (!factor) return OUT_OF_MEMORY;
  const reciprocals = factorRow(factor, gp.capacity);
  fillRows(gp, kernel, factor, 0, gp.size);
  const lifted = factorise(factor, reciprocals, gp.noises, LIFT, 0, gp.size, gp.panel);
  if (lifted < 0) {
    release(factor);
    return lifted;
  }
  memory.copy(gp.reciprocals, reciprocals, gp.size << 3);
  release(gp.factor);
  gp.factor = factor;
  gp.clamped = lifted;
  forgetRows(gp, 0);
  return OK;
}

/** Rebuilds the factor from points and counts, in the order of the rows. OK, OUT_OF_MEMORY or NOT_POSITIVE_DEFINITE. **Cost:** n^3 / 3. */
export function gpRefactor(gp: GaussianProcess): i32 {
  return refactor(gp, gp.kernel);
}

/** Changes the kernel and rebuilds the factor; unless this returns OK, the old kernel stays in force. */
export function gpSetKernel(gp: GaussianProcess, kernelId: i32, params: usize): i32 {
  const kernel = createKernel(kernelId, params, gp.dimension);
  if (!kernel) return OUT_OF_MEMORY;
  const status = refactor(gp, kernel);
  if (status == OK) {
    release(changetype<usize>(gp.kernel));
    gp.kernel = kernel;
    release(gp.prior);
    gp.prior = 0;
  } else {
    release(changetype<usize>(kernel));
  }
  return status;
}
