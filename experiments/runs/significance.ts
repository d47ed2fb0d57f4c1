// How much chance explains: p-values by Student's t, and their correction where many are looked at.

/** P(standard normal > x) for x >= 0, to 1e-7. **Source:** Abramowitz and Stegun 26.2.17. */
function normalAbove(x: number): number {
  const t = 1 / (1 + 0.2316419 * x);
  const powers = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  return (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * powers.reduceRight((sum, each) => (sum + each) * t, 0);
}

/** Two-sided p-value of Student's t. **Source:** the normal deviate of Wallace 1959. */
export function pValue(t: number, freedom: number): number {
  if (freedom < 1) return 1;
  const deviate = ((8 * freedom + 1) / (8 * freedom + 3)) * Math.sqrt(freedom * Math.log1p((t * t) / freedom));
  return 2 * normalAbove(deviate);
}

/** Which of many p-values are significant together at a level. **Source:** Holm 1979. */
export function holm(values: readonly number[], level = 0.05): boolean[] {
  const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
  const failing = order.findIndex((place, rank) => values[place] > level / (values.length - rank));
  const significant = new Set(failing < 0 ? order : order.slice(0, failing));
  return values.map((_, place) => significant.has(place));
}
