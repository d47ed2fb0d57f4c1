import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { Coverage } from "../../../experiments/intervals/coverage.ts";
import { figures } from "../../../experiments/intervals/table.ts";
import { traceOf } from "../../../experiments/intervals/trace.ts";
import { all } from "../../../experiments/papers.ts";
import type { Experiment } from "../../../experiments/runs/experiment.ts";
import { type Result, rivalOf } from "../../../experiments/runs/results.ts";
import { tracesOf } from "../../../experiments/runs/trace.ts";

/** A row of fewer worlds without a trace is provisional. */
const RUNS = 300;

const intervals: Coverage[] = JSON.parse(await readFile("experiments/intervals.json", "utf8"));
const results: Result[] = JSON.parse(await readFile("experiments/results.json", "utf8"));

/** Experiments with rows of earlier code, which take too long to run again. docs/research.md says so. */
const UNTRACED = [
  "verma: figure-1a, figure-1b, figure-1cd, figure-5",
  "vakili: figures-2-5",
  "liu: one-dimensional, two-dimensional",
  "calandriello: figures-3-4",
  "beyond: log-odds, alarm, rhythm, vakili, liu, intervals, bootstrap",
  "shop: products, long, slow, random, catalogue, classification, small-catalogue, large-catalogue, money",
  "signals: funnel, contextual-funnel, revenue",
].flatMap((line) => {
  const [paper, ids] = line.split(": ");
  return ids.split(", ").map((id) => `${paper} ${id}`);
});

/** The experiment with what traces of some of its rows need. The first setting and algorithm are of every trace. */
function playedOf(experiment: Experiment, rows: readonly Result[]): Experiment {
  const settings = new Set([experiment.settings[0], ...rows.map(({ setting }) => setting)]);
  const algorithms = new Set([experiment.algorithms[0], ...rows.flatMap((row) => [row.algorithm, rivalOf(row)])]);
  return {
    ...experiment,
    settings: experiment.settings.filter((setting) => settings.has(setting)),
    algorithms: experiment.algorithms.filter((algorithm) => algorithms.has(algorithm)),
  };
}

it("each row of results.json states its commit", () => {
  for (const { commit, affirmed } of results) {
    expect(commit).toMatch(/^[0-9a-f]{8}$/);
    expect(affirmed ?? commit).toMatch(/^[0-9a-f]{8}$/);
  }
});

it.each(figures)("no row of $id in intervals.json is stale", async (figure) => {
  const trace = await traceOf(figure);
  const own = intervals.filter((row) => row.figure === figure.id);
  const isStale = (row: Coverage): boolean => row.trace !== trace && !(row.trace === undefined && row.runs < RUNS);
  const names = own.filter(isStale).map(({ setting }) => setting);
  expect([...new Set(names)], `npm run intervals -- --figure ${figure.id} --affirm`).toEqual([]);
});

it.each(all)("no row of $id is stale", async (paper) => {
  const isCounted = (row: Result): boolean => row.trace !== undefined || !UNTRACED.includes(`${paper.id} ${row.experiment}`);
  const counted = results.filter((row) => row.paper === paper.id && isCounted(row));
  const rowsOf = ({ id }: Experiment): Result[] => counted.filter((row) => row.experiment === id);
  const own = paper.experiments.filter((experiment) => rowsOf(experiment).length > 0).map((each) => playedOf(each, rowsOf(each)));
  const traces = await tracesOf(paper, own);
  for (const experiment of own) {
    const traceOf = traces.get(experiment);
    // It needs data.
    if (!traceOf) continue;
    const stale = rowsOf(experiment).filter((row) => row.trace !== traceOf(row));
    const names = [...new Set(stale.map(({ setting, algorithm }) => `${experiment.id}, ${setting}, ${algorithm}`))];
    expect(names, `npm run reproduce -- --paper ${paper.id} --experiment ${experiment.id} --affirm`).toEqual([]);
  }
});
