// The card of conversion rates over time. Rates of open buckets are marked, because conversions are still to come.

import { useMemo } from "hono/jsx/dom";
import type uPlot from "uplot";
import type { Assignment } from "../../worker/protocol/figures.ts";
import type { Bucket, Metrics } from "../../worker/protocol/metrics-answer.ts";
import { below, Chart, type ChartProps, colour, upwards } from "../ui/chart.tsx";
import { Empty } from "../ui/empty.tsx";
import { decimal, duration, moment, percent, tick, whole } from "../ui/notation.ts";

/** A line crosses a gap of at most this many empty buckets. */
const BRIDGED = 2;

const colours: Readonly<Record<Assignment, string>> = {
  policy: "var(--accent)",
  holdout: "var(--holdout)",
  default: "var(--quiet)",
  catalogue: "var(--quiet)",
};
const names: Readonly<Record<Assignment, string>> = {
  policy: "policy",
  holdout: "holdout, uniform",
  default: "default action",
  catalogue: "catalogue in its order",
};

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
/** Possible distances between ticks, in milliseconds. */
const steps = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * DAY),
];

/** The buckets that start at one moment, by assignment. */
interface Row {
  readonly start: number;
  readonly buckets: Partial<Record<Assignment, Bucket>>;
}

function rowsOf({ buckets, bucketMs }: Metrics): Row[] {
  const rows: Row[] = [];
  for (const bucket of buckets.toSorted((a, b) => a.start - b.start)) {
    const last = rows.at(-1);
    if (last?.start === bucket.start) last.buckets[bucket.arm] = bucket;
    else {
      // An empty row breaks the line where no impression was shown for long.
      if (last && bucket.start > last.start + (BRIDGED + 1) * bucketMs) rows.push({ start: last.start + bucketMs, buckets: {} });
      rows.push({ start: bucket.start, buckets: { [bucket.arm]: bucket } });
    }
  }
  return rows;
}

const rateOf = ({ converted, impressions }: Bucket): number => (impressions > 0 ? converted / impressions : 0);

/** Two lines for an assignment: one of closed buckets, and one of open buckets that starts where the first ends. */
function lines(rows: readonly Row[], arm: Assignment): [closed: (number | null | undefined)[], open: (number | null | undefined)[]] {
  const firstOpen = rows.findIndex(({ buckets }) => buckets[arm]?.closed === false);
  const joint = firstOpen < 0 ? rows.length : rows.findLastIndex(({ buckets }, i) => i < firstOpen && buckets[arm] !== undefined);
  const line = (shown: (index: number, bucket: Bucket) => boolean) =>
    rows.map(({ buckets }, index) => {
      const bucket = buckets[arm];
      // In uPlot, null breaks a line and undefined does not.
      if (!bucket) return Object.keys(buckets).length === 0 ? null : undefined;
      return shown(index, bucket) ? rateOf(bucket) : null;
    });
  return [line((_, { closed }) => closed), line((index, { closed }) => !closed || index === joint)];
}

/** Shades the open buckets: from the first place where an open line continues without its closed one. */
function shade(chart: uPlot): void {
  const [starts, ...pairs] = chart.data;
  const from = starts.findIndex((_, i) => pairs.some((line, of) => of % 2 === 1 && line[i] != null && pairs[of - 1][i] == null));
  if (from < 0) return;
  const { ctx, bbox } = chart;
  const left = Math.max(bbox.left, chart.valToPos(starts[from], "x", true));
  ctx.save();
  ctx.fillStyle = colour(chart, "color-mix(in oklab, var(--pending) 9%, transparent)");
  ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
  ctx.restore();
}

function plotOf(arms: readonly Assignment[], bucketMs: number): ReturnType<ChartProps["plot"]> {
  const line = (arm: Assignment, dash?: number[]): uPlot.Series => ({
    stroke: (chart) => colour(chart, colours[arm]),
    width: 2,
    dash,
    points: { size: 5, fill: (chart) => colour(chart, dash ? "var(--card)" : colours[arm]) },
  });
  return {
    ms: 1,
    scales: {
      x: { time: true, range: (_, from, to) => [from, Math.max(to, from + bucketMs)] },
      // At least 2 %, so that a rate of 1 % does not fill the chart.
      y: { range: (_, __, most) => [0, Math.min(1, Math.max(0.02, 1.15 * most))] },
    },
    series: [{}, ...arms.flatMap((arm) => [line(arm), line(arm, [4, 4])])],
    axes: [
      below({
        space: 72,
        incrs: steps.filter((ms) => ms >= bucketMs),
        values: (_, ticks, __, ___, apartMs) => ticks.map((ms) => tick(ms, apartMs)),
      }),
      upwards((share) => `${decimal(100 * share)} %`),
    ],
    hooks: { drawClear: [shade] },
  };
}

function tableOf(rows: readonly Row[], precise: boolean): ReturnType<ChartProps["table"]> {
  return {
    columns: ["Shown from", "Assignment", "Converted", "Rate", "Bucket"],
    rows: rows
      .toReversed()
      .flatMap(({ start, buckets }) =>
        Object.values(buckets).map((bucket) => [
          moment(start, precise),
          bucket.arm,
          `${whole(bucket.converted)} of ${whole(bucket.impressions)}`,
          percent(rateOf(bucket)),
          bucket.closed ? "closed" : "open",
        ]),
      ),
  };
}

function summaryOf({ buckets, bucketMs }: Metrics): string {
  /** The share of the closed or of the open buckets. Empty without impressions. */
  const shareOf = (isClosed: boolean): string => {
    const some = buckets.filter(({ closed }) => closed === isClosed);
    const [impressions, converted] = (["impressions", "converted"] as const).map((name) => some.reduce((sum, each) => sum + each[name], 0));
    return impressions > 0 ? `${percent(converted / impressions)} of ${whole(impressions)}` : "";
  };
  const [closed, open] = [shareOf(true), shareOf(false)];
  const settled = closed && `${closed} impressions converted, in ${duration(bucketMs)} buckets.`;
  return `${settled} ${open && `In the shaded buckets ${open} so far; this can still rise.`}`.trim();
}

/** Share of impressions that converted, by time shown and by assignment. */
export function Rate({ metrics }: { metrics: Metrics }) {
  const rows = useMemo(() => rowsOf(metrics), [metrics]);
  const arms = (["policy", "holdout", "default"] as const).filter((arm) => rows.some(({ buckets }) => buckets[arm]));
  const plotted = () => [rows.map(({ start }) => start), ...arms.flatMap((arm) => lines(rows, arm))] as uPlot.AlignedData;
  const data = useMemo(plotted, [rows, arms.join()]);
  if (rows.length === 0) {
    return (
      <Empty title="Conversion rate">
        No impression yet. Ask for recommendations with POST /v1/models/{metrics.model}/recommendations. The first bucket then appears here.
      </Empty>
    );
  }
  const someOpen = metrics.buckets.some(({ closed }) => !closed);
  const precise = metrics.bucketMs < 60_000;
  const ratesOf = ({ buckets }: Row) =>
    arms.flatMap((arm) => {
      const bucket = buckets[arm];
      if (!bucket) return [];
      return `${names[arm]} ${percent(rateOf(bucket))} (${whole(bucket.converted)} of ${whole(bucket.impressions)}${bucket.closed ? "" : ", open"})`;
    });
  return (
    <Chart
      // The chart reads these only once, when it first appears.
      key={[metrics.model, metrics.bucketMs, ...arms].join()}
      id="rate"
      title="Conversion rate"
      summary={summaryOf(metrics)}
      legend={[
        ...arms.map((arm) => ({ mark: arm, name: names[arm] })),
        ...(someOpen ? [{ mark: "open", name: "open, can still rise" }] : []),
      ]}
      plot={() => plotOf(arms, metrics.bucketMs)}
      data={data}
      describe={(index) => `${moment(rows[index].start, precise)}: ${ratesOf(rows[index]).join("; ") || "no impression"}`}
      table={() => tableOf(rows, precise)}
    />
  );
}
