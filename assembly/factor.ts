// Making and changing triangular factors (packed lower triangles with the reciprocals of their diagonal; see linalg).

import { NOT_POSITIVE_DEFINITE } from "./abi";
import { factorRow, LANES, packLane, PANEL_ROW, solvePanel, subtractProducts, unpackLane } from "./linalg";

/** Writes the reciprocals of a factor's diagonal. A zero, which stands for a zero column, is its own reciprocal. */
export function invertDiagonal(factor: usize, n: usize, reciprocals: usize): void {
  for (let i: usize = 0; i < n; i++) {
    const pivot = load<f64>(factorRow(factor, i) + (i << 3));
    store<f64>(reciprocals + (i << 3), pivot == 0 ? 0 : 1 / pivot);
  }
}

/** What `factorise` does with a squared pivot that is not above its floor. */
export const LIFT: bool = true;
export const ZERO_COLUMN: bool = false;

/**
 * Cholesky: rows [from, to) of the packed triangle hold A on entry and the factor on return; rows before hold it already.
 *
 * A row's bits do not depend on `from`: appending rows one by one gives what factorising them at once gives.
 * A squared pivot at or below floors[i] is lifted to it, or its column becomes zero (a semi-definite A).
 * `panel` is workspace of (to + 4) x 4. Returns how many pivots that were, or NOT_POSITIVE_DEFINITE if one is not finite
 * (rows [from, to) are then garbage).
 */
export function factorise(
  factor: usize,
  reciprocals: usize,
  floors: usize,
  policy: bool,
  from: usize,
  to: usize,
  panel: usize,
): i32 {
  const block = panel;
  panel += LANES * PANEL_ROW;
  let adjusted = 0;
  for (let start = from; start < to; start += LANES) {
    const count = min(LANES, to - start);
    if (count < LANES) memory.fill(panel, 0, start * PANEL_ROW);
    for (let a: usize = 0; a < count; a++) packLane(factorRow(factor, start + a), start, panel, a);
    solvePanel(factor, reciprocals, 0, start, panel);
    memory.fill(block, 0, LANES * PANEL_ROW);
    for (let a: usize = 0; a < count; a++) {
      const row = factorRow(factor, start + a);
      unpackLane(panel, a, start, row);
      memory.copy(block + a * PANEL_ROW, row + (start << 3), (a + 1) << 3);
    }
    subtractProducts(panel, panel, start, block);

    for (let a: usize = 0; a < count; a++) {
      const entries = block + a * PANEL_ROW;
      const row = factorRow(factor, start + a) + (start << 3);
      for (let b: usize = 0; b <= a; b++) {
        let value = load<f64>(entries + (b << 3));
        const other = factorRow(factor, start + b) + (start << 3);
        for (let c: usize = 0; c < b << 3; c += 8) value -= load<f64>(row + c) * load<f64>(other + c);
        const at = (start + b) << 3;
        if (b < a) {
          store<f64>(row + (b << 3), value * load<f64>(reciprocals + at));
          continue;
        }
        if (!(abs(value) < Infinity)) return NOT_POSITIVE_DEFINITE;
        const floor = load<f64>(floors + at);
        if (value <= floor) {
          value = policy == LIFT ? floor : 0;
          adjusted++;
        }
        const pivot = sqrt(value);
        store<f64>(row + (b << 3), pivot);
        store<f64>(reciprocals + at, pivot == 0 ? 0 : 1 / pivot);
      }
    }
  }
  return adjusted;
}

/**
 * Turns the factor of A into that of A + x x^T by Givens rotations; x (n entries) is not changed.
 *
 * Unconditionally stable. It goes row by row and remembers the rotations, for the packed rows' sake.
 * `rotations`: workspace of 2 n. Reciprocals follow. **Cost:** 2 n^2 multiplications.
 */
export function update(factor: usize, reciprocals: usize, n: usize, x: usize, rotations: usize): void {
  for (let i: usize = 0; i < n; i++) {
    const at = i << 3;
    const row = factorRow(factor, i);
    let rest = load<f64>(x + at);
    let rotation = rotations;
    for (let j: usize = 0; j < at; j += 8, rotation += 16) {
      const cosine = load<f64>(rotation);
      const sine = load<f64>(rotation, 8);
      const entry = load<f64>(row + j);
      store<f64>(row + j, cosine * entry + sine * rest);
      rest = cosine * rest - sine * entry;
    }
    const pivot = load<f64>(row + at);
    const radius = sqrt(pivot * pivot + rest * rest);
    const reciprocal = 1 / radius;
    store<f64>(rotation, pivot * reciprocal);
    store<f64>(rotation, rest * reciprocal, 8);
    store<f64>(row + at, radius);
    store<f64>(reciprocals + at, reciprocal);
  }
}

/**
 * Turns the factor of A into that of A - shift e e^T, e the unit vector `from`, by hyperbolic rotations of rows >= from.
 *
 * The caller knows that squared pivots stay above floors[i] (n entries), and what rounding pushes below is lifted to it;
 * returns how often. Each rotation is applied in its mixed form, the new entry entering the second formula (Bojanczyk,
 * Brent, Van Dooren, de Hoog 1987), which is stable where the plain hyperbolic one is not.
 * `rotations`: workspace of 2 (n - from). **Cost:** 2 (n - from)^2 multiplications.
 */
export function downdate(
  factor: usize,
  reciprocals: usize,
  floors: usize,
  from: usize,
  n: usize,
  shift: f64,
  rotations: usize,
): usize {
  let lifted: usize = 0;
  for (let i = from; i < n; i++) {
    const at = i << 3;
    const row = factorRow(factor, i);
    let rest = i == from ? sqrt(shift) : 0;
    let rotation = rotations;
    for (let j = from << 3; j < at; j += 8, rotation += 16) {
      const cosine = load<f64>(rotation);
      const sine = load<f64>(rotation, 8);
      const entry = (load<f64>(row + j) - sine * rest) / cosine;
      store<f64>(row + j, entry);
      rest = cosine * rest - sine * entry;
    }
    const pivot = load<f64>(row + at);
    const floor = load<f64>(floors + at);
    let square = (pivot - rest) * (pivot + rest);
    if (!(square >= floor)) {
      square = floor;
      lifted++;
    }
    const lowered = sqrt(square);
    store<f64>(rotation, lowered / pivot);
    store<f64>(rotation, rest / pivot, 8);
    store<f64>(row + at, lowered);
    store<f64>(reciprocals + at, 1 / lowered);
  }
  return lifted;
}
