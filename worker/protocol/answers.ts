import * as v from "valibot";
import { arm, type Body, count, generation, impressionId, modelVersion, number, probability, time, whole } from "./figures.ts";
import { currency, kept } from "./model-answer.ts";
import { modelOptions } from "./model-options.ts";

// Response bodies that several parts share, as in `model-answer.ts` and `metrics-answer.ts`. Those of one route are in its file. Types are
// inferred from these schemas, and so is the OpenAPI document. The worker does not validate its own responses; tests check real ones
// against these schemas.

const published = { policy: v.string(), serving: modelOptions.serving.schema, generation };
export const models = v.strictObject({
  models: v.array(v.strictObject({ model: v.string(), ...published, version: whole, publishedAt: time })),
});

export const catalogue = v.strictObject({
  actions: count,
  version: v.pipe(count, v.description("Version of the catalogue: the number of its newest change in the log.")),
});
export const rollback = v.strictObject({ restored: count, modelVersion: count, kept });
export const imported = v.strictObject({
  impressions: count,
  repeated: count,
  conversions: v.pipe(v.record(v.string(), count), v.description("Number of conversions by status.")),
});

export const estimate = {
  score: v.pipe(
    number,
    v.description("The number that sets the rank. It is no reward, and may be outside their range. 0 for a pinned action."),
  ),
  mean: v.pipe(
    number,
    v.description("The expected reward, inside the range of rewards. 0 for a pinned action, about which the policy is not asked."),
  ),
  width: v.pipe(number, v.description("The bonus of the policy: a multiple of the posterior's standard deviation. 0 for a pinned action.")),
};
const openEnd = v.pipe(v.nullable(number), v.description("Null while too few amounts have come to bound it."));
const interval = { mean: number, low: openEnd, high: openEnd };
const factor = v.strictObject({
  goal: v.string(),
  after: v.optional(v.pipe(v.string(), v.description("The goal before it: the share is of those that reached that one."))),
  amount: v.optional(
    v.pipe(v.literal(true), v.description("The mean amount of those that reached the goal, not the share that reaches it.")),
  ),
  clipped: v.optional(v.pipe(count, v.description("Amounts so far that were above the greatest one that counts wholly."))),
  clippedSum: v.optional(v.pipe(number, v.description("The part of their sum that does not count."))),
  ...interval,
});
const belief = v.pipe(
  v.nullable(
    v.strictObject({
      ...interval,
      tooFew: v.optional(
        v.pipe(
          v.strictObject({ more: count, of: v.string() }),
          v.description("How many more amounts an interval needs. Absent if there are enough."),
        ),
      ),
      factors: v.optional(
        v.pipe(v.array(factor), v.description("What is expected of each goal. Absent unless goals are learnt one by one.")),
      ),
    }),
  ),
  v.description(
    "The expected reward now, and the interval that holds it with a probability of 95 %. All three are inside the range of rewards. Null for a policy without a posterior, or with its own domain.",
  ),
);
const feature = v.union([number, v.string(), v.boolean(), v.array(v.string())]);
const features = v.union([v.array(number), v.record(v.string(), feature)]);
const asked = v.strictObject({
  actions: v.optional(v.array(v.strictObject({ id: v.string(), features: v.optional(features) }))),
  exclude: v.optional(v.array(v.string())),
  greedy: v.optional(v.boolean()),
  filter: v.optional(
    v.record(
      v.string(),
      v.union([number, v.string(), v.boolean(), v.array(v.string()), v.strictObject({ min: v.optional(number), max: v.optional(number) })]),
    ),
  ),
  pin: v.optional(v.array(v.strictObject({ action: v.string(), place: count }))),
  maxPer: v.optional(v.strictObject({ attribute: v.string(), count })),
  limit: v.optional(count),
});
export const impression = v.strictObject({
  impressionId,
  model: v.string(),
  status: v.picklist(["pending", "converted", "retracted", "expired", "deferred", "rolled-back"]),
  action: v.string(),
  arm,
  shownAt: time,
  windowEndsAt: time,
  modelVersion,
  decision: v.pipe(
    v.nullable(
      v.strictObject({
        ...estimate,
        probability,
        place: count,
        candidates: v.nullable(count),
        catalogue: v.optional(v.pipe(count, v.description("Version of the catalogue, if it is newer than the model's."))),
        shadows: v.optional(v.pipe(v.record(v.string(), v.string()), v.description("The action that each shadow ranked first."))),
        first: v.optional(
          v.pipe(v.string(), v.description("UUID of the list's first impression, as in the event log. Absent at the first place.")),
        ),
        asked: v.optional(v.pipe(asked, v.description("Restrictions of the request."))),
      }),
    ),
    v.description("Null if the decision was made elsewhere."),
  ),
  context: v.nullable(features),
  conversions: v.array(
    v.strictObject({
      goal: v.string(),
      reward: v.pipe(v.nullable(number), v.description("Null for a retraction.")),
      currency: v.optional(v.pipe(v.string(), v.description("Of the amount. Absent without a value."))),
      at: time,
      status: v.picklist(["applied", "conflict", "late", "orphan", "void", "refused"]),
    }),
  ),
  reward: v.pipe(v.nullable(number), v.description("Reward of all counted conversions. Null before the first.")),
  currency,
  currencies: v.pipe(v.record(v.string(), v.string()), v.description("Of the goals with a value, by goal.")),
  now: belief,
  candidates: v.pipe(
    v.nullable(v.array(v.strictObject({ id: v.string(), belief, score: number }))),
    v.description("All catalogue actions in the same context now, by score."),
  ),
});

export const ACTIVATIONS = ["activated", "accepted", "duplicate", "unsampled"] as const;

/** Statuses of a conversion that its learner has seen. */
export const FATES = ["applied", "duplicate", "conflict", "late", "orphan", "unsampled", "refused", "unknown"] as const;

const became = {
  status: v.picklist(["accepted", ...FATES]),
  detail: v.optional(v.string()),
  rounded: v.optional(
    v.pipe(
      v.strictObject({ from: number, to: number }),
      v.description(
        "The reward that was sent, and the one that counts: rounded towards zero to a multiple of 1/4096. Absent if both are equal.",
      ),
    ),
  ),
};
export const conversions = v.strictObject({
  conversions: v.array(v.union([v.strictObject({ impressionId: v.string(), ...became }), v.strictObject({ key: v.string(), ...became })])),
});

export const problem = v.pipe(
  v.strictObject({
    type: v.literal("about:blank"),
    title: v.string(),
    status: whole,
    detail: v.string(),
    errors: v.optional(v.array(v.strictObject({ path: v.string(), message: v.string() }))),
  }),
  v.description("RFC 9457"),
);

export type ProblemBody = Body<typeof problem>;
export type ModelSummary = Body<typeof models>["models"][number];
export type CatalogueVersion = Body<typeof catalogue>;
export type Imported = Body<typeof imported>;
export type Rollback = Body<typeof rollback>;
export type Explanation = Body<typeof impression>;
/** An expected reward, and the interval that holds it with a probability of 95 %. */
export type Belief = NonNullable<Explanation["now"]>;
export type Candidate = NonNullable<Explanation["candidates"]>[number];
