import { parse, resetSVGDefIds, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import type { Entry } from "./entry.ts";

/** A figure: one panel per kind of work, with the median against a size. */
interface Axis {
  /** The size, as workloads are named by it. */
  readonly name: string;
  readonly title: string;
  /** Kinds of work with a panel. */
  readonly works: readonly string[];
  readonly scale: "log" | "linear";
}

export const axes: readonly Axis[] = [
  { name: "k", title: "actions (k)", works: ["decision", "greedy", "first-request"], scale: "log" },
  { name: "d", title: "components of a vector (d)", works: ["decision", "ridge-score"], scale: "log" },
  { name: "n", title: "observations (n)", works: ["gp-score"], scale: "log" },
  { name: "goals", title: "goals", works: ["decision"], scale: "linear" },
  { name: "terms", title: "non-zeros of a vector, before some share a component", works: ["decision"], scale: "linear" },
];

/** Sizes that names of workloads leave out. */
const DEFAULTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  decision: { goals: 1, terms: 30 },
  "decision-goals": { goals: 2, terms: 30 },
};

/** The kind of work and the sizes that a workload's name states. */
export function sizesOf(name: string): { readonly work: string; readonly sizes: ReadonlyMap<string, number> } {
  const [work, ...rest] = name.split(" ");
  const stated = rest.flatMap((word) => Array.from(word.matchAll(/^(\w+)=(\d+)$/g), ([, size, value]) => [size, Number(value)] as const));
  return { work: work === "decision-goals" ? "decision" : work, sizes: new Map([...Object.entries(DEFAULTS[work] ?? {}), ...stated]) };
}

/** A point of a curve. */
interface Point {
  readonly panel: string;
  readonly at: number;
  readonly variant: string;
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
}

/** The points of a figure. A panel has at least two sizes. */
export function pointsOf({ name, works }: Pick<Axis, "name" | "works">, entries: readonly Entry[]): Point[] {
  const points = entries.flatMap(({ workload, unit, variants }) => {
    const { work, sizes } = sizesOf(workload);
    const at = sizes.get(name);
    if (!works.includes(work) || at === undefined) return [];
    const others = Array.from(sizes).filter(([size, value]) => size !== name && value !== DEFAULTS.decision[size]);
    const panel = [work, ...others.map((size) => size.join("="))].join(" ");
    return variants.map(({ variant, median, p10, p90 }) => ({ panel: `${panel} (${unit})`, at, variant, median, p10, p90 }));
  });
  const isCurve = (panel: string) => new Set(points.flatMap((point) => (point.panel === panel ? [point.at] : []))).size > 1;
  return points.filter(({ panel }) => isCurve(panel));
}

/** A figure as an SVG: medians, and bars from the 10th to the 90th percentile. */
export async function drawingOf(axis: Axis, entries: readonly Entry[]): Promise<string> {
  const values = pointsOf(axis, entries);
  const ticks = [...new Set(values.map(({ at }) => at))];
  const x = {
    field: "at",
    type: "quantitative",
    title: axis.title,
    scale: { type: axis.scale, ...(axis.scale === "linear" && { zero: true }) },
    axis: { values: ticks, format: ",d" },
  } as const;
  const y = { type: "quantitative", title: null, scale: { type: "log" }, axis: { format: "~g" } } as const;
  const spec: TopLevelSpec = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    data: { values },
    facet: { field: "panel", type: "nominal", title: null, sort: [...new Set(values.map(({ panel }) => panel))] },
    columns: 3,
    resolve: { scale: { x: "independent", y: "independent" } },
    spec: {
      width: 220,
      height: 180,
      encoding: { x, color: { field: "variant", type: "nominal", title: null, sort: ["afterclick", "before"] } },
      layer: [
        { mark: { type: "line", point: true, strokeWidth: 1.5 }, encoding: { y: { ...y, field: "median" } } },
        { mark: { type: "rule", strokeWidth: 1.5 }, encoding: { y: { ...y, field: "p10" }, y2: { field: "p90" } } },
      ],
    },
    config: { background: "white" },
  };
  // Otherwise ids continue from the previous drawing of this process.
  resetSVGDefIds();
  return `${await new View(parse(compile(spec).spec), { renderer: "none" }).toSVG()}\n`;
}
