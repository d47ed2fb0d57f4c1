import uPlot from "uplot";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DelayOf } from "../../../../pages/dashboard/delay.tsx";
import { Ages, Delays } from "../../../../pages/dashboard/histogram.tsx";
import { Rate } from "../../../../pages/dashboard/rate.tsx";
import { Regret } from "../../../../pages/dashboard/regret.tsx";
import { Curves } from "../../../../pages/playground/client/curves.tsx";
import { PlayerCard } from "../../../../pages/playground/client/player-card.tsx";
import type { MatchReport, PlayerReport } from "../../../../pages/playground/match.ts";
import { defaults } from "../../../../pages/playground/settings.ts";
import type { Session } from "../../../../pages/shop/session.ts";
import { moment } from "../../../../pages/ui/notation.ts";
import { busy } from "../../../browser/report.ts";
import { type Drawn, drawn } from "../../../support/markup.ts";

// The options that charts hand to uPlot: colours of the page, scales and labels.

type Plot = Omit<uPlot.Options, "width" | "height">;

const player = (name: string): PlayerReport => ({
  ...{ name, regret: [0], pending: [0], counted: [0], late: [0], choices: Uint32Array.of(1, 2), estimate: null, digest: "" },
});
const report: MatchReport = { round: 3, rounds: 40, sampled: [0], truth: [0.5, 1], players: [player("A"), player("B")] };
const session = { visits: [{ favourite: true, model: 0, uniform: 1 }], visitorsLeft: 0 } as unknown as Session;
const of = ({ charts }: Drawn): Plot => charts[0].plot();
const plots = {
  rate: () => of(drawn(Rate, { metrics: busy })),
  delay: () => of(drawn(DelayOf, { metrics: busy })),
  ages: () => of(drawn(Ages, { metrics: busy })),
  delays: () => of(drawn(Delays, { metrics: busy })),
  regret: () => of(drawn(Regret, { session })),
  curves: () => of(drawn(Curves, { report })),
  ranks: () => of(drawn(PlayerCard, { settings: defaults.linear, report, place: 1 })),
  posterior: () => of(drawn(PlayerCard, { settings: defaults.curve, report, place: 1 })),
};

const chart = { root: { style: { color: "" } } };
beforeEach(() => void vi.stubGlobal("getComputedStyle", ({ style }: PlotRoot) => style));
afterEach(() => void vi.unstubAllGlobals());
type PlotRoot = typeof chart.root;

/** Calls a function of a plot's options, as uPlot does. */
const called = (work: unknown, ...args: unknown[]) => (work as (...args: unknown[]) => unknown)(...args);
const paint = (colour: unknown) => (colour === undefined ? undefined : called(colour, chart));
const linesOf = ({ series }: Plot) => series.slice(1).map(({ stroke, fill }) => paint(stroke ?? fill));
const every = Object.entries(plots);

describe("the lines of a chart", () => {
  const mixed = (css: string, share: number) => `color-mix(in oklab, ${css} ${share}%, transparent)`;
  it.each([
    ["rate", ["var(--accent)", "var(--accent)", "var(--holdout)", "var(--holdout)"]],
    ["delay", [undefined, undefined, "var(--accent)"]],
    ["ages", ["var(--pending)"]],
    ["delays", ["var(--accent)"]],
    ["regret", ["var(--accent)", "var(--quiet)"]],
    ["curves", ["var(--p0)", "var(--p1)"]],
    ["ranks", [mixed("var(--p1)", 45)]],
    ["posterior", [mixed("var(--p1)", 45), undefined, undefined, "var(--p1)", "var(--ink)"]],
  ] as const)("of %s have the colours %j", (name, colours) => {
    expect(linesOf(plots[name]())).toEqual(colours);
  });

  it("of open buckets are dashed, with hollow dots, and of closed ones neither", () => {
    const lines = plots.rate().series.slice(1);
    expect(lines.map(({ dash }) => (dash ?? []).length)).toEqual([0, 2, 0, 2]);
    const dots = lines.map(({ points }) => paint(points?.fill));
    expect(dots).toEqual(["var(--accent)", "var(--card)", "var(--holdout)", "var(--card)"]);
  });

  it("of the truth are dashed, and those of the belief are not", () => {
    expect(plots.posterior().series.map(({ dash }) => (dash ?? []).length)).toEqual([0, 0, 0, 0, 0, 2]);
  });

  it("have a band in a weaker colour", () => {
    const bandOf = ({ bands = [] }: Plot) => paint(bands[0].fill);
    expect([bandOf(plots.delay()), bandOf(plots.posterior())]).toEqual([mixed("var(--accent)", 18), mixed("var(--p1)", 16)]);
  });
});

describe("the axes of a chart", () => {
  it.each(every)("of %s are quiet, with a thin grid", (_, plot) => {
    const [below, upwards] = plot().axes as uPlot.Axis[];
    for (const axis of [below, upwards]) expect(paint(axis.stroke)).toBe("var(--quiet)");
    expect([upwards.grid?.width, paint(upwards.grid?.stroke)]).toEqual([1, "var(--line)"]);
    expect([paint(below.ticks?.stroke), below.ticks?.size]).toEqual(["var(--line)", 4]);
    expect(upwards.ticks?.show).toBe(false);
    for (const axis of [below, upwards]) expect([axis.font, axis.gap]).toEqual(["12px system-ui, sans-serif", 4]);
    expect([below.size, upwards.size]).toEqual([26, 44]);
  });

  it.each(every)("of %s show a time only where it is one", (name, plot) => {
    const { scales } = plot();
    expect(scales?.x.time).toBe(name === "rate");
  });

  it("of the rate are in milliseconds, with times as labels", () => {
    const plot = plots.rate();
    const noon = new Date(2026, 10, 21, 12).getTime();
    const [below] = plot.axes as uPlot.Axis[];
    expect([plot.ms, called(below.values, {}, [noon], 0, 0, 3_600_000)]).toEqual([1, [moment(noon).slice(-5)]]);
    expect(called(below.values, {}, [noon], 0, 0, 1000)).toEqual([moment(noon, true).slice(-8)]);
  });

  it("of delays are logarithmic, with a label at each place that has room", () => {
    const plot = plots.delay();
    const [below] = plot.axes as uPlot.Axis[];
    expect([plot.scales?.x.distr, called(below.filter, {}, [1, 10, 1000])]).toEqual([3, [1, 10, 1000]]);
  });

  it("of the posterior hold all settings of the dial, and beliefs beyond 0 and 1", () => {
    const { scales, axes } = plots.posterior();
    expect([scales?.x.range, scales?.y.range]).toEqual([
      [-0.01, 1.01],
      [-0.3, 1.3],
    ]);
    const [below, upwards] = axes as uPlot.Axis[];
    expect(called(below.values, {}, [0, 0.5, 1])).toEqual(["0", "0.5", "1"]);
    expect(called(upwards.values, {}, [-0.25, 1])).toEqual(["−0.25", "1"]);
  });

  it("of ranks and bars have no grid below, and ranks one label each", () => {
    for (const name of ["ranks", "ages", "delays"] as const) expect((plots[name]().axes as uPlot.Axis[])[0].grid?.show, name).toBe(false);
    const [below] = plots.ranks().axes as uPlot.Axis[];
    expect([below.incrs, below.space]).toEqual([[1], 14]);
  });

  it("of rounds and visits have labels at whole numbers", () => {
    for (const name of ["curves", "regret"] as const) {
      const [below] = plots[name]().axes as uPlot.Axis[];
      expect(called(below.values, {}, [0, 2.5, 1500]), name).toEqual(["0", "", "1,500"]);
    }
  });
});

describe("the bars of a chart", () => {
  it.each(["ages", "delays", "ranks", "posterior"] as const)("of %s are drawn as bars", (name) => {
    expect(plots[name]().series[1].paths).toBeTypeOf("function");
  });

  it("leave a gap between them, and do not become broad where they are few", () => {
    const bars = vi.spyOn(uPlot.paths as Required<uPlot.Series.PathBuilderFactories>, "bars");
    for (const name of ["ages", "delays", "ranks", "posterior"] as const) plots[name]();
    const sizes = bars.mock.calls.map(([options]) => options?.size);
    bars.mockRestore();
    expect(sizes).toEqual([
      [0.9, 72],
      [0.9, 72],
      [0.8, 40],
      [0.8, 40],
    ]);
  });

  it("of a player are filled without an outline", () => {
    for (const name of ["ranks", "posterior"] as const) {
      expect([plots[name]().series[1].width, plots[name]().series[1].scale]).toEqual([0, "choices"]);
    }
  });
});
