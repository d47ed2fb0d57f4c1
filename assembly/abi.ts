// Constants that both compilers read: AssemblyScript builds the core with them, TypeScript the seam.
// Only numeric literals stand here, so that either language accepts the file as it is.

/** Kernel ids. */
export const SQUARED_EXPONENTIAL = 0;
export const MATERN12 = 1;
export const MATERN32 = 2;
export const MATERN52 = 3;
export const LINEAR = 4;
/** Of a context and an action. How many features are the context's is added to the id, times KERNEL_IDS. */
export const ADDITIVE_MATERN32 = 5;
export const KERNEL_IDS = 256;

/** Status of a call: expected failures are values, never traps. */
export const OK = 0;
/** The module's memory could not grow. */
export const OUT_OF_MEMORY = -1;
/** A factorisation met a pivot that is not a positive finite number. */
export const NOT_POSITIVE_DEFINITE = -2;
/** The result overflowed: it would not be a finite number. */
export const NOT_FINITE = -3;
