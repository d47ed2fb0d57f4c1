import { createHash } from "node:crypto";

// What becomes of the rows of a log, from a seed alone: who converts, when, and what the sender's network does to it.

const LATE_SHARE = 0.05;
const REPEATED_SHARE = 0.1;
/** In windows: mean and longest delay of a conversion that comes in time. */
const MEAN_DELAY = 0.15;
const LONGEST_DELAY = 0.8;
/** In windows: how long after its window a late conversion comes. */
const LATENESS = { min: 0.02, max: 0.15 };
/** In windows: how long after a webhook the sender may send it again. */
const LONGEST_REPEAT = 0.15;

export interface Plan {
  readonly seed: number;
  /** Share of the rows that convert besides those that were clicked. */
  readonly rate: number;
  readonly windowMs: number;
}

/** Uniform on [0, 1): a hash of the seed and of what is drawn, so that no draw depends on another. */
export function draw(seed: number, what: string, index: number): number {
  return createHash("sha256").update(`${seed} ${what} ${index}`).digest().readUInt32LE() / 2 ** 32;
}

/** Milliseconds from a row's impression to its conversion; undefined for a row that does not convert. */
export function conversionDelay(
  { seed, rate, windowMs }: Plan,
  row: { readonly index: number; readonly clicked: boolean },
): number | undefined {
  if (!row.clicked && draw(seed, "converts", row.index) >= rate) return undefined;
  const u = draw(seed, "delay", row.index);
  if (draw(seed, "late", row.index) < LATE_SHARE) {
    return Math.ceil(windowMs * (1 + LATENESS.min + (LATENESS.max - LATENESS.min) * u));
  }
  // An exponential delay, given that it is no longer than the longest.
  const cut = 1 - Math.exp(-LONGEST_DELAY / MEAN_DELAY);
  return Math.floor(-Math.log(1 - u * cut) * MEAN_DELAY * windowMs);
}

/** Milliseconds after which a webhook is sent once more; undefined for one that is sent once. */
export function repeatDelay({ seed, windowMs }: Plan, webhook: number): number | undefined {
  if (draw(seed, "repeated", webhook) >= REPEATED_SHARE) return undefined;
  return Math.floor(draw(seed, "repeat", webhook) * LONGEST_REPEAT * windowMs);
}

/** The same entries in another order. */
export function shuffled<Entry>({ seed }: Plan, entries: readonly Entry[], index: (entry: Entry) => number): Entry[] {
  const place = new Map(entries.map((entry) => [entry, draw(seed, "place", index(entry))]));
  return entries.toSorted((a, b) => (place.get(a) as number) - (place.get(b) as number));
}
