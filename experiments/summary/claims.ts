// Checks the papers' claims against results.json, and writes the table of claims in docs/research.md.
import { table } from "../../cli/command/markdown.ts";
import type { Result } from "../runs/results.ts";
import { PROVENANCE, provenance } from "./provenance.ts";

/** The figures that decide a claim, and whether it holds. */
export interface Weighed {
  readonly figures: string;
  readonly holds: boolean;
}

interface Claim {
  readonly paper: string;
  readonly says: string;
  weigh(mean: Look): Weighed;
}

/** Looks up the mean of a result. @throws {Error} if there is no such result. */
export type Look = (experiment: string, setting: string, algorithm: string, metric?: string) => number;

const shown = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(2));
export const list = (values: readonly number[]): string => values.map(shown).join(" / ");
/** Whether each of `values` is less than the value at the same index in all `others`. */
const below = (values: readonly number[], ...others: readonly (readonly number[])[]): boolean =>
  others.every((other) => values.every((value, i) => value < other[i]));

const mean100 = ["m = 100, mean 100", "m = 500, mean 100"];
const vernade = [...mean100, "m = 100, mean 500"];
const laws = ["Poisson 10", "fixed 10"];
const late = ["f1, Poisson 25", "f1, Poisson 50", "f2, Poisson 25", "f2, Poisson 50"];
const delays = ["no delay", "uniform 20", "uniform 50", "geometric 20", "geometric 50"];
const functions = ["Rosenbrock", "ellipsoid", "Schaffer", "Rastrigin"];

/** A claim that `first` has less of `metric` than the others in every setting. */
function least(
  paper: string,
  says: string,
  experiment: string,
  settings: readonly string[],
  metric: string,
  names: readonly string[],
): Claim {
  return {
    paper,
    says,
    weigh(mean) {
      const [first, ...others] = names.map((name) => settings.map((setting) => mean(experiment, setting, name, metric)));
      return {
        figures: names.map((name, i) => `${name} ${list([first, ...others][i])}`).join("; "),
        holds: below(first, ...others),
      };
    },
  };
}

/** A claim that the cells of a paper's table are reproduced within a tenth. */
function cells(
  says: string,
  experiment: string,
  settings: readonly string[],
  algorithm: string,
  printed: (setting: string) => number,
): Claim {
  return {
    paper: "Liu 2025",
    says,
    weigh(mean) {
      const ratios = settings.map((setting) => mean(experiment, setting, algorithm) / printed(setting));
      return {
        figures: `${list([Math.min(...ratios)])} to ${list([Math.max(...ratios)])} times the table`,
        holds: ratios.every((ratio) => Math.abs(ratio - 1) <= 0.1),
      };
    },
  };
}

function claims(printed: (experiment: string, setting: string, algorithm: string) => number): Claim[] {
  const oneDimensional = ["triangle", "sine"].flatMap((name) => delays.map((delay) => `${name}, ${delay}`));
  const twoDimensional = delays.map((delay) => `two-dimensional, ${delay}`);
  const zooming = "Delayed Zooming, sigma 0.03";
  const own = "DLPP, sigma of the function";
  const table = (experiment: string, algorithm: string) => (setting: string) => printed(experiment, setting, algorithm);
  const sdf = ["GP-UCB-SDF", "GP-UCB", "GP-BUCB"];
  const sampling = ["GP-TS-SDF", "asy-TS", "GP-BTS"];
  const error = "validation error (%)";
  return [
    {
      paper: "Vernade 2020",
      says: "OTFLinUCB has a regret of about 100 at mean delay 100 (Fig. 1), by the rule of the authors' simulation",
      weigh(mean) {
        const [released, rule, uniform] = ["OTFLinUCB released", "OTFLinUCB printed", "uniform"].map((name) =>
          mean100.map((setting) => mean("figure-1", setting, name)),
        );
        return {
          figures: `${list(released)}; by the printed rule ${list(rule)}, uniform ${list(uniform)}`,
          holds: released.every((regret) => Math.abs(regret - 100) <= 15),
        };
      },
    },
    least("Vernade 2020", "OTFLinUCB has less regret than OTFLinTS (Fig. 1), both as released", "figure-1", vernade, "cumulative regret", [
      "OTFLinUCB released",
      "OTFLinTS released",
    ]),
    least("Vernade 2020", "the same, both as printed", "figure-1", vernade, "cumulative regret", ["OTFLinUCB printed", "OTFLinTS printed"]),
    least(
      "Vernade 2020",
      "OTFLinUCB copes with heavy tails (Fig. 3; a stand-in law)",
      "figure-3",
      ["log-normal mixture"],
      "cumulative regret",
      ["OTFLinUCB released", "OTFLinTS released", "uniform"],
    ),
    least("Verma 2022", "GP-UCB-SDF has the least simple regret (Fig. 1c-d)", "figure-1cd", laws, "simple regret", sdf),
    least("Verma 2022", "GP-TS-SDF has the least simple regret (Fig. 5)", "figure-5", laws, "simple regret", sampling),
    least("Verma 2022", "the least validation error for an SVM on Pima (Fig. 2a-b)", "svm-pima", laws, error, sdf),
    least("Verma 2022", "the same by sampling (Fig. 2c-d)", "svm-pima", laws, error, sampling),
    least("Verma 2022", "the least validation error for logistic regression (Fig. 3a-b)", "lr-breast-cancer", laws, error, sdf),
    least(
      "Verma 2022",
      "the least regret over tasks one after the other (Fig. 4a; 20 tasks)",
      "figure-4a",
      ["20 tasks"],
      "cumulative regret",
      [...sdf, "uniform"],
    ),
    least(
      "Verma 2022",
      "the same over 50 tasks, with another configuration: a given noise, and fits without pending impressions",
      "multi-task",
      ["50 tasks"],
      "cumulative regret",
      sdf,
    ),
    least("Verma 2022", "the same by sampling (Fig. 4b)", "multi-task", ["50 tasks"], "cumulative regret", sampling),
    least("Vakili 2023", "BPE-Delay has less regret than GP-UCB-SDF under delay", "figures-2-5", late, "cumulative regret", [
      "BPE-Delay",
      "GP-UCB-SDF",
    ]),
    least("Vakili 2023", "BPE-Delay has less regret than BPE under delay", "figures-2-5", late, "cumulative regret", ["BPE-Delay", "BPE"]),
    cells(
      "Delayed Zooming in one dimension, sigma 0.03 (Table 1)",
      "one-dimensional",
      oneDimensional,
      zooming,
      table("one-dimensional", zooming),
    ),
    cells("Delayed Zooming in two dimensions, sigma 0.03", "two-dimensional", twoDimensional, zooming, table("two-dimensional", zooming)),
    cells("DLPP, at a sigma of its own for each function", "one-dimensional", oneDimensional, own, table("one-dimensional", own)),
    cells("the same in two dimensions", "two-dimensional", twoDimensional, own, table("two-dimensional", own)),
    cells(
      "DLPP at the sigma of Zooming, 0.03",
      "one-dimensional",
      oneDimensional,
      "DLPP, sigma 0.03",
      table("one-dimensional", "DLPP, sigma 0.03"),
    ),
    {
      paper: "Calandriello 2022",
      says: "MINI-GP-UCB keeps GP-UCB's regret (within 10 %) with at most 60 % of its batches",
      weigh(mean) {
        const ratio = (metric: string): number[] =>
          functions.map((name) => mean("figures-3-4", name, "MINI-GP-UCB", metric) / mean("figures-3-4", name, "GP-UCB", metric));
        const [regret, batches] = [ratio("cumulative regret"), ratio("batches")];
        return {
          figures: `regret ${list(regret)} times, batches ${list(batches)} times GP-UCB's`,
          holds: regret.every((each) => each <= 1.1) && batches.every((each) => each <= 0.6),
        };
      },
    },
    least("Calandriello 2022", "MINI-GP-UCB takes less time than GP-UCB (seconds)", "figures-3-4", functions, "seconds", [
      "MINI-GP-UCB",
      "GP-UCB",
    ]),
    least(
      "Calandriello 2022",
      "GP rules with their theoretical widths beat epsilon-greedy",
      "figures-3-4",
      functions,
      "regret over uniform's",
      ["MINI-GP-UCB", "epsilon-greedy"],
    ),
  ];
}

function matching(results: readonly Result[], [experiment, setting, algorithm, metric]: Parameters<Look>): Result | undefined {
  return results.find(
    (each) =>
      each.experiment === experiment &&
      each.setting === setting &&
      each.algorithm === algorithm &&
      (metric === undefined || each.metric === metric),
  );
}

/** @throws {Error} if there is no such result. */
function found(results: readonly Result[], names: Parameters<Look>): Result {
  const result = matching(results, names);
  if (!result) throw new Error(`results.json has no ${names.join(", ")}`);
  return result;
}

/** Looks up means, and keeps the results that were looked up. `has`: whether there is such a result. */
export function watched(results: readonly Result[]) {
  const used: Result[] = [];
  return {
    used,
    has: (...names: Parameters<Look>): boolean => matching(results, names) !== undefined,
    mean(...names: Parameters<Look>): number {
      const result = found(results, names);
      if (!used.includes(result)) used.push(result);
      return result.mean;
    },
  };
}

/** The table of claims: the paper's statement, the figures here, and whether they reproduce it. */
export function claimsTable(results: readonly Result[]): string {
  const printed = (experiment: string, setting: string, algorithm: string): number => {
    const { paperValue } = found(results, [experiment, setting, algorithm]);
    if (paperValue === null) throw new Error(`the paper prints nothing for ${experiment}, ${setting}, ${algorithm}`);
    return paperValue;
  };
  const rows = claims(printed).map(({ paper, says, weigh }) => {
    const { mean, used } = watched(results);
    const { figures, holds } = weigh(mean);
    return [paper, says, figures, holds ? "yes" : "**no**", ...provenance(used)];
  });
  return table(["paper", "it says", "here", "reproduced", ...PROVENANCE], rows, 4);
}
