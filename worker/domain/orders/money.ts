// Divides amounts of orders among their items, in whole minor units, such as cents, so that none is lost or made.

/** Digits of the minor unit in Stripe's API, other than 2. ISK and UGX have none, but their amounts are sent in hundredths. */
const DIGITS: Readonly<Record<string, number>> = {
  ...Object.fromEntries("BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF".split(" ").map((code) => [code, 0])),
  ...Object.fromEntries("BHD JOD KWD OMR TND".split(" ").map((code) => [code, 3])),
};

/** An amount in minor units as one in major units. `currency`: in capital letters. */
export function inMajor(minor: number, currency: string): number {
  return minor / unitsOf(currency);
}

/** Minor units of a major one. */
const unitsOf = (currency: string): number => [1, 10, 100, 1000][DIGITS[currency] ?? 2];

/** An amount divided in proportion to others, in major units: at most as much as all of them together. */
export function divided(amount: number, among: readonly number[], currency: string): number[] {
  const [units, ...weights] = [amount, ...among].map((each) => Math.max(Math.round(each * unitsOf(currency)), 0));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  if (whole === 0) return among.map(() => 0);
  return allotted(Math.min(units, whole), weights).map((minor) => inMajor(minor, currency));
}

/**
 * Allots units in proportion to weights by the method of Jefferson. More units never take one from anybody, which largest remainders do
 * not guarantee. As many units as all weights together give each its weight.
 */
export function allotted(units: number, weights: readonly number[]): number[] {
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  const shares = weights.map((weight) => Number((BigInt(units) * BigInt(weight)) / BigInt(whole)));
  for (let left = units - shares.reduce((sum, share) => sum + share, 0); left > 0; left--) {
    let next = 0;
    for (let place = 1; place < weights.length; place++) {
      // Compares weight / (share + 1) of both without a division.
      const own = BigInt(weights[place]) * BigInt(shares[next] + 1);
      if (own > BigInt(weights[next]) * BigInt(shares[place] + 1)) next = place;
    }
    shares[next]++;
  }
  return shares;
}
