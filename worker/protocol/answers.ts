// Response bodies that several parts share, as in `model-answer.ts` and `metrics-answer.ts`. Those of one route are in its file. Types are
// inferred from these schemas, and so is the OpenAPI document. The worker does not validate its own responses; tests check real ones
// against these schemas.

import * as v from "valibot";
import { decision } from "./decision.ts";
import { about, arm, type Body, count, generation, impressionId, modelVersion, number, probability, time, whole } from "./figures.ts";
import { currency, kept } from "./model-answer.ts";
import { modelOptions } from "./model-options.ts";
import { catalogueAction, features } from "./schema.ts";

const published = { policy: v.string(), serving: modelOptions.serving.schema, generation };
export const models = v.strictObject({
  models: v.array(v.strictObject({ model: v.string(), ...published, version: whole, publishedAt: time })),
});

export const catalogue = v.strictObject({
  actions: count,
  version: about(count, "Version of the catalogue: the number of its newest change in the log."),
});

export const wholeCatalogue = () =>
  v.strictObject({ actions: about(v.array(catalogueAction), "In the order of the catalogue."), version: catalogue.entries.version });

export const rollback = v.strictObject({ restored: count, modelVersion: count, kept });
export const imported = v.strictObject({
  impressions: count,
  repeated: count,
  conversions: about(v.record(v.string(), count), "Number of conversions by status."),
});

export const estimate = {
  score: about(number, "The number that sets the rank. It is no reward, and may be outside their range. 0 for a pinned action."),
  mean: about(number, "The expected reward, inside the range of rewards. 0 for a pinned action, about which the policy is not asked."),
  width: about(number, "The bonus of the policy: a multiple of the posterior's standard deviation. 0 for a pinned action."),
};
const openEnd = about(
  v.nullable(number),
  "Null while too few amounts have come to bound it, and for a policy that does not count what products bring.",
);
const interval = {
  mean: about(number, "The model's estimate for this visitor. It has no interval."),
  average: about(v.nullable(number), "Mean reward of the product's matured impressions. Null before the first."),
  low: openEnd,
  high: openEnd,
};
const factor = v.strictObject({
  goal: v.string(),
  after: v.optional(about(v.string(), "The goal before it: the share is of those that reached that one.")),
  amount: v.optional(about(v.literal(true), "The mean amount of those that reached the goal, not the share that reaches it.")),
  clipped: v.optional(about(count, "Amounts so far that were above the greatest one that counts wholly.")),
  clippedSum: v.optional(about(number, "The part of their sum that does not count.")),
  ...interval,
});
const belief = about(
  v.nullable(
    v.strictObject({
      ...interval,
      tooFew: v.optional(
        about(v.strictObject({ more: count, of: v.string() }), "How many more amounts an interval needs. Absent if there are enough."),
      ),
      factors: v.optional(about(v.array(factor), "What is expected of each goal. Absent unless goals are learnt one by one.")),
    }),
  ),
  "The expected reward for this visitor now (`mean`), and the `average` of the product over the visitors that it met, with the interval `low` to `high` that holds the average with a probability of 95 %, whether the model is right or not. All four are inside the range of rewards. Null for a policy without a posterior, or with its own domain.",
);
export const impression = v.strictObject({
  impressionId,
  model: v.string(),
  status: v.picklist(["pending", "converted", "retracted", "expired", "deferred", "rolled-back"]),
  action: v.string(),
  arm,
  shownAt: time,
  windowEndsAt: time,
  modelVersion,
  decision: about(
    v.nullable(
      v.strictObject({
        ...decision,
        ...estimate,
        probability,
        catalogue: about(decision.catalogue, "Version of the catalogue, if it is newer than the model's."),
        shadows: about(decision.shadows, "The action that each shadow ranked first."),
        first: about(decision.first, "UUID of the list's first impression, as in the event log. Absent at the first place."),
        asked: about(decision.asked, "Restrictions of the request."),
      }),
    ),
    "Null if the decision was made elsewhere.",
  ),
  context: v.nullable(features),
  conversions: v.array(
    v.strictObject({
      goal: v.string(),
      reward: about(v.nullable(number), "Null for a retraction."),
      currency: v.optional(about(v.string(), "Of the amount. Absent without a value.")),
      at: time,
      status: v.picklist(["applied", "conflict", "late", "orphan", "void", "refused"]),
    }),
  ),
  reward: about(v.nullable(number), "Reward of all counted conversions. Null before the first."),
  currency,
  currencies: about(v.record(v.string(), v.string()), "Of the goals with a value, by goal."),
  now: belief,
  candidates: about(
    v.nullable(v.array(v.strictObject({ id: v.string(), belief, score: number }))),
    "All catalogue actions in the same context now, by score.",
  ),
});

export const ACTIVATIONS = ["activated", "accepted", "duplicate", "unsampled", "unlearnt"] as const;

/** Statuses of a conversion that its learner has seen. */
export const FATES = ["applied", "duplicate", "conflict", "late", "orphan", "unsampled", "unlearnt", "refused", "unknown"] as const;

const became = {
  status: v.picklist(["accepted", ...FATES]),
  detail: v.optional(v.string()),
  rounded: v.optional(
    about(
      v.strictObject({ from: number, to: number }),
      "The reward that was sent, and the one that counts: rounded towards zero to a multiple of 1/4096. Absent if both are equal.",
    ),
  ),
};
export const conversions = v.strictObject({
  conversions: v.array(v.union([v.strictObject({ impressionId: v.string(), ...became }), v.strictObject({ key: v.string(), ...became })])),
});

export const problem = about(
  v.strictObject({
    type: v.literal("about:blank"),
    title: v.string(),
    status: whole,
    detail: v.string(),
    errors: v.optional(v.array(v.strictObject({ path: v.string(), message: v.string() }))),
  }),
  "RFC 9457",
);

export type ProblemBody = Body<typeof problem>;
export type ModelSummary = Body<typeof models>["models"][number];
export type CatalogueVersion = Body<typeof catalogue>;
export type Imported = Body<typeof imported>;
export type Rollback = Body<typeof rollback>;
export type Explanation = Body<typeof impression>;
/** An expected reward, and the average of the product with its interval. */
export type Belief = NonNullable<Explanation["now"]>;
export type Candidate = NonNullable<Explanation["candidates"]>[number];
