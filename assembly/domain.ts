// Candidates that are scored again and again while points come in: V = L^-1 K(points, candidates) is kept, and only the
// rows of L that changed are solved anew. A row depends on the factor alone, so scores have the bits of `gpScore`.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "./abi";
import { GaussianProcess, whitened } from "./gaussian-process";
import { kernelDiagonal, kernelPanel } from "./kernels";
import { addProducts, allFinite, PANELS, solvePanel, solveRowAcross } from "./linalg";
import { allocateDoubles, release } from "./memory";
import { clearRows, copyLanes, copyRow, LANES, packPanel, PANEL_ROW } from "./panel";
import { reduceVariances, writeVariances } from "./posterior";

// A group of four watched candidates has a block in `gp.domain`, (d + 2) x 4: the candidates, then their prior variances less
// the squares of the first `reducedRows` rows of V, then their means by the first `summedRows`; and one in `gp.solved`,
// solvedCapacity x 4, with V.

/** Doubles of a group's block per lane beside the candidate's d. */
const KEPT: usize = 2;

/**
 * Watches the candidates `xs` (k x d, row-major; copied) instead of those before.
 * Returns OK, or OUT_OF_MEMORY, nothing changed.
 */
export function gpWatch(gp: GaussianProcess, xs: usize, k: usize): i32 {
  const d = gp.dimension;
  const groups = (k + LANES - 1) / LANES;
  const domain = allocateDoubles(<u64>groups * (d + KEPT) * LANES);
  if (!domain) return OUT_OF_MEMORY;
  for (let group: usize = 0; group < groups; group++) {
    const start = group * LANES;
    packPanel(xs + ((start * d) << 3), min(LANES, k - start), d, domain + group * (d + KEPT) * PANEL_ROW);
  }
  release(gp.domain);
  release(gp.solved);
  gp.domain = domain;
  gp.domainSize = k;
  gp.solved = 0;
  gp.solvedCapacity = 0;
  gp.solvedRows = 0;
  gp.reducedRows = 0;
  gp.summedRows = 0;
  return OK;
}

/** Makes room for as many rows as the process has; false, nothing changed, without memory. */
function reserve(gp: GaussianProcess, groups: usize): bool {
  if (gp.solvedCapacity >= gp.size) return true;
  const stride = gp.capacity * PANEL_ROW;
  const solved = allocateDoubles(<u64>groups * gp.capacity * LANES);
  if (!solved) return false;
  for (let group: usize = 0; group < groups; group++) {
    memory.copy(solved + group * stride, gp.solved + group * gp.solvedCapacity * PANEL_ROW, gp.solvedRows * PANEL_ROW);
  }
  release(gp.solved);
  gp.solved = solved;
  gp.solvedCapacity = gp.capacity;
  return true;
}

/** Solves the rows of V that are new or have changed, in up to PANELS groups from `group` on. */
function solveGroups(gp: GaussianProcess, group: usize, groups: usize): void {
  const solved = gp.solvedRows;
  const n = gp.size;
  const d = gp.dimension;
  const stride = gp.solvedCapacity * PANEL_ROW;
  const first = gp.solved + group * stride;
  const count = min(PANELS, groups - group);
  for (let g: usize = 0; g < count; g++) {
    const candidates = gp.domain + (group + g) * (d + KEPT) * PANEL_ROW;
    kernelPanel(gp.kernel, gp.points + ((solved * d) << 3), n - solved, candidates, first + g * stride + solved * PANEL_ROW);
  }
  if (count == PANELS && n - solved < LANES) {
    for (let i = solved; i < n; i++) solveRowAcross(gp.factor, gp.reciprocals, i, first, stride);
  } else {
    for (let g: usize = 0; g < count; g++) solvePanel(gp.factor, gp.reciprocals, solved, n, first + g * stride);
  }
}

/**
 * Writes what `gpScore` writes for the watched candidates, to the bit. Status as there, or OUT_OF_MEMORY.
 * **Cost:** k (d + n) for every row that was added, or that a replicate at it or before it changed; k n more if a sum or a
 * count before the newest row changed.
 */
export function gpScoreWatched(gp: GaussianProcess, means: usize, variances: usize): i32 {
  const d = gp.dimension;
  const n = gp.size;
  const k = gp.domainSize;
  const groups = (k + LANES - 1) / LANES;
  if (!reserve(gp, groups)) return OUT_OF_MEMORY;
  const z = whitened(gp);
  const reduced = gp.reducedRows;
  const summed = gp.summedRows;
  // The newest row is kept apart: it is the one that changes.
  const settled = max(n, 1) - 1;
  const rest = n - settled;
  for (let group: usize = 0; group < groups; group++) {
    if (group % PANELS == 0) solveGroups(gp, group, groups);
    const candidates = gp.domain + group * (d + KEPT) * PANEL_ROW;
    const remaining = candidates + d * PANEL_ROW;
    const sums = remaining + PANEL_ROW;
    const panel = gp.solved + group * gp.solvedCapacity * PANEL_ROW;
    const newest = panel + settled * PANEL_ROW;
    const start = group * LANES;
    const count = min(LANES, k - start);

    if (!summed) clearRows(sums, 1);
    addProducts(panel + summed * PANEL_ROW, z + (summed << 3), settled - summed, sums);
    copyRow(gp.work, sums);
    addProducts(newest, z + (settled << 3), rest, gp.work);
    copyLanes(means + (start << 3), gp.work, count);

    if (!reduced) kernelDiagonal(gp.kernel, candidates, remaining);
    reduceVariances(panel + reduced * PANEL_ROW, settled - reduced, remaining);
    copyRow(gp.work, remaining);
    reduceVariances(newest, rest, gp.work);
    writeVariances(gp.work, count, variances + (start << 3));
  }
  gp.solvedRows = n;
  gp.reducedRows = settled;
  gp.summedRows = settled;
  return allFinite(means, k) && allFinite(variances, k) ? OK : NOT_FINITE;
}
