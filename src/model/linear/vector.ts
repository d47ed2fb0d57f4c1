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

/** Adds weight x x^T to a packed lower triangle. */
export function addSquare(packed: Float64Array, x: Float64Array, weight = 1): void {
  for (let i = 0, at = 0; i < x.length; i++) {
    const own = weight * x[i];
    if (own === 0) {
      at += i + 1;
      continue;
    }
    for (let j = 0; j <= i; j++, at++) packed[at] += own * x[j];
  }
}
