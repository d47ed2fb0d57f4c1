import type { EncodedActions } from "./encoded-actions.ts";

/** Features of k candidates: k x d, row-major, or actions that an encoder has encoded. */
export type Points = Float64Array | EncodedActions;

/** Whether the points of a request are encoded actions, of this bundle or of another one. */
export function areEncoded(points: unknown): points is EncodedActions {
  return typeof (points as Partial<EncodedActions> | null)?.rows === "function";
}

/** Number of candidates. */
export function countOf(points: Points, dimension: number): number {
  return areEncoded(points) ? points.count : points.length / dimension;
}

/** The features of one candidate. */
export function rowOf(points: Points, index: number, dimension: number): Float64Array {
  return areEncoded(points) ? points.rows([index]) : points.subarray(index * dimension, (index + 1) * dimension);
}
