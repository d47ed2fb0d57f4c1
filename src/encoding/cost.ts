import type { Term } from "./terms.ts";

// The cost of encoding, counted before anything is hashed. One step is about the time in which a character is hashed: two nanoseconds.

const MAX_TERMS = 4096;
/** Most steps of one vector: 4,096 interactions with names of 52 characters. */
const MAX_STEPS = 262_144;

/** Steps to look up a pair of names in the features of one action. */
export const PAIR_STEPS = 32;
/** Steps to find the place of a product, besides the characters of its second name. */
const PLACE_STEPS = 8;
/** Steps to add a product. */
export const ADD_STEPS = 4;

/** Steps to find the places of the products of one term with each of these. */
export function placeSteps(terms: readonly Term[]): number {
  let steps = PLACE_STEPS * terms.length;
  for (const { stem, rest } of terms) steps += stem.length + rest.length;
  return steps;
}

/** Steps to find and add the products of one term with each of these. */
export function productSteps(terms: readonly Term[]): number {
  return placeSteps(terms) + ADD_STEPS * terms.length;
}

/**
 * Checks one vector.
 * @throws {RangeError} for too many terms, or too long names of interactions.
 */
export function checkVector(terms: number, steps: number): void {
  if (terms > MAX_TERMS) throw new RangeError(`features: expected at most ${MAX_TERMS} terms with interactions`);
  checkBudget(steps, MAX_STEPS);
}

/** @throws {RangeError} over the budget. */
export function checkBudget(steps: number, budget: number): void {
  if (steps <= budget) return;
  throw new RangeError(
    `features: expected interactions of at most ${budget} steps, got ${steps}; send fewer or shorter texts, or choose among fewer actions`,
  );
}
