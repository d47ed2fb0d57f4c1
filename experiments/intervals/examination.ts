import { estimateExamination, isTooFew, type LoggedItem, type LoggedList } from "afterclick/research";
import { drawRates, ListPolicy, listLog, EXAMINATION as SIX } from "../../src/simulation/list-world.ts";
import { type Stream, shuffled, stream } from "../../src/simulation/stream.ts";
import { few, type Stated, type StatedFigure, stated } from "./stated-figure.ts";

const DAY = 86_400_000;
const PRODUCTS = 12;

interface World {
  /** Expected conversions of all lists. */
  readonly conversions: number;
  /** Weights of the places. */
  readonly weights: readonly number[];
  /** Mean rate of an examined product. */
  readonly rate?: number;
  /** Visitors whom this share of lists meets want everything or nothing. */
  readonly eager?: true;
  /** Mean delay. The log is five days long, and the window seven. Default: at once. */
  readonly delay?: number;
  /** Half of the lists are kept with this probability. */
  readonly kept?: number;
  /** Half of the lists have only the first two places. */
  readonly short?: true;
  /** Lists of a policy that knows its visitors, beside the random ones. */
  readonly ranked?: true;
}

const HALF = [1, 0.5];
const STEEP = [1, 0.5, 0.2, 0.05];
const WORLDS: Readonly<Record<string, World>> = {
  "5 conversions": { conversions: 5, weights: HALF },
  "20 conversions": { conversions: 20, weights: HALF },
  "50 conversions, four places": { conversions: 50, weights: STEEP },
  "500 conversions, four places": { conversions: 500, weights: STEEP },
  "500 conversions, all places alike": { conversions: 500, weights: [1, 1, 1, 1] },
  "50 conversions, a second place that more see": { conversions: 50, weights: [1, 1.3, 0.5] },
  "500 conversions, a second place that more see": { conversions: 500, weights: [1, 1.3, 0.5] },
  "500 conversions, a place that few see": { conversions: 500, weights: [1, 0.004] },
  "500 conversions, rates of 60 %": { conversions: 500, weights: STEEP, rate: 0.6 },
  "500 conversions, visitors who want all or nothing": { conversions: 500, weights: STEEP, eager: true },
  "500 conversions, delays of days": { conversions: 500, weights: STEEP, delay: 2 * DAY },
  "500 conversions, delays of weeks": { conversions: 500, weights: STEEP, delay: 14 * DAY },
  "500 conversions, a sampled log": { conversions: 500, weights: STEEP, kept: 0.125 },
  "500 conversions, lists of different lengths": { conversions: 500, weights: STEEP, short: true },
  "500 conversions, lists of a policy": { conversions: 500, weights: SIX, ranked: true },
  "50,000 conversions, six places": { conversions: 50_000, weights: SIX, rate: 0.3 },
};

const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);

/** Random lists. Rates of products are uniform about their mean. */
function randomLog({ conversions, weights, rate = 0.05, eager, delay, kept, short }: World, draw: Stream): LoggedList[] {
  const rates = Array.from({ length: PRODUCTS }, () => rate * (0.5 + draw()));
  const products = Array.from(rates.keys());
  const mean = sum(rates) / PRODUCTS;
  const places = short ? sum(weights) / 2 + (weights[0] + weights[1]) / 2 : sum(weights);
  const matured = delay === undefined ? 1 : 1 - (delay / (5 * DAY)) * (1 - Math.exp((-5 * DAY) / delay));
  const counted = kept === undefined ? 1 : (1 + kept) / 2;
  const lists = Math.round(conversions / (mean * places * matured * counted));
  return Array.from({ length: lists }, (_, i): LoggedList => {
    const shownAt = (i * 5 * DAY) / lists;
    const wants = eager ? (draw() < 0.25 ? 4 : 0) : 1;
    const shown = shuffled(products, draw).slice(0, short && i % 2 === 1 ? 2 : weights.length);
    const items = shown.map((index, place): LoggedItem => {
      const at = shownAt + (delay === undefined ? 0 : -delay * Math.log(1 - draw()));
      const converts = draw() < wants * rates[index] * weights[place] && at < 5 * DAY;
      return { index, probability: 1 / PRODUCTS, conversions: converts ? [{ at, reward: 1 }] : [] };
    });
    return { shownAt, count: PRODUCTS, items, random: true, ...(kept !== undefined && i % 2 === 1 && { kept }) };
  }).filter((list) => list.kept === undefined || draw() < list.kept);
}

/** Lists of a policy that shows its visitors what they like, of which a few are random. */
function rankedLog({ conversions }: World, draw: Stream): LoggedList[] {
  const rates = drawRates(5, PRODUCTS, draw);
  const policy = new ListPolicy(rates, { draws: 20, noise: 0.7 }, draw);
  const lists = Math.round(conversions / policy.value(SIX));
  return listLog(rates, policy, { lists, randomShare: 0.05, random: "apart" }, draw);
}

/** The weights of places. */
export const examination: StatedFigure = {
  id: "examination",
  title: "Examination of places (`estimateExamination`, dashboard)",
  settings: Object.keys(WORLDS),
  runs: 300,
  traced: ["500 conversions, four places", "500 conversions, delays of days", "500 conversions, lists of a policy"],
  async run(setting, run): Promise<readonly Stated[]> {
    const world = WORLDS[setting];
    const draw = stream("examination", setting, run);
    const log = world.ranked ? rankedLog(world, draw) : randomLog(world, draw);
    const { places } = await estimateExamination({ log, window: { ms: 7 * DAY } });
    return world.weights.slice(1).map((truth, i) => {
      const metric = `place ${i + 2}`;
      const figure = places[i + 1];
      return figure === undefined || isTooFew(figure) ? few(metric) : stated(metric, figure, truth);
    });
  },
};
