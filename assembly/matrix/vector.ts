// Triangular systems with one right-hand side. Every entry has its subtractions in the order of a panel, hence the same bits. A
// vector has no lanes, so several rows run in parallel: a single row would wait for its own last subtraction.

import { factorRow, splat, subtractProduct } from "./linalg";

/** Solves L y = b in place. */
export function solve(factor: usize, reciprocals: usize, n: usize, vector: usize): void {
  solveFrom(factor, reciprocals, 0, n, vector);
}

/** Solves L y = b for entries [from, n), in place. Entries before `from` already hold y. The bits are those of `solvePanel`. */
export function solveFrom(factor: usize, reciprocals: usize, from: usize, n: usize, vector: usize): void {
  let i = from;
  for (; i & 7 && i < n; i++) solveEntry(factor, reciprocals, i, 0, vector);
  for (; i + 8 <= n; i += 8) {
    subtractEight(factor, i, vector);
    for (let row = i; row < i + 8; row++) solveEntry(factor, reciprocals, row, i, vector);
  }
  for (; i < n; i++) solveEntry(factor, reciprocals, i, 0, vector);
}

/** Solves for entry i. The products with entries before `from` are already subtracted. */
function solveEntry(factor: usize, reciprocals: usize, i: usize, from: usize, vector: usize): void {
  const end = vector + (i << 3);
  let rest = load<f64>(end);
  for (let y = vector + (from << 3), l = factorRow(factor, i) + (from << 3); y < end; y += 8, l += 8) {
    rest -= load<f64>(l) * load<f64>(y);
  }
  store<f64>(end, rest * load<f64>(reciprocals + (i << 3)));
}

/** Subtracts the products of two rows at four places, in order of places. The two rows run in parallel. */
// @ts-ignore: decorator
@inline function subtractPair(rest: v128, row: usize, next: usize, y0: v128, y1: v128, y2: v128, y3: v128): v128 {
  const first = v128.load(row);
  const second = v128.load(next);
  rest = subtractProduct(rest, v128.shuffle<f64>(first, second, 0, 2), y0);
  rest = subtractProduct(rest, v128.shuffle<f64>(first, second, 1, 3), y1);
  const third = v128.load(row, 16);
  const fourth = v128.load(next, 16);
  rest = subtractProduct(rest, v128.shuffle<f64>(third, fourth, 0, 2), y2);
  return subtractProduct(rest, v128.shuffle<f64>(third, fourth, 1, 3), y3);
}

/** Subtracts from entries [i, i + 8) their products with entries before i. i is a multiple of four. */
function subtractEight(factor: usize, i: usize, vector: usize): void {
  const end = vector + (i << 3);
  let rest0 = v128.load(end);
  let rest2 = v128.load(end, 16);
  let rest4 = v128.load(end, 32);
  let rest6 = v128.load(end, 48);
  let l0 = factorRow(factor, i);
  let l1 = factorRow(factor, i + 1);
  let l2 = factorRow(factor, i + 2);
  let l3 = factorRow(factor, i + 3);
  let l4 = factorRow(factor, i + 4);
  let l5 = factorRow(factor, i + 5);
  let l6 = factorRow(factor, i + 6);
  let l7 = factorRow(factor, i + 7);
  for (let v = vector; v < end; v += 32) {
    const y0 = splat(v);
    const y1 = splat(v + 8);
    const y2 = splat(v + 16);
    const y3 = splat(v + 24);
    rest0 = subtractPair(rest0, l0, l1, y0, y1, y2, y3);
    rest2 = subtractPair(rest2, l2, l3, y0, y1, y2, y3);
    rest4 = subtractPair(rest4, l4, l5, y0, y1, y2, y3);
    rest6 = subtractPair(rest6, l6, l7, y0, y1, y2, y3);
    l0 += 32;
    l1 += 32;
    l2 += 32;
    l3 += 32;
    l4 += 32;
    l5 += 32;
    l6 += 32;
    l7 += 32;
  }
  v128.store(end, rest0);
  v128.store(end, rest2, 16);
  v128.store(end, rest4, 32);
  v128.store(end, rest6, 48);
}

/**
 * Solves L^T x = b in place, from the last entry to the first, so that the factor is read along its rows.
 *
 * Every entry is (b - l_n x_n) - l_{n-1} x_{n-1} - ... in this order, whether it is solved alone or with three others.
 */
export function solveTransposed(factor: usize, reciprocals: usize, n: usize, vector: usize): void {
  let i = n;
  // Afterwards the number of entries is a multiple of four, without an odd entry for the pairs of lanes.
  while (i & 3) {
    const x = solved(vector, reciprocals, --i);
    for (let l = factorRow(factor, i), v = vector, end = v + (i << 3); v < end; l += 8, v += 8) {
      store<f64>(v, load<f64>(v) - load<f64>(l) * x);
    }
  }
  for (; i > 0; i -= 4) solveFourTransposed(factor, reciprocals, i, vector);
}

// @ts-ignore: decorator
@inline function solved(vector: usize, reciprocals: usize, i: usize): f64 {
  const x = load<f64>(vector + (i << 3)) * load<f64>(reciprocals + (i << 3));
  store<f64>(vector + (i << 3), x);
  return x;
}

/** Solves for the entries [n - 4, n), and subtracts their products from earlier entries. */
function solveFourTransposed(factor: usize, reciprocals: usize, n: usize, vector: usize): void {
  const first = (n - 4) << 3;
  let l0 = factorRow(factor, n - 4);
  let l1 = factorRow(factor, n - 3);
  let l2 = factorRow(factor, n - 2);
  let l3 = factorRow(factor, n - 1);
  const b = vector + first;
  const x3 = solved(vector, reciprocals, n - 1);
  store<f64>(b, load<f64>(b, 16) - load<f64>(l3 + first, 16) * x3, 16);
  const x2 = solved(vector, reciprocals, n - 2);
  store<f64>(b, load<f64>(b, 8) - load<f64>(l3 + first, 8) * x3 - load<f64>(l2 + first, 8) * x2, 8);
  const x1 = solved(vector, reciprocals, n - 3);
  store<f64>(b, load<f64>(b) - load<f64>(l3 + first) * x3 - load<f64>(l2 + first) * x2 - load<f64>(l1 + first) * x1);
  const x0 = solved(vector, reciprocals, n - 4);
  const y0 = f64x2.splat(x0);
  const y1 = f64x2.splat(x1);
  const y2 = f64x2.splat(x2);
  const y3 = f64x2.splat(x3);
  for (let v = vector; v < b; v += 16) {
    let rest = subtractProduct(v128.load(v), v128.load(l3), y3);
    rest = subtractProduct(rest, v128.load(l2), y2);
    rest = subtractProduct(rest, v128.load(l1), y1);
    v128.store(v, subtractProduct(rest, v128.load(l0), y0));
    l0 += 16;
    l1 += 16;
    l2 += 16;
    l3 += 16;
  }
}
