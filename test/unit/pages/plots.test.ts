import uPlot from "uplot";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DelayOf } from "../../../pages/dashboard/delay.tsx";
import { Ages, Delays } from "../../../pages/dashboard/histogram.tsx";
import { Rate } from "../../../pages/dashboard/rate.tsx";
import { Curves } from "../../../pages/playground/client/curves.tsx";
import { PlayerCard } from "../../../pages/playground/client/player-card.tsx";
import { defaults } from "../../../pages/playground/settings.ts";
import { Regret } from "../../../pages/shop/regret.tsx";
import { busy } from "../../browser/report.ts";
import { drawn } from "../../support/markup.ts";

const player = (name: string) => ({
  name,
  regret: [0],
  pending: [0],
  counted: [0],
  late: [0],
  choices: Uint32Array.of(1, 2),
  estimate: null,
  digest: "",
});
const report = { round: 3, rounds: 40, sampled: [0], truth: [0.5, 1], players: [..."ABCDE"].map(player) };
const session = { visits: [{ favourite: true, model: 0, uniform: 1 }], visitorsLeft: 0 } as never;

const charts = {
  rate: () => drawn(Rate, { metrics: { ...busy, bucketMs: 1000 } }),
  delay: () => drawn(DelayOf, { metrics: busy }),
  ages: () => drawn(Ages, { metrics: { ...busy, pendingByAge: busy.pendingByAge.slice(0, 3) } }),
  delays: () => drawn(Delays, { metrics: busy }),
  regret: () => drawn(Regret, { session }),
  curves: () => drawn(Curves, { report }),
  ranks: () => drawn(PlayerCard, { settings: defaults.linear, report, place: 1 }),
  posterior: () => drawn(PlayerCard, { settings: defaults.curve, report, place: 1 }),
};

/** Records what is painted. Along x, 12.5 powers of ten take the width. */
function canvas(width: number, data: unknown = []) {
  const painted: unknown[][] = [];
  const record =
    (name: string) =>
    (...args: unknown[]) =>
      void painted.push([name, ...args]);
  const ctx = Object.fromEntries(
    ["fillRect", "moveTo", "lineTo", "setLineDash", "save", "restore", "beginPath", "stroke"].map((name) => [name, record(name)]),
  );
  const valToPos = (x: number, _: string, onCanvas: boolean) => (onCanvas ? 20 : 0) + (width / 12.5) * Math.log10(x);
  return { painted, chart: { ctx, data, valToPos, bbox: { left: 20, top: 5, width, height: 50 }, root: { style: { color: "" } } } };
}

beforeEach(() => {
  vi.stubGlobal("getComputedStyle", ({ style }: { style: object }) => style);
  vi.stubGlobal("devicePixelRatio", 2);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const NOON = new Date(2026, 10, 21, 12).getTime();
const YEAR_MS = 365 * 86_400_000;
const ENDS = [
  [3, 0],
  [0, 0.01],
  [0, 0.9],
  [0, 30],
];

type Work = (...args: unknown[]) => unknown;

/** The options of a plot with what their functions return, a line for each option. */
function written(name: string, options: object): string {
  const { chart } = canvas(300);
  const calls: Readonly<Record<string, (work: Work) => unknown>> = {
    range: (work) => ENDS.map((ends) => work(chart, ...ends)),
    splits: (work) => [work(chart, 0, 1, YEAR_MS), work(canvas(2000).chart, 0, 10, YEAR_MS)],
    filter: (work) => work(chart, [1, 2]),
    values: (work) => work(chart, name === "rate" ? [NOON] : [-0.5, 0, 0.25, 0.5, 1, 1.25, 1000], 0, 0, 1000),
  };
  const told = (key: string, value: unknown) => {
    if (typeof value === "number") return Number(value.toPrecision(9));
    return typeof value === "function" ? (calls[key] ?? ((work: Work) => work(chart)))(value as Work) : value;
  };
  const lines = Object.entries(options).flatMap(([key, value]) =>
    key === "hooks" ? [] : [value].flat().map((each) => `${key} ${JSON.stringify(each, told)}`),
  );
  return [`# ${name}`, ...lines].join("\n");
}

it("charts hand to uPlot what is written. After a change of looks `vitest -u` writes it again", async () => {
  vi.spyOn(uPlot.paths, "bars").mockImplementation(((options: object) => () => options) as never);
  const plots = Object.entries(charts).map(([name, chart]) => written(name, chart().charts[0].plot()));
  await expect(`${plots.join("\n\n")}\n`).toMatchFileSnapshot("./plots.txt");
});

const none = [null, null, null, null];
it.each([
  [
    "where an open line goes on from its closed one",
    [
      [0.1, 0.2, null, null],
      [null, 0.2, 0.3, 0.1],
    ],
    44,
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
  ["at the left edge, if all are open", [none, [0.1, 0.2, 0.3, 0.1]], 20],
  ["nowhere, if all are closed", [[0.1, 0.2, 0.3, 0.1], none], null],
])("the shade of open buckets begins %s", (_, lines, left) => {
  const { painted, chart } = canvas(300, [[0.1, 10 ** (10 / 24), 10, 10 ** (30 / 24)], ...lines]);
  for (const draw of charts.rate().charts[0].plot().hooks?.drawClear ?? []) (draw as (chart: unknown) => void)(chart);
  expect(painted).toEqual(left === null ? [] : [["save"], ["fillRect", left, 5, 320 - left, 50], ["restore"]]);
});

it("the delays have a dashed line at the window for 95 %, if that is known", () => {
  const paintedAt = (window95Ms: unknown) => {
    const { painted, chart } = canvas(300);
    const { hooks } = drawn(DelayOf, { metrics: { ...busy, delay: { ...busy.delay, window95Ms } } as typeof busy }).charts[0].plot();
    for (const draw of hooks?.draw ?? []) (draw as (chart: unknown) => void)(chart);
    return painted;
  };
  expect(paintedAt({ tooFew: { more: 40, of: "conversions" } })).toEqual([]);
  expect(paintedAt(10)).toEqual([
    ["save"],
    ["setLineDash", [8, 8]],
    ["beginPath"],
    ["moveTo", 44, 5],
    ["lineTo", 44, 55],
    ["stroke"],
    ["restore"],
  ]);
});

it("the chart of rates is made anew for another model, for other buckets and for other assignments, and stays otherwise", () => {
  const keyOf = (more: object) => (Rate({ metrics: { ...busy, ...more } }) as unknown as { key: string }).key;
  const buckets = [{ ...busy.buckets[0], arm: "default" }];
  expect(new Set([{}, { model: "blog" }, { bucketMs: busy.bucketMs / 60 }, { buckets }].map(keyOf)).size).toBe(4);
  expect(keyOf({ now: busy.now + 2000 })).toBe(keyOf({}));
});
