import { DelayEstimate } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { binEnds, PlainDelays } from "../../support/reference/plain-delays.ts";
import { stream } from "../../support/scenario.ts";

// Compares the silence and the bins of a delay estimate with their definitions, from lists of all impressions and conversions.

const WINDOW = 2 ** 20;

interface Both {
  readonly estimate: DelayEstimate;
  readonly plain: PlainDelays;
  /** Time of the latest conversion. */
  readonly last: number;
  readonly now: number;
}

/** Impressions in order of time. Half of them convert after delays of about a tenth of a window. */
function both(until: number, seed: number): Both {
  const estimate = new DelayEstimate({ window: WINDOW });
  const plain = new PlainDelays({ resolution: WINDOW / 16384, unit: WINDOW / 256, span: 2 * WINDOW });
  const random = stream(seed);
  const shown = Array.from({ length: Math.ceil(until / 8000) }, (_, i) => 8000 * i + Math.floor(8000 * random()));
  const events = shown.flatMap((time, place) => {
    const at = time + Math.floor(-Math.log(1 - random()) * (random() < 0.2 ? 20 : 0.1 * WINDOW));
    return [{ time, place, at: undefined }, ...(random() < 0.5 && at - time <= WINDOW ? [{ time: at, place, at }] : [])];
  });
  let last = 0;
  const known = events.filter(({ time }) => time <= until).sort((a, b) => a.time - b.time);
  for (const { time, place, at } of known) {
    if (at === undefined) {
      estimate.show(time);
      plain.show(time);
      continue;
    }
    estimate.convert({ shownAt: shown[place], at });
    plain.advance(at);
    plain.shown[place].delay = at - shown[place];
    last = at;
  }
  return { estimate, plain, last, now: known.at(-1)?.time ?? 0 };
}

/** Impressions by `time`, each weighted by its expected share of conversions. */
function matured({ plain, last }: Both, time: number): number {
  const ages = plain.ages(time);
  return plain.matured(time, last).reduce((sum, each, i) => sum + (ages[i] < 0 ? 0 : each), 0);
}

const conversionsOf = ({ plain }: Both): number => plain.shown.filter(({ delay }) => delay !== undefined).length;

describe.each([
  ["half a window", 0.5, 1],
  ["two windows", 2, 2],
  ["four windows", 4, 3],
])("after %s", (_, windows, seed) => {
  it("a silence is as likely as that none of those that should have come did", () => {
    const played = both(windows * WINDOW, seed);
    const { estimate, plain, last, now } = played;
    const conversions = conversionsOf(played);
    const later = now + 0.15 * WINDOW;
    plain.advance(later);
    const [before, after] = [matured(played, last), matured(played, later)];
    const { expected, chance } = estimate.silence(later);
    expect(expected).toBeCloseTo((conversions * (after - before)) / before, 7);
    expect(chance).toBeCloseTo((before / after) ** conversions, 10);
    expect(expected).toBeGreaterThan(0.5);
  });
});

describe("bins", () => {
  it("are sixteen of a resolution, then eight of two, eight of four, and so on, to twice the window", () => {
    const { delays } = new DelayEstimate({ window: 16384 }).distribution();
    expect(Array.from(delays)).toEqual(binEnds(2 * 16384));
    expect(Array.from(delays.subarray(13, 26))).toEqual([14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40]);
  });

  it("begin with their least delay: one of a bin's end is of the next", () => {
    for (const [delay, end] of [
      [0, 1],
      [7.9, 8],
      [8, 9],
      [15, 16],
      [16, 18],
      [17.5, 18],
      [18, 20],
      [31, 32],
      [32, 36],
    ]) {
      const estimate = new DelayEstimate({ window: 16384 });
      estimate.show(0, 41);
      for (let i = 0; i < 40; i++) estimate.convert({ shownAt: 0, at: delay });
      // All impressions are then old enough for longer delays.
      estimate.convert({ shownAt: 0, at: 1000 });
      const { delays, probability } = estimate.distribution();
      const bin = delays.indexOf(end);
      expect(probability[bin] - (probability[bin - 1] ?? 0)).toBeGreaterThan(0.9);
    }
  });
});
