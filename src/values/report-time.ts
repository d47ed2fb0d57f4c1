const QUARTERS = 96;
const QUARTER_MS = 900_000;
/** Conversions, and days of them, that tell a report from chance. */
const FEW = { conversions: 20, days: 3 };
/** Share of the conversions within half an hour, and the greatest share of the impressions: others come when their visitors do. */
const SHARE = { conversions: 0.9, impressions: 0.45 };

/**
 * The time of the UTC day at which nearly all conversions are said to have happened, in ms, while impressions are shown all day: it is the
 * time of a report. Null if there is no such time.
 * @param quarters number of conversions by the quarter of an hour in which they happened, counted from 1970.
 */
export function reportTimeOf(
  quarters: Readonly<Record<number, number>>,
  shown: Iterable<{ readonly shownAt: number; readonly impressions: number }>,
): number | null {
  const conversions = Object.entries(quarters).map(([quarter, count]) => ({ quarter: Number(quarter), count }));
  const all = conversions.reduce((sum, { count }) => sum + count, 0);
  if (all < FEW.conversions) return null;
  const ofDay = new Float64Array(QUARTERS);
  for (const { quarter, count } of conversions) ofDay[quarter % QUARTERS] += count;
  // Reports may come a little before and after a full quarter.
  const [best, second] = Array.from(ofDay.keys()).sort((a, b) => ofDay[b] - ofDay[a]);
  const apart = Math.abs(best - second);
  const own = apart === 1 || apart === QUARTERS - 1 ? [best, second] : [best];
  const shareIn = (sums: Float64Array): number => own.reduce((sum, each) => sum + sums[each], 0) / sums.reduce((a, b) => a + b);
  const days = new Set(conversions.flatMap(({ quarter }) => (own.includes(quarter % QUARTERS) ? Math.floor(quarter / QUARTERS) : [])));
  if (shareIn(ofDay) < SHARE.conversions || days.size < FEW.days) return null;
  const impressions = new Float64Array(QUARTERS);
  for (const each of shown) impressions[Math.floor(each.shownAt / QUARTER_MS) % QUARTERS] += each.impressions;
  return shareIn(impressions) <= SHARE.impressions ? best * QUARTER_MS : null;
}
