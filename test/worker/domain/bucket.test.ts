import { describe, expect, it } from "vitest";
import {
  auditedAt,
  bucketAt,
  bucketEnd,
  bucketMs,
  closesAt,
  forgottenAt,
  forgottenBefore,
  journalledUntil,
} from "../../../worker/domain/impression/bucket.ts";

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

// Computed by hand. All times are UTC. "kept" is the retention after the bucket closes.
const calendar = [
  {
    of: { window: HOUR, grace: 5 * MINUTE, kept: 30 * DAY },
    shown: "2026-03-01T10:07:30.500Z",
    bucket: ["2026-03-01T10:00:00.000Z", "2026-03-01T10:15:00.000Z"],
    closes: "2026-03-01T11:20:00.000Z",
    audited: "2026-03-02T11:20:00.000Z",
    journalled: "2026-03-02T12:20:00.000Z",
    forgotten: "2026-03-31T11:20:00.000Z",
  },
  {
    // A bucket is at least one minute long.
    of: { window: MINUTE, grace: 0, kept: DAY },
    shown: "2026-03-01T10:07:59.999Z",
    bucket: ["2026-03-01T10:07:00.000Z", "2026-03-01T10:08:00.000Z"],
    closes: "2026-03-01T10:09:00.000Z",
    audited: "2026-03-02T10:09:00.000Z",
    journalled: "2026-03-02T11:09:00.000Z",
    forgotten: "2026-03-02T10:09:00.000Z",
  },
  {
    of: { window: 10 * MINUTE, grace: 5 * MINUTE, kept: DAY },
    shown: "2026-03-01T10:07:30.000Z",
    bucket: ["2026-03-01T10:07:30.000Z", "2026-03-01T10:10:00.000Z"],
    closes: "2026-03-01T10:25:00.000Z",
    audited: "2026-03-02T10:25:00.000Z",
    journalled: "2026-03-02T11:25:00.000Z",
    forgotten: "2026-03-02T10:25:00.000Z",
  },
  {
    of: { window: 4 * HOUR, grace: 10 * SECOND, kept: 2 * DAY },
    shown: "2026-03-01T10:59:59.999Z",
    bucket: ["2026-03-01T10:00:00.000Z", "2026-03-01T11:00:00.000Z"],
    closes: "2026-03-01T15:00:10.000Z",
    audited: "2026-03-02T15:00:10.000Z",
    journalled: "2026-03-02T16:00:10.000Z",
    forgotten: "2026-03-03T15:00:10.000Z",
  },
  {
    // A bucket is at most one hour long.
    of: { window: 7 * DAY, grace: 5 * MINUTE, kept: DAY },
    shown: "2026-03-01T11:00:00.000Z",
    bucket: ["2026-03-01T11:00:00.000Z", "2026-03-01T12:00:00.000Z"],
    closes: "2026-03-08T12:05:00.000Z",
    audited: "2026-03-09T12:05:00.000Z",
    journalled: "2026-03-09T13:05:00.000Z",
    forgotten: "2026-03-09T12:05:00.000Z",
  },
];

describe.each(calendar)("what was shown at $shown with a window of $of.window ms", (row) => {
  const { window: windowMs, grace: graceMs, kept } = row.of;
  const timing = { windowMs, graceMs };
  const shownAt = Date.parse(row.shown);
  const iso = (time: number) => new Date(time).toISOString();

  it("closes, is audited and is forgotten when the calendar says", () => {
    expect([iso(bucketAt(shownAt, windowMs)), iso(bucketEnd(shownAt, windowMs))]).toEqual(row.bucket);
    expect(iso(closesAt(shownAt, timing))).toBe(row.closes);
    expect(iso(auditedAt(shownAt, timing))).toBe(row.audited);
    expect(iso(journalledUntil(shownAt, timing))).toBe(row.journalled);
    expect(iso(forgottenAt(shownAt, timing, kept))).toBe(row.forgotten);
  });

  it("is forgotten with its whole bucket, and not a moment before", () => {
    const forgotten = Date.parse(row.forgotten);
    expect(iso(forgottenBefore(forgotten, timing, kept))).toBe(row.bucket[1]);
    expect(iso(forgottenBefore(forgotten - 1, timing, kept))).toBe(row.bucket[0]);
  });
});

it("cuts a window that is no multiple of four into whole milliseconds", () => {
  expect(bucketMs(1_000_003)).toBe(250_000);
  expect([bucketAt(1_249_999, 1_000_003), bucketAt(1_250_000, 1_000_003)]).toEqual([1_000_000, 1_250_000]);
});

it("forgets nothing of before 1970", () => {
  expect(forgottenBefore(0, { windowMs: HOUR, graceMs: 0 }, DAY)).toBe(0);
});
