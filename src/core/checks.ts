import { MALFORMED, NOT_FINITE, NOT_POSITIVE_DEFINITE, OUT_OF_MEMORY, OUT_OF_RANGE } from "../../assembly/abi.ts";
import { NumericalError, SnapshotError } from "../values/errors.ts";
import { outOfMemory } from "./linear-memory.ts";

// Checks of the values that go into the core and come out of it.

/** Entries of a packed lower triangle of n rows. */
export const triangle = (n: number): number => (n * (n + 1)) / 2;

/** The number of rows of a row-major matrix. @throws {RangeError} if its last row is incomplete. */
export function rows(points: Float64Array, dimension: number): number {
  const count = points.length / dimension;
  if (Number.isInteger(count)) return count;
  throw new RangeError(`points: expected rows of ${dimension} numbers, got ${points.length} numbers`);
}

/** @throws {RangeError} for an array of another length. */
export function exactly(values: Float64Array, length: number): Float64Array {
  if (values.length === length) return values;
  throw new RangeError(`expected ${length} numbers, got ${values.length}`);
}

/** The pointer to a new object of the core. @throws {NumericalError} "out-of-memory" for 0. */
export function allocated(pointer: number): number {
  if (pointer === 0) throw outOfMemory();
  return pointer;
}

/** Returns a status that is not negative, and throws the error that a negative one stands for. */
export function check(status: number): number {
  if (status >= 0) return status;
  if (status === OUT_OF_MEMORY) throw outOfMemory();
  if (status === NOT_POSITIVE_DEFINITE) throw new NumericalError("not-positive-definite", "a pivot is not a positive finite number");
  if (status === NOT_FINITE) throw new NumericalError("not-finite", "a result is too large for a floating-point number");
  if (status === MALFORMED) throw new SnapshotError("malformed", "the columns of the catalogue do not fit together");
  if (status === OUT_OF_RANGE) throw new RangeError("points: expected actions and a context that `among` has encoded, got others");
  throw new Error(`unknown status ${status} of the core`);
}
