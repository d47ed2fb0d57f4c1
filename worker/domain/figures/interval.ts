/** Quantile of the standard normal for a two-sided 95 % interval. */
export const QUANTILE = 1.959963984540054;
