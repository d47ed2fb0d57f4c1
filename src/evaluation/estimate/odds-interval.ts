import { QUANTILE } from "../../values/quantile.ts";

/** Two counts of events, whole numbers or as many as weighed events tell as much as. */
export interface Counts {
  readonly own: number;
  readonly other: number;
}

/**
 * Events of either kind that share one more between them. The limit is that of Beta(own + 2/3, other + 1/3) above, and of
 * Beta(own + 1/3, other + 2/3) below: between the exact interval, which is too wide, and that of Jeffreys, which is too narrow for rates near 0.
 */
const NEAR = 1 / 3;
const FAR = 2 / 3;

/**
 * The 95 % interval of the odds of two kinds of events, from the counts of both. It follows the skewness of a rare kind. The lower end is 0
 * without an event of the own kind, and never meets the upper one.
 *
 * **Source:** Clopper and Pearson 1934, and Paulson, *An approximate normalization of the analysis of variance distribution*, 1942, for the
 * quantiles of F.
 */
export function oddsInterval({ own, other }: Counts): { readonly low: number; readonly high: number } {
  return {
    low: own === 0 ? 0 : quantile(own + NEAR, other + FAR, -1),
    high: other === 0 ? Number.POSITIVE_INFINITY : quantile(own + FAR, other + NEAR, 1),
  };
}

/** The odds whose Beta(a, b) distribution leaves 2.5 % on one side. The cube root of F is a ratio of normal variables. */
function quantile(a: number, b: number, side: 1 | -1): number {
  const [above, below] = [1 / (9 * a), 1 / (9 * b)];
  const square = QUANTILE * QUANTILE;
  const [first, second, third] = [
    (1 - below) * (1 - below) - square * below,
    (1 - above) * (1 - below),
    (1 - above) * (1 - above) - square * above,
  ];
  // With next to nothing of the other kind, no odds are too great.
  if (first <= 0) return side > 0 ? Number.POSITIVE_INFINITY : 0;
  const root = (second + side * Math.sqrt(Math.max(0, second * second - first * third))) / first;
  const bounded = Math.max(0, root);
  return (a / b) * bounded * bounded * bounded;
}
