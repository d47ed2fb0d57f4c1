// The parts of a log that teach a policy and that evaluate it.

import type { TimedLog } from "./timed-log.ts";

/** Two parts of a log, from a place up to another one. */
export interface Parts {
  readonly learnt: readonly [from: number, to: number];
  readonly evaluated: readonly [from: number, to: number];
  /** When the evaluated part begins, and the time as of which a policy has learnt. Both in ms since 1970. */
  readonly since: number;
  readonly at: number;
}

/** Splits a log. */
export function partsOf(
  { length, shownAt }: Pick<TimedLog<never>, "length" | "shownAt">,
  { split, older, asOf }: { split: number; older: boolean; asOf: number },
): Parts {
  const cut = older ? length - Math.floor(split * length) : Math.floor(split * length);
  const since = shownAt[older ? 0 : cut] ?? asOf;
  if (older) return { learnt: [cut, length], evaluated: [0, cut], since, at: asOf };
  return { learnt: [0, cut], evaluated: [cut, length], since, at: since };
}

/** The impressions whose windows have closed. */
export function closedBy<Entry extends { readonly shownAt: number }>(
  log: TimedLog<Entry>,
  asOf: number,
  goals: readonly { readonly windowMs: number }[],
): TimedLog<Entry> {
  const longest = goals.reduce((most, { windowMs }) => Math.max(most, windowMs), 0);
  return log.slice(0, log.countUntil(asOf - longest));
}
