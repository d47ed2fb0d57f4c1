import { delayLinTs, type EncoderOptions, encoder, type NamedFeatures, Recommender } from "afterclick";
import { stream } from "../src/simulation/stream.ts";

// A shop's catalogue, its visitors, and a model of the default policy that has learnt from them.

/** Sizes of a decision. */
export interface Size {
  /** Actions. */
  readonly k: number;
  /** Components of a vector. */
  readonly d: number;
  /** Goals, each after the one before it. At 1, conversions have no named goals. */
  readonly goals?: number;
  /** Features of a visitor, default 5. */
  readonly visitor?: number;
}

export const LIMIT = 6;
export const DRAWS = 100;
const CONTEXTS = 64;
const IMPRESSIONS = 2000;
const GOALS = ["click", "basket", "checkout", "purchase"];
const WINDOW_MS = 86_400_000;

/** Features of an action. */
const OF_ACTION = 4;
const OF_VISITOR = 5;

/** Terms of one vector: the constant, the features, and each product of a visitor's feature and an action's. */
export const termsOf = (visitor = OF_VISITOR): number => 1 + OF_ACTION + visitor + visitor * OF_ACTION;

export const encoderOptions = (d: number): EncoderOptions => ({
  dimension: d,
  numeric: { price: { min: 0, max: 200 }, hour: { min: 0, max: 24 } },
  interactions: "all",
});

export function actionsOf(k: number): NamedFeatures[] {
  const draw = stream("bench", "actions", k);
  return Array.from({ length: k }, (_, i) => ({
    id: `product-${i}`,
    brand: `brand-${draw.below(60)}`,
    category: `category-${draw.below(20)}`,
    price: 200 * draw(),
  }));
}

export function contextsOf(visitor = OF_VISITOR): NamedFeatures[] {
  const draw = stream("bench", "visitors");
  return Array.from({ length: CONTEXTS }, () => {
    const usual = {
      country: `country-${draw.below(30)}`,
      device: `device-${draw.below(2)}`,
      hour: draw.below(24),
      returning: draw() < 0.5,
      source: `source-${draw.below(8)}`,
    };
    const further = Array.from(
      { length: Math.max(visitor - OF_VISITOR, 0) },
      (_, i) => [`segment-${i}`, `value-${draw.below(10)}`] as const,
    );
    return Object.fromEntries([...Object.entries(usual), ...further].slice(0, visitor));
  });
}

/** The publication of a model after 2,000 impressions; after 20, if it is only to run. */
export async function publicationOf({ k, d, goals = 1, visitor }: Size, quick = false): Promise<Uint8Array<ArrayBuffer>> {
  const draw = stream("bench", "impressions", k, d);
  const { encode } = encoder(encoderOptions(d));
  const [actions, [context]] = [actionsOf(k), contextsOf(visitor)];
  // The last goal is the purchase.
  const named = goals > 1 ? [...GOALS.slice(0, goals - 1), GOALS[GOALS.length - 1]] : [];
  const options = named.map(
    (name, i) => [name, i === 0 ? { weight: 0 } : { weight: Number(i === goals - 1), after: named[i - 1] }] as const,
  );
  const recommender = await Recommender.create({
    policy: delayLinTs({ dimension: d }),
    window: { ms: WINDOW_MS },
    ...(goals > 1 && { goals: Object.fromEntries(options) }),
  });
  for (let n = 0; n < (quick ? 20 : IMPRESSIONS); n++) {
    const now = 1000 * n;
    recommender.register({ impressionId: `${n}`, features: encode({ context, action: actions[draw.below(k)] }), now });
    if (goals === 1 && draw() < 0.05) recommender.convert({ impressionId: `${n}`, reward: 1, at: now });
    for (const goal of named) {
      if (draw() > 0.3) break;
      recommender.convert({ impressionId: `${n}`, goal, reward: 1, at: now });
    }
  }
  return recommender.publication() as Uint8Array<ArrayBuffer>;
}

interface Deciding {
  readonly greedy?: boolean | undefined;
  readonly draws?: number | undefined;
}

/** The actions, and the contexts of visitors. */
export const inputsOf = ({ k, visitor }: Size) => ({ actions: actionsOf(k), contexts: contextsOf(visitor) });

/** Restores a publication and prepares the catalogue. The returned function makes the n-th decision as the worker does, for a list of six. */
export async function decider(
  publication: Uint8Array,
  d: number,
  { actions, contexts }: ReturnType<typeof inputsOf>,
  { greedy = false, draws = DRAWS }: Deciding = {},
) {
  const { among } = encoder(encoderOptions(d));
  const pointsIn = among(actions);
  const { policy } = await Recommender.restore(publication, { policies: [delayLinTs] });
  const request = { round: policy.impressions + 1, now: 1000 * IMPRESSIONS, draws, limit: LIMIT, greedy };
  return (n: number) => policy.choose({ ...request, decision: `decision ${n}`, points: pointsIn(contexts[n % CONTEXTS]) });
}
