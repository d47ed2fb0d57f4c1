import { NOT_POSITIVE_DEFINITE } from "../abi";
import { downdate, factorise, invertDiagonal, LIFT, update, ZERO_COLUMN } from "../matrix/factor";
import { solvePanel } from "../matrix/linalg";
import { solve, solveFrom, solveTransposed } from "../matrix/vector";
import { distance, get, lower, noise, put, sameBits, vector, zeros } from "./vectors";

const N = 23; // not a multiple of the four rows of a block
const ENTRIES = (N * (N + 1)) / 2;
const panel = zeros((N + 4) * 4);
const floors = zeros(N);

/** A = X X^T + I, packed, with X an N x N matrix of normals. */
function definite(id: u32): usize {
  const x = noise(id, N * N);
  const a = zeros(ENTRIES);
  for (let i = 0; i < N; i++) {
    for (let j = 0; j <= i; j++) {
      let sum: f64 = i == j ? 1 : 0;
      for (let t = 0; t < N; t++) sum += get(x, i * N + t) * get(x, j * N + t);
      put(a, (i * (i + 1)) / 2 + j, sum);
    }
  }
  return a;
}

function product(factor: usize): usize {
  const a = zeros(ENTRIES);
  for (let i = 0; i < N; i++) {
    for (let j = 0; j <= i; j++) {
      let sum: f64 = 0;
      for (let t = 0; t <= j; t++) sum += lower(factor, i, t) * lower(factor, j, t);
      put(a, (i * (i + 1)) / 2 + j, sum);
    }
  }
  return a;
}

function copyOf(values: usize, count: i32): usize {
  const copy = zeros(count);
  memory.copy(copy, values, count << 3);
  return copy;
}

describe("factorise", () => {
  it("gives L with L L^T = A", () => {
    const a = definite(1);
    const factor = copyOf(a, ENTRIES);
    expect<i32>(factorise(factor, zeros(N), floors, ZERO_COLUMN, 0, N, panel)).toBe(0);
    expect<f64>(distance(product(factor), a, ENTRIES)).toBeLessThan(1e-13);
  });

  it("gives the same bits row by row and all at once", () => {
    const once = definite(2);
    const grown = copyOf(once, ENTRIES);
    const a = zeros(N);
    const b = zeros(N);
    factorise(once, a, floors, ZERO_COLUMN, 0, N, panel);
    for (let i = 0; i < N; i++) factorise(grown, b, floors, ZERO_COLUMN, i, i + 1, panel);
    expect<bool>(sameBits(once, grown, ENTRIES)).toBe(true);
    expect<bool>(sameBits(a, b, N)).toBe(true);
    invertDiagonal(once, N, b);
    expect<bool>(sameBits(a, b, N)).toBe(true);
  });

  it("turns a pivot that is rounding into a zero column", () => {
    const factor = vector([4, 4, 4, 2, 2, 5]);
    expect<i32>(factorise(factor, zeros(3), floors, ZERO_COLUMN, 0, 3, panel)).toBe(1);
    expect<bool>(sameBits(factor, vector([2, 2, 0, 1, 0, 2]), 6)).toBe(true);
  });

  it("lifts a pivot to its floor", () => {
    const factor = vector([4, 4, 4]);
    expect<i32>(factorise(factor, zeros(2), vector([1, 0.25]), LIFT, 0, 2, panel)).toBe(1);
    expect<f64>(get(factor, 2)).toBe(0.5);
  });

  it("refuses what is not finite", () => {
    expect<i32>(factorise(vector([NaN]), zeros(1), floors, LIFT, 0, 1, panel)).toBe(NOT_POSITIVE_DEFINITE);
    expect<i32>(factorise(vector([Infinity]), zeros(1), floors, LIFT, 0, 1, panel)).toBe(NOT_POSITIVE_DEFINITE);
  });
});

describe("solving", () => {
  it("leaves a residual of rounding", () => {
    const a = definite(3);
    const factor = copyOf(a, ENTRIES);
    const reciprocals = zeros(N);
    factorise(factor, reciprocals, floors, ZERO_COLUMN, 0, N, panel);
    const b = noise(4, N);
    const x = copyOf(b, N);
    solve(factor, reciprocals, N, x);
    solveTransposed(factor, reciprocals, N, x);
    for (let i = 0; i < N; i++) {
      let sum: f64 = 0;
      for (let j = 0; j < N; j++) sum += get(x, j) * (j > i ? lower(a, j, i) : lower(a, i, j));
      expect<f64>(abs(sum - get(b, i))).toBeLessThan(1e-12);
    }
  });

  it("gives a vector of any length, in whatever pieces, the bits of a lane", () => {
    const factor = definite(7);
    const reciprocals = zeros(N);
    factorise(factor, reciprocals, floors, ZERO_COLUMN, 0, N, panel);
    const b = noise(8, N);
    for (let n = 1; n <= N; n++) {
      const lane = zeros(4 * N);
      for (let i = 0; i < n; i++) put(lane, 4 * i, get(b, i));
      solvePanel(factor, reciprocals, 0, n, lane);
      const x = copyOf(b, n);
      solveFrom(factor, reciprocals, 0, n / 3, x);
      solveFrom(factor, reciprocals, n / 3, n, x);
      for (let i = 0; i < n; i++) expect<f64>(get(x, i)).toBe(get(lane, 4 * i));
    }
  });

  it("solves the transpose with the bits of one row after another", () => {
    const factor = definite(9);
    const reciprocals = zeros(N);
    factorise(factor, reciprocals, floors, ZERO_COLUMN, 0, N, panel);
    const b = noise(10, N);
    for (let n = 1; n <= N; n++) {
      const x = copyOf(b, n);
      const expected = copyOf(b, n);
      for (let i = n - 1; i >= 0; i--) {
        put(expected, i, get(expected, i) * get(reciprocals, i));
        for (let j = 0; j < i; j++) put(expected, j, get(expected, j) - lower(factor, i, j) * get(expected, i));
      }
      solveTransposed(factor, reciprocals, n, x);
      expect<bool>(sameBits(x, expected, n)).toBe(true);
    }
  });

  it("does the same for a lane whatever the others hold, and in whatever pieces", () => {
    const factor = definite(5);
    const reciprocals = zeros(N);
    factorise(factor, reciprocals, floors, ZERO_COLUMN, 0, N, panel);
    const four = noise(6, 4 * N);
    const alone = zeros(4 * N);
    for (let i = 0; i < N; i++) put(alone, 4 * i, get(four, 4 * i + 3));
    solvePanel(factor, reciprocals, 0, N, four);
    solvePanel(factor, reciprocals, 0, 6, alone);
    solvePanel(factor, reciprocals, 6, N, alone);
    for (let i = 0; i < N; i++) expect<f64>(get(alone, 4 * i)).toBe(get(four, 4 * i + 3));
  });
});

describe("rank one", () => {
  it("update equals factorising A + x x^T", () => {
    const a = definite(7);
    const x = noise(8, N);
    const updated = copyOf(a, ENTRIES);
    const reciprocals = zeros(N);
    factorise(updated, reciprocals, floors, ZERO_COLUMN, 0, N, panel);
    update(updated, reciprocals, N, x, panel);
    for (let i = 0; i < N; i++) {
      for (let j = 0; j <= i; j++) put(a, (i * (i + 1)) / 2 + j, lower(a, i, j) + get(x, i) * get(x, j));
    }
    expect<f64>(distance(product(updated), a, ENTRIES)).toBeLessThan(2e-13);
    const derived = zeros(N);
    invertDiagonal(updated, N, derived);
    expect<bool>(sameBits(derived, reciprocals, N)).toBe(true);
  });

  it("downdate equals factorising A less a shift on its diagonal, and leaves the rows before alone", () => {
    for (let row = 0; row < N; row += 11) {
      const a = definite(9);
      const lowered = copyOf(a, ENTRIES);
      const reciprocals = zeros(N);
      factorise(lowered, reciprocals, floors, ZERO_COLUMN, 0, N, panel);
      const before = copyOf(lowered, ENTRIES);
      expect<usize>(downdate(lowered, reciprocals, floors, row, N, 0.5, panel)).toBe(0);
      expect<bool>(sameBits(lowered, before, (row * (row + 1)) / 2)).toBe(true);
      put(a, (row * (row + 3)) / 2, lower(a, row, row) - 0.5);
      expect<f64>(distance(product(lowered), a, ENTRIES)).toBeLessThan(2e-13);
      const derived = zeros(N);
      invertDiagonal(lowered, N, derived);
      expect<bool>(sameBits(derived, reciprocals, N)).toBe(true);
    }
  });
});
