import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import type { Experiment, Figure } from "./experiment.ts";
import { type Series, summarise } from "./results.ts";

/** Most points per curve, about. */
const RESOLUTION = 200;

/** An SVG with a panel per setting. It shows the mean of each algorithm in a band of one standard error. */
export async function figureOf(experiment: Experiment, { metric, x, y }: Figure, series: readonly Series[]): Promise<string> {
  const values = series.flatMap(({ setting, algorithm, runs }) => {
    const points = summarise(runs, metric);
    const step = Math.ceil(points.length / RESOLUTION);
    return points
      .filter((_, i) => i % step === 0 || i === points.length - 1)
      .map(({ at, mean, standardError }) => ({ setting, algorithm, at, mean, low: mean - standardError, high: mean + standardError }));
  });
  const horizontal = { field: "at", type: "quantitative", title: x } as const;
  const spec: TopLevelSpec = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    title: experiment.title,
    data: { values },
    facet: { field: "setting", type: "nominal", title: null, sort: [...experiment.settings] },
    columns: 3,
    resolve: { scale: { x: "independent", y: "independent" } },
    spec: {
      width: 300,
      height: 220,
      encoding: {
        x: horizontal,
        color: { field: "algorithm", type: "nominal", title: null, sort: [...experiment.algorithms] },
      },
      layer: [
        {
          mark: { type: "area", opacity: 0.2 },
          encoding: { y: { field: "low", type: "quantitative", title: y }, y2: { field: "high" } },
        },
        { mark: { type: "line", strokeWidth: 1.5 }, encoding: { y: { field: "mean", type: "quantitative", title: y } } },
      ],
    },
    config: { background: "white" },
  };
  return new View(parse(compile(spec).spec), { renderer: "none" }).toSVG();
}
