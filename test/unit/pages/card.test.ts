import type uPlot from "uplot";
import { describe, expect, it } from "vitest";
import { Arrivals, Curves } from "../../../pages/playground/client/curves.tsx";
import { PlayerCard } from "../../../pages/playground/client/player-card.tsx";
import { Standings } from "../../../pages/playground/client/standings.tsx";
import type { MatchReport, PlayerReport } from "../../../pages/playground/match.ts";
import { defaults } from "../../../pages/playground/settings.ts";
import { drawn } from "../../support/markup.ts";

const player = (more: Partial<PlayerReport>): PlayerReport => ({
  ...{ name: "A", regret: [0, 2, 5], pending: [0, 3, 4], counted: [0, 1, 6], late: [0, 0, 7] },
  ...{ choices: Uint32Array.of(10, 5, 3, 2), estimate: null, digest: "d1" },
  ...more,
});
const estimate = { mean: Float64Array.of(0.25, 0.5, 1.25, 0.5), deviation: Float64Array.of(0.125, 0.25, 0.125, 0.5) };
const players = [player({ estimate } as Partial<PlayerReport>), player({ name: "B", regret: [0, 1, 1], digest: "d2" })];
const report: MatchReport = { round: 20, rounds: 40, sampled: [0, 10, 20], truth: [0.125, 0.5, 0.75, 1], players };

/** Calls a function of a plot's options, as uPlot does. */
const called = (work: unknown, ...args: unknown[]) => (work as (...args: unknown[]) => unknown)(...args);
const most = ({ scales }: Pick<uPlot.Options, "scales">, name: string, value: number) => called(scales?.[name].range, {}, 0, value);
const labels = ({ axes }: Pick<uPlot.Options, "axes">, axis: number, ticks: number[]) => called(axes?.[axis].values, {}, ticks);
const dotted = ({ series }: Pick<uPlot.Options, "series">) => series.slice(1).map(({ points }) => points?.show ?? true);
const card = (place: number, problem: "linear" | "curve", match = report) =>
  drawn(PlayerCard, { settings: defaults[problem], report: match, place });

describe("a card of the curve", () => {
  const [chart] = card(0, "curve").charts;

  it("has choices, both edges of a band of two deviations, the mean and the truth", () => {
    expect(chart.data).toEqual([
      [0, 1 / 3, 2 / 3, 1],
      [10, 5, 3, 2],
      [0.5, 1, 1.5, 1.5],
      [0, 0, 1, -0.5],
      [0.25, 0.5, 1.25, 0.5],
      [0.125, 0.5, 0.75, 1],
    ]);
    expect(chart.describe(1)).toBe("At 0.333: mean 0.5 ± 0.5, truth 0.5; chosen 5 times");
    expect(chart.table().rows[1]).toEqual(["0.333", "0.5", "0.25", "0.5", "5"]);
  });

  it("is drawn without dots, with a band between its edges and room above its bars", () => {
    const plot = chart.plot();
    expect(dotted(plot)).toEqual([false, false, false, false, false]);
    expect(plot.bands?.map(({ series }) => series)).toEqual([[2, 3]]);
    expect([most(plot, "choices", 10), most(plot, "choices", 0)]).toEqual([
      [0, 30],
      [0, 3],
    ]);
    expect(plot.series.slice(2, 4).map(({ width }) => width)).toEqual([0, 0]);
  });

  it("counts the choices at most two places from the best", () => {
    expect(chart.summary).toBe(
      "Line: mean. Band: two deviations. Dashes: truth. Bars: choices. 50 % of choices lie within 0.04 of the optimum.",
    );
  });

  it("has no line where nothing is believed", () => {
    const [without] = card(1, "curve").charts;
    expect(without.data.slice(2, 5)).toEqual(Array(3).fill([null, null, null, null]));
    expect(without.describe(3)).toBe("At 1: truth 1; chosen 2 times");
    expect(without.table().rows[3]).toEqual(["1", "", "", "1", "2"]);
    expect(without.summary).toMatch(/^This policy has no posterior\./);
  });
});

describe("a card of the linear problem", () => {
  const { charts, elements, text } = card(0, "linear");

  it("has the share of each rank", () => {
    const [{ data, summary, describe: described, table }] = charts;
    expect(data).toEqual([
      [1, 2, 3, 4],
      [0.5, 0.25, 0.15, 0.1],
    ]);
    expect(summary).toBe("A chose the best of the ten in 50 % of rounds, one of the best three in 90 %.");
    expect(described(1)).toBe("Rank 2: 5 times, 25 %");
    expect(table().rows[3]).toEqual(["4", "2", "10 %"]);
  });

  it("has room around its bars, and labels below those of the ten only", () => {
    const plot = charts[0].plot();
    expect(plot.scales?.x.range).toEqual([0.4, 4.6]);
    expect([most(plot, "choices", 0.1), most(plot, "choices", 1)]).toEqual([
      [0, 0.2],
      [0, expect.closeTo(1.1, 9)],
    ]);
    expect(labels(plot, 0, [0, 1, 10, 11])).toEqual(["", "1", "10", ""]);
    expect([labels(plot, 1, [0.5]), plot.axes?.[1].scale, dotted(plot)]).toEqual([["50 %"], "choices", [false]]);
  });

  it("places each weight between -0.25 and 1.25, with two deviations to either side", () => {
    const styles = elements.flatMap(({ props }) => (props.style && "--low" in (props.style as object) ? [props.style] : []));
    const places = styles.map((style) => Object.values(style as Record<string, string>).map(Number.parseFloat));
    const at = (value: number) => expect.closeTo((100 * (value + 0.25)) / 1.5, 6);
    expect(places).toEqual([
      [at(0), at(0.5), at(0.25), at(0.125)],
      [at(0), at(1), at(0.5), at(0.5)],
      [at(1), at(1.25), at(1.25), at(0.75)],
      [at(-0.25), at(1.25), at(0.5), at(1)],
    ]);
    expect(text).toContain("Weights of the features");
    expect(card(1, "linear").text).toContain("B learns nothing, so there is no estimate.");
  });

  it("has no shares before the first round", () => {
    const none = { ...report, round: 0, players: [player({ choices: Uint32Array.of(0, 0, 0) })] };
    expect(card(0, "linear", none).charts[0].data[1]).toEqual([0, 0, 0]);
  });
});

describe("the curves of a match", () => {
  it("have a line per policy, told apart by colour and dash", () => {
    const [{ data, plot, describe: described, summary }] = drawn(Curves, { report }).charts;
    expect(data).toEqual([
      [0, 10, 20],
      [0, 2, 5],
      [0, 1, 1],
    ]);
    expect([described(1), summary]).toEqual(["Round 10: A 2, B 1", "Expected, compared with the best choice of each round: A 5, B 1."]);
    const options = plot();
    expect([dotted(options), new Set(options.series.slice(1).map(({ dash }) => String(dash))).size]).toEqual([[false, false], 2]);
    expect([options.scales?.x.range, most(options, "y", 0), labels(options, 1, [0.5, 1000])]).toEqual([
      [0, 40],
      [0, 1.1],
      ["", "1,000"],
    ]);
  });

  it("of what arrives are pending, in time and late", () => {
    expect(drawn(Arrivals, { report }).charts.map(({ id, data }) => [id, data[1]])).toEqual([
      ["pending", [0, 3, 4]],
      ["counted", [0, 1, 6]],
      ["late", [0, 0, 7]],
    ]);
  });

  it("have about twenty rows of numbers, the last round among them", () => {
    const sampled = Array.from({ length: 42 }, (_, i) => i);
    const long = { ...report, round: 41, sampled, players: [player({ regret: sampled })] };
    const { rows } = drawn(Curves, { report: long }).charts[0].table();
    expect(rows.map(([round]) => Number(round))).toEqual([...Array.from({ length: 14 }, (_, i) => 3 * i), 41]);
    expect(drawn(Curves, { report }).charts[0].table().rows).toEqual([
      ["0", "0", "0"],
      ["10", "2", "1"],
      ["20", "5", "1"],
    ]);
  });
});

it("the standings are the last numbers of each policy", () => {
  const { text } = drawn(Standings, { report });
  expect(text).toContain("After 20 rounds");
  expect(text).toMatch(/A 5\.00 0\.2500 4 6 7 d1 B 1\.00 0\.0500 4 6 7 d2$/);
});
