// The results that the documents state, and whether fresh runs still agree with them.
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import type { Curve, Experiment, Paper } from "./experiment.ts";
import { FIGURES, type Result, ratioName, ratioOf, rivalOf, textOf } from "./results.ts";
import { pValue } from "./significance.ts";

const PATH = "experiments/results.json";

export const readStored = async (): Promise<Result[]> => JSON.parse(await readFile(PATH, "utf8"));
export const writeStored = (rows: readonly Result[]): Promise<void> => writeFile(PATH, textOf(rows));

/** The commit of the code that runs. */
export const presentCommit = (): string => execFileSync("git", ["rev-parse", "--short=8", "HEAD"], { encoding: "utf8" }).trim();

const keyOf = ({ paper, experiment, setting, algorithm, metric, at }: Result): string =>
  JSON.stringify([paper, experiment, setting, algorithm, metric, at]);

/** The stored rows with fresh ones in their places. New ones follow those of their experiment. */
export function replaced(stored: readonly Result[], fresh: readonly Result[]): Result[] {
  const left = new Map(fresh.map((row) => [keyOf(row), row]));
  const all = stored.map((row) => {
    const own = left.get(keyOf(row));
    left.delete(keyOf(row));
    return own ?? row;
  });
  for (const row of left.values()) {
    const last = all.findLastIndex(({ paper, experiment }) => paper === row.paper && experiment === row.experiment);
    all.splice(last < 0 ? all.length : last + 1, 0, row);
  }
  return all;
}

/**
 * Ratios that stored figures of runs give, but fresh runs alone do not: those of an algorithm that played, to another that did so earlier.
 * `fresh`: rows of the experiment that have just been run.
 */
export function ratiosBeside(paper: Paper, { id, ratios = [] }: Experiment, stored: readonly Result[], fresh: readonly Result[]): Result[] {
  const own = stored.filter((row) => row.paper === paper.id && row.experiment === id && row.values !== undefined);
  const rowOf = (setting: string, algorithm: string, metric: string): Result | undefined =>
    own.findLast((row) => row.setting === setting && row.algorithm === algorithm && row.metric === metric);
  return ratios.flatMap(({ metric, of, to }) =>
    to.flatMap((rival) =>
      [...new Set(fresh.map(({ setting }) => setting))].flatMap((setting): Result[] => {
        const name = ratioName(metric, rival);
        const isOf = (row: Result, ...names: string[]): boolean => row.setting === setting && names.includes(row.algorithm);
        if (fresh.some((row) => isOf(row, of) && row.metric === name) || !fresh.some((row) => isOf(row, of, rival))) return [];
        const [above, below] = [rowOf(setting, of, metric), rowOf(setting, rival, metric)];
        if (!above?.values || !below?.values) return [];
        const pairs = below.values.flatMap((value, i) => (above.values?.[i] === undefined ? [] : [[above.values[i], value] as const]));
        if (pairs.every(([, value]) => value === 0)) return [];
        const { paper, experiment, at } = above;
        return [{ paper, experiment, setting, algorithm: of, metric: name, at, runs: pairs.length, ...ratioOf(pairs), paperValue: null }];
      }),
    ),
  );
}

/** The fresh runs of an algorithm in a setting. The first of them is run 0. */
export type FreshRuns = (row: Pick<Result, "setting" | "algorithm">) => readonly (readonly Curve[])[];

/** Fresh runs that say something of a mean, as a share of its own: they tell a difference of about eight of its standard errors. */
const LEAST_SHARE = 0.25;

/** The figures of fresh runs that a row is the mean of. */
export function figuresOf(row: Result, freshRuns: FreshRuns): number[] {
  return freshRuns(row).flatMap((run): number[] => {
    const curve = run.find(({ metric }) => metric === row.metric);
    const place = curve ? Array.from(curve.at).indexOf(row.at) : -1;
    return curve && place >= 0 ? [Number(curve.values[place].toPrecision(FIGURES))] : [];
  });
}

/**
 * The p-value of the hypothesis that nothing has changed between a stored mean and fresh runs. It is 1 if fresh runs have the very figures
 * that are stored of them. Undefined if the fresh runs are too few, and for ratios, which rest on other rows.
 */
export function agreement(row: Result, freshRuns: FreshRuns): number | undefined {
  if (rivalOf(row) !== undefined || row.metric === "seconds") return undefined;
  const fresh = figuresOf(row, freshRuns);
  if (fresh.length === 0) return undefined;
  const { mean, standardError, runs, first, values = first === undefined ? [] : [first] } = row;
  const common = Math.min(values.length, fresh.length);
  if (common > 0 && fresh.slice(0, common).every((value, i) => value === values[i])) return 1;
  if (fresh.length < LEAST_SHARE * runs) return undefined;
  const own = fresh.reduce((sum, value) => sum + value, 0) / fresh.length;
  const error = standardError * Math.sqrt(runs) * Math.sqrt(1 / runs + 1 / fresh.length);
  const difference = Math.abs(own - mean);
  if (error === 0) return difference <= 1e-4 * Math.abs(mean) ? 1 : 0;
  return pValue(difference / error, runs - 1);
}
