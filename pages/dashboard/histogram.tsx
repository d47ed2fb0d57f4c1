// The two histograms of a dashboard: ages of pending impressions, and delays of conversions.

import { useMemo, useRef } from "hono/jsx/dom";
import uPlot from "uplot";
import type { Bar, Metrics } from "../../worker/protocol/metrics-answer.ts";
import { below, Chart, type ChartProps, colour, upwards, wholeTick } from "../ui/chart.tsx";
import { Empty } from "../ui/empty.tsx";
import { duration, percent, whole } from "../ui/notation.ts";

/** Width of a label below the bars, in CSS pixels. */
const LABEL_PX = 56;

/** The bars without the empty ones at either end. */
function trimmed(bars: readonly Bar[]): readonly Bar[] {
  const filled = ({ count }: Bar): boolean => count > 0;
  return bars.slice(Math.max(0, bars.findIndex(filled)), bars.findLastIndex(filled) + 1);
}

function spanOf({ fromMs, toMs }: Bar): string {
  return toMs === null ? `${duration(fromMs)} or more` : `${duration(fromMs)} to ${duration(toMs)}`;
}

/** Labels between the bars: the start of each, and the end of the last. The label is empty if the last bar is open-ended. */
function edgesOf(bars: readonly Bar[]): readonly string[] {
  const end = bars.at(-1)?.toMs ?? null;
  return [...bars.map(({ fromMs }) => duration(fromMs)), end === null ? "" : duration(end)];
}

/** Draws bars of equal width at 0, 1, 2 and so on, whatever their span, with labels between them. */
function plotOf(edges: () => readonly string[], mark: string): ReturnType<ChartProps["plot"]> {
  return {
    scales: { x: { time: false, range: () => [-0.5, edges().length - 1.5] }, y: { range: (_, __, most) => [0, Math.max(4, 1.1 * most)] } },
    series: [
      {},
      {
        fill: (chart) => colour(chart, `var(--${mark})`),
        paths: uPlot.paths.bars?.({ size: [0.9, 72], radius: 0.1 }),
        points: { show: false },
      },
    ],
    axes: [
      below({
        grid: { show: false },
        splits: ({ bbox }) => {
          const every = Math.ceil((edges().length * LABEL_PX * devicePixelRatio) / bbox.width);
          return edges().flatMap((_, edge) => (edge % every === 0 ? [edge - 0.5] : []));
        },
        values: (_, places) => places.map((place) => edges()[place + 0.5]),
      }),
      upwards(wholeTick),
    ],
  };
}

/** A histogram of ages or delays. */
function Histogram(props: {
  readonly id: string;
  readonly title: string;
  /** Name of the CSS custom property that holds the colour. */
  readonly mark: string;
  /** Plural noun for the counted things: "conversions". */
  readonly unit: string;
  /** Words that follow a duration: "old". */
  readonly trait: string;
  readonly bars: readonly Bar[];
  readonly empty: string;
}) {
  const { id, title, mark, unit, trait, bars, empty } = props;
  const data = useMemo(() => [bars.map((_, i) => i), bars.map(({ count }) => count)] as uPlot.AlignedData, [bars]);
  // The chart is created once and reads this reference on every draw.
  const edges = useRef<readonly string[]>([]);
  edges.current = edgesOf(bars);
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return <Empty title={title}>{empty}</Empty>;
  const most = bars.reduce((top, bar) => (bar.count > top.count ? bar : top));
  return (
    <Chart
      id={id}
      title={title}
      summary={`${whole(total)} ${unit}, most often ${spanOf(most)} ${trait}.`}
      plot={() => plotOf(() => edges.current ?? [], mark)}
      data={data}
      describe={(index) => `${spanOf(bars[index])} ${trait}: ${whole(bars[index].count)}, ${percent(bars[index].count / total)}`}
      table={() => ({
        columns: ["From", "To", "Count"],
        rows: bars.map(({ fromMs, toMs, count }) => [duration(fromMs), toMs === null ? "" : duration(toMs), whole(count)]),
      })}
    />
  );
}

/** Pending impressions by age. The oldest, on the right, expire first. */
export function Ages({ metrics }: { metrics: Metrics }) {
  return (
    <Histogram
      id="ages"
      title="Pending by age"
      mark="pending"
      unit="pending"
      trait="old"
      bars={metrics.pendingByAge}
      empty="No impression is pending. An impression stays pending until it converts or its window ends."
    />
  );
}

/** Conversions by delay. */
export function Delays({ metrics }: { metrics: Metrics }) {
  const bars = useMemo(() => trimmed(metrics.delays), [metrics]);
  return (
    <Histogram
      id="delays"
      title="Delays of conversions"
      mark="accent"
      unit="conversions"
      trait="after the impression"
      bars={bars}
      empty="No conversion yet. Report conversions with signed webhooks to POST /v1/conversions."
    />
  );
}
