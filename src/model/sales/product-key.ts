// Whole numbers below 2^52 that stand for products. Two of 50,000 share one with a probability of 3 in 10 million.

import { FNV_OFFSET, hashText, mixed, productHash } from "../../encoding/hash.ts";

/** A second start, for the upper bits. */
const UPPER = 0x9e3779b9;

const TWO_32 = 4294967296;

/** The key of an id. */
export function keyOfId(id: string): number {
  return joined(hashText(FNV_OFFSET, id), hashText(UPPER, id));
}

/** The key of a vector. */
export function keyOfFeatures(features: Float64Array): number {
  // Adding zero turns -0 into 0.
  const words = new Uint32Array(features.map((each) => each + 0).buffer);
  let [lower, upper] = [FNV_OFFSET, UPPER];
  for (const word of words) [lower, upper] = [mixed(Math.imul(lower ^ word, 0x01000193)), mixed(Math.imul(upper ^ word, 0x01000193))];
  return joined(lower, upper);
}

/** A number in [0, 1/2) that puts products in one of many orders. */
export function lotOf(key: number, order: number): number {
  return productHash(mixed(order + 1), (key % TWO_32) ^ Math.floor(key / TWO_32)) / (2 * TWO_32);
}

function joined(lower: number, upper: number): number {
  return (mixed(upper) >>> 12) * TWO_32 + mixed(lower);
}
