// Where the figures of a table's row come from: how many runs, and the command that plays them again.
import { all } from "../papers.ts";
import { type Result, rivalOf } from "../runs/results.ts";

const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];

/** The algorithm of a row; of a ratio, the one that it is over. */
const nameOf = (row: Result): string => rivalOf(row) ?? row.algorithm;

/** The number of runs behind rows of results.json. Algorithms with another number than most are named. */
export function runsOf(rows: readonly Result[]): string {
  const counts = distinct(rows.map(({ runs }) => runs));
  const share = (count: number): number => rows.filter(({ runs }) => runs === count).length;
  const [most, ...others] = counts.toSorted((a, b) => share(b) - share(a) || b - a);
  const named = others.map((count) => {
    const names = distinct(rows.filter(({ runs }) => runs === count).map(nameOf));
    return `${count} of "${names.join('" and "')}"`;
  });
  return [most, ...named].join("; ");
}

/** The command that plays the experiments of rows of results.json, in Markdown. @throws {Error} if an experiment does not exist. */
export function commandOf(rows: readonly Result[]): string {
  const experiments = distinct(rows.map(({ paper, experiment }) => JSON.stringify([paper, experiment])));
  return experiments
    .map((name) => {
      const [paper, id] = JSON.parse(name) as [string, string];
      const own = rows.filter((row) => row.paper === paper && row.experiment === id);
      const experiment = all.find((each) => each.id === paper)?.experiments.find((each) => each.id === id);
      if (!experiment) throw new Error(`There is no experiment ${id} of ${paper}, but results.json has figures of it`);
      const settings = distinct(own.map(({ setting }) => setting));
      const setting = settings.length === 1 && experiment.settings.length > 1 ? ` --setting "${settings[0]}"` : "";
      const runs = Math.max(...own.map((row) => row.runs));
      const data = experiment.dataFiles === undefined ? "" : " --data DIR";
      return `\`npm run reproduce -- --paper ${paper} --experiment ${id}${setting} --runs ${runs}${data}\``;
    })
    .join(", ");
}

/** A row's last cells: the number of runs, and the command. */
export const provenance = (rows: readonly Result[]): readonly [string, string] => [runsOf(rows), commandOf(rows)];
export const PROVENANCE = ["runs", "command"] as const;
