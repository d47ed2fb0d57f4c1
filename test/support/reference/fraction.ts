/** An exact rational number, in lowest terms with a positive denominator. */
export interface Fraction {
  readonly top: bigint;
  readonly bottom: bigint;
}

function fraction(top: bigint, bottom: bigint): Fraction {
  let [a, b] = [top < 0n ? -top : top, bottom < 0n ? -bottom : bottom];
  while (b > 0n) [a, b] = [b, a % b];
  const divisor = bottom < 0n ? -a : a;
  return { top: top / divisor, bottom: bottom / divisor };
}

export const ZERO: Fraction = { top: 0n, bottom: 1n };

/** The exact value of a double of moderate size. */
export function exact(value: number): Fraction {
  let bottom = 1n;
  let top = value;
  for (; !Number.isInteger(top); top *= 2) bottom *= 2n;
  return fraction(BigInt(top), bottom);
}

export const plus = (a: Fraction, b: Fraction): Fraction => fraction(a.top * b.bottom + b.top * a.bottom, a.bottom * b.bottom);
export const minus = (a: Fraction, b: Fraction): Fraction => fraction(a.top * b.bottom - b.top * a.bottom, a.bottom * b.bottom);
export const times = (a: Fraction, b: Fraction): Fraction => fraction(a.top * b.top, a.bottom * b.bottom);
export const over = (a: Fraction, b: Fraction): Fraction => fraction(a.top * b.bottom, a.bottom * b.top);
export const dot = (a: readonly Fraction[], b: readonly Fraction[]): Fraction =>
  a.reduce((sum, each, i) => plus(sum, times(each, b[i])), ZERO);

/** The nearest double, up to one unit in the last place. */
export function rounded({ top, bottom }: Fraction): number {
  const shift = BigInt(Math.max(0, 64 + bottom.toString(2).length - top.toString(2).length));
  const [left, right] = [BigInt(Math.min(1000, Number(shift))), shift];
  return Number((top << right) / bottom) / 2 ** Number(left) / 2 ** Number(right - left);
}

/** Solves A x = b for each b of `rights` and returns the determinant of A, by Gauss-Jordan elimination. */
export function solveExactly(
  matrix: readonly (readonly Fraction[])[],
  rights: readonly (readonly Fraction[])[],
): { readonly solutions: Fraction[][]; readonly determinant: Fraction } {
  const n = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...rights.map((right) => right[i])]);
  let determinant: Fraction = { top: 1n, bottom: 1n };
  for (let column = 0; column < n; column++) {
    const pivot = rows.findIndex((row, i) => i >= column && row[column].top !== 0n);
    if (pivot !== column) determinant = minus(ZERO, determinant);
    [rows[column], rows[pivot]] = [rows[pivot], rows[column]];
    determinant = times(determinant, rows[column][column]);
    for (let i = 0; i < n; i++) {
      if (i === column || rows[i][column].top === 0n) continue;
      const factor = over(rows[i][column], rows[column][column]);
      for (let j = column; j < rows[i].length; j++) rows[i][j] = minus(rows[i][j], times(factor, rows[column][j]));
    }
  }
  return { solutions: rights.map((_, r) => rows.map((row, i) => over(row[n + r], row[i]))), determinant };
}
