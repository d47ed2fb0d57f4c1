// Candidates that are scored again and again while points come in: V = L^-1 K(points, candidates) is kept, and only the
// rows of L that changed are solved anew. A row depends on the factor alone, so scores have the bits of `gpScore`.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "./abi";
import { forgetRows, GaussianProcess, whitened } from "./gaussian-process";
import { kernelDiagonal, kernelPanel } from "./kernels";
import { allFinite, LANES, packPanel, PANEL_ROW, solvePanel } from "./linalg";
import { allocateDoubles, release } from "./memory";
import { products, reduceVariances, writeVariances } from "./posterior";

// A group of four watched candidates has a block in `gp.domain`, (d + 1) x 4: the candidates, then their prior variances less
// the squares of the first `reducedRows` rows of V; and one in `gp.solved`, solvedCapacity x 4, with V.

/**
 * Watches the candidates `xs` (k x d, row-major; copied) instead of those before.
 * Returns OK, or OUT_OF_MEMORY, nothing changed.
 */
export function gpWatch(gp: GaussianProcess, xs: usize, k: usize): i32 {
  const d = gp.dimension;
  const groups = (k + LANES - 1) / LANES;
  const domain = allocateDoubles(<u64>groups * (d + 1) * LANES);
  if (!domain) return OUT_OF_MEMORY;
  for (let group: usize = 0; group < groups; group++) {
    const start = group * LANES;
    packPanel(xs + ((start * d) << 3), min(LANES, k - start), d, domain + group * (d + 1) * PANEL_ROW);
  }
  release(gp.domain);
  release(gp.solved);
  gp.domain = domain;
  gp.domainSize = k;
  gp.solved = 0;
  gp.solvedCapacity = 0;
  forgetRows(gp, 0);
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

/**
 * Writes what `gpScore` writes for the watched candidates, to the bit. Status as there, or OUT_OF_MEMORY.
 * **Cost:** k n, and k (d + n) for every row that was added, or that a replicate at it or before it changed.
 */
export function gpScoreWatched(gp: GaussianProcess, means: usize, variances: usize): i32 {
  const d = gp.dimension;
  const n = gp.size;
  const k = gp.domainSize;
  const groups = (k + LANES - 1) / LANES;
  if (!reserve(gp, groups)) return OUT_OF_MEMORY;
  const z = whitened(gp);
  const solved = gp.solvedRows;
  const reduced = gp.reducedRows;
  for (let group: usize = 0; group < groups; group++) {
    const candidates = gp.domain + group * (d + 1) * PANEL_ROW;
    const remaining = candidates + d * PANEL_ROW;
    const panel = gp.solved + group * gp.solvedCapacity * PANEL_ROW;
    const start = group * LANES;
    const count = min(LANES, k - start);
    kernelPanel(gp.kernel, gp.points + ((solved * d) << 3), n - solved, candidates, panel + solved * PANEL_ROW);
    solvePanel(gp.factor, gp.reciprocals, solved, n, panel);
    products(panel, z, n, gp.work, count, means + (start << 3));
    if (!reduced) kernelDiagonal(gp.kernel, candidates, remaining);
    reduceVariances(panel + reduced * PANEL_ROW, n - reduced, remaining);
    writeVariances(remaining, count, variances + (start << 3));
  }
  gp.solvedRows = n;
  gp.reducedRows = n;
  return allFinite(means, k) && allFinite(variances, k) ? OK : NOT_FINITE;
}
