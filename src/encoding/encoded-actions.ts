// Actions in a context, as vectors or as places in a catalogue's columns: a policy takes either.

import { outOfRange } from "../values/argument.ts";
import type { CatalogueColumns } from "./catalogue-columns.ts";

/** A list of actions in one context. */
interface Encoding {
  readonly dimension: number;
  /** The vectors of actions by their indices in the list: row-major. */
  vectors(indices: readonly number[]): Float64Array;
  readonly catalogue?: CatalogueColumns;
  readonly context?: Uint8Array;
}

/** Most numbers in one matrix, which take 20 MB: 10,000 actions of 256 features. */
const MOST_NUMBERS = 10_000 * 256;

/**
 * Actions in a context, as `among` encodes them: the `points` of a request.
 *
 * A linear policy scores them without their vectors, if interactions are those of all features, or none. A score is then that of the vector
 * before its components are rounded to multiples of 2^-12, and in single precision where samples are shared. What is learnt is the rounded
 * vector.
 */
export interface EncodedActions {
  /** Number of actions (k). */
  readonly count: number;
  /** Components of a vector (d). */
  readonly dimension: number;
  /** The list and the context as a core takes them. Absent if only vectors are known. */
  readonly catalogue: CatalogueColumns | undefined;
  readonly context: Uint8Array | undefined;
  /** Indices in the list. Absent: all. */
  readonly picks: Uint32Array | undefined;
  /** Some of these actions, by their indices. @throws {RangeError} for an index that no action has. */
  pick(indices: readonly number[]): EncodedActions;
  /** The vectors of these actions: row-major, with the bits of `encode`. Do not change them: they are kept. @throws {RangeError} for an index that no action has. */
  rows(indices: readonly number[]): Float64Array;
  /** The vectors of all actions: k x d, row-major. @throws {RangeError} for more than 2,560,000 numbers. */
  matrix(): Float64Array;
}

/** `count` actions of an encoding: the first ones, or those at `picks`. */
export function encodedActions(encoding: Encoding, count: number, picks?: Uint32Array): EncodedActions {
  const { dimension, catalogue, context } = encoding;
  const placeOf = (i: number): number => {
    if (!(Number.isInteger(i) && i >= 0 && i < count)) throw outOfRange("index", `one of ${count} actions`, i);
    return picks?.[i] ?? i;
  };
  let last: { readonly indices: readonly number[]; readonly rows: Float64Array } | undefined;
  const rows = (indices: readonly number[]): Float64Array => {
    // A decision asks for the vectors of its list, then for each of them.
    if (last && indices.length === 1) {
      const row = last.indices.indexOf(indices[0]);
      if (row >= 0) return last.rows.subarray(row * dimension, (row + 1) * dimension);
    }
    last = { indices: [...indices], rows: encoding.vectors(indices.map(placeOf)) };
    return last.rows;
  };
  return {
    ...{ count, dimension, catalogue, context, picks, rows },
    pick: (indices) => encodedActions(encoding, indices.length, Uint32Array.from(indices, placeOf)),
    matrix() {
      const numbers = count * dimension;
      if (numbers > MOST_NUMBERS) throw outOfRange("features", `at most ${MOST_NUMBERS} numbers of all actions together`, numbers);
      return rows(Array.from({ length: count }, (_, i) => i));
    },
  };
}
