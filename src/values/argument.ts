// Checks of arguments from callers. A failed check throws an error with the argument's name, the expected value and the actual one.
// A passed check returns the value in the form that the rest of the code uses.

/** Largest size of a feature or coordinate. A sum of a million of its squares is still far from overflow. */
export const FEATURE_LIMIT = 1e6;
/** Up to this many numbers, a loop copies faster than `TypedArray.set`. */
const SHORT = 64;

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === "function") return "a function";
  if (value === null || typeof value !== "object") return String(value);
  return Array.isArray(value) ? `an array of ${value.length}` : `a value of type ${value.constructor?.name ?? "object"}`;
}

export function wrongType(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${name}: expected ${expected}, got ${shown(value)}`);
}

export function outOfRange(name: string, expected: string, value: unknown): RangeError {
  return new RangeError(`${name}: expected ${expected}, got ${shown(value)}`);
}

export function finiteNumber(name: string, value: unknown, min = -Number.MAX_VALUE, max = Number.MAX_VALUE): number {
  if (typeof value !== "number") throw wrongType(name, "a number", value);
  if (!Number.isFinite(value)) throw outOfRange(name, "a finite number", value);
  if (value < min || value > max) throw outOfRange(name, bounds(min, max), value);
  return value;
}

function bounds(min: number, max: number): string {
  if (max === Number.MAX_VALUE) return `a number of at least ${min}`;
  if (min === -Number.MAX_VALUE) return `a number of at most ${max}`;
  return `a number between ${min} and ${max}`;
}

export function positiveNumber(name: string, value: unknown): number {
  const number = finiteNumber(name, value);
  if (number <= 0) throw outOfRange(name, "a positive number", value);
  return number;
}

/** A probability or share that is greater than 0. */
export function positiveShare(name: string, value: unknown): number {
  if (positiveNumber(name, value) > 1) throw outOfRange(name, "at most 1", value);
  return value as number;
}

/** Least probability of an error that a policy may have. Its reciprocal is finite, times any number of rounds. */
const LEAST_ERROR = 1e-200;

/** The probability with which the bounds of a policy may fail. */
export function errorProbability(name: string, value: unknown): number {
  return finiteNumber(name, value, LEAST_ERROR, 1);
}

export function wholeNumber(name: string, value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const number = finiteNumber(name, value, min, max);
  if (!Number.isSafeInteger(number)) throw outOfRange(name, "a whole number", value);
  return number;
}

export function flag(name: string, value: unknown): boolean {
  if (typeof value !== "boolean") throw wrongType(name, "true or false", value);
  return value;
}

export function oneOf<T extends string>(name: string, value: unknown, allowed: readonly T[]): T {
  if (typeof value !== "string") throw wrongType(name, `one of ${allowed.join(", ")}`, value);
  if (!allowed.includes(value as T)) throw outOfRange(name, `one of ${allowed.join(", ")}`, value);
  return value as T;
}

export function nonEmptyString(name: string, value: unknown, maxLength = 512): string {
  if (typeof value !== "string") throw wrongType(name, "a string", value);
  if (value.length === 0 || value.length > maxLength) throw outOfRange(name, `1 to ${maxLength} characters`, value);
  return value;
}

export function record(name: string, value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw wrongType(name, "an object", value);
  return value as Record<string, unknown>;
}

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** A range of numbers of at most `limit` in size. Its minimum is below its maximum. */
export function range(name: string, value: unknown, limit = Number.MAX_VALUE): Range {
  const given = record(name, value);
  const min = finiteNumber(`${name}.min`, given.min, -limit, limit);
  const max = finiteNumber(`${name}.max`, given.max, -limit, limit);
  if (min >= max) throw outOfRange(`${name}.max`, `more than the minimum ${min}`, max);
  return { min, max };
}

/** Throws if `value` has a key outside `known`, so that a misspelt option is not ignored. */
export function onlyKeys(name: string, value: object, known: readonly string[]): void {
  // Not `Object.keys`, which makes an array for each call.
  for (const key in value) {
    if (!known.includes(key) && Object.hasOwn(value, key))
      throw outOfRange(`${name}.${key}`, `no such option; known are ${known.join(", ")}`, (value as Record<string, unknown>)[key]);
  }
}

/** Copies a vector of `length` finite numbers, each at most {@link FEATURE_LIMIT} in size, into `target` at `offset`. */
export function copyVector(name: string, value: unknown, length: number, target: Float64Array, offset = 0): void {
  if (value === null || typeof value !== "object" || typeof (value as ArrayLike<number>).length !== "number") {
    throw wrongType(name, `an array of ${length} numbers`, value);
  }
  const vector = value as ArrayLike<unknown>;
  if (vector.length !== length) throw outOfRange(name, `${length} numbers`, value);
  if (value instanceof Float64Array) {
    boundedNumbers(name, value);
    if (length > SHORT) target.set(value, offset);
    else for (let i = 0; i < length; i++) target[offset + i] = value[i];
    return;
  }
  for (let i = 0; i < length; i++) {
    const component = vector[i];
    if (typeof component !== "number") throw wrongType(`${name}[${i}]`, "a number", component);
    // The comparison is false for NaN, so this test alone refuses NaN, infinities and numbers beyond the limit.
    if (!(Math.abs(component) <= FEATURE_LIMIT)) {
      throw outOfRange(`${name}[${i}]`, `a finite number of at most ${FEATURE_LIMIT} in size`, component);
    }
    target[offset + i] = component;
  }
}

/** Checks numbers as `copyVector` does, without a copy. */
export function boundedNumbers(name: string, values: Float64Array): Float64Array {
  // No square exceeds their sum, and NaN makes the sum NaN. One test for all numbers takes half the time.
  let [squares, others] = [0, 0];
  let at = 0;
  // Two sums, because each addition waits for the last one.
  for (; at + 1 < values.length; at += 2) {
    squares += values[at] * values[at];
    others += values[at + 1] * values[at + 1];
  }
  if (at < values.length) squares += values[at] * values[at];
  if (squares + others <= FEATURE_LIMIT * FEATURE_LIMIT) return values;
  for (let i = 0; i < values.length; i++) {
    if (!(Math.abs(values[i]) <= FEATURE_LIMIT)) {
      throw outOfRange(`${name}[${i}]`, `a finite number of at most ${FEATURE_LIMIT} in size`, values[i]);
    }
  }
  return values;
}

export function finiteVector(name: string, value: unknown, length: number): Float64Array {
  const copy = new Float64Array(length);
  copyVector(name, value, length, copy);
  return copy;
}

/** A matrix of at least one row of `columns` numbers. It is neither copied nor are its numbers checked. */
export function matrix(name: string, value: unknown, columns: number): Float64Array {
  if (!(value instanceof Float64Array)) throw wrongType(name, "a Float64Array", value);
  if (value.length === 0 || value.length % columns !== 0) throw outOfRange(name, `rows of ${columns} numbers, at least one`, value);
  return value;
}
