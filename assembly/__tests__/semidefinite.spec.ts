import { NOT_POSITIVE_DEFINITE, OK } from "../abi";
import { factorise, ZERO_COLUMN } from "../matrix/factor";
import { factoriseSemidefinite } from "../matrix/semidefinite";
import { get, noise, put, sameBits, vector, zeros } from "./vectors";

const N = 23; // not a multiple of the four rows of a block
const ENTRIES = (N * (N + 1)) / 2;
const FLOOR = 1e-10;

/** A = X X^T, packed, with X an N x `rank` matrix of normals of which every third row is 0. */
function semidefinite(rank: i32): usize {
  const x = noise(11, N * rank);
  for (let i = 1; i < N; i += 3) memory.fill(x + i * rank * 8, 0, rank * 8);
  const a = zeros(ENTRIES);
  for (let i = 0; i < N; i++) {
    for (let j = 0; j <= i; j++) {
      let sum: f64 = 0;
      for (let t = 0; t < rank; t++) sum += get(x, i * rank + t) * get(x, j * rank + t);
      put(a, (i * (i + 1)) / 2 + j, sum);
    }
  }
  return a;
}

describe("factoriseSemidefinite", () => {
  it("gives the bits of a factor with zero columns, of whatever rank", () => {
    for (let rank = 1; rank < N; rank++) {
      const once = semidefinite(rank);
      const other = zeros(ENTRIES);
      memory.copy(other, once, ENTRIES << 3);
      const floors = zeros(N);
      for (let i = 0; i < N; i++) put(floors, i, FLOOR);
      expect<i32>(factorise(once, zeros(N), floors, ZERO_COLUMN, 0, N, zeros((N + 4) * 4))).toBeGreaterThan(6);
      expect<i32>(factoriseSemidefinite(other, N, FLOOR)).toBe(OK);
      // A zero may have another sign.
      for (let i = 0; i < ENTRIES; i++) {
        put(once, i, get(once, i) + 0);
        put(other, i, get(other, i) + 0);
      }
      expect<bool>(sameBits(once, other, ENTRIES)).toBe(true);
    }
  });

  it("refuses what is not finite", () => {
    expect<i32>(factoriseSemidefinite(vector([NaN]), 1, 0)).toBe(NOT_POSITIVE_DEFINITE);
    expect<i32>(factoriseSemidefinite(vector([1, Infinity, 1]), 2, 0)).toBe(NOT_POSITIVE_DEFINITE);
  });
});
