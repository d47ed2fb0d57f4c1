// Constants for both compilers: AssemblyScript compiles them into the core, TypeScript into src/core.
// This file has numeric literals only, because both languages must accept it.

/** Kernel ids. */
export const SQUARED_EXPONENTIAL = 0;
export const MATERN12 = 1;
export const MATERN32 = 2;
export const MATERN52 = 3;
export const LINEAR = 4;
/** Kernel of a context and an action. Its full id is ADDITIVE_MATERN32 + KERNEL_IDS * (number of context features). */
export const ADDITIVE_MATERN32 = 5;
export const KERNEL_IDS = 256;

/** Status of a call. Expected failures are values, never traps. */
export const OK = 0;
/** The memory of the module could not grow. */
export const OUT_OF_MEMORY = -1;
/** A factorisation met a pivot that is not a positive finite number. */
export const NOT_POSITIVE_DEFINITE = -2;
/** A result overflowed: it is not a finite number. */
export const NOT_FINITE = -3;
/** Bytes from outside do not fit together. */
export const MALFORMED = -4;
/** An argument names what is not there. */
export const OUT_OF_RANGE = -5;
