import { type PolicyFactory, policies, Recommender } from "afterclick";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import { type LoggedConversion, type LoggedImpression, outcomesOf } from "./check.ts";

/** The part of a model's configuration that determines its state. */
export type LearntConfig = Pick<ModelConfig, "policy" | "options" | "window" | "reward" | "seed">;

/** The digest of a model that learns a log offline: each impression and the final reward of its conversions. */
export async function foldedDigest(
  { policy: id, options, window, reward, seed }: LearntConfig,
  impressions: readonly LoggedImpression[],
  conversions: readonly LoggedConversion[],
): Promise<string> {
  const factory = policies.find((each) => each.id === id) as unknown as PolicyFactory<object>;
  const recommender = await Recommender.create({ policy: factory(options), window, reward, seed });
  const { policy } = recommender;
  const outcomes = outcomesOf(conversions);
  const times = firstTimesOf(conversions);
  for (const { id, features, round, shownAt: now } of impressions) {
    const shown = { features: Float64Array.from(features), round, now };
    const { slot } = policy.append(shown);
    const outcome = outcomes.get(id);
    if (outcome === undefined) continue;
    const delay = { after: outcome === 0 ? undefined : Math.max((times.get(id) ?? now) - now, 0) };
    policy.observe({ impression: { ...shown, slot }, reward: outcome, delay });
  }
  return recommender.digest();
}

/** Time of the first event with a reward, per impression. */
function firstTimesOf(conversions: readonly LoggedConversion[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { impression, status, reward, at } of conversions) {
    if (reward === null || (status !== "applied" && status !== "conflict")) continue;
    times.set(impression, Math.min(times.get(impression) ?? at, at));
  }
  return times;
}
