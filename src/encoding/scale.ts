// Scales of the terms of an encoded vector. A term at half the scale needs four times the evidence for the same effect.

/** Scale of the constant. */
export const CONSTANT = 1 / 4;
/** Scale of products of two features. Features themselves have scale 1. */
export const PRODUCT = 1 / 2;
