// Formats numbers, shares and times.

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const preciseClock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const fullDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** Smaller percentages are written as 0. */
const LEAST_PERCENT = 1e-5;

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

/** Formats a count in full: 12,345. */
export function whole(value: number): string {
  return count.format(value);
}

/** Writes a minus sign that is as wide as a plus, and none before a zero. */
function withMinus(text: string): string {
  return text.replace("-", Number(text) === 0 ? "" : "−");
}

/** Formats a number with three significant digits, or as an integer from 100 up. The minus sign is as wide as a plus. */
export function decimal(value: number): string {
  return withMinus((Math.abs(value) < 100 ? number : count).format(value));
}

/** Formats an amount of money with the code of its currency, or a number without one. */
export function amount(value: number, currency: string | null): string {
  return currency === null ? decimal(value) : `${decimal(value)} ${currency}`;
}

/** Returns a format for a column of numbers. All get the same number of decimals, chosen so that the greatest has three digits. */
export function column(values: readonly number[]): (value: number) => string {
  const most = Math.max(...values.map(Math.abs));
  const digits = most > 0 ? Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(most)))) : 0;
  return (value) => withMinus(value.toFixed(digits));
}

/** Formats a share of one, with one decimal below 10 % and two significant digits below 1 %: 34 %, 3.4 %, 0.034 %. */
export function percent(share: number): string {
  const value = 100 * share;
  const size = Math.abs(value);
  if (size < LEAST_PERCENT) return "0 %";
  return `${withMinus(size < 1 ? value.toPrecision(2) : value.toFixed(size < 10 ? 1 : 0))} %`;
}

/** Formats like `percent`, with a plus sign before a positive share. */
export function signedPercent(share: number): string {
  return `${100 * share >= LEAST_PERCENT ? "+" : ""}${percent(share)}`;
}

/** How much more data a figure needs. */
export interface TooFew {
  readonly more: number;
  readonly of: string;
}

type Figure = number | { readonly tooFew: TooFew };

/** Formats a count with its noun: 1 visit, 2 visits. */
export function counted(value: number, noun: string): string {
  return `${whole(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Formats how much more data a figure needs: 12 more conversions. */
export function needed({ more, of }: TooFew): string {
  return `${whole(more)} more ${more === 1 ? of.replace(/s\b/, "") : of}`;
}

/** Says that there is too little data for a figure: too few, about 12 more conversions. */
export function few(missing: TooFew): string {
  return `too few, about ${needed(missing)}`;
}

/** Formats a figure, or says that there is too little data for it, as `few`. */
export function orTooFew(figure: Figure, format: (value: number) => string): string {
  return typeof figure === "number" ? format(figure) : few(figure.tooFew);
}

/** Formats a figure for a cell, which has room for two words where there is too little data. */
export function orFew(figure: Figure, format: (value: number) => string): string {
  return typeof figure === "number" ? format(figure) : "too few";
}

/** Formats a duration in its greatest unit: 250 ms, 1.5 min, 3 d. */
export function duration(ms: number): string {
  if (ms === 0) return "0";
  const [unit, size] = units.find(([, each]) => Math.abs(ms) >= each) ?? ["ms", 1];
  const value = ms / size;
  return `${Math.abs(value) < 10 && unit !== "ms" ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`;
}

/** Formats a time of day, to the second if `precise`. The date stands in front unless it is today, with the year unless it is this one. */
export function moment(ms: number, precise = false): string {
  const time = (precise ? preciseClock : clock).format(ms);
  const now = Date.now();
  if (fullDay.format(ms) === fullDay.format(now)) return time;
  const thisYear = new Date(ms).getFullYear() === new Date(now).getFullYear();
  return `${(thisYear ? day : fullDay).format(ms)} ${time}`;
}

/** Formats a tick of a time axis: a time of day, or the date at midnight. */
export function tick(ms: number, apartMs: number): string {
  const midnight = new Date(ms).setHours(0, 0, 0, 0) === ms;
  if (midnight) return day.format(ms);
  return (apartMs < 60_000 ? preciseClock : clock).format(ms);
}
