import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { withTables } from "../cli/command/markdown.ts";

/** Figures at a number of open impressions. Times are in ms. */
export interface OpenFigures {
  readonly openImpressions: number;
  readonly impressionsPerSecond: number;
  readonly bytesPerImpression: number;
  /** Size of the learner's database. */
  readonly bytes: number;
  readonly metricsMs: number;
  readonly describeMs: number;
  readonly snapshotMs: number;
  readonly closeMs: number;
  readonly pruneMs: number;
  /** Memory of the learner's isolate: heap and buffers. */
  readonly memoryMb: number;
}

const NAMES = {
  openImpressions: "open impressions",
  impressionsPerSecond: "registered/s",
  bytesPerImpression: "bytes each",
  metricsMs: "metrics, ms",
  describeMs: "describe, ms",
  snapshotMs: "snapshot, ms",
  closeMs: "closing a bucket, ms",
  pruneMs: "forgetting a bucket, ms",
  memoryMb: "memory, MB",
} as const;

type Name = keyof typeof NAMES;

export const COLUMNS: readonly string[] = Object.values(NAMES);
/** Panels of the figure. */
const PANELS: readonly Name[] = ["metricsMs", "describeMs", "snapshotMs", "closeMs", "pruneMs", "memoryMb"];

export function tableRow(figures: OpenFigures): string {
  const cells = (Object.keys(NAMES) as Name[]).map((name) => {
    const digits = figures[name] < 10 ? 1 : 0;
    return figures[name].toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  });
  return `| ${cells.join(" | ")} |`;
}

/** A page with these figures in its table. */
export function withFigures(page: string, all: readonly OpenFigures[]): string {
  const table = [`| ${COLUMNS.join(" | ")} |`, `|${" --: |".repeat(COLUMNS.length)}`, ...all.map(tableRow)];
  return withTables(page, { "open-impressions": table.join("\n") });
}

/** An SVG with a panel for each figure, against the number of open impressions. */
export async function drawn(all: readonly OpenFigures[]): Promise<string> {
  const values = all.flatMap((figures) =>
    PANELS.map((name) => ({ figure: NAMES[name], at: figures.openImpressions, value: figures[name] })),
  );
  const spec: TopLevelSpec = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    data: { values },
    facet: { field: "figure", type: "nominal", title: null, sort: PANELS.map((name) => NAMES[name]) },
    columns: 3,
    resolve: { scale: { y: "independent" } },
    spec: {
      width: 220,
      height: 160,
      mark: { type: "line", point: true, strokeWidth: 1.5 },
      encoding: {
        x: { field: "at", type: "quantitative", scale: { type: "log" }, title: "open impressions", axis: { format: "~s", tickCount: 4 } },
        y: { field: "value", type: "quantitative", scale: { zero: true }, title: null },
      },
    },
    config: { background: "white" },
  };
  return new View(parse(compile(spec).spec), { renderer: "none" }).toSVG();
}
