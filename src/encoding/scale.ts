// Scales of the terms of an encoded vector. A term at half the scale needs four times the evidence for the same effect.

/**
 * The present version of the encoder. 1 hashed with random signs, and had neither a constant nor components of one term. 2 hashed the names of
 * products, and divided by the length of the sum. 3 hashed contexts and products into the same components.
 */
export const ENCODER_VERSION = 4;

/** Scale of the constant. */
export const CONSTANT = 1 / 4;
/** Scale of products of two features. Features themselves have scale 1. */
export const PRODUCT = 1 / 2;

/** Sums of squares of the terms of one side. */
interface Squares {
  /** Of their values. */
  readonly values: number;
  /** Of their factors in products. */
  readonly factors: number;
}

/** The squares of a side's terms, in their order. */
export function squaresOf(terms: readonly { readonly value: number; readonly factor: number }[]): Squares {
  let [values, factors] = [0, 0];
  for (const { value, factor } of terms) {
    values += value * value;
    factors += factor * factor;
  }
  return { values, factors };
}

/**
 * The factor of a vector. It divides by the length that the vector would have if each term had a component of its own and numbers were
 * centred in no product, if that is more than 1. `products`: the sum of the squares of all products' factors.
 */
export function scaleOf(context: number, action: number, products: number): number {
  const square = CONSTANT * CONSTANT + context + action + PRODUCT * PRODUCT * products;
  return square > 1 ? 1 / Math.sqrt(square) : 1;
}
