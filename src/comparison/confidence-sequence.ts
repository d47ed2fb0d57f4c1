/**
 * Half the width of a two-sided interval that holds at all looks together, for an estimate with this variance.
 *
 * Time is the information, 1 / variance: the estimate times its information is close to a Brownian motion with drift.
 * **Source:** Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas 2021, Theorem 2.2, with t = 1 / variance and rho = `effect`.
 */
export function intervalHalfWidth(variance: number, effect: number, alpha: number): number {
  const mixed = effect ** 2 / variance + 1;
  return Math.sqrt((2 * mixed * variance ** 2 * Math.log(Math.sqrt(mixed) / alpha)) / effect ** 2);
}
