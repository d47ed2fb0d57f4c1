// Triangular factors, and their solutions for panels of four right-hand sides.
//
// A factor is the lower triangle L of A = L L^T, packed by rows: row i starts at entry i(i+1)/2, so appending a row moves nothing.
// A factor comes with the reciprocals of its diagonal, because a division takes as long as ten multiplications.

import { PANEL_ROW } from "./panel";

/** Doubles in a packed triangle of n rows, in 64 bits for `allocateDoubles`. */
// @ts-ignore: decorator
@inline export function triangle(n: usize): u64 {
  return (<u64>n * (<u64>n + 1)) >> 1;
}

/** The address of row i of a packed triangle, which is also the end of a triangle of i rows. */
// @ts-ignore: decorator
@inline export function factorRow(factor: usize, i: usize): usize {
  return factor + ((i * (i + 1)) << 2);
}

// @ts-ignore: decorator
@inline export function splat(pointer: usize): v128 {
  return v128.load_splat<f64>(pointer);
}

// @ts-ignore: decorator
@inline export function subtractProduct(sum: v128, a: v128, b: v128): v128 {
  return f64x2.sub(sum, f64x2.mul(a, b));
}

/** Whether all of `count` doubles are finite. */
export function allFinite(values: usize, count: usize): bool {
  // x - x is 0 for a finite x and NaN otherwise, and a sum with NaN stays NaN. Four sums run in parallel.
  let lower = f64x2.splat(0);
  let upper = f64x2.splat(0);
  let i = values;
  for (const end = values + (count >> 2 << 5); i < end; i += 32) {
    const first = v128.load(i);
    const second = v128.load(i, 16);
    lower = f64x2.add(lower, f64x2.sub(first, first));
    upper = f64x2.add(upper, f64x2.sub(second, second));
  }
  lower = f64x2.add(lower, upper);
  let defect = f64x2.extract_lane(lower, 0) + f64x2.extract_lane(lower, 1);
  for (const end = values + (count << 3); i < end; i += 8) defect += load<f64>(i) - load<f64>(i);
  return defect == 0;
}

/** Replaces n values by their square roots. */
export function squareRoots(values: usize, n: usize): void {
  const end = values + (n << 3);
  for (; values + 16 <= end; values += 16) v128.store(values, f64x2.sqrt(v128.load(values)));
  if (values < end) store<f64>(values, sqrt(load<f64>(values)));
}

/**
 * Solves L Y = P for rows [from, n) of a panel P (n x 4), in place. Rows before `from` already hold Y.
 *
 * Every entry is ((p - l_0 y_0) - l_1 y_1) - ... in this order, whether its row is solved alone or with three others.
 * **Cost:** 4 (n^2 - from^2) multiplications and subtractions.
 */
export function solvePanel(factor: usize, reciprocals: usize, from: usize, n: usize, panel: usize): void {
  let i = from;
  for (; i + 4 <= n; i += 4) solveFourRows(factor, reciprocals, i, panel);
  for (; i < n; i++) solveRow(factor, reciprocals, i, panel);
}

function solveRow(factor: usize, reciprocals: usize, i: usize, panel: usize): void {
  const end = panel + i * PANEL_ROW;
  let lower = v128.load(end);
  let upper = v128.load(end, 16);
  for (let l = factorRow(factor, i), y = panel; y < end; l += 8, y += PANEL_ROW) {
    const entry = splat(l);
    lower = subtractProduct(lower, entry, v128.load(y));
    upper = subtractProduct(upper, entry, v128.load(y, 16));
  }
  const reciprocal = splat(reciprocals + (i << 3));
  v128.store(end, f64x2.mul(lower, reciprocal));
  v128.store(end, f64x2.mul(upper, reciprocal), 16);
}

/** The hottest loop of the core: 4 rows by 4 lanes in eight registers, so that each load serves eight operations. */
function solveFourRows(factor: usize, reciprocals: usize, i: usize, panel: usize): void {
  let l0 = factorRow(factor, i);
  let l1 = factorRow(factor, i + 1);
  let l2 = factorRow(factor, i + 2);
  let l3 = factorRow(factor, i + 3);
  const end = panel + i * PANEL_ROW;
  let lower0 = v128.load(end);
  let upper0 = v128.load(end, 16);
  let lower1 = v128.load(end, 32);
  let upper1 = v128.load(end, 48);
  let lower2 = v128.load(end, 64);
  let upper2 = v128.load(end, 80);
  let lower3 = v128.load(end, 96);
  let upper3 = v128.load(end, 112);
  for (let y = panel; y < end; y += PANEL_ROW) {
    const lower = v128.load(y);
    const upper = v128.load(y, 16);
    let entry = splat(l0);
    lower0 = subtractProduct(lower0, entry, lower);
    upper0 = subtractProduct(upper0, entry, upper);
    entry = splat(l1);
    lower1 = subtractProduct(lower1, entry, lower);
    upper1 = subtractProduct(upper1, entry, upper);
    entry = splat(l2);
    lower2 = subtractProduct(lower2, entry, lower);
    upper2 = subtractProduct(upper2, entry, upper);
    entry = splat(l3);
    lower3 = subtractProduct(lower3, entry, lower);
    upper3 = subtractProduct(upper3, entry, upper);
    l0 += 8;
    l1 += 8;
    l2 += 8;
    l3 += 8;
  }

  // The triangle of the four rows themselves. l0 to l3 point at its first column.
  reciprocals += i << 3;
  let entry = splat(reciprocals);
  lower0 = f64x2.mul(lower0, entry);
  upper0 = f64x2.mul(upper0, entry);
  entry = splat(l1);
  lower1 = subtractProduct(lower1, entry, lower0);
  upper1 = subtractProduct(upper1, entry, upper0);
  entry = splat(l2);
  lower2 = subtractProduct(lower2, entry, lower0);
  upper2 = subtractProduct(upper2, entry, upper0);
  entry = splat(l3);
  lower3 = subtractProduct(lower3, entry, lower0);
  upper3 = subtractProduct(upper3, entry, upper0);

  entry = splat(reciprocals + 8);
  lower1 = f64x2.mul(lower1, entry);
  upper1 = f64x2.mul(upper1, entry);
  entry = splat(l2 + 8);
  lower2 = subtractProduct(lower2, entry, lower1);
  upper2 = subtractProduct(upper2, entry, upper1);
  entry = splat(l3 + 8);
  lower3 = subtractProduct(lower3, entry, lower1);
  upper3 = subtractProduct(upper3, entry, upper1);

  entry = splat(reciprocals + 16);
  lower2 = f64x2.mul(lower2, entry);
  upper2 = f64x2.mul(upper2, entry);
  entry = splat(l3 + 16);
  lower3 = subtractProduct(lower3, entry, lower2);
  upper3 = subtractProduct(upper3, entry, upper2);

  entry = splat(reciprocals + 24);
  lower3 = f64x2.mul(lower3, entry);
  upper3 = f64x2.mul(upper3, entry);

  v128.store(end, lower0);
  v128.store(end, upper0, 16);
  v128.store(end, lower1, 32);
  v128.store(end, upper1, 48);
  v128.store(end, lower2, 64);
  v128.store(end, upper2, 80);
  v128.store(end, lower3, 96);
  v128.store(end, upper3, 112);
}

/** target += factor vector, n entries. */
// @ts-ignore: decorator
@inline export function addMultiple(target: usize, vector: usize, n: usize, factor: f64): void {
  const both = f64x2.splat(factor);
  const end = target + (n << 3);
  for (; target + 16 <= end; target += 16, vector += 16) {
    v128.store(target, f64x2.add(v128.load(target), f64x2.mul(both, v128.load(vector))));
  }
  if (target < end) store<f64>(target, load<f64>(target) + factor * load<f64>(vector));
}

/** sums[lane] += <column of the panel (n x 4), vector (n)>, in order of rows, so that several pieces give the same bits as one. */
export function addProducts(panel: usize, vector: usize, n: usize, sums: usize): void {
  let lower = v128.load(sums);
  let upper = v128.load(sums, 16);
  for (const end = vector + (n << 3); vector < end; vector += 8, panel += PANEL_ROW) {
    const entry = splat(vector);
    lower = f64x2.add(lower, f64x2.mul(entry, v128.load(panel)));
    upper = f64x2.add(upper, f64x2.mul(entry, v128.load(panel, 16)));
  }
  v128.store(sums, lower);
  v128.store(sums, upper, 16);
}

/** block -= P^T Q for two panels (n x 4). `block`: 4 x 4, row-major. If P is Q, its lower triangle suffices. */
export function subtractProducts(p: usize, q: usize, n: usize, block: usize): void {
  let lower0 = v128.load(block);
  let upper0 = v128.load(block, 16);
  let lower1 = v128.load(block, 32);
  let upper1 = v128.load(block, 48);
  let lower2 = v128.load(block, 64);
  let upper2 = v128.load(block, 80);
  let lower3 = v128.load(block, 96);
  let upper3 = v128.load(block, 112);
  for (const end = p + n * PANEL_ROW; p < end; p += PANEL_ROW, q += PANEL_ROW) {
    const lower = v128.load(q);
    const upper = v128.load(q, 16);
    let entry = splat(p);
    lower0 = subtractProduct(lower0, entry, lower);
    upper0 = subtractProduct(upper0, entry, upper);
    entry = splat(p + 8);
    lower1 = subtractProduct(lower1, entry, lower);
    upper1 = subtractProduct(upper1, entry, upper);
    entry = splat(p + 16);
    lower2 = subtractProduct(lower2, entry, lower);
    upper2 = subtractProduct(upper2, entry, upper);
    entry = splat(p + 24);
    lower3 = subtractProduct(lower3, entry, lower);
    upper3 = subtractProduct(upper3, entry, upper);
  }
  v128.store(block, lower0);
  v128.store(block, upper0, 16);
  v128.store(block, lower1, 32);
  v128.store(block, upper1, 48);
  v128.store(block, lower2, 64);
  v128.store(block, upper2, 80);
  v128.store(block, lower3, 96);
  v128.store(block, upper3, 112);
}
