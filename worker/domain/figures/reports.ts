// How late the reports of a goal come, and so the moment until which they are complete. All times are ms since 1970.

/** A source whose lags are shorter reports at once. A pause as long ends an upload. */
const QUARTER_MS = 900_000;
const HOUR_MS = 4 * QUARTER_MS;
const DAY_MS = 24 * HOUR_MS;
/** Classes of lags per octave. */
const CLASSES = 4;
/** Reports that halve older ones, if they come in less than a day. A day halves them otherwise. */
const HALVING = 5;
/** Longest time that sums wait for being halved. */
const MEMORY_MS = 7 * DAY_MS;
/** Share of the reports that may come later, and the number that always may: a straggler is no habit. */
const LATER = { share: 0.05, count: 1.5 };

/** The first reports of a goal by impression: how late they came. Sums fade, so that a source may change its habit. */
export interface Reports {
  /** When the newest one arrived. */
  readonly last: number;
  /** Number of reports by class of their lag. */
  readonly lags: Readonly<Record<string, number>>;
  /** Least lag of the present upload: of reports between which no quarter of an hour is empty. */
  readonly least: number;
  /** The moment until which the uploads before should be complete. Null before the second one. */
  readonly until: number | null;
  /** Number of reports of events before that moment, which therefore was too late. */
  readonly missed: number;
  /** The time until which the numbers have faded. */
  readonly faded: number;
}

/** Class 0 is below a quarter of an hour. */
const classOf = (lag: number): number => (lag < QUARTER_MS ? 0 : 1 + Math.floor(CLASSES * Math.log2(lag / QUARTER_MS)));
const longestOf = (lagClass: number): number => (lagClass === 0 ? 0 : QUARTER_MS * 2 ** (lagClass / CLASSES));

/** Adds a report that arrives `now` of an event at another time. */
export function withReport(before: Reports | null, at: number, now: number): Reports {
  const { last, lags, least, until, missed, faded } = before ? fadedAt(before, now) : { ...NONE, last: now, faded: now };
  const lag = Math.max(0, now - at);
  const [lagClass, isNext] = [classOf(lag), now - last >= QUARTER_MS];
  const complete = isNext ? latest(until, last - least) : until;
  return {
    last: Math.max(last, now),
    lags: { ...lags, [lagClass]: (lags[lagClass] ?? 0) + 1 },
    least: isNext ? lag : Math.min(least, lag),
    until: complete,
    missed: missed + Number(complete !== null && at < complete),
    faded,
  };
}

const NONE = { lags: {} as Reports["lags"], least: Number.MAX_SAFE_INTEGER, until: null, missed: 0 };

const latest = (a: number | null, b: number): number => (a === null ? b : Math.max(a, b));

/** Few reports fade by their number and not by time: the habit of a source with one conversion a week is known too. */
function fadedAt(reports: Reports, now: number): Reports {
  if (now - reports.faded < HOUR_MS) return reports;
  const time = Math.min(now - reports.faded, DAY_MS / HALVING);
  const less = (number: number): number => Number((number * 2 ** (-time / DAY_MS)).toPrecision(4));
  const lags = Object.entries(reports.lags).map(([lagClass, number]) => [lagClass, less(number)] as const);
  return {
    ...reports,
    lags: Object.fromEntries(lags.filter(([, number]) => number > 0.01)),
    missed: less(reports.missed),
    faded: Math.max(reports.faded + time, now - MEMORY_MS),
  };
}

/** The reports of one source that several learners got. */
export function addedReports(all: readonly Reports[]): Reports | null {
  if (all.length === 0) return null;
  const last = Math.max(...all.map((each) => each.last));
  const lags: Record<string, number> = {};
  for (const each of all) for (const [lagClass, number] of Object.entries(each.lags)) lags[lagClass] = (lags[lagClass] ?? 0) + number;
  // The newest upload may have brought some learners nothing.
  const [now, before] = [true, false].map((isPresent) => all.filter((each) => last - each.last < QUARTER_MS === isPresent));
  const moments = [...now.flatMap(({ until }) => until ?? []), ...before.map((each) => latest(each.until, each.last - each.least))];
  return {
    last,
    lags,
    least: Math.min(...now.map(({ least }) => least)),
    until: moments.length === 0 ? null : Math.max(...moments),
    missed: all.reduce((sum, { missed }) => sum + missed, 0),
    faded: Math.max(...all.map(({ faded }) => faded)),
  };
}

/** Number of reports that are late and say nothing about the others. */
const stragglers = ({ lags }: Reports): number =>
  Math.max(LATER.share * Object.values(lags).reduce((sum, number) => sum + number, 0), LATER.count);

/** The moment until which the last upload was complete. Null before its end, or if later ones bring older events. */
export function lastUpload(reports: Reports, now: number): number | null {
  const { last, least, until, missed } = reports;
  return missed > stragglers(reports) ? null : now - last >= QUARTER_MS ? latest(until, last - least) : until;
}

/**
 * The moment until which the events of a source have been reported, but for one in twenty.
 *
 * A source that reports at once is complete until now, however seldom it reports. Any other is complete until now less the lag of nearly
 * all its reports, or until its last upload if later uploads bring no older events.
 *
 * @param isSilent whether it is odd that nothing has arrived since the last report, if all events until a time are reported. The moment then
 * stays where it was at the last report.
 */
export function completeUntil(reports: Reports, now: number, isSilent: (until: number, atOnce: boolean) => boolean): number {
  const classes = Object.entries(reports.lags).map(([lagClass, number]) => ({ lagClass: Number(lagClass), number }));
  let later = 0;
  const usual = classes
    .sort((a, b) => b.lagClass - a.lagClass)
    .find(({ number }) => {
      later += number;
      return later > stragglers(reports);
    });
  const lag = longestOf(usual?.lagClass ?? 0);
  const until = now - lag;
  const byLag = until > reports.last && isSilent(until, lag === 0) ? reports.last - lag : until;
  return Math.max(byLag, lastUpload(reports, now) ?? byLag);
}
