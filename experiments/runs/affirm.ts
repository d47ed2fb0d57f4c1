// Affirms rows of results.json whose code has changed since they were run, by few fresh runs.
import type { Played } from "./played.ts";
import { type Result, rivalOf, type Series } from "./results.ts";
import { holm } from "./significance.ts";
import { agreement, figuresOf } from "./stored-results.ts";
import type { TraceOf } from "./trace.ts";

/** The stored rows of an experiment, and those of them that are stale: their trace is not that of the code. */
export function staleRows(
  { paper, experiment }: Pick<Played, "paper" | "experiment">,
  stored: readonly Result[],
  traceOf: TraceOf,
): Result[] {
  return stored.filter((row) => row.paper === paper.id && row.experiment === experiment.id && row.trace !== traceOf(row));
}

/** A stale row beside fresh runs. */
interface Compared {
  readonly row: Result;
  readonly traceOf: TraceOf;
  /** @see agreement */
  readonly p: number | undefined;
  /** The figure of run 0. */
  readonly first: number | undefined;
}

/** Compares stale rows with the fresh runs of their algorithms in their settings. */
export function comparedRows(stale: readonly Result[], series: readonly Series[], traceOf: TraceOf): Compared[] {
  const runsOf = ({ setting, algorithm }: Pick<Result, "setting" | "algorithm">) =>
    series.find((each) => each.setting === setting && each.algorithm === algorithm)?.runs ?? [];
  return stale.map((row) => ({ row, traceOf, p: agreement(row, runsOf), first: figuresOf(row, runsOf)[0] }));
}

const seriesKey = ({ paper, experiment, setting }: Result, algorithm: string): string =>
  JSON.stringify([paper, experiment, setting, algorithm]);

/**
 * The rows that fresh runs agree with, and those that they contradict. A row is contradicted if its p-value is significant beside those of all
 * others. An algorithm in a setting is affirmed as a whole, and a ratio with both of its algorithms.
 */
export function affirmedRows(
  compared: readonly Compared[],
  commit: string,
): { readonly affirmed: Result[]; readonly contradicted: Result[] } {
  const told = compared.filter(({ p }) => p !== undefined);
  const isFar = holm(told.map(({ p }) => p as number));
  const contradicted = told.flatMap(({ row }, i) => (isFar[i] ? [row] : []));
  const far = new Set(contradicted.map((row) => seriesKey(row, row.algorithm)));
  const near = new Set(told.map(({ row }) => seriesKey(row, row.algorithm)).filter((key) => !far.has(key)));
  const affirmed = compared.flatMap(({ row, traceOf, first }) => {
    const names = [row.algorithm, rivalOf(row) ?? row.algorithm];
    if (!names.every((name) => near.has(seriesKey(row, name)))) return [];
    const figure = row.values || rivalOf(row) !== undefined || first === undefined ? {} : { first };
    return [{ ...row, ...figure, affirmed: commit, trace: traceOf(row) }];
  });
  return { affirmed, contradicted };
}
