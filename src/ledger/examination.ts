import { outOfRange, positiveShare, wrongType } from "../values/argument.ts";

// Examination weights: the probability that a visitor examines each place of a list, relative to the first place.

/** Checks the weights of places. @throws {TypeError | RangeError} naming the place. */
export function parseExamination(weights: unknown): readonly number[] {
  if (!Array.isArray(weights)) throw wrongType("examination", "an array of weights, one per place", weights);
  if (weights.length === 0) throw outOfRange("examination", "at least one weight", weights);
  const checked = Array.from(weights, (weight, place) => positiveShare(`examination[${place}]`, weight));
  if (checked[0] !== 1) throw outOfRange("examination[0]", "1, as the weights of other places are relative to the first", checked[0]);
  return checked;
}

/** The weight of a place, 0 for the first. Places beyond the array have its last weight. */
export function examinationAt(weights: readonly number[], place: number): number {
  return weights[Math.min(place, weights.length - 1)];
}
