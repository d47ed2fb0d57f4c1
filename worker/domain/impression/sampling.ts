// Near its limits a model keeps a sample of its impressions. With exponent j it keeps one with probability 2^-j, which its id alone
// decides, and the kept one stands for 2^j impressions. Tokens state the exponent, so everybody knows which impressions were left out.

/** Keeps no impression. */
export const NONE = 255;
const MOST = 16;

/** Samplings that keep no impression, because the visitor teaches nothing: crawlers, and requests with `learn: false`. */
export const UNLEARNT = { crawlers: 253, declined: 254 } as const;
export type Unlearnt = keyof typeof UNLEARNT;
const CAUSES = Object.keys(UNLEARNT) as Unlearnt[];

const DETAILS: Readonly<Record<Unlearnt, string>> = {
  crawlers:
    "the impression was served to a crawler or a link preview, by its user agent, and is not learnt; if a person bought, pass the visitor's own userAgent",
  declined: "the impression was served with learn: false, and is not learnt",
};

/** The exponents in force: for impressions that a backend asks for, and for those of pages. */
export type Sampling = Readonly<Record<"backend" | "page", number>>;

export const EVERYTHING: Sampling = { backend: 0, page: 0 };

/** Whether an impression is kept. Uses 16 random bits of its id from which nothing else is drawn. */
export function isKept(id: string, exponent: number): boolean {
  return exponent === 0 || (exponent <= MOST && Number.parseInt(id.slice(24, 28), 16) % 2 ** exponent === 0);
}

/** Why an impression with this exponent is not learnt. Undefined for all others. */
export const causeOf = (exponent: number): Unlearnt | undefined => CAUSES.find((cause) => UNLEARNT[cause] === exponent);

export type LeftOut = { readonly status: "unsampled" } | { readonly status: "unlearnt"; readonly detail: string };

/** The answer to whatever names an impression that was left out of learning. Undefined if it was kept. */
export function leftOut({ id, sampling }: { readonly id: string; readonly sampling: number }): LeftOut | undefined {
  if (isKept(id, sampling)) return undefined;
  const cause = causeOf(sampling);
  return cause ? { status: "unlearnt", detail: DETAILS[cause] } : { status: "unsampled" };
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
