import { useMemo } from "hono/jsx/dom";
import type uPlot from "uplot";
import type { Assignment, Bucket, Metrics } from "../../worker/protocol/answers.ts";
import { below, Chart, type ChartProps, colour, upwards } from "../ui/chart.tsx";
import { decimal, duration, moment, percent, tick, whole } from "../ui/notation.ts";
import { Empty } from "./empty.tsx";

/** Empty buckets in a row that a line still bridges. */
const BRIDGED = 2;

const colours: Readonly<Record<Assignment, string>> = { policy: "var(--accent)", holdout: "var(--holdout)", default: "var(--quiet)" };
const names: Readonly<Record<Assignment, string>> = { policy: "policy", holdout: "holdout, uniform", default: "default action" };

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
/** How far ticks may stand apart. */
const steps = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 28, 91, 182, 364].map((days) => days * DAY),
];

/** Buckets side by side: for each moment at which one begins, one per arm. */
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
      // Where nothing was shown for long, there is no rate, and the line stops.
      if (last && bucket.start > last.start + (BRIDGED + 1) * bucketMs) rows.push({ start: last.start + bucketMs, buckets: {} });
      rows.push({ start: bucket.start, buckets: { [bucket.arm]: bucket } });
    }
  }
  return rows;
}

const rateOf = ({ converted, impressions }: Bucket): number => (impressions > 0 ? converted / impressions : 0);

/** Per arm a line of closed buckets, and one of open ones that starts where the closed one ends. */
function lines(rows: readonly Row[], arm: Assignment): [closed: (number | null | undefined)[], open: (number | null | undefined)[]] {
  const firstOpen = rows.findIndex(({ buckets }) => buckets[arm]?.closed === false);
  const joint = firstOpen < 0 ? rows.length : rows.findLastIndex(({ buckets }, i) => i < firstOpen && buckets[arm] !== undefined);
  const line = (shown: (index: number, bucket: Bucket) => boolean) =>
    rows.map(({ buckets }, index) => {
      const bucket = buckets[arm];
      // To the plot, null breaks a line and undefined does not.
      if (!bucket) return Object.keys(buckets).length === 0 ? null : undefined;
      return shown(index, bucket) ? rateOf(bucket) : null;
    });
  return [line((_, { closed }) => closed), line((index, { closed }) => !closed || index === joint)];
}

/** Shades where books are open: from the first place at which an open line goes on without its closed one. */
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
      // Never so close that a rate of a hundredth looks great.
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
    columns: ["Shown from", "Arm", "Converted", "Rate", "Books"],
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
  const sum = (some: readonly Bucket[]) => ({
    impressions: some.reduce((total, each) => total + each.impressions, 0),
    converted: some.reduce((total, each) => total + each.converted, 0),
  });
  const [closed, open] = [sum(buckets.filter((each) => each.closed)), sum(buckets.filter((each) => !each.closed))];
  const share = ({ impressions, converted }: typeof open) => `${percent(converted / impressions)} of ${whole(impressions)}`;
  const settled = closed.impressions > 0 ? `${share(closed)} impressions converted, in ${duration(bucketMs)} buckets.` : "";
  const unsettled = open.impressions > 0 ? `Where it is shaded, ${share(open)} so far: that can still rise.` : "";
  return `${settled} ${unsettled}`.trim();
}

/** Share of impressions that converted, by when they were shown and how they were chosen. */
export function Rate({ metrics }: { metrics: Metrics }) {
  const rows = useMemo(() => rowsOf(metrics), [metrics]);
  const arms = (["policy", "holdout", "default"] as const).filter((arm) => rows.some(({ buckets }) => buckets[arm]));
  const data = useMemo(
    () => [rows.map(({ start }) => start), ...arms.flatMap((arm) => lines(rows, arm))] as uPlot.AlignedData,
    [rows, arms.join()],
  );
  if (rows.length === 0) {
    return (
      <Empty title="Conversion rate">
        Nothing has been shown yet. Ask for recommendations with POST /v1/models/{metrics.model}/recommendations, and the first bucket
        appears here.
      </Empty>
    );
  }
  const someOpen = metrics.buckets.some(({ closed }) => !closed);
  const precise = metrics.bucketMs < 60_000;
  const told = ({ buckets }: Row) =>
    arms.flatMap((arm) => {
      const bucket = buckets[arm];
      if (!bucket) return [];
      return `${names[arm]} ${percent(rateOf(bucket))} (${whole(bucket.converted)} of ${whole(bucket.impressions)}${bucket.closed ? "" : ", open"})`;
    });
  return (
    <Chart
      key={arms.join()}
      id="rate"
      title="Conversion rate"
      summary={summaryOf(metrics)}
      legend={[
        ...arms.map((arm) => ({ mark: arm, name: names[arm] })),
        ...(someOpen ? [{ mark: "open", name: "open, can still rise" }] : []),
      ]}
      plot={() => plotOf(arms, metrics.bucketMs)}
      data={data}
      describe={(index) => `${moment(rows[index].start, precise)}: ${told(rows[index]).join("; ") || "nothing shown"}`}
      table={() => tableOf(rows, precise)}
    />
  );
}
