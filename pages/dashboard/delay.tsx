// The card of delays: their distribution as a chart, as a sentence and as a table.

import { useMemo, useRef, useState } from "hono/jsx/dom";
import type uPlot from "uplot";
import type { Delay, Metrics } from "../../worker/protocol/metrics-answer.ts";
import { below, Chart, type ChartProps, colour, line, upwards } from "../ui/chart.tsx";
import { Empty } from "../ui/empty.tsx";
import { counted, decimal, duration, orFew, orTooFew, percent, whole } from "../ui/notation.ts";
import { Table } from "../ui/table.tsx";
import { asOf } from "./as-of.ts";
import { Figure } from "./figures.tsx";
import { Goals } from "./goals.tsx";

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
/** Possible labels of the logarithmic axis, in milliseconds. */
const ticks = [1, 10, 100, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY];
/** Width of a label, in CSS pixels. */
const LABEL_PX = 48;
/** Top of the y axis, as a share. The space above 1 holds the text about the point under the pointer. */
const ROOM = 1.25;

/** The labels between two delays, without those that would overlap. */
function labelled(chart: uPlot, from: number, to: number): number[] {
  const kept: number[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const ms of ticks) {
    const x = chart.valToPos(ms, "x");
    if (ms < from || ms > to || x < end) continue;
    kept.push(ms);
    end = x + LABEL_PX;
  }
  return kept;
}

/** Draws a dashed line at the window that would catch 95 % of conversions, if that is known. */
function markWindow(chart: uPlot, windowMs: number | undefined): void {
  if (windowMs === undefined) return;
  const { ctx, bbox } = chart;
  const x = Math.round(chart.valToPos(windowMs, "x", true));
  ctx.save();
  ctx.strokeStyle = colour(chart, "var(--quiet)");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

function plotOf(window95Ms: () => number | undefined): ReturnType<ChartProps["plot"]> {
  const edge: uPlot.Series = { points: { show: false } };
  return {
    scales: { x: { time: false, distr: 3, range: (_, from, to) => [from, Math.max(to, 2 * from)] }, y: { range: () => [0, ROOM] } },
    series: [{}, edge, edge, line("var(--accent)")],
    bands: [{ series: [1, 2], fill: (chart) => colour(chart, "color-mix(in oklab, var(--accent) 18%, transparent)") }],
    axes: [
      below({
        splits: (chart, _, from, to) => labelled(chart, from, to),
        filter: (_, places) => places,
        values: (_, places) => places.map(duration),
      }),
      upwards((share) => (share > 1 ? "" : percent(share))),
    ],
    hooks: { draw: [(chart) => markWindow(chart, window95Ms())] },
  };
}

function summaryOf({ delay, windowMs, now }: { delay: Delay; windowMs: number; now: number }): string {
  const { conversions, impressions, window95Ms, silence } = delay;
  const known = typeof window95Ms === "number";
  const within = known ? `95 % of conversions come within ${duration(window95Ms)}` : `Window for 95 %: ${orTooFew(window95Ms, duration)}`;
  const longer = known && window95Ms > 0.9 * windowMs ? " A longer window may catch more." : "";
  const part =
    delay.followedMs < windowMs
      ? ` The chart shows the conversions within ${duration(delay.followedMs)}: longer delays are not known yet.`
      : "";
  return (
    `${asOf(delay.completeUntil, now)}${within}; the window is ${duration(windowMs)}.${longer}${part} ` +
    `Estimated from ${counted(impressions, "impression")} and ${counted(conversions, "conversion")}. ` +
    `The last one arrived ${duration(Math.max(0, now - silence.since))} ago; ${decimal(Number(silence.expected.toFixed(1)))} were expected since.`
  );
}

function cellsOf(point: Delay["distribution"][number]): readonly [string, string, string, string] {
  const { delayMs, probability, low, high, stillConverts } = point;
  return [duration(delayMs), percent(probability), `${percent(low)} to ${percent(high)}`, orFew(stillConverts, percent)];
}

/** A number with its interval. */
function ranged(value: number, [low, high]: readonly number[], format: (value: number) => string): string {
  return `${format(value)} (${format(low)} to ${format(high)})`;
}

/** Formats a time of the UTC day: 02:15. */
const utc = (ms: number): string => new Date(ms).toISOString().slice(11, 16);

/** What shorter windows would catch. Nothing if the window is not longer than a day. */
function Windows({ delay, windowMs }: { delay: Delay; windowMs: number }) {
  const shorter = delay.windows.filter((each) => each.windowMs < windowMs);
  if (shorter.length === 0) return null;
  const rows = shorter.map(({ windowMs: ms, caught, low, high, rate }) => [
    duration(ms),
    orTooFew(caught, percent),
    typeof caught === "number" ? `${percent(low)} to ${percent(high)}` : "–",
    orFew(rate, percent),
  ]);
  const converting =
    delay.followedMs < windowMs ? "" : `With the window of ${duration(windowMs)}, ${percent(delay.rate)} of impressions convert.`;
  return (
    <>
      <h3>Shorter windows</h3>
      <p class="quiet">A shorter window closes sooner and misses late conversions. {converting}</p>
      <Table class="numbers unbroken" columns={["Window", "Catches", "95 % band", "Rate"]} rows={rows} />
    </>
  );
}

/** How late conversions come: of one goal after the other, or of all if the model declares no goals. */
export function DelayOf({ metrics }: { metrics: Metrics }) {
  const [wanted, choose] = useState<string | undefined>(undefined);
  const { goals, now } = metrics;
  const chosen = goals?.find(({ goal }) => goal === wanted) ?? goals?.[0];
  if (!goals || !chosen) return <Distribution {...metrics} />;
  return (
    <>
      <Goals goals={goals} reached={metrics.reached ?? []} chosen={chosen.goal} choose={choose} />
      <Distribution key={chosen.goal} {...chosen} now={now} />
    </>
  );
}

interface Estimated {
  readonly goal?: string;
  readonly delay: Delay | null;
  readonly windowMs: number;
  readonly now: number;
}

/** The estimated delay distribution, and the conversion rate corrected for pending impressions. */
function Distribution({ goal, delay, windowMs, now }: Estimated) {
  const title = goal === undefined ? "How late conversions come" : `How late conversions come: ${goal}`;
  const points = delay?.distribution ?? [];
  const series = ["delayMs", "high", "low", "probability"] as const;
  const data = useMemo(() => series.map((name) => points.map((point) => point[name])) as unknown as uPlot.AlignedData, [delay]);
  // The chart is created once and reads this reference on every draw.
  const window95Ms = useRef<number | undefined>(undefined);
  window95Ms.current = typeof delay?.window95Ms === "number" ? delay.window95Ms : undefined;
  if (!delay || delay.conversions === 0) {
    const none =
      delay && `None of ${counted(delay.impressions, "impression")} has converted: at most ${percent(delay.rateInterval[1])} will.`;
    return (
      <Empty title={title}>
        {none} After the first conversion, this chart shows how many are still to come and which window would catch them.
      </Empty>
    );
  }
  const part = delay.followedMs < windowMs ? ` within ${duration(delay.followedMs)}` : undefined;
  return (
    <>
      {points.length === 0 ? (
        <Empty title={title}>This chart needs a week of impressions whose windows have closed.</Empty>
      ) : (
        <Chart
          id="delay"
          title={title}
          summary={summaryOf({ delay, windowMs, now })}
          legend={[
            { mark: "policy", name: "share that has arrived" },
            { mark: "band", name: "95 % band" },
            { mark: "uniform", name: "window for 95 %" },
          ]}
          plot={() => plotOf(() => window95Ms.current ?? undefined)}
          data={data}
          describe={(index) => {
            const [within, arrived, band, still] = cellsOf(points[index]);
            const later = typeof points[index].stillConverts === "number" ? ` Not converted by then: ${still} still will` : "";
            return `Within ${within}: ${arrived} arrived (${band}).${later}`;
          }}
          table={() => ({ columns: ["Within", "Arrived", "95 % band", "Still convert"], rows: points.map(cellsOf) })}
        />
      )}
      <dl>
        <Figure name="converted so far" value={percent(delay.rateSoFar)} title="Share of all impressions in the log" />
        <Figure
          name={part ? `convert${part}` : "once all windows end"}
          value={ranged(delay.rate, delay.rateInterval, percent)}
          title="Corrected for the conversions that are still to come, with a 95 % interval"
        />
        <Figure
          name={`still to come${part ?? ""}`}
          value={ranged(delay.toCome, delay.toComeInterval, whole)}
          title="Expected conversions of pending impressions, with the 95 % interval in which their number will be"
        />
        <Figure
          name="window for 95 %"
          value={orTooFew(delay.window95Ms, (ms) => `${duration(ms)} of ${duration(windowMs)}`)}
          title="Window that catches 95 % of the conversions that the present window catches"
        />
      </dl>
      {delay.reportTime !== null && (
        <p role="note">
          Nearly all conversions state one time of the day, about {utc(delay.reportTime)} UTC. It is that of a report, so delays come out up
          to a day too long and depend on the hour. The figures therefore count only impressions that were old enough at the last report.
          Send the time of the conversion itself as <code>timestamp</code>.
        </p>
      )}
      <Windows delay={delay} windowMs={windowMs} />
    </>
  );
}
