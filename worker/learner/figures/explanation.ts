// Explains one impression: the decision of its time, and what the model believes now.

import type { Choice } from "afterclick/research";
import { beliefsOf } from "../../domain/decision/belief.ts";
import { among, type Offer, offerOf } from "../../domain/decision/offer.ts";
import type { Served } from "../../domain/decision/served.ts";
import { shardOf } from "../../domain/ids/shard.ts";
import { shownAtOf } from "../../domain/ids/uuid.ts";
import type { StoredImpression } from "../../domain/impression/impression.ts";
import { isRetracted } from "../../domain/impression/outcome.ts";
import { currenciesOf, currencyOf } from "../../domain/model/goals.ts";
import { Problem } from "../../protocol/problem.ts";
import type { Features } from "../../protocol/schema.ts";
import type { Explanation } from "../../rpc/message.ts";
import type { LearnerStore } from "../store/learner-store.ts";

/** An impression, its decision, and what is believed now of its action and of the catalogue; null if it is unknown. */
export function explain(store: LearnerStore, served: Served, id: string, at: number): Explanation | null {
  const impression = store.impressions.find(id);
  if (!impression || impression.erased) return null;
  const { config, policies, catalogue } = served;
  const [{ policy }] = policies;
  const shownAt = shownAtOf(id);
  const now = Math.max(at, shownAt);
  const windowEndsAt = shownAt + config.window.ms;
  const { action, arm, version, decision, context, features, reward } = impression;
  const ranked = (offer: Offer): Choice[] =>
    policy.choose({ ...among(policy, offer), round: policy.impressions + 1, now, decision: id, limit: offer.actions.length });
  const offer = served.unlearnt || policy.hasDomain || catalogue.size === 0 ? null : offerBeside(served, context);
  const beliefs = offer ? beliefsOf(policy, offer) : [];
  return {
    model: shardOf(store.model.name).model,
    status: statusOf(impression, now > windowEndsAt),
    action,
    arm,
    shownAt,
    windowEndsAt,
    modelVersion: version,
    decision: decision && { ...decision, mean: policy.stated(decision.mean) },
    context,
    conversions: store.conversions.of(id).map(({ goal, reward, at, status }) => {
      const currency = config.goals?.[goal]?.value?.currency;
      return { goal, reward, ...(currency && { currency }), at, status };
    }),
    reward,
    currency: currencyOf(config.goals),
    currencies: currenciesOf(config.goals),
    now: beliefsOf(policy, { actions: [{ id: action }], points: features })[0],
    candidates: offer && ranked(offer).map(({ index, score }) => ({ id: offer.actions[index].id, belief: beliefs[index], score })),
  };
}

/** The catalogue in the impression's context; null if the features of today's catalogue do not fit that context. */
function offerBeside(served: Served, context: Features | null): Offer | null {
  try {
    return offerOf(served, context ?? undefined, { actions: served.catalogue.actions, places: null });
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}

function statusOf(impression: StoredImpression, over: boolean): Explanation["status"] {
  const { state, converted } = impression;
  if (state === "deferred") return "deferred";
  if (state === "void") return "rolled-back";
  if (converted) return "converted";
  if (isRetracted(impression)) return "retracted";
  return over ? "expired" : "pending";
}
