// How numbers, shares and times are written.

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const preciseClock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

/** A count in full: 12,345. */
export function whole(value: number): string {
  return count.format(value);
}

/** A number to three digits, or to the unit, with a minus sign that is as wide as a plus. */
export function decimal(value: number): string {
  return (Math.abs(value) < 100 ? number : count).format(value).replace("-", "−");
}

/** The same with its sign. */
export function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${decimal(value)}`;
}

/** Writes the numbers of a column alike: so finely that the greatest has three digits. */
export function column(values: readonly number[]): (value: number) => string {
  const most = Math.max(...values.map(Math.abs));
  const digits = most > 0 ? Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(most)))) : 0;
  return (value) => value.toFixed(digits).replace("-", "−");
}

/** A share of one, finer where it is small: 34 %, 3.4 %. */
export function percent(share: number): string {
  const value = 100 * share;
  return `${(Math.abs(value) < 10 && value !== 0 ? value.toFixed(1) : value.toFixed(0)).replace("-", "−")} %`;
}

/** A duration in its greatest unit: 250 ms, 1.5 min, 3 d. */
export function duration(ms: number): string {
  if (ms === 0) return "0";
  const [unit, size] = units.find(([, each]) => Math.abs(ms) >= each) ?? ["ms", 1];
  const value = ms / size;
  return `${Math.abs(value) < 10 && unit !== "ms" ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}

/** A moment, with its day unless that is today, to the second where buckets are shorter than minutes. */
export function moment(ms: number, precise = false): string {
  const time = (precise ? preciseClock : clock).format(ms);
  return day.format(ms) === day.format(Date.now()) ? time : `${day.format(ms)} ${time}`;
}

/** A tick of a time axis: a time, or the day at its beginning. */
export function tick(ms: number, apartMs: number): string {
  const midnight = new Date(ms).setHours(0, 0, 0, 0) === ms;
  if (midnight) return day.format(ms);
  return (apartMs < 60_000 ? preciseClock : clock).format(ms);
}
