import { describe, expect, it } from "vitest";
import { stream } from "../../../src/simulation/stream.ts";
import { addedReports, completeUntil, lastUpload, type Reports, withReport } from "../../../worker/domain/figures/reports.ts";

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const MIDNIGHT = Date.parse("2026-03-01");
/** When an event of a time is reported. */
type Delivery = (at: number, random: () => number) => number;

const live: Delivery = (at) => at + 2000;
/** At 2:00, all that has happened by then. */
const nightly: Delivery = (at) => MIDNIGHT + 2 * HOUR + Math.ceil((at - MIDNIGHT - 2 * HOUR) / DAY) * DAY;

interface Source {
  readonly deliver: Delivery;
  readonly days: number;
  readonly perDay: number;
  readonly from?: number;
}

/** The reports that have arrived by a time. */
function reportsOf(sources: readonly Source[], now: number): Reports {
  const random = stream("reports");
  const events = sources.flatMap(({ deliver, days, perDay, from = 0 }) =>
    Array.from({ length: days * perDay }, (_, n) => {
      const at = MIDNIGHT + (from + (n + random()) / perDay) * DAY;
      return { at, arrived: deliver(at, random) };
    }),
  );
  const arrived = events.filter((event) => event.arrived <= now).sort((a, b) => a.arrived - b.arrived || a.at - b.at);
  const reports = arrived.reduce<Reports | null>((before, event) => withReport(before, event.at, event.arrived), null);
  if (!reports) throw new Error("expected a report");
  return reports;
}

const afternoon = MIDNIGHT + 9 * DAY + 16 * HOUR;
const upload = MIDNIGHT + 9 * DAY + 2 * HOUR;
const until = (sources: readonly Source[], now = afternoon, isSilent = false): number => {
  return completeUntil(reportsOf(sources, now), now, () => isSilent);
};
const hoursAgo = (moment: number, now = afternoon): number => (now - moment) / HOUR;

describe("a source that reports at once", () => {
  it.each([1, 30, 3000])("is complete until now, with %i conversions a day", (perDay) => {
    expect(until([{ deliver: live, days: 20, perDay }])).toBe(afternoon);
  });

  it("stays where it was if it is silent", () => {
    const { last } = reportsOf([{ deliver: live, days: 20, perDay: 30 }], afternoon);
    expect(until([{ deliver: live, days: 20, perDay: 30 }], afternoon, true)).toBe(last);
  });

  it.each([1, 30, 3000])("is not moved by one report of a week ago, or by one in fifty that is late, of %i a day", (perDay) => {
    const source = { deliver: live, days: 20, perDay };
    const straggler = withReport(reportsOf([source], afternoon), afternoon - 7 * DAY, afternoon);
    expect(completeUntil(straggler, afternoon, () => false)).toBe(afternoon);
    const deliver: Delivery = (at, random) => at + (random() < 0.02 ? 5 * HOUR : 2000);
    expect(until([{ deliver, days: 20, perDay }])).toBe(afternoon);
  });
});

describe("a source that uploads each night", () => {
  it.each([1, 3, 30, 1000])("is complete until about its last upload, with %i conversions a day", (perDay) => {
    const moment = until([{ deliver: nightly, days: 20, perDay }]);
    expect(moment).toBeLessThanOrEqual(upload);
    expect(moment).toBeGreaterThan(upload - (perDay > 3 ? HOUR : DAY));
  });

  it("is complete until the end of what an upload has", () => {
    const deliver: Delivery = (at) => MIDNIGHT + Math.ceil((at - MIDNIGHT) / DAY) * DAY + 3 * HOUR;
    const moment = until([{ deliver, days: 20, perDay: 100 }]);
    expect(moment).toBeLessThanOrEqual(MIDNIGHT + 9 * DAY);
    expect(moment).toBeGreaterThan(MIDNIGHT + 9 * DAY - HOUR);
  });

  it("is complete until the upload before while one goes on", () => {
    const before = reportsOf([{ deliver: nightly, days: 20, perDay: 100 }], upload - HOUR);
    const during = withReport(before, upload - 12 * HOUR, upload);
    expect(lastUpload(during, upload + MINUTE)).toBeLessThanOrEqual(upload - DAY);
    expect(lastUpload(during, upload + 20 * MINUTE)).toBe(upload - 12 * HOUR);
  });

  it("stays at its last upload when no more come", () => {
    const source = { deliver: nightly, days: 8, perDay: 100 };
    const last = MIDNIGHT + 8 * DAY + 2 * HOUR;
    // The newest event is of about midnight.
    for (const days of [1, 3, 30]) expect(hoursAgo(until([source], last + days * DAY, true), last)).toBeCloseTo(2, 0);
  });
});

it("a source that is always six hours late is complete until nearly seven hours ago", () => {
  const ago = hoursAgo(until([{ deliver: (at) => at + 6 * HOUR, days: 20, perDay: 100 }]));
  expect(ago).toBeGreaterThan(6);
  expect(ago).toBeLessThan(7);
});

it("a source of which a part comes each night is complete until the events that nearly all have come of", () => {
  const deliver: Delivery = (at, random) => (random() < 0.3 ? nightly : live)(at, random);
  for (const perDay of [10, 300]) {
    const ago = hoursAgo(until([{ deliver, days: 20, perDay }]));
    expect(ago).toBeGreaterThan(13);
    expect(ago).toBeLessThan(24);
  }
});

it("a source that changes its habit is believed within five days", () => {
  const change = (before: Delivery, after: Delivery) => [
    { deliver: before, days: 4, perDay: 100 },
    { deliver: after, from: 4, days: 16, perDay: 100 },
  ];
  expect(hoursAgo(until(change(nightly, live), afternoon))).toBe(0);
  expect(hoursAgo(until(change(live, nightly), MIDNIGHT + 5 * DAY + 16 * HOUR), MIDNIGHT + 5 * DAY + 16 * HOUR)).toBeGreaterThan(13.9);
});

it("a source that brings what is old at first, and then reports at once, is believed within ten days", () => {
  const backlog = { deliver: () => MIDNIGHT, from: -7, days: 7, perDay: 20 };
  expect(hoursAgo(until([backlog, { deliver: live, days: 20, perDay: 20 }]))).toBe(0);
});

it("learners know together what one would know alone, though some got nothing of the last upload", () => {
  const source = { deliver: nightly, days: 20, perDay: 100 };
  const shards = Array.from({ length: 8 }, (): Reports | null => null);
  const random = stream("shards");
  for (let n = 0; n < 1000; n++) {
    const at = MIDNIGHT + (n / 100) * DAY;
    const shard = at > upload - 8 * HOUR ? 0 : Math.floor(random() * 8);
    if (nightly(at, random) <= afternoon) shards[shard] = withReport(shards[shard], at, nightly(at, random));
  }
  const all = addedReports(shards.filter((each) => each !== null));
  if (!all) throw new Error("expected reports");
  expect(hoursAgo(completeUntil(all, afternoon, () => false))).toBeCloseTo(hoursAgo(until([source])), 0);
  expect(addedReports([])).toBeNull();
  expect(addedReports([all])).toEqual(all);
});

it("has a small state whatever comes: clocks that go back, events of the future, and thousands of lags", () => {
  const random = stream("odd");
  let reports: Reports | null = null;
  for (let n = 0; n < 20_000; n++) reports = withReport(reports, MIDNIGHT + 60 * DAY * random(), MIDNIGHT + 60 * DAY * random());
  expect(JSON.stringify(reports).length).toBeLessThan(1500);
  const moment = completeUntil(reports as Reports, MIDNIGHT + 60 * DAY, () => false);
  expect(moment).toBeGreaterThan(MIDNIGHT);
  expect(moment).toBeLessThanOrEqual(MIDNIGHT + 60 * DAY);
  expect(completeUntil(withReport(null, MIDNIGHT + HOUR, MIDNIGHT), MIDNIGHT, () => false)).toBe(MIDNIGHT);
});
