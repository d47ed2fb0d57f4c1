// Ridge regression from given sums, with the variances that the evidence for ridges needs.

import { NOT_FINITE, NOT_POSITIVE_DEFINITE, OK, OUT_OF_MEMORY } from "../abi";
import { factorise, LIFT } from "../matrix/factor";
import { allFinite, factorRow, triangle } from "../matrix/linalg";
import { allocateDoubles, release } from "../memory";
import { LANES } from "../matrix/panel";
import { solve, solveFrom, solveTransposed } from "../matrix/vector";

/**
 * Multiplies each of `count` vectors (d each, in place) by A^-1, where A = gram + ridge I (gram: d (d + 1) / 2, packed, semi-definite),
 * and writes the diagonal of A^-1 to `variances` (d).
 *
 * A squared pivot that rounding pushes below half the ridge is lifted there. Returns OK or NOT_FINITE. With nothing written it returns
 * OUT_OF_MEMORY, or NOT_POSITIVE_DEFINITE if a pivot is not finite. **Cost:** 2 d^3 / 3.
 */
export function shrunkSolve(gram: usize, d: usize, ridge: f64, vectors: usize, count: usize, variances: usize): i32 {
  const factor = allocateDoubles(triangle(d) + (3 + LANES) * <u64>d + 2 * LANES * LANES);
  if (!factor) return OUT_OF_MEMORY;
  const bytes = factorRow(0, d);
  const reciprocals = factor + bytes;
  const floors = reciprocals + (d << 3);
  const column = floors + (d << 3);
  memory.copy(factor, gram, bytes);
  for (let i: usize = 0; i < d; i++) {
    const diagonal = factorRow(factor, i) + (i << 3);
    store<f64>(diagonal, ridge + load<f64>(diagonal));
    store<f64>(floors + (i << 3), ridge / 2);
  }
  if (factorise(factor, reciprocals, floors, LIFT, 0, d, column + (d << 3)) < 0) {
    release(factor);
    return NOT_POSITIVE_DEFINITE;
  }
  for (let i: usize = 0; i < count; i++) {
    const vector = vectors + ((i * d) << 3);
    solve(factor, reciprocals, d, vector);
    solveTransposed(factor, reciprocals, d, vector);
  }
  const status = allFinite(vectors, count * d) ? OK : NOT_FINITE;
  inverseDiagonal(factor, reciprocals, d, column, variances);
  release(factor);
  return status;
}

/** The diagonal of (L L^T)^-1: the sums of the squares of the columns of L^-1. `column`: workspace of d. */
function inverseDiagonal(factor: usize, reciprocals: usize, d: usize, column: usize, out: usize): void {
  for (let j: usize = 0; j < d; j++) {
    memory.fill(column, 0, d << 3);
    store<f64>(column + (j << 3), 1);
    solveFrom(factor, reciprocals, j, d, column);
    let sum: f64 = 0;
    for (let i = j; i < d; i++) {
      const entry = load<f64>(column + (i << 3));
      sum += entry * entry;
    }
    store<f64>(out + (j << 3), sum);
  }
}
