// The results that the documents state, and whether fresh runs still agree with them.
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import type { Curve } from "./experiment.ts";
import { FIGURES, type Result, rivalOf, textOf } from "./results.ts";
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

/** The fresh runs of an algorithm in a setting. The first of them is run 0. */
export type FreshRuns = (row: Pick<Result, "setting" | "algorithm">) => readonly (readonly Curve[])[];

/**
 * The p-value of the hypothesis that a stored mean and fresh runs are of one distribution. 1 if a fresh run has the very value that is
 * stored of it, to its figures. Undefined without fresh runs, and for ratios, which rest on other rows.
 */
export function agreement(row: Result, freshRuns: FreshRuns): number | undefined {
  if (rivalOf(row) !== undefined || row.metric === "seconds") return undefined;
  const fresh = freshRuns(row).flatMap((run): number[] => {
    const curve = run.find(({ metric }) => metric === row.metric);
    const place = curve ? Array.from(curve.at).indexOf(row.at) : -1;
    return curve && place >= 0 ? [curve.values[place]] : [];
  });
  if (fresh.length === 0) return undefined;
  const { mean, standardError, runs, values } = row;
  if (values && fresh.every((value, i) => Number(value.toPrecision(FIGURES)) === values[i])) return 1;
  const own = fresh.reduce((sum, value) => sum + value, 0) / fresh.length;
  const error = standardError * Math.sqrt(runs) * Math.sqrt(1 / runs + 1 / fresh.length);
  const difference = Math.abs(own - mean);
  if (error === 0) return difference <= 1e-9 * Math.abs(mean) ? 1 : 0;
  return pValue(difference / error, runs - 1);
}
