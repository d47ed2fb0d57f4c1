// Near its limits a model keeps a sample of its impressions. With exponent j it keeps one with probability 2^-j, which its id alone
// decides, and the kept one stands for 2^j impressions. Tokens state the exponent, so everybody knows which impressions were left out.

/** Keeps no impression. */
export const NONE = 255;
const MOST = 16;

/** The exponents in force: for impressions that a backend asks for, and for those of pages. */
export type Sampling = Readonly<Record<"backend" | "page", number>>;

export const EVERYTHING: Sampling = { backend: 0, page: 0 };

/** Whether an impression is kept. Uses 16 random bits of its id from which nothing else is drawn. */
export function isKept(id: string, exponent: number): boolean {
  return exponent === 0 || (exponent <= MOST && Number.parseInt(id.slice(24, 28), 16) % 2 ** exponent === 0);
}

/** Rows with the exponent of the sampling in force. */
export function sampled<Row extends object>(rows: readonly Row[], sampling: number): readonly (Row & { readonly sampling?: number })[] {
  return sampling === 0 ? rows : rows.map((row) => ({ ...row, sampling }));
}

/**
 * The exponent for a model that uses this share of a limit: 1 from three quarters on, and one more whenever the room left has halved.
 * However many impressions come, the limit is therefore never exceeded for long.
 */
export function exponentAt(used: number): number {
  return used >= 1 ? NONE : Math.min(MOST, Math.max(0, Math.floor(-Math.log2(1 - used)) - 1));
}
