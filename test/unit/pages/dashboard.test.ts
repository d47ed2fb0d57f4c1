import { describe, expect, it } from "vitest";
import { Estimated, ExaminationOf } from "../../../pages/dashboard/examination.tsx";
import { ExplanationOf } from "../../../pages/dashboard/explanation.tsx";
import { Figures } from "../../../pages/dashboard/figures.tsx";
import { LiftOf } from "../../../pages/dashboard/lift.tsx";
import { Recents } from "../../../pages/dashboard/recents.tsx";
import { moment } from "../../../pages/ui/notation.ts";
import type { Explanation } from "../../../worker/protocol/answers.ts";
import type { Examination, GoalLift, Lift } from "../../../worker/protocol/metrics-answer.ts";
import { busy, examined, explained, idle } from "../../browser/report.ts";
import { drawn } from "../../support/markup.ts";

const HOUR_MS = 3_600_000;
const lift = busy.lift as Lift;
const [goal] = lift.goals;
const shares = (style: unknown) =>
  Object.fromEntries(Object.entries(style as Record<string, string>).map(([name, value]) => [name, Number.parseFloat(value)]));

describe("the lift", () => {
  const said = (more: Partial<GoalLift>) => drawn(LiftOf, { metrics: { ...busy, lift: { ...lift, goals: [{ ...goal, ...more }] } } });

  it.each([
    [0.01, 0.05, "The policy is better than random choice."],
    [-0.05, -0.01, "The policy is worse than random choice."],
    [0, 0.05, "No clear difference yet: the interval contains zero."],
    [-0.05, 0, "No clear difference yet: the interval contains zero."],
  ])("with an interval of %d to %d says: %s", (low, high, verdict) => {
    expect(said({ difference: { value: 0, low, high } }).text).toContain(verdict);
  });

  it("is written with its rates, its interval and its share of the holdout's rate", () => {
    const { text } = said({});
    expect(text).toContain("policy 8.2 % 1,380 of 18,211 in 18,211 lists holdout, random 4.5 % 86 of 2,023 in 2,023 lists");
    expect(text).toContain("+3.7 points, +82 % of the holdout's rate");
    expect(text).toContain("95 % interval at all looks +2.6 points to +4.8 points");
    expect(said({ relative: null }).text).not.toContain("of the holdout's");
    expect(said({ policy: { ...goal.policy, rate: null } }).text).toContain("policy – 1,380");
  });

  it("is drawn on a scale that holds zero and the interval", () => {
    const { elements } = said({ difference: { value: 0.5, low: 0.25, high: 1 } });
    const styles = elements.flatMap(({ props }) => (props.style ? [shares(props.style)] : []));
    const at = (value: number) => expect.closeTo((100 * (value + 0.04)) / 1.08, 9);
    expect(styles).toEqual([{ "--zero": at(0), "--low": at(0.25), "--high": at(1), "--mean": at(0.5) }, { "--zero": at(0) }]);
  });

  it("says what is missing: conversions, or a holdout", () => {
    const { text, elements } = said({ difference: { tooFew: { more: 12, of: "converted lists of the arm that has fewer" } } });
    expect(text).toContain("Too few: about 12 more converted lists of the arm that has fewer");
    expect(elements.some(({ props }) => props.style)).toBe(false);
    expect(drawn(LiftOf, { metrics: { ...busy, lift: null } }).text).toContain('PATCH /v1/models/shop and { "holdout": 0.1 }');
  });

  it("says what is compared: each goal, within each share, conversions and not amounts", () => {
    const [half, none] = [
      { holdout: 0.5, lists: { policy: 9, holdout: 9 }, compared: true },
      { holdout: 0, lists: { policy: 9, holdout: 0 }, compared: false },
    ];
    const { text } = said({ currency: "EUR", shares: [half, none], withinMs: 3 * HOUR_MS });
    expect(text).toContain("No impression is as old as the window yet: rates count conversions within 3 h.");
    expect(text).toContain("Conversions are compared, not amounts in EUR.");
    expect(text).toContain("The holdout has had 2 shares.");
    expect(text).toContain("A share tells nothing while an arm has fewer than two matured lists.");
    const two = { ...busy, lift: { ...lift, unassigned: 7, goals: [goal, { ...goal, goal: "click" }] } };
    expect(drawn(LiftOf, { metrics: two }).text).toMatch(/over the holdout: conversion.*over the holdout: click.*7 registered or imported/);
  });
});

describe("the figures", () => {
  it("are the counts, the lag and the age of the snapshot", () => {
    expect(drawn(Figures, { metrics: busy }).text).toBe(
      "Impressions shown 27,413 pending 6,120 converted 1,904 retracted 12 expired 19,377 " +
        "Conversion events applied 1,951 duplicate 212 late 37 conflict 1 orphan 4 Learner lag 380 ms snapshot 4.2 s old " +
        "Encoder own components 34 of 256 sharing 2 The encoder cannot tell these products apart: mug = cup. Raise encoder.dimension .",
    );
  });

  it("are dashes where there is no lag and no snapshot yet, and a lag of zero is none of them", () => {
    expect(drawn(Figures, { metrics: idle }).text).toMatch(/Learner lag – snapshot –$/);
    expect(drawn(Figures, { metrics: { ...busy, lagMs: 0 } }).text).toContain("lag 0 snapshot");
    const distinct = { dimension: 256, exact: 34, shared: 2, alike: [] };
    expect(drawn(Figures, { metrics: { ...busy, encoding: distinct } }).text).not.toContain("cannot tell");
    expect(drawn(Figures, { metrics: { ...busy, encoding: null } }).text).not.toContain("own components");
  });

  it("have the share of each sender's orders with an impression, and what is wrong with it", () => {
    const days = [
      { day: "2026-11-28", orders: 1057, attributed: 0 },
      { day: "2026-11-27", orders: 40, attributed: 30 },
    ];
    const senders = [
      { sender: "shopify", days, finding: "0 of 1057 orders: see docs/senders.md" },
      { sender: "erp", days: days.slice(1), finding: null },
    ];
    expect(drawn(Figures, { metrics: { ...busy, senders } }).text).toContain(
      "Orders with an impression shopify 0 of 1,057 on 2026-11-28 erp 30 of 40 on 2026-11-27 0 of 1057 orders: see docs/senders.md Encoder",
    );
  });

  it("say since when rates have changed", () => {
    const change = { since: busy.now - 36 * HOUR_MS, probability: 0.934 };
    expect(drawn(Figures, { metrics: busy }).text).not.toContain("changed");
    expect(drawn(Figures, { metrics: { ...busy, change } }).text).toContain(
      "Rates have changed about 1.5 d ago, with a probability of 93 %. Impressions from before count less.",
    );
  });
});

describe("the examination of places", () => {
  const said = (more: Partial<Examination>) => drawn(Estimated, { model: "shop", examination: { ...examined, ...more } }).text;
  const models = "models" in examined.clickModels ? examined.clickModels.models : [];
  const fitting = (best: "no-bias" | "position-based" | "item-position", more: Partial<Examination> = {}) =>
    said({ clickModels: { best, models }, ...more });

  it("is estimated on demand", () => {
    const source = { examination: () => Promise.reject(new Error("not asked yet")) };
    expect(drawn(ExaminationOf, { source, model: "shop" }).text).toMatch(/^Examination of places .* Estimate from the log$/);
  });

  it("is written by place, with intervals, and says what to configure", () => {
    const text = said({});
    expect(text).toContain("Estimated from 2,023 random lists");
    expect(text).toContain(
      'The position-based model fits best. To learn with these weights, reset model shop with "examination": [1,0.71,0.49]',
    );
    expect(text).toContain("1 164 of 2,023 1.00 2 117 of 2,023 0.71 0.56 to 0.91 3 81 of 2,020 0.49 0.38 to 0.65");
    expect(text).toContain("4 0 of 20 none too few, about 18 more conversions at this place or the first");
    expect(text).toContain("no bias a rate per action −221 4.1 (1.2 to 7)");
    expect(text).toContain("position-based a rate per action, times a weight per place −217 0");
    expect(text).toContain("item-position a rate per pair of action and place −218 0.9 (−0.4 to 2.2)");
  });

  it("is drawn with the weights that the model learns with, on a scale from 0", () => {
    const { elements } = drawn(Estimated, { model: "shop", examination: examined });
    const styles = elements.flatMap(({ props }) => (props.style ? [shares(props.style)] : []));
    const at = (value: number) => expect.closeTo((100 * (value + 0.04)) / 1.08, 9);
    expect(styles).toEqual([
      { "--zero": at(0), "--low": at(1), "--high": at(1), "--mean": at(1), "--score": at(1) },
      { "--zero": at(0), "--low": at(0.5622), "--high": at(0.9053), "--mean": at(0.7134), "--score": at(0.8) },
      { "--zero": at(0), "--low": at(0.3779), "--high": at(0.6455), "--mean": at(0.4939), "--score": at(0.6) },
      { "--zero": at(0), "--score": at(0.6) },
    ]);
    expect(said({ configured: null })).not.toContain("learns with");
  });

  it("says when weights do not suffice, or are not needed, or cannot be told", () => {
    expect(fitting("item-position")).toContain("The item-position model fits best. Some actions gain more from a good place");
    expect(fitting("no-bias")).toContain("No click model fits clearly better than no bias: the log does not show that the place matters.");
    expect(fitting("no-bias")).toContain("Leave examination as it is, and estimate again");
    expect(fitting("no-bias", { configured: null })).toContain("Leave examination out");
    const few = (more: number, of: string) => ({ tooFew: { more, of } });
    const lacking = few(12, "conversions");
    const none = said({ clickModels: lacking, examination: lacking });
    expect(none).toContain(
      "too few conversions in random lists to compare click models or to use the weights: it needs about 12 more conversions",
    );
    expect(none).not.toContain("fits best");
    expect(none).not.toContain("no bias");
    const unknown = said({ examination: few(3, "conversions at this place or the first") });
    expect(unknown).toContain("No weight is known yet: it needs about 3 more conversions at this place or the first.");
    expect(unknown).not.toContain("reset model");
    expect(said({ lists: 0, since: null, places: [] })).toMatch(
      /no random lists of two or more actions yet.*"holdout": 0.1.*PATCH \/v1\/models\/shop/,
    );
  });
});

describe("an explanation", () => {
  const now = explained.shownAt + HOUR_MS;
  const decision = explained.decision as NonNullable<Explanation["decision"]>;
  const said = (more: Partial<Explanation>) => drawn(ExplanationOf, { explanation: { ...explained, ...more }, now }).text;
  const decided = (more: Partial<typeof decision>) => said({ decision: { ...decision, ...more } });

  it("says by which numbers the policy chose", () => {
    expect(said({})).toContain(
      "The policy put it in place 1 among 6 candidates: score 0.131, mean 0.104, width 0.0311. " +
        "Its chance of place 1 was 41.2 %. Model version 29,087.",
    );
    expect(decided({ place: 2, candidates: 1 })).toContain("in place 3 among 1 candidate: score");
    expect(decided({ place: 2 })).toContain("Its chance of place 3 was");
    expect(decided({ candidates: null })).toContain("in place 1 in its own domain: score");
    expect(decided({ probability: undefined })).not.toContain("chance of place");
  });

  it("says that something else chose, or nobody here", () => {
    expect(said({ arm: "holdout" })).toContain("It was drawn uniformly among 6 candidates for the holdout.");
    expect(said({ arm: "default" })).toContain("It is the default action: the request did not let the policy decide.");
    expect(said({ decision: null })).toContain("so there is no decision to explain");
    expect(said({ decision: null })).not.toContain("Shadow policies");
  });

  it("says what has become of it, and how long that may still change", () => {
    expect(said({})).toContain(`Shown at ${moment(explained.shownAt, true)}, converted, with a reward of 1.`);
    expect(said({ status: "pending", reward: null, windowEndsAt: now + 60_000 })).toContain("pending, 1 min left.");
    expect(said({ status: "pending", reward: null, windowEndsAt: now })).toContain("pending.");
    expect(said({ status: "pending", windowEndsAt: now + 1, conversions: [] })).toContain("None yet. One may still arrive.");
    expect(said({ status: "expired", conversions: [] })).toMatch(/Conversions None\.$/);
    expect(said({})).toContain("greedy would have shown boots, ucb would have shown hat.");
  });

  it("lists what has come since, retracted rewards too", () => {
    const at = explained.shownAt + 60_000;
    const conversions = [{ goal: "basket", reward: null, at, status: "applied" as const }];
    expect(said({ conversions })).toContain(`after 1 min at ${moment(at, true)} basket retracted applied`);
  });

  it("names the currency of amounts, and says how much of them is clipped", () => {
    const at = explained.shownAt + 60_000;
    const interval = { mean: 40, low: 20, high: 60 };
    const text = said({
      ...{ reward: 70, currency: "EUR", currencies: { purchase: "EUR" } },
      conversions: [
        { goal: "purchase", reward: 100, currency: "EUR", at, status: "applied" },
        { goal: "purchase", reward: -30, currency: "EUR", at, status: "applied" },
      ],
      now: {
        ...interval,
        factors: [
          { goal: "purchase", mean: 0.1, low: 0.05, high: 0.2 },
          { goal: "purchase", amount: true, clipped: 1, clippedSum: 900, ...interval },
        ],
      },
    });
    expect(text).toContain("with a reward of 70 EUR.");
    expect(text).toContain("purchase 100 EUR applied");
    expect(text).toContain("purchase −30 EUR applied");
    expect(text).toContain("mean amount, 1 clipped by 900 EUR 40 EUR 20 EUR to 60 EUR");
    expect(text).toContain("Mean in EUR");
  });

  it("lists the twelve best candidates and the one that was shown, and counts the others", () => {
    const candidates = Array.from({ length: 20 }, (_, i) => ({ id: `c${i}`, belief: { mean: i / 10, low: 0, high: 2 }, score: i / 10 }));
    const { elements, text } = drawn(ExplanationOf, { explanation: { ...explained, action: "c1", candidates }, now });
    const rows = elements.filter(({ props, tag }) => tag === "th" && props.scope === "row");
    expect(rows.slice(0, 13).map(({ props }) => (props.children as unknown[])[0])).toEqual([
      ...Array.from({ length: 12 }, (_, i) => `c${19 - i}`),
      "c1",
    ]);
    expect(rows.slice(0, 13).map(({ props }) => props.class)).toEqual([...Array(12).fill(undefined), "shown"]);
    expect(text).toContain("7 more scored less");
    expect(said({})).not.toContain("more scored less");
    expect(said({ candidates: [] })).not.toContain("Candidates now");
  });

  it("places a candidate on a scale that holds all that is drawn", () => {
    const candidates = [
      { id: "boots", belief: { mean: 0.5, low: 0.25, high: 0.75 }, score: 1 },
      { id: "hat", belief: null, score: 0 },
    ];
    const { elements, text } = drawn(ExplanationOf, { explanation: { ...explained, candidates }, now });
    const [first] = elements.flatMap(({ props }) => (props.style ? [shares(props.style)] : []));
    const at = (value: number) => expect.closeTo((100 * (value + 0.04)) / 1.08, 9);
    expect(first).toEqual({ "--zero": at(0), "--low": at(0.25), "--high": at(0.75), "--mean": at(0.5), "--score": at(1) });
    expect(text).toContain("boots shown 0.50 0.25 to 0.75 1.00");
  });
});

describe("the newest impressions", () => {
  it("are ten, with what became of them and when, each a link to its explanation", () => {
    const recent = Array.from({ length: 12 }, (_, i) => {
      return { impressionId: `i/${i}`, action: `a${i}`, shownAt: busy.now - (i + 1) * 500, modelVersion: 1, status: "pending" as const };
    });
    const { elements, text } = drawn(Recents, { metrics: { ...busy, recent }, chosen: "i/2" });
    const links = elements.filter(({ tag }) => tag === "a");
    expect(links.map(({ props }) => props.href)).toEqual(Array.from({ length: 10 }, (_, i) => `#dashboard/shop/i%2F${i}`));
    expect(links.map(({ props }) => props["aria-current"]).slice(0, 4)).toEqual([undefined, undefined, "true", undefined]);
    expect(text).toContain("a0pending, just now a1pending, 1 s ago");
  });

  it("may be none", () => {
    expect(drawn(Recents, { metrics: idle, chosen: undefined }).text).toContain("None yet.");
  });
});
