/** <a, b>. */
export function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** Entries of a packed lower triangle of d x d. */
export function triangle(d: number): number {
  return (d * (d + 1)) / 2;
}
