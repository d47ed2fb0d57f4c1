import { expect, it } from "vitest";
import type { CoreExports } from "../../../../src/core/exports.ts";
import { type ParsedPureExploration, PureExploration, parsePureExploration } from "../../../../src/model/batch/pure-exploration.ts";
import { RoundSchedule } from "../../../../src/model/batch/round-schedule.ts";
import { SnapshotError } from "../../../../src/values/errors.ts";
import { freshCore } from "../../../support/core.ts";

// Which processes a run of pure exploration holds in the core's memory.

const points = Array.from({ length: 9 }, (_, i) => [i / 8]);
const settings: ParsedPureExploration = parsePureExploration({ domain: { points }, noiseVariance: 0.05 });

it("holds one process between rounds, a second while feedback is known, and a third before the next round", () => {
  const { core } = freshCore();
  const held = new Set<number>();
  const { gpCreate, gpRelease } = core.exports;
  const counted: Partial<CoreExports> = {
    gpCreate(...given) {
      const pointer = gpCreate(...given);
      held.add(pointer);
      return pointer;
    },
    gpRelease(pointer) {
      held.delete(pointer);
      gpRelease(pointer);
    },
  };
  Object.defineProperty(core, "exports", { value: { ...core.exports, ...counted } });
  const schedule = new RoundSchedule(60, 0);
  const exploration = new PureExploration(core, settings, schedule, 2);
  expect(held.size).toBe(1);
  let rounds = 0;
  for (let number = 1; number <= 4; number++, rounds++) {
    for (let query = 0; query < schedule.length(number); query++) {
      const { index } = exploration.leader();
      const features = Float64Array.from(points[index]);
      const slot = exploration.append(features);
      expect(slot).toBe(number);
      expect(held.size).toBe(1);
      exploration.observe({ features, slot, round: 1 }, index / 8, undefined);
      exploration.predict(Float64Array.of(0.5));
      expect(held.size).toBe(2);
      exploration.observe({ features, slot, round: 1 }, index / 9, index / 8);
      expect(held.size).toBe(1);
    }
    exploration.leader();
    // The posterior of the round that is over, its queries, and the round that would begin.
    expect(held.size).toBe(3);
    if (number % 2) exploration.refactor();
    expect(held.size).toBe(number % 2 ? 1 : 3);
  }
  expect(rounds).toBe(4);
});

it("leads with the first of the points that are equally uncertain", () => {
  const exploration = new PureExploration(freshCore().core, settings, new RoundSchedule(60, 0), 2);
  expect(exploration.leader().index).toBe(0);
});

it("keeps the points that are as good as the best, where no width parts them", () => {
  const schedule = new RoundSchedule(60, 0);
  const exploration = new PureExploration(freshCore().core, settings, schedule, 0);
  for (let query = 0; query < schedule.length(1); query++) {
    const features = Float64Array.from(points[exploration.leader().index]);
    exploration.observe({ features, slot: exploration.append(features), round: 1 }, features[0], undefined);
  }
  expect(exploration.leader().index).toBeGreaterThanOrEqual(0);
});

it("knows the length of a far round without those before it, and stays at it", () => {
  for (const [horizon, wait] of [
    [1, 0],
    [20, 0],
    [60, 2.5],
    [1e12, 7],
  ]) {
    // biome-ignore format: one line
    const near = new RoundSchedule(horizon, wait);
    const lengths = Array.from({ length: 100 }, (_, i) => near.length(i + 1));
    const far = new RoundSchedule(horizon, wait);
    expect(far.length(1e15)).toBe(Math.ceil(horizon + wait));
    expect(lengths.at(-1)).toBe(Math.ceil(horizon + wait));
    expect(Array.from(lengths, (_, i) => far.length(i + 1))).toEqual(lengths);
    // The rounds before the horizon's end add up to it.
    const ends = lengths.map((_, i) => lengths.slice(0, i + 1).reduce((sum, each) => sum + each, 0));
    expect(ends.some((end) => Math.abs(end - horizon) < 1e-3 * horizon)).toBe(true);
  }
});

it("refuses a state with more queries than its round, more rewards than queries, or survivors out of order", () => {
  const exploration = new PureExploration(freshCore().core, settings, new RoundSchedule(60, 0), 2);
  const saved: number[][] = [];
  exploration.save({ numbers: (...arrays: ArrayLike<number>[]) => saved.push(...arrays.map((each) => Array.from(each))) } as never);
  const load = (section: number, place: number, value: number): void => {
    const sections = saved.map((each) => each.slice());
    sections[section][place] = value;
    const next = (): Float64Array => Float64Array.from(sections.shift() as number[]);
    exploration.load({ numbers: next, view: next } as never);
  };
  expect(() => load(0, 1, 8)).not.toThrow();
  // Number and queries, survivors, their means and deviations, queries and rewards of each point.
  for (const [section, place, value] of [[0, 0, 0], [0, 1, 9], [0, 1, -1], [1, 0, 1], [1, 8, 9], [5, 3, 1], [5, 3, -1]]) // biome-ignore format: one line
    expect(() => load(section, place, value)).toThrow(SnapshotError);
});
