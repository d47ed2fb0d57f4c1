// Coverage of list estimates under filters, pins, bounds of families and a sampled log, in a world whose truth is known.
import { delayLinTs, evaluate, evaluateLists, type LoggedDecision, type Policy, Recommender } from "afterclick";
import { type Families, families, isTooFew, type LoggedItem, type LoggedList } from "afterclick/research";
import { type Stream, stream } from "../../src/simulation/stream.ts";
import type { Curve, Experiment } from "../runs/experiment.ts";

const PRODUCTS = 12;
const FAMILIES = 4;
const PLACES = 4;
const KINDS = 3;
const LISTS = 400;
const DRAWS = 50;
const EXAMINATION = [1, 0.7, 0.5, 0.35];
/** Features: the product, one-hot, and its family for each kind of visitor. */
const DIMENSION = PRODUCTS + FAMILIES * KINDS;
const familyOf = (product: number): number => product % FAMILIES;

interface Setting {
  readonly filters?: true;
  readonly pins?: true;
  readonly bounds?: true;
  /** Half of the lists are kept with a chance of 1/2. */
  readonly sampled?: true;
}

const settings: Record<string, Setting> = {
  filters: { filters: true },
  pins: { pins: true },
  "bounds of families": { bounds: true },
  "all of them, and sampling": { filters: true, pins: true, bounds: true, sampled: true },
};

/** A request as a shop makes it: who asks, what may be shown, and what is given. */
interface Request {
  readonly kind: number;
  readonly products: readonly number[];
  /** Products by place. */
  readonly pins: ReadonlyMap<number, number>;
  readonly points: Float64Array;
  readonly bounds?: Families;
  readonly free: readonly number[];
}

/** Every combination of a kind of visitor, a filter and a pin. */
function requestsOf({ filters, pins, bounds }: Setting): Request[] {
  const requests: Request[] = [];
  for (let kind = 0; kind < KINDS; kind++) {
    for (const filter of filters ? [0, 1, 2] : [0]) {
      for (const pin of pins ? [undefined, 0, 2] : [undefined]) requests.push(requestOf(kind, filter, pin, bounds === true));
    }
  }
  return requests;
}

function requestOf(kind: number, filter: number, pin: number | undefined, bounded: boolean): Request {
  const pinned = 5;
  const passes = (product: number): boolean => filter === 0 || product % 3 !== filter;
  const products = Array.from({ length: PRODUCTS }, (_, product) => product).filter(
    (each) => passes(each) && (pin === undefined || each !== pinned),
  );
  // One product of each family, of which a pin takes the place.
  const left = bounded && pin !== undefined ? products.filter((each) => familyOf(each) !== familyOf(pinned)) : products;
  const bounds = bounded ? families({ of: left.map(familyOf), room: new Array(FAMILIES).fill(1) }) : undefined;
  const pins = new Map(pin === undefined ? [] : [[pin, pinned]]);
  const free = Array.from({ length: PLACES }, (_, place) => place).filter((place) => !pins.has(place));
  const points = Float64Array.from(left.flatMap((product) => Array.from(featuresOf(kind, product))));
  return { kind, products: left, pins, points, free, ...(bounds && { bounds }) };
}

function featuresOf(kind: number, product: number): Float64Array {
  const features = new Float64Array(DIMENSION);
  features[product] = 0.5;
  features[PRODUCTS + kind * FAMILIES + familyOf(product)] = 0.5;
  return features;
}

/** A policy that has learnt from a few hundred random impressions. */
async function learntPolicy(rates: Rates, draw: Stream, impressions: number, exploration: number): Promise<Policy> {
  const recommender = await Recommender.create({ policy: delayLinTs({ dimension: DIMENSION, exploration }), window: "none" });
  for (let n = 0; n < impressions; n++) {
    const [kind, product] = [draw.below(KINDS), draw.below(PRODUCTS)];
    recommender.register({ impressionId: `${n}`, features: featuresOf(kind, product) });
    if (draw() < rates[kind][product]) recommender.convert({ impressionId: `${n}`, reward: 1 });
  }
  return recommender.policy;
}

type Rates = readonly (readonly number[])[];

/** Probability of each candidate at each place of the list: candidates x places, row-major. Pinned places have none. */
function chancesOf(policy: Policy, { points, products, free, bounds }: Request, minimumShare: number): Float64Array {
  const request = { points, families: bounds, round: 1, draws: DRAWS, limit: free.length, minimumShare };
  const own = policy.placeChances(request, Array.from(products.keys()));
  const places = own.length / products.length;
  const chances = new Float64Array(products.length * PLACES);
  for (let i = 0; i < products.length; i++) for (let k = 0; k < places; k++) chances[i * PLACES + free[k]] = own[i * places + k];
  return chances;
}

const MINIMUM_SHARE = 0.02;

/** The parts of a world that all runs of a setting share. */
interface World {
  readonly rates: Rates;
  readonly logging: Policy;
  readonly requests: readonly Request[];
  /** Chances of each request, under the policy that logged and under the one that is evaluated. */
  readonly logged: readonly Float64Array[];
  readonly wanted: readonly Float64Array[];
}

async function worldOf(setting: Setting): Promise<World> {
  const world = stream("restrictions", "world");
  const rates = Array.from({ length: KINDS }, () => Array.from({ length: PRODUCTS }, () => 0.05 + 0.35 * world()));
  const [logging, target] = [await learntPolicy(rates, world, 300, 1), await learntPolicy(rates, world, 600, 0.5)];
  const requests = requestsOf(setting);
  const [logged, wanted] = [logging, target].map((policy, i) =>
    requests.map((each) => chancesOf(policy, each, i === 0 ? MINIMUM_SHARE : 0)),
  );
  return { rates, logging, requests, logged, wanted };
}

const worlds = new Map<string, Promise<World>>();
function worldIn(setting: string): Promise<World> {
  const world = worlds.get(setting) ?? worldOf(settings[setting]);
  worlds.set(setting, world);
  return world;
}

/** The estimates from one log of `count` lists, in percent of times that they hold the truth, and in parts of the truth. */
export async function estimates(setting: string, repeat: number, count = LISTS): Promise<readonly Curve[]> {
  const asked = settings[setting];
  const { rates, logging, requests, logged, wanted } = await worldIn(setting);
  const draw = stream("restrictions", setting, repeat);
  const log: (LoggedList & { readonly request: number })[] = [];
  const first: (LoggedDecision & { readonly request: number })[] = [];
  for (let i = 0; i < count; i++) {
    const request = draw.below(requests.length);
    const { kind, products, pins, points, free, bounds } = requests[request];
    const choices = logging.choose({
      points,
      families: bounds,
      round: 1,
      draws: DRAWS,
      limit: free.length,
      minimumShare: MINIMUM_SHARE,
      decision: `${repeat} ${i}`,
    });
    const kept = asked.sampled && i % 2 === 1 ? 0.5 : 1;
    if (draw() >= kept) continue;
    const converted = (product: number, place: number) =>
      draw() < rates[kind][product] * EXAMINATION[place] ? [{ at: i, reward: 1 }] : [];
    const items = Array.from({ length: PLACES }, (_, place): LoggedItem => {
      const pin = pins.get(place);
      if (pin !== undefined) return { index: -1, probability: 1, pinned: true, conversions: converted(pin, place) };
      const { index, probability } = choices[free.indexOf(place)];
      const chances = logged[request].subarray(index * PLACES, (index + 1) * PLACES);
      return { index, probability: probability as number, chances, conversions: converted(products[index], place) };
    });
    const common = { shownAt: i, count: products.length, points, kept, request };
    log.push({ ...common, items, ...(bounds && { families: bounds }) });
    if (!items[0].pinned) first.push({ ...common, ...items[0] });
  }
  const policy = (list: object): Float64Array => wanted[(list as { request: number }).request];
  const end = { asOf: count, window: "none", split: 0, maturity: () => 1 } as const;
  const lists = await evaluateLists({ log, policy, examination: EXAMINATION, reward: { min: 0, max: PLACES }, ...end });
  const atFirst = (decision: object): number[] => Array.from(policy(decision)).filter((_, i) => i % PLACES === 0);
  const decisions = await evaluate({ log: first, policy: atFirst, ...end });
  const value = (chances: readonly Float64Array[], places: number, of = requests): number =>
    requests.reduce((sum, each, i) => sum + (of.includes(each) ? expected(each, chances[i], rates, places) : 0), 0) / of.length;
  const choosing = requests.filter(({ pins }) => !pins.has(0));
  const truths = [
    ["logged", lists.logged, value(logged, PLACES)],
    ["item-position", lists.itemPosition, value(wanted, PLACES)],
    ["position-based", lists.positionBased, value(wanted, PLACES)],
    ["first place, IPS", decisions.ips, value(wanted, 1, choosing)],
  ] as const;
  const metric = (name: string, value: number): Curve => ({ metric: name, at: [count], values: [value] });
  return truths.flatMap(([name, figure, truth]) => {
    if (isTooFew(figure)) return [];
    const { value, low, high } = figure;
    return [metric(`${name} covers (%)`, 100 * Number(low <= truth && truth <= high)), metric(`${name} over truth`, value / truth)];
  });
}

/** Expected conversions at the first places of a list. */
function expected({ kind, products, pins }: Request, chances: Float64Array, rates: Rates, places: number): number {
  let sum = 0;
  for (let place = 0; place < places; place++) {
    const pin = pins.get(place);
    if (pin !== undefined) sum += rates[kind][pin] * EXAMINATION[place];
    products.forEach((product, i) => {
      sum += chances[i * PLACES + place] * rates[kind][product] * EXAMINATION[place];
    });
  }
  return sum;
}

export const restrictions: Experiment = {
  id: "restrictions",
  title: "Lists under filters, pins, bounds of families and sampling: how often nominal 95 % intervals hold the truth",
  runs: 1000,
  settings: Object.keys(settings),
  algorithms: ["delay-lin-ts"],
  figures: [],
  run: ({ setting, run }) => estimates(setting, run),
};
