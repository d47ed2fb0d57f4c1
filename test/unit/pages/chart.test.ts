import type uPlot from "uplot";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Alarm, Calm } from "../../../pages/dashboard/alarm.tsx";
import { DelayOf } from "../../../pages/dashboard/delay.tsx";
import { Ages, Delays } from "../../../pages/dashboard/histogram.tsx";
import { Rate } from "../../../pages/dashboard/rate.tsx";
import { lineOf } from "../../../pages/playground/client/curves.tsx";
import { moment } from "../../../pages/ui/notation.ts";
import type { Bar, Bucket, Delay, Metrics } from "../../../worker/protocol/metrics-answer.ts";
import { busy, idle } from "../../browser/report.ts";
import { drawn } from "../../support/markup.ts";

const HOUR_MS = 3_600_000;
const delay = busy.delay as Delay;
const withDelay = (more: Partial<Delay>): Metrics => ({ ...busy, delay: { ...delay, ...more } });
/** Calls a function of a plot's options, as uPlot does. */
const called = (work: unknown, ...args: unknown[]) => (work as (...args: unknown[]) => unknown)(...args);
const axesOf = (plot: Omit<uPlot.Options, "width" | "height">) => plot.axes as uPlot.Axis[];
const scaleOf = (plot: Omit<uPlot.Options, "width" | "height">, name: string) => (plot.scales as uPlot.Scales)[name];

afterEach(() => void vi.unstubAllGlobals());

describe("a histogram", () => {
  const bars = (counts: number[], last: number | null = counts.length): Bar[] =>
    counts.map((count, i) => ({ fromMs: i * HOUR_MS, toMs: i + 1 === counts.length && last === null ? null : (i + 1) * HOUR_MS, count }));

  it("says how many there are, where most, and of each bar its share", () => {
    const [chart] = drawn(Ages, { metrics: { ...busy, pendingByAge: bars([10, 30, 0]) } }).charts;
    expect(chart.summary).toBe("40 pending, most often 1 h to 2 h old.");
    expect(chart.data).toEqual([
      [0, 1, 2],
      [10, 30, 0],
    ]);
    expect([0, 1, 2].map(chart.describe)).toEqual(["0 to 1 h old: 10, 25 %", "1 h to 2 h old: 30, 75 %", "2 h to 3 h old: 0, 0 %"]);
    expect(chart.table()).toEqual({
      columns: ["From", "To", "Count"],
      rows: [
        ["0", "1 h", "10"],
        ["1 h", "2 h", "30"],
        ["2 h", "3 h", "0"],
      ],
    });
  });

  it("takes the first of bars that are equally high", () => {
    expect(drawn(Ages, { metrics: { ...busy, pendingByAge: bars([5, 5]) } }).charts[0].summary).toContain("most often 0 to 1 h old");
  });

  it("of delays has no empty bars at its ends, and may be open-ended", () => {
    const [chart] = drawn(Delays, { metrics: { ...busy, delays: bars([0, 4, 0, 6, 0]) } }).charts;
    expect(chart.data).toEqual([
      [0, 1, 2],
      [4, 0, 6],
    ]);
    expect(chart.summary).toBe("10 conversions, most often 3 h to 4 h after the impression.");
    const [open] = drawn(Delays, { metrics: { ...busy, delays: bars([1, 2], null) } }).charts;
    expect(open.describe(1)).toBe("1 h or more after the impression: 2, 67 %");
    expect(open.table().rows[1]).toEqual(["1 h", "", "2"]);
  });

  it("is not drawn without anything to count", () => {
    for (const [component, text] of [
      [Ages, "No impression is pending."],
      [Delays, "No conversion yet."],
    ] as const) {
      const { charts, text: said } = drawn(component, { metrics: idle });
      expect([charts.length, said.includes(text)]).toEqual([0, true]);
    }
  });

  it("has its bars at whole numbers, room above them, and a label at each edge for which there is room", () => {
    const plot = drawn(Ages, { metrics: { ...busy, pendingByAge: bars([10, 30, 0]) } }).charts[0].plot();
    const range = (scale: string, most = 0) => called(scaleOf(plot, scale).range, {}, 0, most);
    expect(range("x")).toEqual([-0.5, 2.5]);
    expect(range("y", 30)).toEqual([0, expect.closeTo(33, 9)]);
    expect(range("y", 1)).toEqual([0, 4]);
    const [below, upwards] = axesOf(plot);
    const labels = (width: number, ratio = 1) => {
      vi.stubGlobal("devicePixelRatio", ratio);
      return called(below.values, {}, called(below.splits, { bbox: { width } }));
    };
    expect(labels(1000)).toEqual(["0", "1 h", "2 h", "3 h"]);
    expect(labels(4 * 56)).toEqual(["0", "1 h", "2 h", "3 h"]);
    expect(labels(4 * 56 - 1)).toEqual(["0", "2 h"]);
    expect([labels(8 * 56, 2), labels(8 * 56 - 1, 2)]).toEqual([
      ["0", "1 h", "2 h", "3 h"],
      ["0", "2 h"],
    ]);
    expect(called(upwards.values, {}, [0, 0.5, 1000])).toEqual(["0", "", "1,000"]);
  });
});

describe("the rate", () => {
  const start = new Date(2026, 10, 1, 12).getTime();
  const bucket = (hour: number, arm: Bucket["arm"], impressions: number, converted: number, closed: boolean): Bucket => ({
    ...{ start: start + hour * HOUR_MS, arm, impressions, converted, reward: converted, closed },
  });
  const rate = (...buckets: Bucket[]) => drawn(Rate, { metrics: { ...busy, bucketMs: HOUR_MS, buckets } });
  const usual = [
    bucket(1, "policy", 10, 1, true),
    bucket(0, "policy", 20, 5, true),
    bucket(2, "policy", 10, 3, false),
    bucket(1, "holdout", 4, 1, true),
    bucket(2, "holdout", 0, 0, false),
  ];

  it("has a line of closed buckets per arm, and one of open ones from where that ends", () => {
    const [{ data, legend }] = rate(...usual).charts;
    expect(data).toEqual([
      [0, 1, 2].map((hour) => start + hour * HOUR_MS),
      ...[
        [0.25, 0.1, null],
        [null, 0.1, 0.3],
      ],
      ...[
        [undefined, 0.25, null],
        [undefined, 0.25, 0],
      ],
    ]);
    expect(legend?.map(({ mark, name }) => [mark, name])).toEqual([
      ["policy", "policy"],
      ["holdout", "holdout, uniform"],
      ["open", "open, can still rise"],
    ]);
  });

  it("says how closed and open buckets did, and each bucket's own numbers", () => {
    const [{ summary, describe, table }] = rate(...usual).charts;
    expect(summary).toBe("21 % of 34 impressions converted, in 1 h buckets. In the shaded buckets 30 % of 10 so far; this can still rise.");
    expect(describe(1)).toBe(`${moment(start + HOUR_MS)}: policy 10 % (1 of 10); holdout, uniform 25 % (1 of 4)`);
    expect(describe(2)).toBe(`${moment(start + 2 * HOUR_MS)}: policy 30 % (3 of 10, open); holdout, uniform 0 % (0 of 0, open)`);
    expect(table()).toEqual({
      columns: ["Shown from", "Assignment", "Converted", "Rate", "Bucket"],
      rows: [
        [moment(start + 2 * HOUR_MS), "policy", "3 of 10", "30 %", "open"],
        [moment(start + 2 * HOUR_MS), "holdout", "0 of 0", "0 %", "open"],
        [moment(start + HOUR_MS), "policy", "1 of 10", "10 %", "closed"],
        [moment(start + HOUR_MS), "holdout", "1 of 4", "25 %", "closed"],
        [moment(start), "policy", "5 of 20", "25 %", "closed"],
      ],
    });
  });

  it("names buckets of less than a minute to the second, and longer ones to the minute", () => {
    const said = (bucketMs: number) => {
      const [{ describe: described, table }] = drawn(Rate, { metrics: { ...busy, bucketMs, buckets: usual } }).charts;
      return [described(0).split(": policy")[0], table().rows.at(-1)?.[0]];
    };
    expect(moment(start, true)).not.toBe(moment(start));
    expect(said(59_999)).toEqual([moment(start, true), moment(start, true)]);
    expect(said(60_000)).toEqual([moment(start), moment(start)]);
  });

  it("says nothing of open buckets where all are closed, and nothing of closed ones where all are open", () => {
    const [closed] = rate(bucket(0, "default", 10, 1, true)).charts;
    expect([closed.summary, closed.legend?.length]).toEqual(["10 % of 10 impressions converted, in 1 h buckets.", 1]);
    const [open] = rate(bucket(0, "policy", 10, 1, false)).charts;
    expect(open.summary).toBe("In the shaded buckets 10 % of 10 so far; this can still rise.");
    expect(open.data).toEqual([[start], [null], [0.1]]);
  });

  it("breaks its lines where more than two buckets in a row are empty", () => {
    const at = (hour: number) => rate(bucket(0, "policy", 10, 1, true), bucket(hour, "policy", 10, 2, true)).charts[0];
    expect(at(3).data.slice(0, 2)).toEqual([
      [start, start + 3 * HOUR_MS],
      [0.1, 0.2],
    ]);
    expect(at(4).data.slice(0, 2)).toEqual([
      [start, start + HOUR_MS, start + 4 * HOUR_MS],
      [0.1, null, 0.2],
    ]);
    expect(at(4).describe(1)).toBe(`${moment(start + HOUR_MS)}: no impression`);
  });

  it("is drawn up to a little above the greatest rate, from 2 % to 100 %", () => {
    const plot = rate(...usual).charts[0].plot();
    const range = (scale: string, from: number, to: number) => called(scaleOf(plot, scale).range, {}, from, to);
    expect(range("y", 0, 0.2)).toEqual([0, expect.closeTo(0.23, 9)]);
    expect(range("y", 0, 0.01)).toEqual([0, 0.02]);
    expect(range("y", 0, 0.99)).toEqual([0, 1]);
    expect(range("x", start, start)).toEqual([start, start + HOUR_MS]);
    expect(range("x", start, start + 5 * HOUR_MS)).toEqual([start, start + 5 * HOUR_MS]);
    expect(plot.series).toHaveLength(5);
    expect((axesOf(plot)[0].incrs as number[])[0]).toBe(HOUR_MS);
    expect(called(axesOf(plot)[1].values, {}, [0.05])).toEqual(["5 %"]);
  });

  it("has ticks as far apart as clocks and calendars divide time, and none closer than its buckets", () => {
    const plot = drawn(Rate, { metrics: { ...busy, bucketMs: 2000, buckets: usual } }).charts[0].plot();
    const seconds = (axesOf(plot)[0].incrs as number[]).map((ms) => ms / 1000);
    expect(seconds.slice(0, 5)).toEqual([2, 5, 10, 15, 30]);
    expect(seconds.slice(5, 11)).toEqual([60, 120, 300, 600, 900, 1800]);
    expect(seconds.slice(11, 16)).toEqual([3600, 7200, 10_800, 21_600, 43_200]);
    expect(seconds.slice(16).map((each) => each / 86_400)).toEqual([1, 2, 7, 14, 28, 91, 182, 364]);
  });

  it("calls an arm that the policy was not to decide the default action", () => {
    const [{ legend, describe: described }] = rate(bucket(0, "default", 10, 1, true)).charts;
    expect(legend).toEqual([{ mark: "default", name: "default action" }]);
    expect(described(0)).toContain("default action 10 % (1 of 10)");
  });

  it("says how its first bucket comes about", () => {
    const { text, charts } = drawn(Rate, { metrics: idle });
    expect([text.includes("POST /v1/models/blog/recommendations"), charts.length]).toEqual([true, 0]);
  });
});

describe("the curves", () => {
  it("are told apart by their dashes, of which only the first has none", () => {
    const dashes = [0, 1, 2, 3, 4].map((place) => lineOf(place).dash);
    expect(dashes[0]).toBeUndefined();
    expect(new Set(dashes.map((dash) => String(dash))).size).toBe(5);
    for (const dash of dashes.slice(1)) expect((dash ?? []).filter((length) => length > 0).length).toBeGreaterThan(1);
  });
});

describe("the delays", () => {
  it("say in what time 95 % come, that a longer window may catch more, and since when none came", () => {
    const summary = (more: Partial<Delay>) => drawn(DelayOf, { metrics: withDelay(more) }).charts[0].summary;
    expect(summary({})).toBe(
      "95 % of conversions come within 11 h; the window is 1 d. Estimated from 27,413 impressions and 1,904 conversions. " +
        "The last one arrived 2.2 min ago; 0.4 were expected since.",
    );
    expect(summary({ window95Ms: 0.9 * busy.windowMs })).not.toContain("A longer window");
    expect(summary({ window95Ms: 0.9 * busy.windowMs + 1 })).toContain("the window is 1 d. A longer window may catch more. Estimated");
    expect(summary({ silence: { ...delay.silence, since: busy.now + 5000 } })).toContain("The last one arrived 0 ago");
  });

  it("are drawn as a band around a curve, with all three in words", () => {
    const distribution = [
      { delayMs: 1000, probability: 0.25, low: 0.125, high: 0.5, stillConverts: 0.0625 },
      { delayMs: HOUR_MS, probability: 1, low: 0.75, high: 1, stillConverts: 0 },
    ];
    const { charts, text } = drawn(DelayOf, { metrics: withDelay({ distribution }) });
    expect(charts[0].data).toEqual([
      [1000, HOUR_MS],
      [0.5, 1],
      [0.125, 0.75],
      [0.25, 1],
    ]);
    expect(charts[0].describe(0)).toBe("Within 1 s: 25 % arrived (13 % to 50 %). Not converted by then: 6.3 % still will");
    expect(charts[0].table().rows[1]).toEqual(["1 h", "100 %", "75 % to 100 %", "0 %"]);
    expect(text).toBe("converted so far 6.9 % once all windows end 7.4 % (7.1 % to 7.8 %) still to come 131 window for 95 % 11 h of 1 d");
  });

  it("say what is too few to state, and for how many more conversions it waits", () => {
    const few = { tooFew: { more: 12, of: "conversions whose window has closed" } };
    const distribution = [
      { delayMs: 1000, probability: 0.25, low: 0.125, high: 0.5, stillConverts: few },
      { delayMs: HOUR_MS, probability: 1, low: 1, high: 1, stillConverts: few },
    ];
    const young = { distribution, followedMs: HOUR_MS, rate: few, rateInterval: null, toCome: few, window95Ms: few };
    const quantiles = [{ share: 0.5, delayMs: few }];
    const windows = [{ windowMs: HOUR_MS, caught: few, low: 0, high: 1, rate: few }];
    const { charts, text } = drawn(DelayOf, { metrics: withDelay({ ...young, quantiles, windows }) });
    expect(charts[0].summary).toMatch(
      /^Window for 95 %: too few, about 12 more conversions whose window has closed; the window is 1 d. The chart shows the conversions within 1 h: longer delays are not known yet. Estimated/,
    );
    expect(charts[0].describe(0)).toBe("Within 1 s: 25 % arrived (13 % to 50 %).");
    expect(charts[0].table().rows[0]).toEqual(["1 s", "25 %", "13 % to 50 %", "too few"]);
    expect(text).toContain("once all windows end too few, about 12 more conversions whose window has closed still to come too few");
    expect(text).toContain("1 h too few, about 12 more conversions whose window has closed – too few");
    const goals = [{ goal: "click", windowMs: busy.windowMs, currency: null, delay: { ...delay, ...young, quantiles } }];
    expect(drawn(DelayOf, { metrics: { ...busy, goals } }).text).toContain("click 1 d – 1,904 too few too few too few too few");
  });

  it("have an axis of powers, with labels that do not meet", () => {
    const plot = drawn(DelayOf, { metrics: busy }).charts[0].plot();
    const x = (from: number, to: number) => called(scaleOf(plot, "x").range, {}, from, to);
    expect([x(10, 15), x(10, 50)]).toEqual([
      [10, 20],
      [10, 50],
    ]);
    expect(called(scaleOf(plot, "y").range)).toEqual([0, 1.25]);
    // 24 pixels for each power of ten: labels need 48.
    const chart = { valToPos: (ms: number) => 24 * Math.log10(ms) };
    expect(called(axesOf(plot)[0].splits, chart, 0, 10, HOUR_MS)).toEqual([10, 1000, 600_000]);
    expect(called(axesOf(plot)[1].values, {}, [0.5, 1, 1.25])).toEqual(["50 %", "100 %", ""]);
  });

  it("are not drawn before the first conversion", () => {
    const { charts, text } = drawn(DelayOf, { metrics: idle });
    expect([charts.length, text.includes("After the first conversion")]).toEqual([0, true]);
  });

  it("raise an alarm only where the worker does, with what chance alone would do", () => {
    const silence = { since: busy.now - 8_640_000, expected: 14.3, chance: 6.2e-7, alarm: true };
    const { text } = drawn(Alarm, { metrics: withDelay({ silence }) });
    expect(text).toContain("Conversions of shop have stopped");
    expect(text).toContain(
      "None has arrived for 2.4 h, though about 14 were expected. By chance alone this happens once in 2,000,000 times. " +
        "Either visitors can no longer convert, or the shop's webhooks do not arrive.",
    );
    expect(drawn(Alarm, { metrics: withDelay({ silence: { ...silence, chance: 0 } }) }).text).toContain("once in 1,000,000,000 times");
    expect(drawn(Alarm, { metrics: busy }).text).toBe("");
    expect(drawn(Alarm, { metrics: idle }).text).toBe("");
    expect(drawn(Calm, { metrics: withDelay({ silence }) }).text).toMatch(
      /^Nobody has bought for .* simulated, and buy only when you send/,
    );
    expect(drawn(Calm, { metrics: busy }).text).toBe("");
  });
});

describe("the goals", () => {
  const DAY_MS = 24 * HOUR_MS;
  const purchase = { goal: "purchase", windowMs: 7 * DAY_MS, currency: null, delay: { ...delay, window95Ms: 5 * DAY_MS } };
  const click = { goal: "click", windowMs: HOUR_MS, currency: null, delay: { ...delay, window95Ms: 90_000, conversions: 5000 } };
  const goals = [click, purchase, { goal: "cart", windowMs: DAY_MS, currency: null, delay: null }];
  const withGoals = (of: Metrics["goals"]): Metrics => ({ ...busy, goals: of });
  const silence = { since: busy.now - 8_640_000, expected: 14.3, chance: 6.2e-7, alarm: true };

  it("state what has reached each of them, with orders, refunds and net in their currency", () => {
    const amounts = { currency: "EUR", orders: 1234, refunds: 56, paid: 98_000, refunded: 4000, net: 94_000 };
    const reached = [
      { goal: "click", weight: 0, converted: 4000, rateSoFar: 0.15, amounts: null },
      { goal: "purchase", weight: 1, converted: 1200, rateSoFar: 0.044, amounts },
    ];
    const { text } = drawn(DelayOf, { metrics: { ...withGoals(goals), reached } });
    expect(text).toContain("click 1 h 4,000, 15 %, counts for nothing itself 5,000");
    expect(text).toContain("purchase 7 d 1,200, 4.4 %");
    expect(text).toContain("purchase 1,234 of 98,000 EUR 56 of 4,000 EUR 94,000 EUR");
    expect(drawn(DelayOf, { metrics: withGoals(goals) }).text).not.toContain("Refunds");
  });

  it("are listed with what each has brought, and the first is drawn", () => {
    const { text, elements, charts } = drawn(DelayOf, { metrics: withGoals(goals) });
    expect(text).toContain("click 1 h – 5,000 7.4 % 131 2.6 h 1.5 min");
    expect(text).toContain("cart 1 d – none yet – – – –");
    expect(elements.flatMap(({ tag, props }) => (tag === "button" ? [props["aria-pressed"]] : []))).toEqual(["true", "false", "false"]);
    expect(charts.map(({ title }) => title)).toEqual(["How late conversions come: click"]);
    expect(charts[0].summary).toContain("95 % of conversions come within 1.5 min; the window is 1 h.");
  });

  it("say what shorter windows would catch", () => {
    const windows = [
      { windowMs: DAY_MS, caught: 0.25, low: 0.2, high: 0.31, rate: 0.0186 },
      { windowMs: 3 * DAY_MS, caught: 0.8, low: 0.75, high: 0.85, rate: 0.0594 },
      { windowMs: 7 * DAY_MS, caught: 1, low: 1, high: 1, rate: 0.0742 },
    ];
    const { text } = drawn(DelayOf, { metrics: withGoals([{ ...purchase, delay: { ...purchase.delay, windows } }]) });
    expect(text).toContain("With the window of 7 d, 7.4 % of impressions convert.");
    expect(text).toContain("1 d 25 % 20 % to 31 % 1.9 % 3 d 80 % 75 % to 85 % 5.9 %");
    expect(text).not.toContain("100 % 100 % to 100 %");
    expect(drawn(DelayOf, { metrics: busy }).text).not.toContain("Shorter windows");
  });

  it("without a conversion say so, and a model that declares none is drawn as a whole", () => {
    expect(drawn(DelayOf, { metrics: withGoals([goals[2]]) }).text).toContain("How late conversions come: cart");
    expect(drawn(DelayOf, { metrics: withGoals([]) }).charts[0].title).toBe("How late conversions come");
  });

  it("that are silent are named in the alarm, although others arrive", () => {
    const silent = { ...purchase, delay: { ...purchase.delay, silence } };
    const { text } = drawn(Alarm, { metrics: withGoals([click, silent]) });
    expect(text).toContain("Conversions of shop have stopped: purchase");
    expect(text).toContain("No purchase has arrived for 2.4 h, though about 14 were expected.");
    expect(drawn(Alarm, { metrics: withGoals(goals) }).text).toBe("");
    const together = drawn(Alarm, { metrics: { ...withDelay({ silence }), goals } });
    expect(together.text).toContain("Conversions of shop have stopped None has arrived");
    expect(drawn(Calm, { metrics: withGoals([click, silent]) }).text).toContain("Nobody has bought for 2.4 h");
  });
});
