import { describe, expect, it } from "vitest";
import { Rhythm } from "../../../../src/model/delay/rhythm.ts";
import { stream } from "../../../support/scenario.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
const MONDAY = Date.UTC(2024, 0, 1);

/** Arrivals every `every` ms from one time to another, at times that `open` allows. */
function arrivals(from: number, to: number, every: number, open: (time: number) => boolean = () => true): Rhythm {
  const rhythm = new Rhythm(DAY);
  for (let time = from; time < to; time += every) if (open(time)) rhythm.count(time);
  return rhythm;
}

/** Hours of a silence until it is clearly longer than normal. */
function patience(rhythm: Rhythm, since: number): number {
  for (let hours = 0; hours < 24 * 30; hours += 0.25) if (rhythm.excess(since, since + hours * HOUR) > 0) return hours;
  return Number.POSITIVE_INFINITY;
}

const isWorkday = (time: number): boolean => ![0, 6].includes(new Date(time).getUTCDay());
const isAwake = (time: number): boolean => time % DAY >= 7 * HOUR && time % DAY < 23 * HOUR;
const isOffice = (time: number): boolean => isWorkday(time) && time % DAY >= 8 * HOUR && time % DAY < 18 * HOUR;

describe("a rhythm of arrivals", () => {
  it("around the clock leaves no silence normal", () => {
    const rhythm = arrivals(MONDAY, MONDAY + WEEK, HOUR / 10);
    expect(rhythm.excess(MONDAY + WEEK - 1, MONDAY + WEEK + HOUR)).toBeCloseTo(1, 6);
  });

  it("of daily batches waits for one batch and a third of a day", () => {
    const rhythm = arrivals(MONDAY + 6 * HOUR, MONDAY + 9 * DAY, DAY);
    const since = MONDAY + 8 * DAY + 6 * HOUR;
    expect(patience(rhythm, since)).toBe(32);
    expect(rhythm.excess(since, since + 32 * HOUR)).toBeCloseTo(0.25, 9);
    expect(rhythm.excess(since, since + 48 * HOUR)).toBeCloseTo(0.5, 9);
  });

  it("of days and nights waits for a night and a third, by day too", () => {
    const rhythm = arrivals(MONDAY, MONDAY + 9 * DAY, HOUR / 5, isAwake);
    const night = patience(rhythm, MONDAY + 9 * DAY - HOUR);
    expect(night).toBeGreaterThan(10);
    expect(night).toBeLessThan(12);
    expect(patience(rhythm, MONDAY + 8 * DAY + 12 * HOUR)).toBeCloseTo(night, 0);
  });

  it("assumes a batch a day until it has seen three days", () => {
    const since = MONDAY + 10 * HOUR;
    expect(patience(new Rhythm(DAY), since)).toBeGreaterThan(31);
    expect(patience(arrivals(MONDAY, since, HOUR / 10), since)).toBeGreaterThan(31);
    expect(patience(arrivals(MONDAY, MONDAY + 2 * DAY, HOUR / 10), MONDAY + 2 * DAY)).toBeLessThan(1);
  });

  it.each([
    ["on a Monday", 0],
    ["on a Wednesday", 2],
    ["on a Friday", 4],
  ])("allows for the first weekend after a start %s", (_, day) => {
    for (const open of [isWorkday, isOffice, (time: number) => isWorkday(time) && isAwake(time)]) {
      const start = MONDAY + day * DAY;
      const rhythm = arrivals(start, MONDAY + 5 * DAY, HOUR / 5, open);
      const last = arrivalBefore(MONDAY + 5 * DAY, open);
      const back = arrivalAfter(MONDAY + WEEK, open);
      expect(rhythm.excess(last, back)).toBeLessThan(0.01);
      expect(patience(rhythm, last)).toBeLessThan(24 * 4);
    }
  });

  it("allows for the first weekend in every time zone", () => {
    for (let zone = -10; zone <= 13; zone++) {
      const open = (time: number): boolean => isWorkday(time + zone * HOUR) && isAwake(time + zone * HOUR);
      const rhythm = arrivals(MONDAY, MONDAY + 5.6 * DAY, HOUR / 5, open);
      const last = arrivalBefore(MONDAY + 5.6 * DAY, open);
      expect(rhythm.excess(last, arrivalAfter(last + 1.5 * DAY, open)), `UTC${zone}`).toBe(0);
    }
  });

  it("allows for a first weekend on any day where times are no dates", () => {
    const open = (time: number): boolean => time % WEEK < 5 * DAY && isAwake(time);
    const rhythm = arrivals(0, 5 * DAY, HOUR / 5, open);
    expect(rhythm.excess(arrivalBefore(5 * DAY, open), WEEK + 7 * HOUR)).toBe(0);
  });

  it("does not allow for a weekend on a day of rest that had arrivals", () => {
    const from = (day: number): number => patience(arrivals(MONDAY, MONDAY + day * DAY, HOUR / 5), MONDAY + day * DAY);
    expect(from(5)).toBeGreaterThan(48);
    // Saturday 14:00. Sunday may still be a day of rest.
    expect(from(5 + 14 / 24)).toBeLessThan(1);
    expect(from(5.75)).toBeCloseTo(24.25, 9);
    expect(from(6.75)).toBeLessThan(1);
  });

  it("knows the second weekend, and does not wait as long on other days", () => {
    const rhythm = arrivals(MONDAY, MONDAY + 12 * DAY, HOUR / 5, isOffice);
    const last = arrivalBefore(MONDAY + 12 * DAY, isOffice);
    expect(rhythm.excess(last, MONDAY + 14 * DAY + 8 * HOUR)).toBe(0);
    expect(patience(rhythm, last)).toBeLessThan(24 * 3);
    expect(patience(rhythm, MONDAY + 8 * DAY + 12 * HOUR)).toBeLessThan(20);
    // A whole weekend was open.
    expect(patience(arrivals(MONDAY, MONDAY + 12 * DAY, HOUR / 5), MONDAY + 12 * DAY)).toBeLessThan(1);
  });

  it("misses the batch before a weekend", () => {
    const rhythm = arrivals(MONDAY + 6 * HOUR, MONDAY + 11 * DAY, DAY, isWorkday);
    const thursday = MONDAY + 10 * DAY + 6 * HOUR;
    expect(patience(rhythm, thursday)).toBeLessThan(34);
    const friday = thursday + DAY;
    rhythm.count(friday);
    expect(rhythm.excess(friday, friday + 3 * DAY)).toBe(0);
    expect(patience(rhythm, friday)).toBeLessThan(24 * 3 + 12);
  });

  it("knows a shop that is closed on Sundays, and one with a batch every other day", () => {
    const notSunday = (time: number): boolean => new Date(time).getUTCDay() !== 0 && isAwake(time);
    const sundays = arrivals(MONDAY, MONDAY + 13 * DAY, HOUR / 5, notSunday);
    expect(sundays.excess(arrivalBefore(MONDAY + 13 * DAY, notSunday), MONDAY + 14 * DAY + 7 * HOUR)).toBe(0);
    const others = arrivals(MONDAY, MONDAY + 15 * DAY, 2 * DAY);
    expect(patience(others, MONDAY + 14 * DAY)).toBeCloseTo(64, 0);
  });

  it("still waits for Monday where few arrivals come at weekends", () => {
    const open = (time: number): boolean => (isWorkday(time) || (time / HOUR) % 20 < 1) && isAwake(time);
    const rhythm = arrivals(MONDAY, MONDAY + 12 * DAY, HOUR / 5, open);
    expect(rhythm.excess(MONDAY + 12 * DAY - HOUR, MONDAY + 14 * DAY + 7 * HOUR)).toBe(0);
  });

  it("does not take one failure for the norm", () => {
    const failed = (time: number): boolean => time < MONDAY + 8 * DAY || time >= MONDAY + 11 * DAY;
    const rhythm = arrivals(MONDAY, MONDAY + 20 * DAY, HOUR / 5, (time) => isAwake(time) && failed(time));
    expect(patience(rhythm, MONDAY + 19 * DAY + 12 * HOUR)).toBeLessThan(13);
  });

  it("forgets what is older than four weeks", () => {
    const rhythm = arrivals(MONDAY, MONDAY + 5 * WEEK, DAY);
    expect(patience(rhythm, MONDAY + 5 * WEEK - DAY)).toBeGreaterThan(31);
    for (let time = MONDAY + 5 * WEEK; time < MONDAY + 10 * WEEK; time += HOUR / 5) rhythm.count(time);
    expect(patience(rhythm, MONDAY + 10 * WEEK)).toBeLessThan(1);
    const before = saved(rhythm);
    rhythm.count(MONDAY);
    expect(saved(rhythm)).toEqual(before);
  });

  it("does not depend on the order of arrivals, and goes on when saved", () => {
    const random = stream(3);
    for (let trial = 0; trial < 20; trial++) {
      const times = Array.from({ length: 300 }, () => MONDAY + random() * random() * 60 * DAY);
      const [one, other] = [times, times.toSorted()].map((order) => {
        const rhythm = new Rhythm(DAY);
        for (const time of order) rhythm.count(time);
        return rhythm;
      });
      expect(saved(other)).toEqual(saved(one));
      const restored = new Rhythm(DAY);
      restored.load({ numbers: () => Float64Array.from(saved(one)) });
      expect(saved(restored)).toEqual(saved(one));
      const since = Math.max(...times);
      for (const hours of [1, 30, 60, 100]) {
        expect(restored.excess(since, since + hours * HOUR)).toBe(one.excess(since, since + hours * HOUR));
      }
    }
  });
});

const STEP = HOUR / 5;

function arrivalBefore(time: number, open: (time: number) => boolean): number {
  let last = time - STEP;
  while (!open(last)) last -= STEP;
  return last;
}

function arrivalAfter(time: number, open: (time: number) => boolean): number {
  let next = time;
  while (!open(next)) next += STEP;
  return next;
}

function saved(rhythm: Rhythm): number[] {
  const sections: number[][] = [];
  rhythm.save({ numbers: (...arrays) => void sections.push(...arrays.map((values) => Array.from(values))) });
  return sections[0];
}
