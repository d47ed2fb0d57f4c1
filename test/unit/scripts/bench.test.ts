import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { beside } from "../../../bench/against/process.ts";
import { estimateOf } from "../../../bench/statistics.ts";
import { local, prepared } from "../../../bench/variant.ts";
import { compare, measure, once, type Workload } from "../../../bench/workload.ts";
import { workloads } from "../../../bench/workloads.ts";
import { stream } from "../../../src/simulation/stream.ts";

describe("a comparison", () => {
  const targets = [
    { variant: "afterclick", peer: "c", atLeast: 2 },
    { variant: "afterclick", atMost: 0.9 },
    { variant: "afterclick", peer: "absent", atLeast: 1 },
  ] as const;
  const work = { name: "work", unit: "us", peer: "c", targets };
  const times = (count: number, value: number) => new Array<number>(count).fill(value);
  const values = new Map([
    ["afterclick", [1, 2, 1, 1, 1, 1]],
    ["c", [2, 6, 2, 2, 2, 2]],
  ]);

  it("takes ratios round by round, and passes over targets whose variants did not run", () => {
    const { ratios, findings } = compare(work, values);
    expect(ratios.get("afterclick")).toEqual({ median: 2, interval: { low: 2, high: 3 } });
    expect(findings).toEqual([
      { text: "afterclick 2 (2 to 3) x c, wanted 2 x", verdict: "yes" },
      { text: "afterclick 1 (1 to 2) us, wanted 0.9 us", verdict: "no" },
    ]);
  });

  it("gives no verdict where the interval has the target inside, nor on fewer than six rounds", () => {
    const noisy = new Map([
      ["afterclick", times(6, 1)],
      ["c", [1, 3, 1, 3, 3, 3]],
    ]);
    expect(compare({ ...work, targets: targets.slice(0, 1) }, noisy).findings).toEqual([
      { text: "afterclick 3 (1 to 3) x c, wanted 2 x", verdict: "too noisy to tell" },
    ]);
    const few = new Map(Array.from(values, ([name, runs]) => [name, runs.slice(0, 5)]));
    expect(compare(work, few).findings.map(({ verdict }) => verdict)).toEqual(["too few rounds to tell", "too few rounds to tell"]);
  });

  it.each([
    [1.5, "faster"],
    [0.5, "slower"],
  ])("with a commit that takes %d times as long says %s", (before, verdict) => {
    const both = new Map([
      ["afterclick", times(6, 1)],
      ["before", times(6, before)],
    ]);
    const text = `afterclick ${before} (${before} to ${before}) x before`;
    expect(compare({ ...work, peer: "afterclick", targets: [] }, both).findings).toEqual([{ text, verdict }]);
  });

  it("finds a rate better the more it is", () => {
    const { ratios } = compare({ name: "work", unit: "requests/s", peer: "c" }, values);
    expect(ratios.get("afterclick")?.median).toBe(0.5);
  });
});

describe("the interval of a median", () => {
  // Table of Conover, Practical Nonparametric Statistics: ranks l of the interval for n measurements, at 95 %.
  it.each([
    [6, 1],
    [8, 1],
    [9, 2],
    [15, 4],
    [25, 8],
    [50, 18],
  ])("of %d measurements starts at the smallest but %d", (n, rank) => {
    const values = Array.from({ length: n }, (_, i) => i + 1);
    expect(estimateOf(values.toReversed())).toEqual({ median: (n + 1) / 2, interval: { low: rank, high: n + 1 - rank } });
  });

  it("needs six measurements", () => {
    expect(estimateOf([3, 1, 2, 5, 4])).toEqual({ median: 3 });
  });

  it("holds the median of a skewed law at least 95 times in 100", () => {
    const random = stream("bench", "interval");
    const held = Array.from({ length: 2000 }, () => {
      const { interval } = estimateOf(Array.from({ length: 15 }, () => random() ** 4));
      return interval && interval.low <= 0.5 ** 4 && interval.high >= 0.5 ** 4;
    });
    expect(held.filter(Boolean).length / held.length).toBeGreaterThan(0.95);
  });
});

it("a comparison with a build that lacks an export or failed says so, and measures the rest", { timeout: 60_000 }, async () => {
  const workload = once(workloads.find(({ name }) => name === "snapshot-restore ridge d=128") as Workload);
  const root = await mkdtemp(join(tmpdir(), "afterclick-bench-"));
  await writeFile(join(root, "package.json"), '{ "name": "afterclick", "type": "module", "exports": { ".": "./index.js" } }');
  await writeFile(join(root, "index.js"), "export const Recommender = {};\n");
  const lacking = await measure(beside(workload, "restart.ts", { commit: "other", root }));
  await rm(root, { recursive: true });
  expect(lacking.missing.before).toMatch(/does not provide an export named/);
  expect(lacking.results.map(({ variant }) => variant)).toEqual(["afterclick"]);
  const unbuilt = await measure(beside(workload, "restart.ts", { missing: "cannot be built" }));
  expect(unbuilt.missing.before).toBe("cannot be built");
});

describe("variants", () => {
  const work = () => {};

  it("of which one computes something else are no workload", async () => {
    const variants = { afterclick: local(work, Float64Array.of(1, 2)), c: local(work, Float64Array.of(1, 2 + 1e-7)) };
    await expect(prepared("us", variants)).rejects.toThrow("c: expected number 1 of its answer");
  });

  it("that agree to rounding are measured in turns, each as often, and a missing one is named", async () => {
    const turns: string[] = [];
    const variant = (name: string, answer: number) => ({
      answer: Float64Array.of(answer),
      run(times: number) {
        turns.push(name);
        return 0.02 * times;
      },
    });
    const prepare = () => prepared("ms", { afterclick: variant("a", 1), c: variant("c", 1 + 1e-9), numpy: { missing: "not installed" } });
    const { results, missing } = await measure({ name: "work", unit: "ms", rounds: 3, warmUps: 1, peer: "c", prepare });
    expect(turns.join("")).toBe("acacca" + "ac");
    expect(results.map(({ variant, median, runs }) => ({ variant, median, runs }))).toEqual([
      { variant: "afterclick", median: 20, runs: 3 },
      { variant: "c", median: 20, runs: 3 },
    ]);
    expect(missing).toEqual({ numpy: "not installed" });
  });
});
