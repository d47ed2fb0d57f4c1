// Scores of a fixed set of candidates while points are added. V = L^-1 K(points, candidates) is kept, and only the rows of L that
// changed are solved again. A row of V depends on the factor alone, so scores have the bits of `gpScore`.
//
// Sixteen candidates form a group, side by side in V. Its rows are read sequentially, and eight sums run in parallel: a single sum
// would wait for its own last step.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "../abi";
import { Chunk, createChunk, GROUP, GROUP_ROW, PANELS, releaseChunks } from "./chunk";
import { GaussianProcess, Progress, whitened } from "./gaussian-process";
import { applyKernel, distancePanels, kernelDiagonal } from "./kernels";
import { allFinite, factorRow, splat, subtractProduct } from "../matrix/linalg";
import { allocateDoubles, release } from "../memory";
import { clearRows, copyVector, LANES, packPanel, PANEL_ROW, storeRow } from "../matrix/panel";

// A group has a block of (d + 2) x 16 in `gp.watched`: its candidates, as panels of d x 4; their prior variances minus the squares of
// the first `reduced` rows of V; their means over the first `summed` rows. The chunks in `gp.solved` hold V.

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
  const watched = allocateDoubles(<u64>groups * ((d + KEPT) * GROUP + 2));
  if (!watched) return OUT_OF_MEMORY;
  for (let group: usize = 0; group < groups; group++) {
    for (let p: usize = 0; p < PANELS; p++) {
      const start = min(group * GROUP + p * LANES, k);
      packPanel(xs + ((start * d) << 3), min(LANES, k - start), d, watched + group * blockBytes(gp) + p * d * PANEL_ROW);
    }
  }
  release(gp.watched);
  releaseChunks(gp.solved);
  release(gp.prior);
  gp.prior = 0;
  gp.watched = watched;
  gp.watchedSize = k;
  gp.solved = 0;
  gp.solvedCapacity = 0;
  gp.progress = watched + groups * blockBytes(gp);
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
  const first = gp.solvedCapacity;
  if (first >= gp.size) return true;
  const chunk = createChunk((gp.watchedSize + GROUP - 1) / GROUP, first, gp.capacity);
  if (!chunk) return false;
  let last = gp.solved;
  while (last && changetype<Chunk>(last).next) last = changetype<Chunk>(last).next;
  if (last) changetype<Chunk>(last).next = chunk;
  else gp.solved = chunk;
  gp.solvedCapacity = gp.capacity;
  return true;
}

/** Writes the kernel values at the points from row `solved` on into a group's rows. */
function fillRows(gp: GaussianProcess, group: usize, candidates: usize, solved: usize): void {
  const stride = gp.dimension << 3;
  let point = gp.points + solved * stride;
  for (let at = gp.solved; at; at = changetype<Chunk>(at).next) {
    const chunk = changetype<Chunk>(at);
    const from = max(chunk.first, solved);
    const to = min(chunk.end, gp.size);
    if (from >= to) continue;
    const start = chunk.row(group, from);
    const end = chunk.row(group, to);
    for (let row = start; row < end; row += GROUP_ROW, point += stride) {
      distancePanels(gp.kernel, point, candidates, row);
    }
    applyKernel(gp.kernel, start, end);
  }
}

/** Solves row i of L Y = P in a group's rows, in place. Earlier rows already hold Y. The bits are those of `solvePanel`. */
function solveGroup(gp: GaussianProcess, group: usize, i: usize, own: usize): void {
  let rest0 = v128.load(own);
  let rest1 = v128.load(own, 16);
  let rest2 = v128.load(own, 32);
  let rest3 = v128.load(own, 48);
  let rest4 = v128.load(own, 64);
  let rest5 = v128.load(own, 80);
  let rest6 = v128.load(own, 96);
  let rest7 = v128.load(own, 112);
  let l = factorRow(gp.factor, i);
  for (let at = gp.solved; at; at = changetype<Chunk>(at).next) {
    const chunk = changetype<Chunk>(at);
    if (chunk.first >= i) break;
    const end = chunk.row(group, min(chunk.end, i));
    for (let y = chunk.row(group, chunk.first); y < end; l += 8, y += GROUP_ROW) {
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
  }
  const reciprocal = splat(gp.reciprocals + (i << 3));
  v128.store(own, f64x2.mul(rest0, reciprocal));
  v128.store(own, f64x2.mul(rest1, reciprocal), 16);
  v128.store(own, f64x2.mul(rest2, reciprocal), 32);
  v128.store(own, f64x2.mul(rest3, reciprocal), 48);
  v128.store(own, f64x2.mul(rest4, reciprocal), 64);
  v128.store(own, f64x2.mul(rest5, reciprocal), 80);
  v128.store(own, f64x2.mul(rest6, reciprocal), 96);
  v128.store(own, f64x2.mul(rest7, reciprocal), 112);
}

/** out = sums + <column, vector> over the rows [from, to), in order. `out` may be `sums`. */
function addGroup(gp: GaussianProcess, group: usize, vector: usize, from: usize, to: usize, sums: usize, out: usize): void {
  let sum0 = v128.load(sums);
  let sum1 = v128.load(sums, 16);
  let sum2 = v128.load(sums, 32);
  let sum3 = v128.load(sums, 48);
  let sum4 = v128.load(sums, 64);
  let sum5 = v128.load(sums, 80);
  let sum6 = v128.load(sums, 96);
  let sum7 = v128.load(sums, 112);
  let v = vector + (from << 3);
  for (let at = gp.solved; at; at = changetype<Chunk>(at).next) {
    const chunk = changetype<Chunk>(at);
    const first = max(chunk.first, from);
    const last = min(chunk.end, to);
    if (first >= last) continue;
    const end = chunk.row(group, last);
    for (let y = chunk.row(group, first); y < end; y += GROUP_ROW, v += 8) {
      const entry = splat(v);
      sum0 = f64x2.add(sum0, f64x2.mul(entry, v128.load(y)));
      sum1 = f64x2.add(sum1, f64x2.mul(entry, v128.load(y, 16)));
      sum2 = f64x2.add(sum2, f64x2.mul(entry, v128.load(y, 32)));
      sum3 = f64x2.add(sum3, f64x2.mul(entry, v128.load(y, 48)));
      sum4 = f64x2.add(sum4, f64x2.mul(entry, v128.load(y, 64)));
      sum5 = f64x2.add(sum5, f64x2.mul(entry, v128.load(y, 80)));
      sum6 = f64x2.add(sum6, f64x2.mul(entry, v128.load(y, 96)));
      sum7 = f64x2.add(sum7, f64x2.mul(entry, v128.load(y, 112)));
    }
  }
  storeRow(out, sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7);
}

/** out = variances - the squares over the rows [from, to), in order. `out` may be `variances`. */
function reduceGroup(gp: GaussianProcess, group: usize, from: usize, to: usize, variances: usize, out: usize): void {
  if (variances != out) copyVector(out, variances, GROUP);
  for (let at = gp.solved; at; at = changetype<Chunk>(at).next) {
    const chunk = changetype<Chunk>(at);
    const first = max(chunk.first, from);
    const last = min(chunk.end, to);
    if (first >= last) continue;
    const start = chunk.row(group, first);
    const end = chunk.row(group, last);
    for (let lane: usize = 0; lane < GROUP_ROW; lane += 16) {
      let rest = v128.load(out + lane);
      for (let y = start + lane; y < end; y += GROUP_ROW) rest = subtractProduct(rest, v128.load(y), v128.load(y));
      v128.store(out + lane, rest);
    }
  }
}

/**
 * Writes the results of `gpScore` for the watched candidates, with the same bits. Returns its status, or OUT_OF_MEMORY.
 * **Cost:** k (d + n) for each new row, and for each row at or after a replicated one. For the means k times the number of rows from
 * the first changed row on, counting the changes since the last call but one. k n if this row is earlier than those summed before.
 */
export function gpScoreWatched(gp: GaussianProcess, means: usize, variances: usize): i32 {
  const k = gp.watchedSize;
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
  const count = min(GROUP, gp.watchedSize - group * GROUP);
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
  const candidates = gp.watched + group * blockBytes(gp);
  const remaining = candidates + d * GROUP_ROW;
  const sums = remaining + GROUP_ROW;
  const count = min(GROUP, gp.watchedSize - group * GROUP);

  fillRows(gp, group, candidates, progress.solved);
  for (let at = gp.solved; at; at = changetype<Chunk>(at).next) {
    const chunk = changetype<Chunk>(at);
    for (let i = max(chunk.first, progress.solved); i < min(chunk.end, n); i++) solveGroup(gp, group, i, chunk.row(group, i));
  }

  if (!summed) clearRows(sums, PANELS);
  addGroup(gp, group, z, summed, kept, sums, sums);
  addGroup(gp, group, z, kept, n, sums, result);
  copyVector(means, result, count);

  if (!reduced) priors(gp, candidates, remaining);
  reduceGroup(gp, group, reduced, settled, remaining, remaining);
  reduceGroup(gp, group, settled, n, remaining, result);
  for (let lane: usize = 0; lane < count << 3; lane += 8) store<f64>(variances + lane, max(load<f64>(result + lane), 0));

  progress.solved = n;
  progress.reduced = settled;
  progress.summed = kept;
  gp.solvedRows = n;
  gp.summedRows = max(gp.summedRows, kept);
}

/** values[x] -= <column x of V, vector (n)> for all watched candidates. V is that of the last `gpScoreWatched`. */
export function subtractWatched(gp: GaussianProcess, vector: usize, values: usize): void {
  const k = gp.watchedSize;
  const sums = gp.work;
  for (let start: usize = 0; start < k; start += GROUP, values += GROUP << 3) {
    clearRows(sums, PANELS);
    addGroup(gp, start / GROUP, vector, 0, gp.size, sums, sums);
    for (let lane: usize = 0; lane < min(GROUP, k - start) << 3; lane += 8) {
      store<f64>(values + lane, load<f64>(values + lane) - load<f64>(sums + lane));
    }
  }
}

/** Writes the prior variances of a group's candidates. */
function priors(gp: GaussianProcess, candidates: usize, out: usize): void {
  for (let p: usize = 0; p < PANELS; p++) kernelDiagonal(gp.kernel, candidates + p * gp.dimension * PANEL_ROW, out + p * PANEL_ROW);
}
