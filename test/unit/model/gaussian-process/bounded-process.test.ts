import { matern52 } from "afterclick";
import { describe, expect, it } from "vitest";
import type { Core } from "../../../../src/core/core.ts";
import { BoundedProcess } from "../../../../src/model/gaussian-process/bounded-process.ts";
import { kernelSpec } from "../../../../src/model/gaussian-process/kernel.ts";
import { SnapshotReader, SnapshotWriter } from "../../../../src/values/snapshot.ts";
import { freshCore } from "../../../support/core.ts";

// A Gaussian process in bounded memory: the rows of a point, points that weigh little, and its saved state.

const kernel = kernelSpec(matern52({ variance: 4, lengthscale: 0.5 }), 1);
const header = { kind: "snapshot", policyId: "test", stateVersion: 1, dimension: 1, impressions: 0 } as const;
const at = (x: number): Float64Array => Float64Array.of(x);

function saved(core: Core, process: BoundedProcess): Uint8Array {
  const writer = new SnapshotWriter();
  process.save(writer);
  return writer.finish(core, header);
}

function restored(core: Core, bytes: Uint8Array): BoundedProcess {
  const process = new BoundedProcess(core, kernel, 64, null);
  process.load(new SnapshotReader(core, bytes));
  return process;
}

/** The saved sections of one point with one row, with other counts. */
function withCounts(core: Core, count: number, countInForce: number): Uint8Array {
  const writer = new SnapshotWriter();
  writer.numbers(at(0.3), [count], [1], [1], [countInForce, 1], [0], [1], [1]);
  return writer.finish(core, header);
}

describe("a Gaussian process in bounded memory", () => {
  it("puts a replaced reward into the first row of its point, before a restart and after it", () => {
    const { core } = freshCore();
    const process = new BoundedProcess(core, kernel, 64, null);
    // Each point has three rows: of the impressions 1, 2 and 3.
    for (const reward of [0.5, 1, 2]) for (const x of [0.1, 0.9]) process.append(at(x), reward);
    const again = restored(core, saved(core, process));
    for (const each of [process, again]) each.replace(at(0.9), 7, 2);
    expect(saved(core, again)).toEqual(saved(core, process));
    // Sections: points, counts, sums, squares, sums in force, sites of rows, counts and sums of rows.
    const reader = new SnapshotReader(core, saved(core, process));
    const sections = Array.from({ length: 8 }, () => [...reader.numbers()]);
    expect(sections[5]).toEqual([0, 1, 0, 1, 0, 1]);
    expect(sections[7]).toEqual([0.5, 5.5, 1, 1, 2, 2]);
  });

  it.each([
    ["1/1024: kept", 1 / 1024, 1],
    ["less: dropped", 1 / 1025, 0],
  ])("opens a point for a weight of at least 1/1024. %s", (_, weight, size) => {
    const process = new BoundedProcess(freshCore().core, kernel, 64, null);
    process.append(at(0.5), 1, weight);
    expect(process.size).toBe(size);
    process.append(at(0.5), 1);
    expect(process.size).toBe(1);
    expect([...process.statistics()]).toEqual([0.5, 1 + size * weight, 1 + size * weight]);
  });

  it.each([
    ["1/1024: kept", 1 / 1024, 1],
    ["less: dropped", 1 / 1025, 0],
  ])("keeps a point after forgetting while it weighs at least 1/1024. %s", (_, decay, size) => {
    const process = new BoundedProcess(freshCore().core, kernel, 64, null);
    process.append(at(0.5), 1);
    process.discount(decay);
    expect(process.size).toBe(size);
  });

  it("restores a point of which everything is in force, or only a part", () => {
    const { core } = freshCore();
    for (const [count, inForce] of [
      [1, 1],
      [1.1, 1],
      [1, 0.001],
    ]) {
      const bytes = withCounts(core, count, inForce);
      expect(saved(core, restored(core, bytes))).toEqual(bytes);
    }
  });

  it.each([
    ["nothing in force", 1, 0],
    ["less than nothing in force", 1, -1],
    ["more in force than there is", 1, 1.001],
  ])("refuses a state with a point with %s", (_, count, inForce) => {
    const { core } = freshCore();
    const process = new BoundedProcess(core, kernel, 64, null);
    expect(() => process.load(new SnapshotReader(core, withCounts(core, count, inForce)))).toThrow("do not fit together");
    expect(process.size).toBe(0);
  });

  it("refuses a state with a point without a row, and keeps its own", () => {
    const { core } = freshCore();
    const process = new BoundedProcess(core, kernel, 64, null);
    process.append(at(0.2), 1);
    const before = saved(core, process);
    const writer = new SnapshotWriter();
    writer.numbers(Float64Array.of(0.3, 0.4), [1, 1], [1, 1], [1, 1], [1, 1, 1, 1], [0], [1], [1]);
    expect(() => process.load(new SnapshotReader(core, writer.finish(core, header)))).toThrow("do not fit together");
    expect(saved(core, process)).toEqual(before);
  });
});

describe("a forgotten point of a process in bounded memory", () => {
  it("leaves its impressions and rewards to the nearest point, whatever the order", () => {
    const { core } = freshCore();
    const process = new BoundedProcess(core, kernel, 64, null);
    for (const [x, reward] of [
      [0.2, 1],
      [0.5, 3],
      [0.6, 2],
      [0.5, 5],
    ])
      process.append(at(x), reward);
    expect(process.forget(at(0.5))).toBe(true);
    expect([...process.statistics()]).toEqual([0.2, 1, 1, 0.6, 3, 10]);
    expect([...process.evidence(2).squares]).toEqual([1, 38]);
    expect(process.nearest(at(0.5))).toEqual(at(0.6));
    expect(process.forget(at(0.5))).toBe(false);
    const merged = new BoundedProcess(core, kernel, 64, null);
    for (const [x, reward] of [
      [0.2, 1],
      [0.6, 2],
      [0.6, 3],
      [0.6, 5],
    ])
      merged.append(at(x), reward);
    merged.refactor();
    expect(saved(core, process)).toEqual(saved(core, merged));
  });

  it("has no nearest one if it was the last", () => {
    const process = new BoundedProcess(freshCore().core, kernel, 64, null);
    expect(process.nearest(at(0.5))).toBeUndefined();
    process.append(at(0.5), 1);
    expect(process.forget(at(0.5))).toBe(true);
    expect(process.size).toBe(0);
    expect(process.nearest(at(0.5))).toBeUndefined();
  });
});
