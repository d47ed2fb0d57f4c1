import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Curve, Experiment, Paper } from "../../../experiments/runs/experiment.ts";
import { Played, type PlayRun } from "../../../experiments/runs/played.ts";
import { isTold, resolutionOf } from "../../../experiments/runs/results.ts";
import { fingerprint, RunFile } from "../../../experiments/runs/run-file.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "runs-"));
});
afterAll(() => rm(folder, { recursive: true }));

const name = (run: number) => ({ paper: "p", experiment: "e", setting: "s", algorithm: "a", run });
const curve = (value: number): Curve[] => [{ metric: "regret", at: Float64Array.of(1, 2), values: Float64Array.of(0, value) }];

it("finds the runs of the same code again, also after a line that was not finished", async () => {
  const path = join(folder, "runs.jsonl");
  const first = await RunFile.open(path, { p: "code" });
  expect(first.size).toBe(0);
  await first.add(name(0), curve(3));
  await appendFile(path, '{"code":"code","paper":"p');
  const second = await RunFile.open(path, { p: "code" });
  expect(second.find(name(0))).toEqual([{ metric: "regret", at: [1, 2], values: [0, 3] }]);
  expect(second.find(name(1))).toBeUndefined();
  await second.add(name(1), curve(4));
  expect((await RunFile.open(path, { p: "code" })).size).toBe(2);
  const other = await RunFile.open(path, { p: "other code" });
  expect([other.size, other.find(name(0))]).toEqual([0, undefined]);
  await other.add(name(0), curve(5));
  // The runs of each code stay beside each other.
  expect((await RunFile.open(path, { p: "code" })).find(name(0))?.[0].values).toEqual([0, 3]);
  expect((await readFile(path, "utf8")).split("\n")).toHaveLength(5);
});

it("names the code of a paper by all that its experiments import", async () => {
  const [shop, again, signals] = await Promise.all(["shop", "shop", "signals"].map(fingerprint));
  expect(shop).toMatch(/^[0-9a-f]{16}$/);
  expect(again).toBe(shop);
  expect(signals).not.toBe(shop);
});

it("has told a share once half of the interval is that narrow, or if the difference is clear, but not before twelve runs", () => {
  const ratio = { mean: 0.97, standardError: 0.01, runs: 12 };
  expect(resolutionOf(ratio)).toBeCloseTo(0.022, 3);
  expect(isTold(ratio, 0.05)).toBe(true);
  expect(isTold(ratio, 0.02)).toBe(false);
  expect(isTold({ ...ratio, runs: 11 }, 0.05)).toBe(false);
  expect(isTold({ mean: 0.5, standardError: 0.12, runs: 12 }, 0.05)).toBe(true);
  expect(isTold({ mean: 0.5, standardError: 0.13, runs: 12 }, 0.05)).toBe(false);
});

/** An experiment in which "a" has the regret of its run, and the rivals one that is near to it or far from it. */
function played(play: PlayRun): Played {
  const experiment = { id: "e", ratios: [{ metric: "regret", of: "a", to: ["near", "far"] }] } as unknown as Experiment;
  return new Played({ id: "p" } as Paper, experiment, { settings: ["s"], algorithms: ["a", "near", "far", "other"], from: 100, play });
}

it("plays more runs of the comparisons that do not tell yet, with both of their halves", async () => {
  const asked: [string, number][] = [];
  const game = played(async ({ algorithm, run }) => {
    asked.push([algorithm, run]);
    const noise = 1 + 0.5 * Math.sin(run);
    return curve({ a: 10, near: 10 * noise, far: 30 * noise, other: 1 }[algorithm] as number);
  });
  await game.add(12);
  expect(asked.length).toBe(48);
  expect(asked[0]).toEqual(["a", 100]);
  const counts = () => game.series.map(({ runs }) => runs.length);
  expect(await game.sharpen(0.1)).toBe(1);
  expect(counts()).toEqual([13, 13, 12, 12]);
  expect(asked.slice(48)).toEqual([
    ["near", 112],
    ["a", 112],
  ]);
  for (let open = 1; open > 0; ) open = await game.sharpen(0.1);
  const [own, near, far] = counts();
  expect([own, far]).toEqual([near, 12]);
  expect(own).toBeGreaterThan(13);
  expect([game.ended, game.tasks]).toEqual([asked.length, asked.length]);
});
