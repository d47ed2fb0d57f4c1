// Simulated shops whose delays are looked at.
import { type Stream, stream } from "../../src/simulation/stream.ts";
import { DAY, HOUR, type Law, laws } from "./laws.ts";

/** Four in the afternoon, when everything is looked at. */
export const NOW = 19_675 * DAY + 16 * HOUR;
/** Share of impressions that convert, in the end. */
const RATE = 0.1;
const PRODUCTS = 4;

interface Drawn {
  readonly ageMs: number;
  readonly product: number;
}

/** Draws the age and the product of an impression. */
type Traffic = (random: Stream, windowMs: number) => Drawn;

const uniformly = (age: (random: Stream, windowMs: number) => number): Traffic => {
  return (random, windowMs) => ({ ageMs: age(random, windowMs), product: random.below(PRODUCTS) });
};

const traffics = {
  steady: uniformly((random, windowMs) => 3 * windowMs * random()),
  "4 days old": uniformly((random) => 4 * DAY * random()),
  "a campaign of 17 hours, 4 days ago": uniformly((random) => 4 * DAY + 17 * HOUR * random()),
  "an import": uniformly((random, windowMs) => (1.1 + 8 * random()) * windowMs),
  "a growing rate": uniformly((random, windowMs) => 3 * windowMs * random()),
  // Quick products for 18 days, and slow ones in the last three: traffic of a policy that has learnt.
  "the last 3 of 21 days slow": (random: Stream): Drawn => {
    const ageMs = 21 * DAY * random();
    return { ageMs, product: ageMs < 3 * DAY ? PRODUCTS - 1 : 0 };
  },
} satisfies Record<string, Traffic>;

export interface DelayWorld {
  readonly law: keyof typeof laws;
  /** Products with delays of their own: a median of three hours, or of three days. Default: all have one law. */
  readonly halfSlow?: true;
  readonly traffic?: keyof typeof traffics;
  /** Expected conversions, in the end. */
  readonly conversions: number;
  /** Conversions become known at midnight, with their true times. */
  readonly nightly?: true;
}

const SIZES = [5, 50, 500, 5000];
const nameOf = ({ law, halfSlow, traffic = "steady", conversions, nightly }: DelayWorld): string =>
  [law, ...(halfSlow ? ["half slow"] : []), traffic, ...(nightly ? ["nightly uploads"] : []), conversions.toLocaleString("en")].join(", ");

const names = Object.keys(laws) as (keyof typeof laws)[];
const law = "lognormal";
const all: readonly DelayWorld[] = [
  ...names.flatMap((law) => SIZES.map((conversions): DelayWorld => ({ law, conversions }))),
  ...names.flatMap((law) => [50, 5000].map((conversions): DelayWorld => ({ law, halfSlow: true, conversions }))),
  ...names.flatMap((law) => [500, 5000].map((conversions): DelayWorld => ({ law, traffic: "4 days old", conversions }))),
  ...[200, 1000, 5000].map((conversions): DelayWorld => ({ law, halfSlow: true, traffic: "the last 3 of 21 days slow", conversions })),
  ...(["steady", "4 days old"] as const).flatMap((traffic) =>
    [200, 1000, 5000].map((conversions): DelayWorld => ({ law, traffic, nightly: true, conversions })),
  ),
  ...(["a campaign of 17 hours, 4 days ago", "an import", "a growing rate"] as const).map(
    (traffic): DelayWorld => ({ law, traffic, conversions: 500 }),
  ),
];

export const delayWorlds: Readonly<Record<string, DelayWorld>> = Object.fromEntries(all.map((world) => [nameOf(world), world]));

/** An impression, or a conversion of one. */
interface Shown {
  readonly product: number;
  readonly shownAt: number;
}
interface Known extends Shown {
  readonly at: number;
  readonly arrivedAt: number;
}

export interface DelayShop {
  readonly windowMs: number;
  /** In order of time, except in an import. */
  readonly shown: readonly Shown[];
  /** The conversions that are known by now. */
  readonly known: readonly Known[];
  /** The time until which all conversions are known. */
  readonly until: number;
  /** Number of conversions that come within their windows. */
  readonly total: number;
  /** Number of conversions within a time that happen after `until`, or are not known by now: of impressions shown by then. */
  toCome(withinMs: number, shownBy: number): number;
  /** Share of impressions that convert within a time, if the rate is the same at all times. */
  rate?(withinMs: number): number;
  /** Share of conversions within a time, if it is the same at all times. */
  below?(withinMs: number): number;
}

function rateAt({ traffic }: DelayWorld, shownAt: number, windowMs: number): number {
  return traffic === "a growing rate" ? RATE * (1.8 - (0.5333 * (NOW - shownAt)) / windowMs) : RATE;
}

/** Draws a shop. */
export function delayShop(name: string, run: number): DelayShop {
  const world = delayWorlds[name];
  const { law, halfSlow, traffic = "steady", conversions, nightly } = world;
  const random = stream("intervals", "delays", name, run);
  const lawOf = (product: number): Law => (halfSlow ? (product < PRODUCTS / 2 ? laws[law].quick : laws[law].slow) : laws[law].alike);
  const { windowMs } = lawOf(0);
  const shown = Array.from({ length: Math.round(conversions / RATE) }, (): Shown => {
    const { ageMs, product } = traffics[traffic](random, windowMs);
    return { product, shownAt: Math.floor(NOW - ageMs) };
  });
  if (traffic !== "an import") shown.sort((a, b) => a.shownAt - b.shownAt);
  const came = shown.flatMap(({ product, shownAt }): Known[] => {
    if (random() >= rateAt(world, shownAt, windowMs)) return [];
    const at = lawOf(product).at(shownAt, random);
    const arrivedAt = nightly ? Math.ceil(at / DAY) * DAY : at;
    return at - shownAt <= windowMs ? [{ product, shownAt, at, arrivedAt }] : [];
  });
  const known = came.filter(({ arrivedAt }) => arrivedAt <= NOW);
  const counts = Array.from({ length: PRODUCTS }, (_, product) => shown.filter((each) => each.product === product).length);
  const below = (ms: number): number => counts.reduce((sum, count, product) => sum + count * lawOf(product).below(ms), 0) / shown.length;
  return {
    ...{ windowMs, shown, known, until: nightly ? Math.floor(NOW / DAY) * DAY : NOW, total: came.length },
    toCome: (withinMs, shownBy) =>
      came.filter(({ shownAt, at, arrivedAt }) => arrivedAt > NOW && at - shownAt <= withinMs && shownAt <= shownBy).length,
    ...(traffic !== "a growing rate" && { rate: (ms: number) => RATE * below(ms) }),
    ...(traffic !== "the last 3 of 21 days slow" && { below }),
  };
}
