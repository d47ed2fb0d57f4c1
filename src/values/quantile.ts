/** Standard deviations of a normal distribution on either side of its mean that hold 95 %. */
export const QUANTILE = 1.959963984540054;
