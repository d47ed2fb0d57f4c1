// Writes the tables and figures of docs/research.md about the shop suite.

import { table } from "../../cli/command/markdown.ts";
import { intervalOf, type Result, ratioName, ratioText, resolutionOf, verdictOf, winsOf, winsText } from "../runs/results.ts";
import type { Comparison } from "../summary/choosing.ts";
import { PROVENANCE, provenance } from "../summary/provenance.ts";
import { AS_ZERO, algorithms, DEFAULT, KNOWN, SHOPS_OWN, WAITING } from "./algorithms.ts";

const REGRET = "cumulative regret";
const SLOW = "share of slow products, from the second week on";

/** Experiments with every algorithm. */
const EXPERIMENTS = ["catalogue", "large-catalogue", "small-catalogue", "products", "classification", "slow", "random"];

/** Worlds whose window is at least a tenth of the horizon. */
const WIDE = [
  "2 days, window 7 days",
  "4 days, log-normal, window 14 days, daily batches",
  "one-hot, 2 days, window 6 days",
  "one-hot, 2 days, window 6 days, drift",
  "encoder, mean 5 % of the horizon",
  "encoder, mean 25 % of the horizon",
  "disjoint, mean 5 % of the horizon",
  "disjoint, mean 25 % of the horizon",
  "half slow, all at 3 %",
  "the best slow, at 6 %",
  "window 10 to 30 % of the horizon",
];

/** Worlds whose mean delay is more than a twentieth of the horizon. */
const LATE = [
  "4 days, log-normal, window 14 days, daily batches",
  "one-hot, 2 days, window 6 days",
  "one-hot, 2 days, window 6 days, drift",
  "encoder, mean 25 % of the horizon",
  "disjoint, mean 25 % of the horizon",
  "the best slow, at 6 %",
];

/** A world of an experiment. */
interface World {
  readonly experiment: string;
  readonly setting: string;
}

/** Knowing delays cannot help where conversions come at once. */
const atOnce = ({ setting }: World): boolean => setting.includes("at once");
const labelOf = (world: World): string => `${world.experiment}: ${world.setting}${atOnce(world) ? " *" : ""}`;

const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(2));

const ofShop = (results: readonly Result[], experiment: string): Result[] =>
  results.filter((each) => each.paper === "shop" && each.experiment === experiment);

function worldsOf(results: readonly Result[]): World[] {
  return EXPERIMENTS.flatMap((experiment) =>
    [...new Set(ofShop(results, experiment).map(({ setting }) => setting))].map((setting) => ({ experiment, setting })),
  );
}

/** The last row of a metric: a curve may be reported at several rounds. */
const last = (results: readonly Result[], { experiment, setting }: World, algorithm: string, metric: string): Result | undefined =>
  ofShop(results, experiment).findLast((each) => each.setting === setting && each.algorithm === algorithm && each.metric === metric);

/** The algorithms that have played in the worlds of the tables. */
const namesIn = (results: readonly Result[]): string[] => {
  const played = [...EXPERIMENTS, "long"].flatMap((experiment) => ofShop(results, experiment));
  return Object.keys(algorithms).filter((name) => played.some(({ algorithm }) => algorithm === name));
};

const present = (rows: readonly (Result | undefined)[]): Result[] => rows.filter((row) => row !== undefined);

/** The regret of each algorithm in each world. */
export function shopTable(results: readonly Result[]): string {
  const names = namesIn(results);
  const rows = worldsOf(results).map((world) => {
    const found = names.map((name) => last(results, world, name, REGRET));
    const cells = found.map((each) => (each === undefined ? "" : `${shown(each.mean)} ± ${shown(each.standardError)}`));
    return [labelOf(world), ...cells, ...provenance(present(found))];
  });
  return table(["world", ...names, ...PROVENANCE], rows);
}

/** Rivals of a kind, and what the interval of 95 % of the ratio to the best of them must end below. */
interface Kind {
  readonly label: string;
  readonly names: readonly string[];
  mostOf(world: World): number;
}

const NO_WORSE = 1.02;

const kinds: readonly Kind[] = [
  { label: "takes pending for zero", names: AS_ZERO, mostOf: ({ setting }) => (LATE.includes(setting) ? 0.95 : NO_WORSE) },
  { label: "waits", names: WAITING, mostOf: ({ setting }) => (WIDE.includes(setting) ? 0.9 : NO_WORSE) },
  { label: "counts sales", names: SHOPS_OWN, mostOf: () => 1 },
];

interface Rival {
  readonly name: string;
  /** The regret of the default over that of the rival. */
  readonly ratio: Result;
}

/** The rivals that have played the same runs as the default. */
const rivalsIn = (results: readonly Result[], world: World, names: readonly string[]): Rival[] =>
  names.flatMap((name) => {
    const ratio = last(results, world, DEFAULT, ratioName(REGRET, name));
    return ratio ? [{ name, ratio }] : [];
  });

/** The rival that is best in hindsight, which is in its favour. */
const best = (rivals: readonly Rival[]): Rival => rivals.reduce((most, each) => (each.ratio.mean > most.ratio.mean ? each : most));

const shortened = (name: string): string => name.replace(/^default, (pending as zero|waiting)/, "default");

/** The regret of the default over that of the best rival of each kind. */
export function shopRatios(results: readonly Result[]): string {
  const rows = worldsOf(results).flatMap((world) => {
    const rivals = kinds.map(({ names }) => rivalsIn(results, world, names));
    if (rivals.every(({ length }) => length === 0)) return [];
    const cells = kinds.flatMap(({ mostOf }, i) => {
      if (rivals[i].length === 0) return ["", "", "", ""];
      const { name, ratio } = best(rivals[i]);
      const most = mostOf(world);
      const reached = intervalOf(ratio).high < most ? "yes" : "**no**";
      return [
        shortened(name),
        `${ratioText(ratio)} ${verdictOf(ratio)}`,
        `${(100 * resolutionOf(ratio)).toFixed(0)} %`,
        `${most}: ${reached}`,
      ];
    });
    return [[labelOf(world), ...cells, ...provenance(rivals.flat().map(({ ratio }) => ratio))]];
  });
  const head = kinds.flatMap(({ label }) => [`best that ${label}`, "over it", "tells", "below"]);
  return table(["world", ...head, ...PROVENANCE], rows);
}

/** The regret of the default over that of the oracle that knows the delays. */
export function shopOracle(results: readonly Result[]): string {
  const rows = worldsOf(results).flatMap((world) =>
    rivalsIn(results, world, [KNOWN]).map(({ ratio }) => [
      labelOf(world),
      `${ratioText(ratio)} ${verdictOf(ratio)}`,
      `${(100 * resolutionOf(ratio)).toFixed(0)} %`,
      ...provenance([ratio]),
    ]),
  );
  return table(["world", "default over delays known", "tells", ...PROVENANCE], rows);
}

/** Verdicts on the default beside the best rival of one kind, in the worlds with late conversions. */
export interface Verdicts {
  /** The verb of the rivals, such as "waits". */
  readonly rival: string;
  readonly worlds: number;
  readonly wins: number;
  /** Wins that remain after Holm's correction for the number of worlds. */
  readonly certain: number;
  readonly ties: number;
  readonly losses: number;
}

/** The verdicts beside each kind of rival. */
export function verdictsOf(results: readonly Result[]): Verdicts[] {
  const late = worldsOf(results).filter((world) => !atOnce(world));
  return kinds.map(({ label, names }) => {
    const ratios = late.map((world) => rivalsIn(results, world, names)).flatMap((rivals) => (rivals.length > 0 ? best(rivals).ratio : []));
    const [ties, losses] = ["ties", "loses"].map((verdict) => ratios.filter((each) => verdictOf(each) === verdict).length);
    return { rival: label, worlds: ratios.length, ...winsOf(ratios), ties, losses };
  });
}

/** In how many worlds with late conversions the default wins, ties and loses, beside the better rival of each kind. */
export function shopVerdicts(results: readonly Result[]): string {
  const lines = verdictsOf(results).map(
    ({ rival, worlds, wins, certain, ties, losses }) =>
      `- beside the best that ${rival}, in ${worlds} worlds: it wins in ${wins}, ties in ${ties} and loses in ${losses}; ${certain} of the wins remain after Holm's correction for ${worlds} comparisons`,
  );
  const oracle = worldsOf(results).flatMap((world) => rivalsIn(results, world, [KNOWN]).map(({ ratio }) => ratio));
  return [
    "Where conversions are late, the default has these verdicts:",
    "",
    ...lines,
    `- beside the oracle that knows the delays: ${winsText(oracle)}`,
  ].join("\n");
}

/** Where regret does not tell all: the traffic of slow products, runs that stay with another product, and a long horizon. */
export function shopTraffic(results: readonly Result[]): string {
  const names = namesIn(results);
  const row = (world: World, metric: string, label: string): string[] => {
    const found = names.map((name) => last(results, world, name, metric));
    const cells = found.map((each) => {
      if (!each) return "";
      return metric === "stuck" ? `${Math.round(each.mean * each.runs)} of ${each.runs}` : shown(each.mean);
    });
    return [labelOf(world), label, ...cells, ...provenance(present(found))];
  };
  const of = (experiment: string): World[] => worldsOf(results).filter((each) => each.experiment === experiment);
  const long = [...new Set(ofShop(results, "long").map(({ setting }) => setting))];
  const rows = [
    ...of("slow").map((world) => row(world, SLOW, "share of slow products")),
    ...of("products").map((world) => row(world, "stuck", "stuck runs")),
    ...long.flatMap((setting) =>
      [REGRET, "stuck"].map((metric) => row({ experiment: "long", setting }, metric, metric === "stuck" ? "stuck runs" : "regret")),
    ),
  ];
  return table(["world", "figure", ...names, ...PROVENANCE], rows, 2);
}

/** The regret in money of each algorithm, and that of the default over it. */
export function shopMoney(results: readonly Result[]): string {
  const own = ofShop(results, "money").filter(({ metric }) => metric === REGRET);
  const rows = own.map((row) => {
    const ratio = last(results, { experiment: "money", setting: row.setting }, DEFAULT, ratioName(REGRET, row.algorithm));
    const figure = `${shown(row.mean)} ± ${shown(row.standardError)}`;
    return [row.setting, row.algorithm, figure, ratio ? `${ratioText(ratio)} ${verdictOf(ratio)}` : "", ...provenance([row])];
  });
  return table(["world", "algorithm", "regret in EUR", "default over it", ...PROVENANCE], rows, 2);
}

/** The figures by name: the regret of each algorithm that has played all worlds of an experiment. */
export function shopComparisons(results: readonly Result[]): Readonly<Record<string, Comparison>> {
  const same = (names: readonly string[]): Record<string, string> => Object.fromEntries(names.map((name) => [name, name]));
  const drawn = EXPERIMENTS.map((experiment): [string, Comparison] => {
    const own = worldsOf(results).filter((world) => world.experiment === experiment);
    const names = Object.keys(algorithms).filter((name) => own.every((world) => last(results, world, name, REGRET)));
    return [
      `shop-${experiment}`,
      { experiments: [experiment], metric: REGRET, settings: same(own.map(({ setting }) => setting)), algorithms: same(names) },
    ];
  });
  return Object.fromEntries(drawn);
}
