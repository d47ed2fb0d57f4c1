// The parts of a log that teach a policy and that evaluate it.

/** A log in which the impressions have the order of time. */
type Timed = readonly { readonly shownAt: number }[];

/** Two parts of a log, from a place up to another one. */
export interface Parts {
  readonly learnt: readonly [from: number, to: number];
  readonly evaluated: readonly [from: number, to: number];
  /** When the evaluated part begins, and the time as of which a policy has learnt. Both in ms since 1970. */
  readonly since: number;
  readonly at: number;
}

/** Splits a log. */
export function partsOf(log: Timed, { split, older, asOf }: { split: number; older: boolean; asOf: number }): Parts {
  const { length } = log;
  const cut = older ? length - Math.floor(split * length) : Math.floor(split * length);
  const since = log[older ? 0 : cut]?.shownAt ?? asOf;
  if (older) return { learnt: [cut, length], evaluated: [0, cut], since, at: asOf };
  return { learnt: [0, cut], evaluated: [cut, length], since, at: since };
}

/** The impressions whose windows have closed. */
export function closedBy<Impression extends { readonly shownAt: number }>(
  log: readonly Impression[],
  asOf: number,
  goals: readonly { readonly windowMs: number }[],
): Impression[] {
  const longest = goals.reduce((most, { windowMs }) => Math.max(most, windowMs), 0);
  return log.filter(({ shownAt }) => shownAt <= asOf - longest);
}
