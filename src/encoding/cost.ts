// The cost of encoding, counted before anything is hashed. A product takes about 25 nanoseconds.

import { outOfRange } from "../values/argument.ts";

const MAX_TERMS = 4096;

/** Checks the number of terms of one vector. @throws {RangeError} for too many. */
export function checkTerms(terms: number): void {
  if (terms > MAX_TERMS) throw outOfRange("features", `at most ${MAX_TERMS} terms with interactions`, terms);
}

/** @throws {RangeError} for more products than the budget. */
export function checkProducts(products: number, budget: number): void {
  if (products <= budget) return;
  throw new RangeError(
    `features: expected at most ${budget} interactions of all actions together, got ${products}; send fewer features, or choose among fewer actions`,
  );
}
