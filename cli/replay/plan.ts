import { createHash } from "node:crypto";
import type { LoggedRow } from "./open-bandit.ts";

// Conversions, delays and repeated webhooks of a replay. All of them depend on the seed alone.

const LATE_SHARE = 0.05;
const REPEATED_SHARE = 0.1;
/** Mean and longest delay of a conversion in time, in windows. */
const MEAN_DELAY = 0.15;
const LONGEST_DELAY = 0.8;
/** Time of a late conversion after the end of its window, in windows. */
const LATENESS = { min: 0.02, max: 0.15 };
/** Longest time until a webhook is sent again, in windows. */
const LONGEST_REPEAT = 0.15;

export interface Plan {
  readonly seed: number;
  /** Share of the rows that convert besides the clicked ones. */
  readonly rate: number;
  readonly windowMs: number;
}

/** A draw uniform on [0, 1). It is a hash of the arguments, so no draw depends on another. */
export function draw(seed: number, what: string, index: number): number {
  return createHash("sha256").update(`${seed} ${what} ${index}`).digest().readUInt32LE() / 2 ** 32;
}

/** Milliseconds from a row's impression to its conversion. Undefined if the row does not convert. */
export function conversionDelay({ seed, rate, windowMs }: Plan, row: Pick<LoggedRow, "index" | "clicked">): number | undefined {
  if (!row.clicked && draw(seed, "converts", row.index) >= rate) return undefined;
  const u = draw(seed, "delay", row.index);
  if (draw(seed, "late", row.index) < LATE_SHARE) {
    return Math.ceil(windowMs * (1 + LATENESS.min + (LATENESS.max - LATENESS.min) * u));
  }
  // An exponential delay, truncated at the longest one.
  const cut = 1 - Math.exp(-LONGEST_DELAY / MEAN_DELAY);
  return Math.floor(-Math.log(1 - u * cut) * MEAN_DELAY * windowMs);
}

/** Milliseconds until a webhook is sent again. Undefined if it is sent once. */
export function repeatDelay({ seed, windowMs }: Plan, webhook: number): number | undefined {
  if (draw(seed, "repeated", webhook) >= REPEATED_SHARE) return undefined;
  return Math.floor(draw(seed, "repeat", webhook) * LONGEST_REPEAT * windowMs);
}

/** The entries in a random order. */
export function shuffled<Entry>({ seed }: Plan, entries: readonly Entry[], index: (entry: Entry) => number): Entry[] {
  const place = new Map(entries.map((entry) => [entry, draw(seed, "place", index(entry))]));
  return entries.toSorted((a, b) => (place.get(a) as number) - (place.get(b) as number));
}
