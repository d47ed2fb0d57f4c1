import type uPlot from "uplot";
import { afterEach, describe, expect, it, vi } from "vitest";
import { DelayOf } from "../../../pages/dashboard/delay.tsx";
import { Ages } from "../../../pages/dashboard/histogram.tsx";
import { Rate } from "../../../pages/dashboard/rate.tsx";
import type { Delay, Metrics } from "../../../worker/protocol/metrics-answer.ts";
import { busy } from "../../browser/report.ts";
import { drawn } from "../../support/markup.ts";

type Plot = Omit<uPlot.Options, "width" | "height">;

const HOUR_MS = 3_600_000;
const withDelay = (more: Partial<Delay>): Metrics => ({ ...busy, delay: { ...(busy.delay as Delay), ...more } });
/** Calls a function of a plot's options, as uPlot does. */
const called = (work: unknown, ...args: unknown[]) => (work as (...args: unknown[]) => unknown)(...args);
const axesOf = (plot: Plot) => plot.axes as uPlot.Axis[];
const dotted = ({ series }: Plot) => series.slice(1).map(({ points }) => points?.show ?? true);

/** A chart with ten pixels per unit along x. It records strokes and areas. */
function canvas(data: unknown = []) {
  vi.stubGlobal("getComputedStyle", ({ style }: { style: object }) => style);
  vi.stubGlobal("devicePixelRatio", 2);
  const painted: unknown[][] = [];
  const record = (name: string) => vi.fn((...args: unknown[]) => void painted.push([name, ...args]));
  const ctx = Object.fromEntries(
    ["save", "restore", "fillRect", "moveTo", "lineTo", "stroke", "setLineDash", "beginPath"].map((name) => [name, record(name)]),
  );
  const bbox = { left: 20, top: 5, width: 100, height: 50 };
  const valToPos = (x: number, _: string, onCanvas: boolean) => (onCanvas ? 20 : 0) + 10 * x;
  return { painted, chart: { ctx, bbox, data, valToPos, root: { style: {} } } };
}

afterEach(() => void vi.unstubAllGlobals());

describe("the shade of open buckets", () => {
  const none = [null, null, null, null];
  it.each([
    [
      "where an open line goes on from its closed one",
      [
        [0.1, 0.2, null, null],
        [null, 0.2, 0.3, 0.1],
      ],
      40,
    ],
    [
      "where the first of several goes on",
      [
        [0.1, 0.2, null, null],
        [null, 0.2, 0.3, 0.1],
        [0.1, null, null, null],
        [0.1, 0.2, 0.2, 0.2],
      ],
      30,
    ],
    [
      "where a rate is zero",
      [
        [0, 0, 0, null],
        [null, null, 0, 0],
      ],
      50,
    ],
    ["everywhere, if all are open", [none, [0.1, 0.2, 0.3, 0.1]], 20],
    ["nowhere, if all are closed", [[0.1, 0.2, 0.3, 0.1], none], null],
  ])("begins %s", (_, lines, left) => {
    const { hooks } = drawn(Rate, { metrics: busy }).charts[0].plot();
    const { painted, chart } = canvas([[0, 1, 2, 3], ...lines]);
    for (const draw of hooks?.drawClear ?? []) called(draw, chart);
    const area = ["fillRect", left, 5, 120 - (left ?? 0), 50];
    expect(painted).toEqual(left === null ? [] : [["save"], area, ["restore"]]);
  });

  it("does not reach beyond the left edge", () => {
    const { hooks } = drawn(Rate, { metrics: busy }).charts[0].plot();
    const { painted, chart } = canvas([
      [-3, 1],
      [null, null],
      [0.1, 0.2],
    ]);
    for (const draw of hooks?.drawClear ?? []) called(draw, chart);
    expect(painted[1]).toEqual(["fillRect", 20, 5, 100, 50]);
  });
});

describe("the delays", () => {
  it("are drawn without dots, on an axis without marks", () => {
    const plot = drawn(DelayOf, { metrics: busy }).charts[0].plot();
    expect(dotted(plot)).toEqual([false, false, false]);
    expect(plot.bands?.map(({ series }) => series)).toEqual([[1, 2]]);
    expect(axesOf(plot)[1]).toMatchObject({ size: 44, space: 36, ticks: { show: false } });
    expect(dotted(drawn(Ages, { metrics: busy }).charts[0].plot())).toEqual([false]);
  });

  it("have labels from a millisecond to a year where there is room", () => {
    const plot = drawn(DelayOf, { metrics: busy }).charts[0].plot();
    const chart = { valToPos: (ms: number) => 1000 * Math.log10(ms) };
    const labels = called(axesOf(plot)[0].splits, chart, 0, 1, 365 * 24 * HOUR_MS);
    expect(called(axesOf(plot)[0].values, chart, labels)).toEqual([
      "1 ms",
      "10 ms",
      "100 ms",
      "1 s",
      "10 s",
      "1 min",
      "10 min",
      "1 h",
      "6 h",
      "1 d",
      "7 d",
      "30 d",
      "365 d",
    ]);
    expect(called(axesOf(plot)[0].splits, chart, 0, 10, 1000)).toEqual([10, 100, 1000]);
  });

  it("have no line if the window for 95 % is not known", () => {
    const window95Ms = { tooFew: { more: 40, of: "conversions whose window has closed" } };
    const { hooks } = drawn(DelayOf, { metrics: withDelay({ window95Ms }) }).charts[0].plot();
    const { painted, chart } = canvas();
    for (const draw of hooks?.draw ?? []) called(draw, chart);
    expect(painted).toEqual([]);
  });

  it("have a dashed line, from top to bottom, at the window for 95 %", () => {
    const { hooks } = drawn(DelayOf, { metrics: withDelay({ window95Ms: 3.12 }) }).charts[0].plot();
    const { painted, chart } = canvas();
    for (const draw of hooks?.draw ?? []) called(draw, chart);
    expect(painted).toEqual([
      ["save"],
      ["setLineDash", [8, 8]],
      ["beginPath"],
      ["moveTo", 51, 5],
      ["lineTo", 51, 55],
      ["stroke"],
      ["restore"],
    ]);
  });
});
