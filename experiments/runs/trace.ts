// The trace of a row of results.json: a hash of the numbers of a short run, on which the row rests.
import { createHash } from "node:crypto";
import type { Curve, Experiment, Paper } from "./experiment.ts";
import { type Result, rivalOf } from "./results.ts";

const ROUNDS = 500;
/** Figures of a number that count. Engines may compute the last ones of an exponential in different ways. */
export const FIGURES = 9;

/** A short name of a text. */
export const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8);

/** Names the numbers of a run. Seconds differ from run to run, so they do not count. */
function named(curves: readonly Curve[]): string {
  const counted = curves.filter(({ metric }) => metric !== "seconds");
  const figures = (values: ArrayLike<number>): string[] => Array.from(values, (value) => value.toPrecision(FIGURES));
  return hash(JSON.stringify(counted.map(({ metric, at, values }) => [metric, figures(at), figures(values)])));
}

/** The trace of a row. */
export type TraceOf = (row: Pick<Result, "setting" | "algorithm" | "metric">) => string;

/**
 * Plays experiments of a paper for a few rounds: each setting by the first algorithm, and each algorithm in the first setting. The trace of
 * a row names the numbers of the two, and if it is a ratio also those of its rival.
 *
 * Because every engine computes the same bits, a trace changes if and only if code that these rounds run has come to compute something
 * else, the product's or the experiment's. A change of comments, names or structure leaves it as it is.
 *
 * Experiments that need data have no traces.
 */
export async function tracesOf(paper: Paper, experiments: readonly Experiment[]): Promise<ReadonlyMap<Experiment, TraceOf>> {
  const played = new Map<string, Promise<string>>();
  const play = async (experiment: Experiment, setting: string, algorithm: string): Promise<string> => {
    const key = JSON.stringify([experiment.id, setting, algorithm]);
    const run = () => experiment.run({ setting, algorithm, run: 0, files: [], rounds: experiment.traced ?? ROUNDS });
    if (!played.has(key)) played.set(key, Promise.resolve(run()).then(named));
    return played.get(key) as Promise<string>;
  };
  const traces = new Map<Experiment, TraceOf>();
  for (const experiment of experiments) {
    if (experiment.dataFiles) continue;
    const { settings, algorithms, algorithmsIn } = experiment;
    const stage = paper.experiments.find(({ id }) => id === algorithmsIn) ?? experiment;
    const [bySetting, byAlgorithm] = [new Map<string, string>(), new Map<string, string>()];
    for (const setting of settings) bySetting.set(setting, await play(experiment, setting, algorithms[0]));
    for (const algorithm of algorithms) byAlgorithm.set(algorithm, await play(stage, stage.settings[0], algorithm));
    traces.set(experiment, (row) => {
      const names = [row.algorithm, rivalOf(row)].flatMap((name) => (name === undefined ? [] : [name]));
      return hash([bySetting.get(row.setting), ...names.map((name) => byAlgorithm.get(name))].join(" "));
    });
  }
  return traces;
}
