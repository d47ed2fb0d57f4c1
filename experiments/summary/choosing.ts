// Writes the tables and figures of docs/choosing.md from results.json, and its list of policies from the policies' files.
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { policies } from "afterclick";
import { parse, resetSVGDefIds, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { table, withTables } from "../../cli/command/markdown.ts";
import { geometric, logNormalMixture, uniformDelay } from "../../src/simulation/delay-law.ts";
import type { Result } from "../runs/results.ts";
import { PROVENANCE, provenance } from "./provenance.ts";

/** A comparison. Each setting is a column of the table or a panel of the figure; each algorithm is a row or a bar. */
export interface Comparison {
  /** The first experiment that has an algorithm supplies its numbers. Two experiments here played the same runs. */
  readonly experiments: readonly string[];
  readonly metric: string;
  /** Labels of settings and algorithms, by their names in results.json. */
  readonly settings: Readonly<Record<string, string>>;
  readonly algorithms: Readonly<Record<string, string>>;
}

/** Comparisons by the name of their mark in the guide. The figure's file has the same name. */
export const comparisons: Readonly<Record<string, Comparison>> = {
  linear: {
    experiments: ["vernade", "figure-1"],
    metric: "cumulative regret",
    settings: {
      "m = 500, mean 100": "window 500, mean 100",
      "m = 100, mean 100": "window 100, mean 100",
      "m = 100, mean 500": "window 100, mean 500",
    },
    algorithms: {
      "delay-lin-ts": "`delay-lin-ts`",
      "delay-lin-ucb": "`delay-lin-ucb`",
      "LinTS, pending as zero": "`otf-lin-ts`, narrow",
      "OTFLinUCB released": "`otf-lin-ucb`",
      "OTFLinTS released": "`otf-lin-ts`",
      "OTFLinTS printed": "`otf-lin-ts`, as printed",
      "OTFLinUCB printed": "`otf-lin-ucb`, as printed",
      uniform: "`uniform`",
    },
  },
  "heavy-tail": {
    experiments: ["heavy-tail"],
    metric: "cumulative regret",
    settings: { "log-normal mixture": "window 2,000, heavy tail" },
    algorithms: {
      "delay-lin-ts": "`delay-lin-ts`",
      "delay-lin-ucb": "`delay-lin-ucb`",
      "LinTS, pending as zero": "`otf-lin-ts`, narrow",
      "OTFLinUCB released": "`otf-lin-ucb`",
      "OTFLinTS released": "`otf-lin-ts`",
      uniform: "`uniform`",
    },
  },
  kernel: {
    experiments: ["vakili"],
    metric: "cumulative regret",
    settings: {
      "f1, Poisson 25": "f1, mean 25",
      "f1, Poisson 50": "f1, mean 50",
      "f2, Poisson 25": "f2, mean 25",
      "f2, Poisson 50": "f2, mean 50",
    },
    algorithms: {
      "delay-aware GP-UCB": "`delay-gp-ucb`",
      "GP-BUCB": "`gp-bucb`",
      "GP-UCB": "`gp-ucb`",
      "GP-UCB-SDF": "`gp-ucb-sdf`",
      "BPE-Delay": "`bpe-delay`",
      BPE: "`bpe`",
    },
  },
  best: {
    experiments: ["figure-1cd"],
    metric: "simple regret",
    settings: { "Poisson 10": "mean 10", "fixed 10": "always 10" },
    algorithms: { "GP-UCB-SDF": "`gp-ucb-sdf`", "GP-BUCB": "`gp-bucb`", "GP-UCB": "`gp-ucb`" },
  },
  window: {
    experiments: ["figure-1b"],
    metric: "cumulative regret",
    settings: { "m = 5": "window 5", "m = 10": "window 10", "m = 20": "window 20", "m = 40": "window 40" },
    algorithms: { "GP-UCB-SDF": "`gp-ucb-sdf`" },
  },
};

export function find({ experiments, metric }: Comparison, setting: string, algorithm: string, results: readonly Result[]): Result {
  const [found] = experiments.flatMap((experiment) =>
    results.filter(
      (each) => each.experiment === experiment && each.metric === metric && each.setting === setting && each.algorithm === algorithm,
    ),
  );
  if (!found) throw new Error(`results.json has no ${[experiments.join(" or "), setting, algorithm, metric].join(", ")}`);
  return found;
}

const shown = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) < 0.001 ? "0.000" : value.toPrecision(2);

/** A Markdown table of means with their standard errors. */
function tableOf(comparison: Comparison, results: readonly Result[]): string {
  const settings = Object.entries(comparison.settings);
  const rows = Object.entries(comparison.algorithms).map(([algorithm, name]) => {
    const found = settings.map(([setting]) => find(comparison, setting, algorithm, results));
    return [name, ...found.map(({ mean, standardError }) => `${shown(mean)} ± ${shown(standardError)}`), ...provenance(found)];
  });
  return table(["policy", ...settings.map(([, label]) => label), ...PROVENANCE], rows);
}

/** A Markdown table: the share of conversions inside a window, by its length in multiples of the delay's mean or median. */
function sharesTable(): string {
  const typical = 1000;
  const laws = {
    "uniform, over its mean": uniformDelay(typical),
    "geometric, over its mean": geometric(typical),
    "log-normal (sigma 1), over its median": logNormalMixture([{ weight: 1, mu: Math.log(typical), sigma: 1 }]),
    "log-normal (sigma 2), over its median": logNormalMixture([{ weight: 1, mu: Math.log(typical), sigma: 2 }]),
  };
  const lengths = [0.5, 1, 2, 5, 10, 20];
  const rows = Object.entries(laws).map(([name, law]) => [
    name,
    ...lengths.map((length) => `${(100 * law.cdf(length * typical)).toFixed(0)} %`),
  ]);
  return table(["delays", ...lengths.map((length) => `${length} times`)], rows);
}

/** Every policy with its factory, its id and its paper, as the head comment of its file states them. */
function papersTable(): string {
  const root = fileURLToPath(new URL("../../src/policy", import.meta.url).href);
  const files = globSync("*/*.ts", { cwd: root });
  const rows = policies.map(({ id }) => {
    const file = files.find((path) => basename(path) === `${id}.ts`);
    const text = file === undefined ? "" : readFileSync(join(root, file), "utf8");
    const [, name] = /^export const (\w+): PolicyFactory/m.exec(text) ?? [];
    const [, paper] = /^\/\/ Paper: ((?:.*\n)(?:\/\/ {3}.*\n)*)/.exec(text) ?? [];
    if (name === undefined || paper === undefined)
      throw new Error(`${id}.ts in a folder of src/policy must start with "// Paper:" and export a PolicyFactory.`);
    return [
      `\`${name}\``,
      `\`${id}\``,
      paper
        .trim()
        .replaceAll(/\n\/\/ +/g, " ")
        .replace(/^none\. /, "this project. "),
    ];
  });
  return table(["policy", "id", "paper"], rows, 3);
}

/** The guide with its tables replaced. */
export function withNumbers(guide: string, results: readonly Result[]): string {
  const tables = Object.entries(comparisons).map(([name, comparison]) => [name, tableOf(comparison, results)]);
  return withTables(guide, { ...Object.fromEntries(tables), shares: sharesTable(), policies: papersTable() });
}

/** A comparison as an SVG: bars of means, with one standard error. */
export async function drawingOf(comparison: Comparison, results: readonly Result[]): Promise<string> {
  const { settings, algorithms, metric } = comparison;
  const plain = (name: string): string => name.replaceAll("`", "");
  const values = Object.entries(settings).flatMap(([setting, label]) =>
    Object.entries(algorithms).map(([algorithm, name]) => {
      const { mean, standardError } = find(comparison, setting, algorithm, results);
      return { setting: label, policy: plain(name), mean, low: mean - standardError, high: mean + standardError };
    }),
  );
  const order = Object.values(algorithms).map(plain);
  const policy = { field: "policy", type: "nominal", title: null, sort: order } as const;
  const spec: TopLevelSpec = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    data: { values },
    facet: { field: "setting", type: "nominal", title: null, sort: Object.values(settings) },
    columns: 4,
    spec: {
      width: 190,
      height: { step: 24 },
      encoding: { y: { ...policy, axis: { ticks: false, domain: false, labelLimit: 240 } } },
      layer: [
        {
          mark: { type: "bar", cornerRadiusEnd: 2, height: { band: 0.7 } },
          encoding: {
            x: { field: "mean", type: "quantitative", title: metric },
            color: { ...policy, legend: null, scale: { range: order.map((_, i) => (i === 0 ? "#0b7a5c" : "#9db8ae")) } },
          },
        },
        { mark: { type: "rule", strokeWidth: 1.5 }, encoding: { x: { field: "low", type: "quantitative" }, x2: { field: "high" } } },
      ],
    },
    config: {
      background: "white",
      view: { stroke: null },
      axis: { grid: false, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
      header: { labelFontSize: 13 },
    },
  };
  // Otherwise ids continue from the previous drawing of this process.
  resetSVGDefIds();
  return `${await new View(parse(compile(spec).spec), { renderer: "none" }).toSVG()}\n`;
}
