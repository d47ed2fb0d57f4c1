import { useMemo, useRef } from "hono/jsx/dom";
import type uPlot from "uplot";
import type { Delay, Metrics } from "../../worker/protocol/answers.ts";
import { below, Chart, type ChartProps, colour, upwards } from "../ui/chart.tsx";
import { decimal, duration, percent, whole } from "../ui/notation.ts";
import { Empty } from "./empty.tsx";

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
/** Where a label may stand, on an axis of powers. */
const ticks = [1, 10, 100, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY, 365 * DAY];
/** Room for a label, in CSS pixels. */
const LABEL_PX = 48;
/** Height in shares: above the curve there is room for what is under the pointer. */
const ROOM = 1.25;

/** Those labels between two delays that do not meet. */
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

/** Marks the window that would catch 95 %. */
function markWindow(chart: uPlot, windowMs: number): void {
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

function plotOf(window95Ms: () => number): ReturnType<ChartProps["plot"]> {
  const edge: uPlot.Series = { points: { show: false } };
  return {
    scales: { x: { time: false, distr: 3, range: (_, from, to) => [from, Math.max(to, 2 * from)] }, y: { range: () => [0, ROOM] } },
    series: [{}, edge, edge, { stroke: (chart) => colour(chart, "var(--accent)"), width: 2, points: { show: false } }],
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
  const longer = window95Ms > 0.9 * windowMs ? " A longer one may catch more." : "";
  return (
    `95 % of conversions come within ${duration(window95Ms)}; the window is ${duration(windowMs)}.${longer} ` +
    `Estimated from ${whole(impressions)} impressions and ${whole(conversions)} conversions. ` +
    `The last one arrived ${duration(Math.max(0, now - silence.since))} ago; ${decimal(Number(silence.expected.toFixed(1)))} should have come since.`
  );
}

function told({
  delayMs,
  probability,
  low,
  high,
  stillConverts,
}: Delay["distribution"][number]): readonly [string, string, string, string] {
  return [duration(delayMs), percent(probability), `${percent(low)} to ${percent(high)}`, percent(stillConverts)];
}

function Figure({ name, value, title }: { name: string; value: string; title: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd title={title}>{value}</dd>
    </div>
  );
}

/** How late conversions come, as far as it is known, and what follows from that for the rate. */
export function DelayOf({ metrics: { delay, windowMs, now } }: { metrics: Metrics }) {
  const points = delay?.distribution ?? [];
  const data = useMemo(
    () =>
      [
        points.map(({ delayMs }) => delayMs),
        points.map(({ high }) => high),
        points.map(({ low }) => low),
        points.map(({ probability }) => probability),
      ] as uPlot.AlignedData,
    [delay],
  );
  // The chart reads it whenever it draws, and it is made only once.
  const window95Ms = useRef(0);
  window95Ms.current = delay?.window95Ms ?? 0;
  if (!delay) {
    return (
      <Empty title="How late conversions come">
        Once the first has come, this says how many are still to come, and how long a window has to be.
      </Empty>
    );
  }
  return (
    <>
      <Chart
        id="delay"
        title="How late conversions come"
        summary={summaryOf({ delay, windowMs, now })}
        legend={[
          { mark: "policy", name: "share that has come" },
          { mark: "band", name: "95 % band" },
          { mark: "uniform", name: "window for 95 %" },
        ]}
        plot={() => plotOf(() => window95Ms.current ?? 0)}
        data={data}
        describe={(index) => {
          const [within, come, band, still] = told(points[index]);
          return `Within ${within}: ${come} (${band}). Not converted by then: ${still} still do`;
        }}
        table={() => ({ columns: ["Within", "Have come", "95 % band", "Still convert"], rows: points.map(told) })}
      />
      <dl>
        <Figure name="converted so far" value={percent(delay.rateSoFar)} title="Of all impressions that the log holds" />
        <Figure name="once all had their time" value={percent(delay.rate)} title="Corrected for the conversions that are still to come" />
        <Figure name="still to come" value={whole(delay.toCome)} title="Conversions of what is pending" />
        <Figure
          name="window for 95 %"
          value={`${duration(delay.window95Ms)} of ${duration(windowMs)}`}
          title="Of the conversions that come within the window"
        />
      </dl>
    </>
  );
}

/** Says that conversions have stopped coming, though they should have come, and what to look at. */
export function Alarm({ metrics: { delay, model, now } }: { metrics: Metrics }) {
  if (!delay?.silence.alarm) return null;
  const { since, expected, chance } = delay.silence;
  return (
    <section class="wide alarm">
      {/* What changes with each look stands outside: it would be read aloud again and again. */}
      <h2 role="alert">Conversions of {model} no longer get through</h2>
      <p>
        None has arrived for {duration(now - since)}, though about {whole(expected)} should have: by chance alone that happens once in{" "}
        {whole(Number((1 / Math.max(chance, 1e-9)).toPrecision(1)))} times. Either nobody can buy any more, or the shop's reports do not get
        here:
      </p>
      <ul>
        <li>Can a visitor still buy? Try it yourself, to the end.</li>
        <li>
          Does the shop still send to POST /v1/conversions? Its queue or its log of webhooks tells, and what it was answered. If it sends in
          batches, this may just be the time between two.
        </li>
        <li>
          If that was 401, its secret is not in AFTERCLICK_WEBHOOK_SECRET, or its clock is more than five minutes off; or the impression id
          is not one of this worker.
        </li>
        <li>If it was 202, look at the status of each item: refused and unknown ones do not count.</li>
        <li>
          Does the shop still hand the impression id, or the key, from where the recommendation is shown to where it reports the purchase?
        </li>
      </ul>
    </section>
  );
}
