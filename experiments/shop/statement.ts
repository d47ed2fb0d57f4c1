import { type Choice, statedScores } from "afterclick/research";
import { beliefsOf } from "../../worker/domain/decision/belief.ts";
import type { DefaultModel } from "./default-model.ts";
import type { Product, Visit } from "./shop.ts";

type Belief = NonNullable<ReturnType<typeof beliefsOf>[number]>;

/** A statement of a worker about the expected reward of an action. */
export interface Statement {
  /** In an explanation. */
  readonly belief: Belief;
  /** The mean in a recommendation. */
  readonly recommended: number;
}

/** The statements about all products, in their order, for a visitor. */
export function statementsOf({ recommender, featurize }: DefaultModel, products: readonly Product[], visit: Visit, now = 0): Statement[] {
  const points = featurize(visit);
  const { policy } = recommender;
  const choices = policy.choose({ points, round: policy.impressions + 1, now, limit: products.length });
  const beliefs = beliefsOf(policy, { actions: products.map(({ id }) => ({ id })), points });
  return products.map(({ id }, i) => {
    const belief = beliefs[i];
    const choice = choices.find(({ index }) => index === i) as Choice;
    if (!belief) throw new TypeError(`expected a belief about ${id}, got none`);
    return { belief, recommended: statedScores(policy, choice).mean };
  });
}

/** Whether a statement is wrong in itself: outside the range of rewards, or an interval without a width or without its average. */
export function isWrong(
  { belief: { mean, average, low, high }, recommended }: Statement,
  { min, max }: { min: number; max: number },
): boolean {
  // An end that too few amounts leave open is null.
  const [least, most] = [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY];
  const own = average ?? mean;
  const ordered = min <= (low ?? min) && least <= own && own <= most && (high ?? max) <= max && least < most;
  return !ordered || [mean, recommended].some((each) => !(min <= each && each <= max));
}
