import type uPlot from "uplot";
import { describe, expect, it, vi } from "vitest";
import { Regret } from "../../../../pages/dashboard/regret.tsx";
import type { Session } from "../../../../pages/shop/session.ts";
import { drawn } from "../../../support/markup.ts";

/** After `count` visits the model has missed a quarter of a purchase for each, and chance half of one. */
function regret(count: number, visitorsLeft = 0) {
  const visits = Array.from({ length: count }, (_, i) => ({ favourite: false, model: (i + 1) / 4, uniform: (i + 1) / 2 }));
  const simulate = vi.fn();
  return { simulate, ...drawn(Regret, { session: { visits, visitorsLeft, simulate } as unknown as Session }) };
}
/** Calls a function of a plot's options, as uPlot does. */
const called = (work: unknown, ...args: unknown[]) => (work as (...args: unknown[]) => unknown)(...args);

describe("the purchases missed", () => {
  it("are those of the model and of chance, from none before the first visit", () => {
    const [{ data, describe: described, legend, summary }] = regret(3).charts;
    expect(data).toEqual([
      [0, 1, 2, 3],
      [0, 0.25, 0.5, 0.75],
      [0, 0.5, 1, 1.5],
    ]);
    expect(described(2)).toBe("After 2 visits: 0.5 missed, at random 1");
    expect(summary).toContain("After 3 simulated visits the model has missed 0.75 purchases; a random product would have missed 1.5.");
    expect(legend?.map(({ name }) => name)).toEqual(["this model", "a random product"]);
  });

  it("are listed after every tenth visit and after the last", () => {
    const { columns, rows } = regret(23).charts[0].table();
    expect(columns).toHaveLength(3);
    expect(rows).toEqual([
      ["10", "2.5", "5"],
      ["20", "5", "10"],
      ["23", "5.75", "11.5"],
    ]);
    expect(regret(10).charts[0].table().rows).toEqual([["10", "2.5", "5"]]);
  });

  it("are drawn from zero to a little above the greatest, over whole visits, without dots", () => {
    const plot = regret(3).charts[0].plot();
    const { x, y } = plot.scales as uPlot.Scales;
    expect([x.time, called(y.range, {}, 0, 10), called(y.range, {}, 0, 0.5)]).toEqual([false, [0, 11], [0, 1.1]]);
    const [below, upwards] = plot.axes as uPlot.Axis[];
    expect(called(below.values, {}, [0, 0.5, 1000])).toEqual(["0", "", "1,000"]);
    expect(called(upwards.values, {}, [0.25])).toEqual(["0.25"]);
    expect(plot.series.slice(1).map(({ points }) => points?.show)).toEqual([false, false]);
    const [own, chance] = plot.series.slice(1).map(({ dash }) => dash);
    expect([own, chance?.length]).toEqual([undefined, 2]);
  });

  it("are not drawn before the first visit", () => {
    const { charts, text } = regret(0);
    expect(charts).toEqual([]);
    expect(text).toMatch(/^Purchases missed .* Send visitors to fill this chart\. Send 200 visitors$/);
  });

  it("grow by visitors whom the reader sends", () => {
    const { elements, simulate } = regret(3);
    const [button] = elements.flatMap(({ tag, props }) => (tag === "button" ? [props] : []));
    (button.onClick as () => void)();
    expect(simulate.mock.calls).toEqual([[200]]);
    expect(regret(3, 8).text).toMatch(/8 visitors left$/);
  });
});
