// The factor of a matrix that may be singular, such as the covariance of a smooth function at many points.
//
// A squared pivot that is rounding gets a zero column. A zero column adds nothing to later rows. The rows with a pivot are hence kept
// in a second, compact triangle without zero columns. A matrix of rank r then costs n r^2, with the same bits.

import { NOT_POSITIVE_DEFINITE, OK, OUT_OF_MEMORY } from "../abi";
import { factoriseBlock, ZERO_COLUMN } from "./factor";
import { factorRow, solvePanel, subtractProducts, triangle } from "./linalg";
import { allocateDoubles, release } from "../memory";
import { clearRows, copyLanes, LANES, PANEL_ROW } from "./panel";

/** The header of a block of workspace for the rows with a pivot. */
@unmanaged class Pivots {
  /** The number of these rows. */
  rank: usize;
  /** The rows without zero columns: a packed triangle with its reciprocals. */
  factor: usize;
  reciprocals: usize;
  /** The columns with a pivot, as byte offsets in a row. */
  columns: usize;
  /** (4 + rank) x 4. */
  panel: usize;
}

/** Doubles of `Pivots`, and one for alignment. */
const HEADER: usize = 4;

/**
 * Cholesky of the packed triangle A of n rows, in place. A squared pivot at or below `floor` is rounding, and gets a zero column.
 * Returns OK, OUT_OF_MEMORY, or NOT_POSITIVE_DEFINITE if a pivot is not finite (the triangle is then garbage).
 * **Cost:** n r^2 / 2 multiplications for rank r, and n r^2 / 2 subtractions; n (n + 1) / 2 numbers of memory.
 */
export function factoriseSemidefinite(factor: usize, n: usize, floor: f64): i32 {
  const work = allocateDoubles(HEADER + triangle(n) + (4 + LANES) * <u64>n + LANES * LANES);
  if (!work) return OUT_OF_MEMORY;
  const pivots = changetype<Pivots>(work);
  pivots.rank = 0;
  pivots.factor = work + (HEADER << 3);
  pivots.reciprocals = factorRow(pivots.factor, n);
  pivots.columns = pivots.reciprocals + (n << 3);
  const reciprocals = pivots.columns + (n << 3);
  const floors = reciprocals + (n << 3);
  pivots.panel = floors + (n << 3);
  for (let i: usize = 0; i < n << 3; i += 8) store<f64>(floors + i, floor);
  let status = OK;
  for (let start: usize = 0; start < n && status == OK; start += LANES) {
    const count = min(LANES, n - start);
    reduceRows(factor, start, count, pivots);
    if (factoriseBlock(factor, reciprocals, floors, ZERO_COLUMN, start, count) < 0) status = NOT_POSITIVE_DEFINITE;
    else for (let i = start; i < start + count; i++) keep(factor, i, load<f64>(reciprocals + (i << 3)), pivots);
  }
  release(work);
  return status;
}

/** Solves for the entries of `count` <= 4 rows from `start` on in columns before `start`, and subtracts their products from the rest. */
function reduceRows(factor: usize, start: usize, count: usize, pivots: Pivots): void {
  const block = pivots.panel;
  const panel = block + LANES * PANEL_ROW;
  const columns = pivots.columns;
  const rank = pivots.rank;
  if (count < LANES) clearRows(panel, rank);
  for (let a: usize = 0; a < count; a++) {
    const row = factorRow(factor, start + a);
    for (let p: usize = 0; p < rank; p++) store<f64>(panel + p * PANEL_ROW + (a << 3), load<f64>(row + load<usize>(columns + (p << 3))));
  }
  solvePanel(pivots.factor, pivots.reciprocals, 0, rank, panel);
  clearRows(block, LANES);
  for (let a: usize = 0; a < count; a++) {
    const row = factorRow(factor, start + a);
    memory.fill(row, 0, start << 3);
    for (let p: usize = 0; p < rank; p++) store<f64>(row + load<usize>(columns + (p << 3)), load<f64>(panel + p * PANEL_ROW + (a << 3)));
    copyLanes(block + a * PANEL_ROW, row + (start << 3), a + 1);
  }
  subtractProducts(panel, panel, rank, block);
  for (let a: usize = 0; a < count; a++) copyLanes(factorRow(factor, start + a) + (start << 3), block + a * PANEL_ROW, a + 1);
}

/** Adds row i to the compact triangle if it has a pivot, that is if the reciprocal is not 0. */
function keep(factor: usize, i: usize, reciprocal: f64, pivots: Pivots): void {
  if (reciprocal == 0) return;
  const rank = pivots.rank;
  const row = factorRow(factor, i);
  const kept = factorRow(pivots.factor, rank);
  store<usize>(pivots.columns + (rank << 3), i << 3);
  store<f64>(pivots.reciprocals + (rank << 3), reciprocal);
  for (let p: usize = 0; p <= rank; p++) store<f64>(kept + (p << 3), load<f64>(row + load<usize>(pivots.columns + (p << 3))));
  pivots.rank = rank + 1;
}
