// Gaussian-process regression over unique points, each with a count c of evaluations and a sum s of rewards.
//
// L L^T = A = K + noise diag(1/c). At x, with k the kernel values at the points: mean = k^T A^-1 (s/c) and
// variance = k(x, x) - k^T A^-1 k. This is the posterior of all single evaluations, at the cost of the unique ones.
// Source: Calandriello et al. 2022, eq. 3, with averages s/c where the paper prints sums.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "../abi";
import { releaseChunks } from "./chunk";
import { downdate, factorise, invertDiagonal, LIFT } from "../matrix/factor";
import { applyKernel, createKernel, distancePanel, Kernel, kernelDiagonal, kernelPanel } from "./kernels";
import { factorRow, triangle } from "../matrix/linalg";
import { allocate, allocateDoubles, release } from "../memory";
import { copyLanes, LANES, packPanel, PANEL_ROW, unpackLane } from "../matrix/panel";
import { solveFrom, solveTransposed } from "../matrix/vector";

/** Progress of a group of watched candidates (see watched.ts). */
@unmanaged export class Progress {
  /** Rows of V that are up to date. */
  solved: usize;
  /** Rows that the kept variances include. */
  reduced: usize;
  /** Rows that the kept means include. */
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
  /** Entries of `whitened` that are up to date. */
  whitenedRows: usize;
  /** Whether `weights` is up to date. */
  weightsFresh: bool;
  /** Owned, packed, of `capacity` rows. */
  factor: usize;
  /** Owned. The following vectors, also of `capacity` rows, are behind it in the same block. */
  points: usize;
  counts: usize;
  sums: usize;
  /** noise / c: the diagonal of A - K, and the exact lower bound of the squared pivots. */
  noises: usize;
  reciprocals: usize;
  /** L^-1 (s/c) */
  whitened: usize;
  /** A^-1 (s/c) */
  weights: usize;
  /** Workspace: (d + capacity + 4) x 4. */
  panel: usize;
  /** Owned, see watched.ts: the watched candidates. */
  watched: usize;
  watchedSize: usize;
  /** Owned, see watched.ts: the first chunk of V = L^-1 K(points, candidates), or 0. */
  solved: usize;
  solvedCapacity: usize;
  /** `Progress` of each group, in the block of `watched`. */
  progress: usize;
  progressEnd: usize;
  /** The greatest `solved` and `summed` of all groups. */
  solvedRows: usize;
  summedRows: usize;
  /** The first row that changed since the last computation of the means. If none has, the first one in the interval before it. */
  changedRow: usize;
  /** Whether no row has changed since the last computation of the means. */
  meansAsked: bool;
  /** Owned, see pathwise.ts: the packed factor of the watched candidates' prior covariance, or 0 before its first use. */
  prior: usize;

  /** The workspace behind the candidates (d x 4): 4 lanes for results, then n x 4. */
  @inline get work(): usize {
    return this.panel + this.dimension * PANEL_ROW;
  }
}

/** Doubles per row behind `points`: 6 vectors and a panel. */
const ROW_DOUBLES: usize = 6 + LANES;

/**
 * Creates a process without points. `params`: variance, bias, then d lengthscales; `noiseVariance` > 0.
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
  release(gp.watched);
  releaseChunks(gp.solved);
  release(gp.prior);
  release(changetype<usize>(gp.kernel));
  release(changetype<usize>(gp));
}

/** Moves all rows to a block with room for `capacity` of them. Returns false without memory, with nothing changed. */
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

/** Invalidates intermediate results of the means, after a change of sums, counts or the factor from `row` on. */
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

/** Invalidates V, variances and means of the watched candidates, after a change of the factor from `row` on. */
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

/** Sets the number of rows. The caller then writes the state and calls `gpTouch`. Returns OK or OUT_OF_MEMORY. */
export function gpResize(gp: GaussianProcess, n: usize): i32 {
  if (n > gp.capacity && !reserve(gp, n)) return OUT_OF_MEMORY;
  gp.size = n;
  return OK;
}

/** Derives all other values after the caller has written the state. */
export function gpTouch(gp: GaussianProcess): void {
  deriveNoises(gp);
  invertDiagonal(gp.factor, gp.size, gp.reciprocals);
  gp.clamped = 0;
  forgetRows(gp, 0);
}

export function gpSize(gp: GaussianProcess): usize {
  return gp.size;
}

/** Pivots that rounding pushed below their exact lower bound since the factor was last built or loaded. */
export function gpClamped(gp: GaussianProcess): usize {
  return gp.clamped;
}

/** Pointer to the points, n x d, row-major. This pointer and those below are valid until a row is added. */
export function gpPoints(gp: GaussianProcess): usize {
  return gp.points;
}

export function gpCounts(gp: GaussianProcess): usize {
  return gp.counts;
}

export function gpSums(gp: GaussianProcess): usize {
  return gp.sums;
}

/** Pointer to the factor, a packed lower triangle. */
export function gpFactor(gp: GaussianProcess): usize {
  return gp.factor;
}

export function gpSquares(gp: GaussianProcess): f64 {
  return gp.squares;
}

export function gpSetSquares(gp: GaussianProcess, squares: f64): void {
  gp.squares = squares;
}

/** Writes rows [from, to) of A, packed, to `factor`, from points and noises. */
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

/**
 * `fillRows` for row n alone, with the same bits. Its lanes are the points before n, because four lanes of one point would waste three.
 */
function fillRow(gp: GaussianProcess, n: usize): void {
  const d = gp.dimension;
  const x = gp.points + (n * d << 3);
  const row = factorRow(gp.factor, n);
  const lanes = gp.work;
  const rest = n % LANES;
  const whole = n - rest;
  for (let i: usize = 0; i < whole; i += LANES) {
    packPanel(gp.points + (i * d << 3), LANES, d, gp.panel);
    distancePanel(gp.kernel, x, 1, gp.panel, row + (i << 3));
  }
  applyKernel(gp.kernel, row, row + (whole << 3));
  // Four lanes may not fit between the last entries and the end of the factor.
  packPanel(gp.points + (whole * d << 3), rest, d, gp.panel);
  kernelPanel(gp.kernel, x, 1, gp.panel, lanes);
  copyLanes(row + (whole << 3), lanes, rest);
  packPanel(x, 1, d, gp.panel);
  kernelDiagonal(gp.kernel, gp.panel, lanes);
  store<f64>(row + (n << 3), load<f64>(lanes) + load<f64>(gp.noises + (n << 3)));
}

/**
 * Adds a row of L for a point with this count and the sum 0. **Cost:** O(n d + n^2).
 * Returns the row, or OUT_OF_MEMORY or NOT_POSITIVE_DEFINITE with nothing changed.
 */
export function gpAppendGroup(gp: GaussianProcess, x: usize, count: f64): i32 {
  const n = gp.size;
  if (n == gp.capacity && !reserve(gp, 2 * n)) return OUT_OF_MEMORY;
  const at = n << 3;
  memory.copy(gp.points + at * gp.dimension, x, gp.dimension << 3);
  store<f64>(gp.counts + at, count);
  store<f64>(gp.sums + at, 0);
  store<f64>(gp.noises + at, gp.noise / count);
  fillRow(gp, n);
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
 * A downdate is usually ill-conditioned, but not here. K is semi-definite, so the squared pivot of row i of K + noise diag(1/c) is at
 * least noise / c_i, and the first rotation multiplies it by at least c / (c + 1) >= 1/2.
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

/** Adds to the reward sum of a row and to the sum of squares. Returns OK, or NOT_FINITE with nothing changed. **Cost:** O(1). */
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

/** L^-1 (s/c), solved again from the first changed row on. */
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

/** A^-1 (s/c), solved once per change. */
export function weights(gp: GaussianProcess): usize {
  if (!gp.weightsFresh) {
    memory.copy(gp.weights, whitened(gp), gp.size << 3);
    solveTransposed(gp.factor, gp.reciprocals, gp.size, gp.weights);
    gp.weightsFresh = true;
  }
  return gp.weights;
}

/** Builds the factor for a kernel. The old factor stays unless this returns OK. */
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

/** Rebuilds the factor in the order of the rows. Returns OK, OUT_OF_MEMORY or NOT_POSITIVE_DEFINITE. **Cost:** n^3 / 3. */
export function gpRefactor(gp: GaussianProcess): i32 {
  return refactor(gp, gp.kernel);
}

/** Changes the noise variance. The caller then sets a kernel, which builds the factor. */
export function gpSetNoise(gp: GaussianProcess, noiseVariance: f64): void {
  gp.noise = noiseVariance;
  deriveNoises(gp);
}

function deriveNoises(gp: GaussianProcess): void {
  for (let i: usize = 0; i < gp.size << 3; i += 8) store<f64>(gp.noises + i, gp.noise / load<f64>(gp.counts + i));
}

/** Changes the kernel and rebuilds the factor. The old kernel stays unless this returns OK. */
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
