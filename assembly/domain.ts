// Scores of a fixed set of candidates while points are added. V = L^-1 K(points, candidates) is kept, and only the rows of L that
// changed are solved again. A row of V depends on the factor alone, so scores have the bits of `gpScore`.
//
// Sixteen candidates form a group, side by side in V. Its rows are read sequentially, and eight sums run in parallel: a single sum
// would wait for its own last step.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "./abi";
import { GaussianProcess, Progress, whitened } from "./gaussian-process";
import { applyKernel, distancePanel, kernelDiagonal } from "./kernels";
import { allFinite, factorRow, splat, subtractProduct } from "./linalg";
import { allocateDoubles, release } from "./memory";
import { clearRows, copyVector, LANES, packPanel, PANEL_ROW } from "./panel";

/** Panels of a group, and its candidates. */
const PANELS: usize = 4;
const GROUP: usize = PANELS * LANES;
/** Bytes of a group's row. */
const GROUP_ROW: usize = PANELS * PANEL_ROW;

// A group has a block of (d + 2) x 16 in `gp.domain`: its candidates, as panels of d x 4; their prior variances minus the squares of
// the first `reduced` rows of V; their means over the first `summed` rows. A second block, solvedCapacity x 16 in `gp.solved`,
// holds V.

/** Doubles per candidate in a group's block, without its d features. */
const KEPT: usize = 2;

// @ts-ignore: decorator
@inline function blockBytes(gp: GaussianProcess): usize {
  return (gp.dimension + KEPT) * GROUP_ROW;
}

/**
 * Watches the candidates `xs` (k x d, row-major; copied) instead of earlier ones.
 * Returns OK, or OUT_OF_MEMORY with nothing changed.
 */
export function gpWatch(gp: GaussianProcess, xs: usize, k: usize): i32 {
  const d = gp.dimension;
  const groups = (k + GROUP - 1) / GROUP;
  // Two doubles hold one `Progress`.
  const domain = allocateDoubles(<u64>groups * ((d + KEPT) * GROUP + 2));
  if (!domain) return OUT_OF_MEMORY;
  for (let group: usize = 0; group < groups; group++) {
    for (let p: usize = 0; p < PANELS; p++) {
      const start = min(group * GROUP + p * LANES, k);
      packPanel(xs + ((start * d) << 3), min(LANES, k - start), d, domain + group * blockBytes(gp) + p * d * PANEL_ROW);
    }
  }
  release(gp.domain);
  release(gp.solved);
  release(gp.prior);
  gp.prior = 0;
  gp.domain = domain;
  gp.domainSize = k;
  gp.solved = 0;
  gp.solvedCapacity = 0;
  gp.progress = domain + groups * blockBytes(gp);
  gp.progressEnd = gp.progress + groups * offsetof<Progress>();
  gp.solvedRows = 0;
  gp.summedRows = 0;
  memory.fill(gp.progress, 0, gp.progressEnd - gp.progress);
  return OK;
}

// @ts-ignore: decorator
@inline function progressOf(gp: GaussianProcess, group: usize): Progress {
  return changetype<Progress>(gp.progress + group * offsetof<Progress>());
}

/** Makes room for all rows of the process. Returns false without memory, with nothing changed. */
function reserve(gp: GaussianProcess): bool {
  if (gp.solvedCapacity >= gp.size) return true;
  const groups = (gp.domainSize + GROUP - 1) / GROUP;
  const stride = gp.capacity * GROUP_ROW;
  const solved = allocateDoubles(<u64>groups * gp.capacity * GROUP);
  if (!solved) return false;
  for (let group: usize = 0; group < groups; group++) {
    memory.copy(solved + group * stride, gp.solved + group * gp.solvedCapacity * GROUP_ROW, progressOf(gp, group).solved * GROUP_ROW);
  }
  release(gp.solved);
  gp.solved = solved;
  gp.solvedCapacity = gp.capacity;
  return true;
}

/** Writes the kernel values at the points from row `solved` on into a group's rows. */
function fillRows(gp: GaussianProcess, candidates: usize, rows: usize, solved: usize): void {
  const stride = gp.dimension << 3;
  const end = rows + gp.size * GROUP_ROW;
  let point = gp.points + solved * stride;
  for (let row = rows + solved * GROUP_ROW; row < end; row += GROUP_ROW, point += stride) {
    for (let p: usize = 0; p < PANELS; p++) distancePanel(gp.kernel, point, 1, candidates + p * (stride << 2), row + p * PANEL_ROW);
  }
  applyKernel(gp.kernel, rows + solved * GROUP_ROW, end);
}

/** Solves row i of L Y = P in a group's rows, in place. Earlier rows already hold Y. The bits are those of `solvePanel`. */
function solveGroup(factor: usize, reciprocals: usize, i: usize, rows: usize): void {
  const end = rows + i * GROUP_ROW;
  let rest0 = v128.load(end);
  let rest1 = v128.load(end, 16);
  let rest2 = v128.load(end, 32);
  let rest3 = v128.load(end, 48);
  let rest4 = v128.load(end, 64);
  let rest5 = v128.load(end, 80);
  let rest6 = v128.load(end, 96);
  let rest7 = v128.load(end, 112);
  for (let l = factorRow(factor, i), y = rows; y < end; l += 8, y += GROUP_ROW) {
    const entry = splat(l);
    rest0 = subtractProduct(rest0, entry, v128.load(y));
    rest1 = subtractProduct(rest1, entry, v128.load(y, 16));
    rest2 = subtractProduct(rest2, entry, v128.load(y, 32));
    rest3 = subtractProduct(rest3, entry, v128.load(y, 48));
    rest4 = subtractProduct(rest4, entry, v128.load(y, 64));
    rest5 = subtractProduct(rest5, entry, v128.load(y, 80));
    rest6 = subtractProduct(rest6, entry, v128.load(y, 96));
    rest7 = subtractProduct(rest7, entry, v128.load(y, 112));
  }
  const reciprocal = splat(reciprocals + (i << 3));
  v128.store(end, f64x2.mul(rest0, reciprocal));
  v128.store(end, f64x2.mul(rest1, reciprocal), 16);
  v128.store(end, f64x2.mul(rest2, reciprocal), 32);
  v128.store(end, f64x2.mul(rest3, reciprocal), 48);
  v128.store(end, f64x2.mul(rest4, reciprocal), 64);
  v128.store(end, f64x2.mul(rest5, reciprocal), 80);
  v128.store(end, f64x2.mul(rest6, reciprocal), 96);
  v128.store(end, f64x2.mul(rest7, reciprocal), 112);
}

/** out = sums + <column, vector> over the rows [from, to), in order. `out` may be `sums`. */
function addGroup(rows: usize, vector: usize, from: usize, to: usize, sums: usize, out: usize): void {
  let sum0 = v128.load(sums);
  let sum1 = v128.load(sums, 16);
  let sum2 = v128.load(sums, 32);
  let sum3 = v128.load(sums, 48);
  let sum4 = v128.load(sums, 64);
  let sum5 = v128.load(sums, 80);
  let sum6 = v128.load(sums, 96);
  let sum7 = v128.load(sums, 112);
  const end = rows + to * GROUP_ROW;
  vector += from << 3;
  for (let y = rows + from * GROUP_ROW; y < end; y += GROUP_ROW, vector += 8) {
    const entry = splat(vector);
    sum0 = f64x2.add(sum0, f64x2.mul(entry, v128.load(y)));
    sum1 = f64x2.add(sum1, f64x2.mul(entry, v128.load(y, 16)));
    sum2 = f64x2.add(sum2, f64x2.mul(entry, v128.load(y, 32)));
    sum3 = f64x2.add(sum3, f64x2.mul(entry, v128.load(y, 48)));
    sum4 = f64x2.add(sum4, f64x2.mul(entry, v128.load(y, 64)));
    sum5 = f64x2.add(sum5, f64x2.mul(entry, v128.load(y, 80)));
    sum6 = f64x2.add(sum6, f64x2.mul(entry, v128.load(y, 96)));
    sum7 = f64x2.add(sum7, f64x2.mul(entry, v128.load(y, 112)));
  }
  v128.store(out, sum0);
  v128.store(out, sum1, 16);
  v128.store(out, sum2, 32);
  v128.store(out, sum3, 48);
  v128.store(out, sum4, 64);
  v128.store(out, sum5, 80);
  v128.store(out, sum6, 96);
  v128.store(out, sum7, 112);
}

/** out = variances - the squares over the rows [from, to), in order. `out` may be `variances`. */
function reduceGroup(rows: usize, from: usize, to: usize, variances: usize, out: usize): void {
  const end = rows + to * GROUP_ROW;
  for (let lane: usize = 0; lane < GROUP_ROW; lane += 16) {
    let rest = v128.load(variances + lane);
    for (let y = rows + from * GROUP_ROW + lane; y < end; y += GROUP_ROW) rest = subtractProduct(rest, v128.load(y), v128.load(y));
    v128.store(out + lane, rest);
  }
}

/**
 * Writes the results of `gpScore` for the watched candidates, with the same bits. Returns its status, or OUT_OF_MEMORY.
 * **Cost:** k (d + n) for each new row, and for each row at or after a replicated one. For the means k times the number of rows from
 * the first changed row on, counting the changes since the last call but one. k n if this row is earlier than those summed before.
 */
export function gpScoreWatched(gp: GaussianProcess, means: usize, variances: usize): i32 {
  const k = gp.domainSize;
  if (!reserve(gp)) return OUT_OF_MEMORY;
  const z = whitened(gp);
  for (let start: usize = 0; start < k; start += GROUP) {
    scoreGroup(gp, start / GROUP, z, means + (start << 3), variances + (start << 3));
  }
  gp.meansAsked = true;
  return allFinite(means, k) && allFinite(variances, k) ? OK : NOT_FINITE;
}

/** `gpScoreWatched` for one group: 16 candidates, or fewer in the last group. */
export function gpScoreGroup(gp: GaussianProcess, group: usize, means: usize, variances: usize): i32 {
  if (!reserve(gp)) return OUT_OF_MEMORY;
  scoreGroup(gp, group, whitened(gp), means, variances);
  gp.meansAsked = true;
  const count = min(GROUP, gp.domainSize - group * GROUP);
  return allFinite(means, count) && allFinite(variances, count) ? OK : NOT_FINITE;
}

function scoreGroup(gp: GaussianProcess, group: usize, z: usize, means: usize, variances: usize): void {
  const d = gp.dimension;
  const n = gp.size;
  const progress = progressOf(gp, group);
  const reduced = progress.reduced;
  const summed = progress.summed;
  // The newest row is not settled, because it often changes. Nor are the rows from `changedRow` on: the next reward will probably
  // change a row of about the same age.
  const settled = max(n, 1) - 1;
  const kept = max(summed, min(settled, gp.changedRow));
  const result = gp.work;
  const candidates = gp.domain + group * blockBytes(gp);
  const remaining = candidates + d * GROUP_ROW;
  const sums = remaining + GROUP_ROW;
  const rows = gp.solved + group * gp.solvedCapacity * GROUP_ROW;
  const count = min(GROUP, gp.domainSize - group * GROUP);

  fillRows(gp, candidates, rows, progress.solved);
  for (let i = progress.solved; i < n; i++) solveGroup(gp.factor, gp.reciprocals, i, rows);

  if (!summed) clearRows(sums, PANELS);
  addGroup(rows, z, summed, kept, sums, sums);
  addGroup(rows, z, kept, n, sums, result);
  copyVector(means, result, count);

  if (!reduced) priors(gp, candidates, remaining);
  reduceGroup(rows, reduced, settled, remaining, remaining);
  reduceGroup(rows, settled, n, remaining, result);
  for (let lane: usize = 0; lane < count << 3; lane += 8) store<f64>(variances + lane, max(load<f64>(result + lane), 0));

  progress.solved = n;
  progress.reduced = settled;
  progress.summed = kept;
  gp.solvedRows = n;
  gp.summedRows = max(gp.summedRows, kept);
}

/** values[x] -= <column x of V, vector (n)> for all watched candidates. V is that of the last `gpScoreWatched`. */
export function subtractWatched(gp: GaussianProcess, vector: usize, values: usize): void {
  const k = gp.domainSize;
  const sums = gp.work;
  for (let start: usize = 0; start < k; start += GROUP, values += GROUP << 3) {
    clearRows(sums, PANELS);
    addGroup(gp.solved + (start / GROUP) * gp.solvedCapacity * GROUP_ROW, vector, 0, gp.size, sums, sums);
    for (let lane: usize = 0; lane < min(GROUP, k - start) << 3; lane += 8) {
      store<f64>(values + lane, load<f64>(values + lane) - load<f64>(sums + lane));
    }
  }
}

/** Writes the prior variances of a group's candidates. */
function priors(gp: GaussianProcess, candidates: usize, out: usize): void {
  for (let p: usize = 0; p < PANELS; p++) kernelDiagonal(gp.kernel, candidates + p * gp.dimension * PANEL_ROW, out + p * PANEL_ROW);
}
