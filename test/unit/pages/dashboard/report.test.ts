import { describe, expect, it } from "vitest";
import { DelayOf } from "../../../../pages/dashboard/delay.tsx";
import { Estimated } from "../../../../pages/dashboard/examination.tsx";
import { ExplanationOf } from "../../../../pages/dashboard/explanation.tsx";
import { Figures } from "../../../../pages/dashboard/figures.tsx";
import { LiftOf } from "../../../../pages/dashboard/lift.tsx";
import { Recents } from "../../../../pages/dashboard/recents.tsx";
import type { Explanation } from "../../../../worker/protocol/answers.ts";
import type { Delay, GoalLift, Lift } from "../../../../worker/protocol/metrics-answer.ts";
import { busy, examined, explained, idle } from "../../../browser/report.ts";
import { type Drawn, drawn } from "../../../support/markup.ts";

const HOUR_MS = 3_600_000;
/** The marks of each line, in the order in which they are drawn. */
function marksOf({ elements }: Drawn): string[][] {
  const lines: string[][] = [];
  for (const { tag, props } of elements) {
    if (props.style && tag === "div") lines.push([]);
    else if (tag === "ul" || tag === "tfoot") break;
    else if (tag === "i" && props.class) lines.at(-1)?.push(props.class as string);
  }
  return lines;
}
const placesOf = ({ elements }: Drawn) => elements.flatMap(({ props }) => (props.style ? [Object.keys(props.style as object)] : []));

describe("the candidates of an explanation", () => {
  const few = { more: 3, of: "amounts" };
  const candidates = [
    { id: "boots", belief: { mean: 0.5, low: 0.25, high: 0.75 }, score: 1 },
    { id: "hat", belief: { mean: 0.5, low: null, high: null }, score: 0.5 },
    { id: "scarf", belief: { mean: 0.25, low: null, high: null, tooFew: few }, score: 0.25 },
    { id: "socks", belief: null, score: 0 },
  ] as unknown as Explanation["candidates"];
  const page = drawn(ExplanationOf, { explanation: { ...explained, candidates }, now: busy.now });

  it("have a band where the interval is known, and a mean where anything is believed", () => {
    expect(marksOf(page).slice(0, 4)).toEqual([
      ["zero", "band", "mean", "score"],
      ["zero", "mean", "score"],
      ["zero", "mean", "score"],
      ["zero", "score"],
    ]);
    expect(placesOf(page).slice(0, 4)).toEqual([
      ["--zero", "--score", "--mean", "--low", "--high"],
      ["--zero", "--score", "--mean"],
      ["--zero", "--score", "--mean"],
      ["--zero", "--score"],
    ]);
  });

  it("say in words what is not known", () => {
    expect(page.text).toMatch(
      /boots shown 0\.50 0\.25 to 0\.75 1\.00 hat 0\.50 too few amounts 0\.50 scarf 0\.25 too few, about 3 more amounts 0\.25 socks 0\.00/,
    );
  });

  it("stand above an axis from zero to the end of the scale", () => {
    expect(page.text).toContain("0.00 01 mean interval of 95 % score, which sets the rank");
  });

  it("are counted in no currency where there is none", () => {
    expect(page.text).toContain("Candidate Chart Mean interval of 95 % Score");
  });

  it("are left out where the worker knows none", () => {
    expect(drawn(ExplanationOf, { explanation: { ...explained, candidates: null }, now: busy.now }).text).not.toContain("Candidates now");
  });
});

describe("what is expected of an impression", () => {
  const said = (now: Explanation["now"]) => drawn(ExplanationOf, { explanation: { ...explained, now }, now: busy.now }).text;

  it("is the share of each goal, of all or of those with the goal before", () => {
    const interval = { mean: 0.2, low: 0.1, high: 0.3 };
    const factors = [
      { goal: "click", ...interval },
      { goal: "order", after: "click", ...interval },
    ];
    const text = said({ ...interval, factors } as Explanation["now"]);
    expect(text).toContain("click share of impressions 20 % 10 % to 30 % order share of those with click 20 % 10 % to 30 %");
  });

  it("is an amount without a currency where there is none, and clipped only if it is", () => {
    const interval = { mean: 40, low: 20, high: 60 };
    const text = said({ ...interval, factors: [{ goal: "order", amount: true, ...interval }] } as Explanation["now"]);
    expect(text).toContain("order mean amount 40 20 to 60");
  });

  it("is not written by goal where the model has none", () => {
    expect(said(explained.now)).not.toContain("by goal");
    expect(said(null as unknown as Explanation["now"])).not.toContain("by goal");
  });
});

describe("the lift", () => {
  const lift = busy.lift as Lift;
  const page = (more: Partial<GoalLift>) =>
    drawn(LiftOf, { metrics: { ...busy, lift: { ...lift, goals: [{ ...lift.goals[0], ...more }] } } });

  it("has a sign, in points and as a share", () => {
    const worse = page({ difference: { value: -0.01, low: -0.02, high: 0 }, relative: -0.2 }).text;
    expect(worse).toContain("−1.0 points, −20 % of the holdout's rate");
    expect(worse).toContain("−2.0 points to 0 points");
    expect(page({ relative: 0 }).text).toContain(", 0 % of the holdout's rate");
  });

  it("is a mark on a band, over zero", () => {
    expect(marksOf(page({})).slice(0, 1)).toEqual([["zero", "band", "mean"]]);
  });

  it("says no more than needed where one share was compared within the window", () => {
    const { text } = page({});
    for (const words of ["not amounts", "No impression is as old", "shares", "tells nothing", "registered or imported"]) {
      expect(text).not.toContain(words);
    }
  });
});

describe("the examination of places", () => {
  it("has a band where a weight is known, and the weight that the model learns with", () => {
    expect(marksOf(drawn(Estimated, { model: "shop", examination: examined }))).toEqual([
      ...Array(3).fill(["zero", "band", "mean", "score"]),
      ["zero", "score"],
    ]);
    expect(marksOf(drawn(Estimated, { model: "shop", examination: { ...examined, configured: null } }))).toEqual([
      ...Array(3).fill(["zero", "band", "mean"]),
      ["zero"],
    ]);
  });

  it("is a table with a head", () => {
    const { elements, text } = drawn(Estimated, { model: "shop", examination: examined });
    expect(text).toContain("Place conversions Chart Weight interval of 95 %");
    const scopes = elements.flatMap(({ tag, props }) => (tag === "th" ? [props.scope] : []));
    expect(scopes.filter((scope) => scope === "row")).toHaveLength(3 + examined.places.length);
  });
});

describe("the figures", () => {
  const titles = (metrics: typeof busy) => drawn(Figures, { metrics }).elements.flatMap(({ props }) => (props.title ? [props.title] : []));

  it("name the version of the snapshot, or that there is none", () => {
    expect(titles(busy)).toContain("Version 29100");
    expect(titles(idle)).toContain("None published yet");
  });

  it("count a change of rates that is yet to come as one of now", () => {
    const change = { since: busy.now + 5000, probability: 0.5 };
    expect(drawn(Figures, { metrics: { ...busy, change } }).text).toContain("Rates have changed about 0 ago");
  });

  it("mark each count by its status", () => {
    const counts = drawn(Figures, { metrics: busy }).elements.flatMap(({ tag, props }) =>
      tag === "dd" && props.class ? [props.class] : [],
    );
    expect(counts).toEqual([
      ...["impressions", "pending", "converted", "retracted", "expired"],
      ...["applied", "duplicate", "late", "conflict", "orphan"],
    ]);
  });
});

describe("the goals", () => {
  const delay = busy.delay as Delay;
  const goal = { goal: "click", windowMs: HOUR_MS, currency: null, delay };
  const said = (more: Partial<typeof busy>) => drawn(DelayOf, { metrics: { ...busy, goals: [goal], ...more } }).text;

  it("have no share where no impression counts, and no half where it is not known", () => {
    const reached = [{ goal: "click", weight: 1, converted: 4, rateSoFar: null, amounts: null }];
    expect(said({ reached })).toContain("click 1 h 4 1,904");
    const quantiles = delay.quantiles.filter(({ share }) => share !== 0.5);
    expect(said({ goals: [{ ...goal, delay: { ...delay, quantiles } }] })).toContain("131 – 11 h");
  });

  it("say what shorter windows catch although the rate is not known", () => {
    const windows = [{ windowMs: 60_000, caught: 0.25, low: 0.2, high: 0.3, rate: 0.1 }];
    const rate = { tooFew: { more: 12, of: "conversions" } };
    const young = { ...delay, windows, rate } as Delay;
    expect(said({ goals: [{ ...goal, delay: young }] })).toContain("misses late conversions. Window Catches 95 % band Rate 1 min 25 %");
  });

  it("follow the window to its end where nothing else is said", () => {
    const summary = (followedMs: number) =>
      drawn(DelayOf, { metrics: { ...busy, delay: { ...delay, followedMs } } }).charts[0].summary.includes(
        "longer delays are not known yet",
      );
    expect([summary(busy.windowMs), summary(busy.windowMs - 1)]).toEqual([false, true]);
  });
});

describe("the newest impressions", () => {
  it("are marked by their status, and are just now for a second", () => {
    const recent = [999, 1000].map((ago) => ({ ...busy.recent[0], impressionId: `i-${ago}`, shownAt: busy.now - ago }));
    const { text, elements } = drawn(Recents, { metrics: { ...busy, recent }, chosen: undefined });
    expect(text).toContain("bootspending, just now bootspending, 1 s ago");
    expect(elements.flatMap(({ tag, props }) => (tag === "i" ? [props["data-status"]] : []))).toEqual(["pending", "pending"]);
  });
});
