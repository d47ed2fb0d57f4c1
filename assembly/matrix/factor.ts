// Computes and changes triangular factors: packed lower triangles with the reciprocals of their diagonal (see linalg.ts).

import { NOT_POSITIVE_DEFINITE } from "../abi";
import { factorRow, solvePanel, splat, subtractProducts } from "./linalg";
import { clearRows, copyLanes, LANES, packLane, PANEL_ROW, unpackLane } from "./panel";
import { solve } from "./vector";

/** Writes the reciprocals of a factor's diagonal. A zero marks a zero column and has the reciprocal 0. */
export function invertDiagonal(factor: usize, n: usize, reciprocals: usize): void {
  for (let i: usize = 0; i < n; i++) {
    const pivot = load<f64>(factorRow(factor, i) + (i << 3));
    store<f64>(reciprocals + (i << 3), pivot == 0 ? 0 : 1 / pivot);
  }
}

/** Policies of `factorise` for a squared pivot at or below its floor. */
export const LIFT: bool = true;
export const ZERO_COLUMN: bool = false;

/**
 * Cholesky: rows [from, to) of the packed triangle hold A on entry and the factor on return. Earlier rows already hold the factor.
 *
 * The bits of a row do not depend on `from`: appending rows one by one gives the same factor as factorising them at once.
 * A squared pivot at or below floors[i] is lifted to it (LIFT), or its column becomes zero (ZERO_COLUMN, for a semi-definite A).
 * `panel`: workspace of (to + 4) x 4. Returns the number of such pivots, or NOT_POSITIVE_DEFINITE if a pivot is not finite. The
 * rows [from, to) are then garbage.
 */
export function factorise(factor: usize, reciprocals: usize, floors: usize, policy: bool, from: usize, to: usize, panel: usize): i32 {
  let adjusted = 0;
  for (let start = from; start < to; start += LANES) {
    const count = min(LANES, to - start);
    if (count == 1) reduceRow(factor, reciprocals, start);
    else reduceRows(factor, reciprocals, start, count, panel);
    const inBlock = factoriseBlock(factor, reciprocals, floors, policy, start, count);
    if (inBlock < 0) return inBlock;
    adjusted += inBlock;
  }
  return adjusted;
}

/** `reduceRows` for row n alone, without lanes: solves for its entries before the diagonal, and subtracts their squares from it. */
function reduceRow(factor: usize, reciprocals: usize, n: usize): void {
  const row = factorRow(factor, n);
  const diagonal = row + (n << 3);
  solve(factor, reciprocals, n, row);
  let value = load<f64>(diagonal);
  for (let entry = row; entry < diagonal; entry += 8) value -= load<f64>(entry) * load<f64>(entry);
  store<f64>(diagonal, value);
}

/** Solves for the entries of `count` <= 4 rows from `start` on in columns before `start`, and subtracts their products from the rest. */
function reduceRows(factor: usize, reciprocals: usize, start: usize, count: usize, panel: usize): void {
  const block = panel;
  panel += LANES * PANEL_ROW;
  if (count < LANES) clearRows(panel, start);
  for (let a: usize = 0; a < count; a++) packLane(factorRow(factor, start + a), start, panel, a);
  solvePanel(factor, reciprocals, 0, start, panel);
  clearRows(block, LANES);
  for (let a: usize = 0; a < count; a++) {
    const row = factorRow(factor, start + a);
    unpackLane(panel, a, start, row);
    copyLanes(block + a * PANEL_ROW, row + (start << 3), a + 1);
  }
  subtractProducts(panel, panel, start, block);
  for (let a: usize = 0; a < count; a++) copyLanes(factorRow(factor, start + a) + (start << 3), block + a * PANEL_ROW, a + 1);
}

/** Factorises the triangle of `count` reduced rows from `start` on. Returns the same as `factorise`. */
export function factoriseBlock(factor: usize, reciprocals: usize, floors: usize, policy: bool, start: usize, count: usize): i32 {
  let adjusted = 0;
  for (let a: usize = 0; a < count; a++) {
    const row = factorRow(factor, start + a) + (start << 3);
    for (let b: usize = 0; b <= a; b++) {
      let value = load<f64>(row + (b << 3));
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
  return adjusted;
}

/**
 * Turns the factor of A into the factor of A + x x^T by Givens rotations, and updates the reciprocals. x (n entries) stays the same.
 *
 * Unconditionally stable. It works row by row and stores the rotations, because the triangle is packed by rows.
 * `rotations`: workspace of 2 n. **Cost:** 2 n^2 multiplications.
 */
export function update(factor: usize, reciprocals: usize, n: usize, x: usize, rotations: usize): void {
  // The rest of x in a row is stored in the place of the row's own rotation.
  for (let i: usize = 0; i < n; i++) store<f64>(rotations + (i << 4), load<f64>(x + (i << 3)));
  let i: usize = 0;
  for (; i + 4 <= n; i += 4) {
    rotateFour(factor, i, rotations);
    for (let row = i; row < i + 4; row++) rotate(factor, reciprocals, row, i, rotations);
  }
  for (; i < n; i++) rotate(factor, reciprocals, i, 0, rotations);
}

/** Applies the rotations of columns [from, i) to row i, and computes the rotation of row i. */
function rotate(factor: usize, reciprocals: usize, i: usize, from: usize, rotations: usize): void {
  const end = rotations + (i << 4);
  let rest = load<f64>(end);
  let at = factorRow(factor, i) + (from << 3);
  for (let rotation = rotations + (from << 4); rotation < end; rotation += 16, at += 8) {
    const cosine = load<f64>(rotation);
    const sine = load<f64>(rotation, 8);
    const entry = load<f64>(at);
    store<f64>(at, cosine * entry + sine * rest);
    rest = cosine * rest - sine * entry;
  }
  const pivot = load<f64>(at);
  const radius = sqrt(pivot * pivot + rest * rest);
  const reciprocal = 1 / radius;
  store<f64>(end, pivot * reciprocal);
  store<f64>(end, rest * reciprocal, 8);
  store<f64>(at, radius);
  store<f64>(reciprocals + (i << 3), reciprocal);
}

/** Applies the rotations of columns [0, i) to rows [i, i + 4) in parallel, because a single row waits for its own rest. i is even. */
function rotateFour(factor: usize, i: usize, rotations: usize): void {
  const end = rotations + (i << 4);
  let rest0 = f64x2(load<f64>(end), load<f64>(end, 16));
  let rest2 = f64x2(load<f64>(end, 32), load<f64>(end, 48));
  let l0 = factorRow(factor, i);
  let l1 = factorRow(factor, i + 1);
  let l2 = factorRow(factor, i + 2);
  let l3 = factorRow(factor, i + 3);
  for (let rotation = rotations; rotation < end; rotation += 32) {
    rest0 = rotatePair(l0, l1, rest0, rotation);
    rest2 = rotatePair(l2, l3, rest2, rotation);
    l0 += 16;
    l1 += 16;
    l2 += 16;
    l3 += 16;
  }
  v128.store_lane<f64>(end, rest0, 0);
  v128.store_lane<f64>(end, rest0, 1, 16);
  v128.store_lane<f64>(end, rest2, 0, 32);
  v128.store_lane<f64>(end, rest2, 1, 48);
}

/** Applies the rotations of two columns to the entries of two rows. Returns the rests. */
// @ts-ignore: decorator
@inline function rotatePair(row: usize, next: usize, rest: v128, rotation: usize): v128 {
  const cosine = splat(rotation);
  const sine = splat(rotation + 8);
  const nextCosine = splat(rotation + 16);
  const nextSine = splat(rotation + 24);
  const first = v128.load(row);
  const second = v128.load(next);
  const entry = v128.shuffle<f64>(first, second, 0, 2);
  const following = v128.shuffle<f64>(first, second, 1, 3);
  const rotated = f64x2.add(f64x2.mul(cosine, entry), f64x2.mul(sine, rest));
  rest = f64x2.sub(f64x2.mul(cosine, rest), f64x2.mul(sine, entry));
  const nextRotated = f64x2.add(f64x2.mul(nextCosine, following), f64x2.mul(nextSine, rest));
  v128.store(row, v128.shuffle<f64>(rotated, nextRotated, 0, 2));
  v128.store(next, v128.shuffle<f64>(rotated, nextRotated, 1, 3));
  return f64x2.sub(f64x2.mul(nextCosine, rest), f64x2.mul(nextSine, following));
}

/**
 * Turns the factor of A into the factor of A - shift e e^T, e the unit vector `from`, by hyperbolic rotations of rows >= from.
 *
 * The caller knows that squared pivots stay above floors[i] (n entries). A pivot that rounding pushes below is lifted to its floor.
 * Returns the number of lifted pivots. Each rotation is applied in mixed form, where the second formula uses the new entry
 * (Bojanczyk, Brent, Van Dooren, de Hoog 1987). This form is stable, the plain hyperbolic one is not.
 * `rotations`: workspace of 2 (n - from). **Cost:** 2 (n - from)^2 multiplications.
 */
export function downdate(factor: usize, reciprocals: usize, floors: usize, from: usize, n: usize, shift: f64, rotations: usize): usize {
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
