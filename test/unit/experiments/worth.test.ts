import { expect, it } from "vitest";
import type { Experiment } from "../../../experiments/runs/experiment.ts";
import { resultsOf } from "../../../experiments/runs/results.ts";
import { DAY_MS } from "../../../experiments/shop/shop.ts";
import { shopWide } from "../../../experiments/worth/shop-wide.ts";
import { worthComparisons, worthTable } from "../../../experiments/worth/tables.ts";
import { type Cell, worldOf } from "../../../experiments/worth/world.ts";
import { paper } from "../../../experiments/worth.ts";
import { stream } from "../../../src/simulation/stream.ts";

const CELL: Cell = { visits: 200, products: 8, percent: 5, delay: "ten minutes", taste: false };
const NOTHING = new Float64Array(0);

it("other pages have the same products as the slot, and other visitors", () => {
  const world = worldOf(CELL, 30, ["test"]);
  const orders = world.ordersOf(20_000, DAY_MS);
  const { rates } = world.shop.visit(1);
  // Without taste every visitor has the same rates, and the orders of evenly shown products follow them.
  for (const [index, rate] of Array.from(rates).entries()) {
    const own = orders.filter((order) => order.index === index).length;
    expect(Math.abs(own - 2500 * rate)).toBeLessThan(5 * Math.sqrt(2500 * rate));
  }
  expect(orders.every(({ at }) => at > DAY_MS)).toBe(true);
});

it("the bestsellers of a shop are known from the first visitor, and made anew each night", () => {
  const orders = [0, 0, 1];
  const { shop } = worldOf(CELL, 30, ["test"]);
  // Every visitor of other pages buys the product that is in fashion.
  let fashion = 0;
  const world = { shop, ordersOf: (count: number, at: number) => Array.from({ length: count }, () => ({ index: fashion, at })) };
  const list = shopWide(world, 1, stream("list"));
  expect(list.choose(NOTHING, 100 * DAY_MS, 1)).toBe(0);
  fashion = 3;
  expect(list.choose(NOTHING, 100 * DAY_MS + 1, 2)).toBe(0);
  for (let i = 0; i < orders.length; i++) {
    list.show(`${i}`, { index: 5, features: NOTHING, now: 100 * DAY_MS });
    list.convert(`${i}`, 100 * DAY_MS);
  }
  // A week later only the orders since then count: three of product 5 and one of product 3.
  expect(list.choose(NOTHING, 107 * DAY_MS, 3)).toBe(5);
});

it("states gains after each day that a cell reaches, with a row for each and two figures", async () => {
  const [experiment] = paper.experiments as [Experiment];
  const setting = experiment.settings.find((name) => name.startsWith("100 visits")) as string;
  const runs = await Promise.all(
    experiment.algorithms.map(async (algorithm) => {
      const own = [0, 1].map((run) => experiment.run({ setting, algorithm, run, files: [], rounds: 100 }));
      return { setting, algorithm, runs: await Promise.all(own) };
    }),
  );
  const rows = resultsOf(paper, experiment, runs);
  const lines = worthTable(rows).split("\n");
  expect(lines.length).toBe(2 + 4);
  expect(lines[2]).toMatch(/\| 1 \| 0\.\d\d \| -?\d+ % \(-?\d+ to -?\d+\)/);
  expect(Object.keys(worthComparisons(rows))).toEqual(["worth-traffic"]);
  expect(experiment.settings.length).toBe(12);
});
