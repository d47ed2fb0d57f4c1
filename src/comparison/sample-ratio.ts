import { outOfRange, positiveShare, wholeNumber } from "../values/argument.ts";

/** Prior visitors, spread by the declared shares. More of them find small mismatches sooner. */
const PRIOR = 100;

/**
 * Tests visitors per arm against the declared shares. The result is a Bayes factor: under the declared shares it ever reaches
 * 1 / alpha with probability at most alpha, so you may look after each visitor. Flag a mismatch at 1 / alpha.
 *
 * Count each visitor once. Impressions of one visitor are not independent.
 *
 * **Throws:** TypeError or RangeError that names the argument.
 * **Source:** Lindon, Malek 2022, anytime-valid inference for multinomial count data, the Dirichlet mixture.
 */
export function sampleRatioEvidence(visitors: readonly number[], shares: readonly number[]): number {
  if (shares.length < 2 || shares.length !== visitors.length) throw outOfRange("shares", `${visitors.length} shares, at least 2`, shares);
  const sum = shares.reduce((total, share, i) => total + positiveShare(`shares[${i}]`, share), 0);
  if (Math.abs(sum - 1) > 1e-9) throw outOfRange("shares", "shares with sum 1", sum);
  let [total, log] = [0, 0];
  for (const [i, share] of shares.entries()) {
    const count = wholeNumber(`visitors[${i}]`, visitors[i], 0);
    total += count;
    log += logGamma(PRIOR * share + count) - logGamma(PRIOR * share) - count * Math.log(share);
  }
  return Math.min(Math.exp(log + logGamma(PRIOR) - logGamma(PRIOR + total)), Number.MAX_VALUE);
}

/** log of the gamma function for x > 0, by Stirling's series from 10 on. */
function logGamma(x: number): number {
  let [at, shift] = [x, 0];
  for (; at < 10; at++) shift += Math.log(at);
  const square = at * at;
  return (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI) + (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / at - shift;
}
