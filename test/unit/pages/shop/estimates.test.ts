import { describe, expect, it } from "vitest";
import type { ProductEvidence } from "../../../../pages/shop/api.ts";
import { Estimates } from "../../../../pages/shop/estimates.tsx";
import type { Session } from "../../../../pages/shop/session.ts";
import { products } from "../../../../src/simulation/assortment.ts";
import { drawn } from "../../../support/markup.ts";

const evidence = (id: string, more: Partial<ProductEvidence> = {}): ProductEvidence => ({
  ...{ id, belief: { mean: 0.5, low: 0.25, high: 0.75 }, closed: { impressions: 0, converted: 0 } },
  ...more,
});

/** The table of a visitor like Mira. */
function table(estimates: readonly ProductEvidence[], before: Readonly<Record<string, number>> = {}) {
  const session = { profile: "mira", estimates, before: new Map(Object.entries(before)) } as unknown as Session;
  const { elements, text } = drawn(Estimates, { session });
  const cells = (kind: string) => elements.flatMap(({ tag, props }) => (tag === "td" && props.class === kind ? [props] : []));
  const places = elements.flatMap(({ props }) => (props.style ? [props.style as Record<string, string>] : []));
  const rows = elements.flatMap(({ tag, props }) => (tag === "tr" && props["data-product"] ? [props["data-product"] as string] : []));
  const row = (id: string) => rows.indexOf(id);
  const shares = (id: string) =>
    Object.fromEntries(Object.entries(places[row(id)]).map(([name, value]) => [name, Number.parseFloat(value)]));
  return { text, elements, rows, shares, change: (id: string) => cells("change")[row(id)] };
}

describe("the estimates", () => {
  it("have a row per product in the order of the assortment, with the visitor's name above", () => {
    const { rows, text } = table([evidence("mug"), evidence("tent")]);
    expect(rows).toEqual(products.map(({ id }) => id));
    expect(text).toMatch(/^How likely Mira buys each product /);
  });

  it("are written in percent, with the band, the belief of one that waits and the truth", () => {
    const tent = evidence("tent", { belief: { mean: 0.314, low: 0.206, high: 0.422 }, closed: { impressions: 10, converted: 1 } });
    const { text } = table([tent, evidence("mug")]);
    expect(text).toContain("Trail tent 31 % 21 to 42 2 to 40 55 % Enamel mug 50 % 25 to 75 nothing known 70 %");
  });

  it("may be anything for a product of which nothing is known yet", () => {
    const { text, shares } = table([]);
    expect(text).toContain("Desk lamp 0 % 0 to 100 nothing known 11 %");
    expect(shares("lamp")).toEqual({
      ...{ "--low": 0, "--high": 100, "--mean": 0, "--before": 0, "--taste": 11, "--waits-low": 0, "--waits-high": 100 },
    });
  });

  it("are drawn from 0 to 100 %", () => {
    const tent = evidence("tent", { belief: { mean: 0.375, low: -0.125, high: 1.25 }, closed: { impressions: 10, converted: 1 } });
    const near = (share: number) => expect.closeTo(share, 1);
    expect(table([tent], { tent: 0.25 }).shares("tent")).toEqual({
      ...{ "--low": 0, "--high": 100, "--mean": 37.5, "--before": 25, "--taste": near(55) },
      ...{ "--waits-low": near(1.8), "--waits-high": near(40.4) },
    });
  });

  it.each([
    [0.25, "+25", 1],
    [0.625, "−13", -1],
    [0.5, "", 0],
    [0.499, "", 0],
  ])("that were %d before the last action have changed by “%s”", (before, change, sign) => {
    const { children, "data-sign": marked } = table([evidence("mug")], { mug: before }).change("mug");
    expect([children, Math.abs(sign) * (marked as number)]).toEqual([change, sign]);
  });

  it("have not changed for a product that was not estimated before", () => {
    const { children, "data-sign": marked } = table([evidence("mug")], { tent: 0.1 }).change("mug");
    expect([children, marked]).toEqual(["", 0]);
    expect(table([evidence("mug")], { tent: 0.1 }).shares("mug")["--before"]).toBe(50);
  });

  it("have a chart and an axis that screen readers skip, and columns that they read", () => {
    const { elements } = table([]);
    const hidden = elements.filter(({ props }) => props["aria-hidden"] === "true").map(({ tag }) => tag);
    expect(hidden).toEqual(["tfoot", ...products.map(() => "td")].toSorted());
    const columns = elements.flatMap(({ tag, props }) => (tag === "th" && props.scope === "col" ? [props.children] : []));
    expect(columns.flat()).toEqual([
      ...["Product", "Chart", "Estimate and band", "Change since your last action", "One that waits", "Truth"],
    ]);
  });

  it("explain their marks, one after the other as they are drawn in the legend", () => {
    expect(table([]).text).toMatch(/this recommender: .* one that waits truth, hidden from both before your last action$/);
  });
});

describe("the distance of estimates from the truth", () => {
  it("is the mean over the estimated products, in points", () => {
    // Mira's tastes: 0.55 for the tent, 0.7 for the mug.
    const { text } = table([evidence("tent"), evidence("mug")]);
    expect(text).toContain("On average 13 points from the truth. One that waits: no window has closed yet.");
  });

  it("is not stated before the first estimate", () => {
    expect(table([]).text).not.toContain("On average");
  });

  it("comes with the windows from which one that waits has learnt", () => {
    const closed = (impressions: number) => ({ closed: { impressions, converted: 1 } });
    expect(table([evidence("tent", closed(1)), evidence("mug")]).text).toContain("One that waits: 1 closed window.");
    expect(table([evidence("tent", closed(1200)), evidence("mug", closed(34))]).text).toContain("One that waits: 1,234 closed windows.");
  });
});
