// How much traffic pays: conversions of the worker's default beside what a shop does without it, by traffic, catalogue, rate, delay and taste.
import { salesPerView } from "./rivals/sales-per-view.ts";
import { type Curve, type Experiment, type Paper, roundsOf } from "./runs/experiment.ts";
import { type Algorithm, bestsellersOf, byDefault, DEFAULT, playBy, uniform } from "./shop/algorithms.ts";
import type { Played } from "./shop/play.ts";
import { informed } from "./worth/informed.ts";
import { shopWide } from "./worth/shop-wide.ts";
import { type Cell, type World, worldOf } from "./worth/world.ts";

/** The cell about which one thing is changed at a time. */
const CENTRE: Cell = { visits: 1000, products: 50, percent: 2, delay: "two days", taste: true };

const traffic = [100, 300, 1000, 3000, 10_000].map((visits) => ({ visits }));
const others: readonly Partial<Cell>[] = [
  ...[8, 1000].map((products) => ({ products })),
  ...[0.5, 5].map((percent) => ({ percent })),
  ...(["ten minutes", "a week"] as const).map((delay) => ({ delay })),
  { taste: false },
];

const nameOf = ({ visits, products, percent, delay, taste }: Cell): string =>
  `${visits.toLocaleString("en")} visits a day, ${products.toLocaleString("en")} products, ${percent} %, ${delay}, ${taste ? "" : "no "}taste`;

const cellsOf = (changes: readonly Partial<Cell>[]): Map<string, Cell> =>
  new Map(changes.map((change) => ({ ...CENTRE, ...change })).map((cell) => [nameOf(cell), cell]));

/** Names a cell by its differences from the first. */
export function labelOf(name: string): string {
  const [centre] = cellsOf([{}]).keys();
  const parts = name.split(", ").filter((part) => !centre.split(", ").includes(part));
  return parts.join(", ") || `${CENTRE.visits.toLocaleString("en")} visits a day`;
}

/** Names of cells by their figure. */
export const figureCells = { "worth-traffic": [...cellsOf(traffic).keys()], "worth-shops": [...cellsOf([{}, ...others]).keys()] };
const cells = cellsOf([...traffic, ...others]);

/** Days after which conversions are stated. */
export const DAYS = [1, 7, 30, 90];
/** Most visits of a run: a bound of its time. Cells with more traffic end after fewer days. */
const MOST_VISITS = 90_000;

const daysOf = ({ visits }: Cell): number[] => DAYS.filter((days) => visits * days <= MOST_VISITS);

/** The default that knows past orders, and the list that is made of them. */
export const INFORMED = "default with prior";
export const SHOP_WIDE = "bestsellers of the shop, five times the traffic";

/** What the slot shows. A further algorithm is one more line. */
const algorithms: Readonly<Record<string, (world: World) => Algorithm>> = {
  [DEFAULT]: () => ({ feedback: "delivered", learner: byDefault }),
  [INFORMED]: (world) => ({ feedback: "delivered", learner: (model, shop) => informed(model, shop, world) }),
  "sales per view, 5 % at random": () => ({
    feedback: "delivered",
    isBlind: true,
    learner: (_, { products }, random) => salesPerView(products.length, 0.05, random),
  }),
  "bestsellers of the slot": () => ({ feedback: "delivered", isBlind: true, learner: bestsellersOf(0) }),
  [SHOP_WIDE]: (world) => ({
    feedback: "delivered",
    isBlind: true,
    learner: (_, __, random) => shopWide(world, 5, random),
  }),
  uniform: () => ({ feedback: "no delay", isBlind: true, learner: uniform }),
};

const spanOf = (days: number): string => `after ${days} ${days === 1 ? "day" : "days"}`;
export const conversionsAfter = (days: number): string => `expected conversions ${spanOf(days)}`;
export const shareAfter = (days: number): string => `share of the best ${spanOf(days)}`;

/** Expected conversions since day 1, and their share of what the best product for each visitor would bring. */
function curvesAfter({ expected, regret }: Played, cell: Cell): Curve[] {
  const sum = (values: Float64Array, end: number): number => values.subarray(0, end).reduce((total, each) => total + each, 0);
  return daysOf(cell).flatMap((days): Curve[] => {
    const end = Math.min(days * cell.visits, expected.length);
    const own = sum(expected, end);
    return [
      { metric: conversionsAfter(days), at: [days * cell.visits], values: [own] },
      { metric: shareAfter(days), at: [days * cell.visits], values: [own / (own + sum(regret, end))] },
    ];
  });
}

/** What a shop does without the default. */
export const rivals = Object.keys(algorithms).filter((name) => name !== DEFAULT && name !== INFORMED);

const worth: Experiment = {
  id: "cells",
  title: "expected conversions since day 1, by traffic, catalogue, rate, delay and taste",
  runs: 12,
  settings: [...cells.keys()],
  algorithms: Object.keys(algorithms),
  figures: [],
  ratios: DAYS.map(conversionsAfter).flatMap((metric) => [
    { metric, of: DEFAULT, to: rivals },
    { metric, of: INFORMED, to: [SHOP_WIDE] },
  ]),
  traced: 200,
  async run(task) {
    const { setting, algorithm, run } = task;
    const cell = cells.get(setting) as Cell;
    const world = worldOf(cell, daysOf(cell).at(-1) as number, ["how much traffic pays", setting, run]);
    const shop = { ...world.shop, horizon: roundsOf(world.shop.horizon, task) };
    return curvesAfter(await playBy(algorithms[algorithm](world), shop, algorithm, run), cell);
  },
};

export const paper: Paper = { id: "worth", title: "How much traffic pays", experiments: [worth] };
