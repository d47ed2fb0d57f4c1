import * as v from "valibot";

// What the worker answers, as schemas: for the description alone. The worker does not check itself; tests hold that these are
// the types of message.ts and metrics.ts, and that real answers are of this form.

const number = v.number();
const whole = v.pipe(number, v.integer());
const count = v.pipe(whole, v.minValue(0));
const time = v.pipe(whole, v.minValue(0), v.description("Milliseconds since 1970."));
const settings = v.record(v.string(), v.unknown());
const share = v.pipe(number, v.minValue(0), v.maxValue(1));

const impressionId = v.pipe(v.string(), v.description("Names the impression; opaque, and signed."));
const modelVersion = v.pipe(count, v.description("The model that decided; it grows with everything that is learnt."));
const serving = v.picklist(["edge", "learner"]);
const arm = v.pipe(
  v.picklist(["policy", "holdout", "default"]),
  v.description("Chosen by the policy, as uniform control, or because nothing else was left."),
);

const counts = v.strictObject({
  impressions: v.pipe(count, v.description("All ever shown: pending, converted, retracted and expired together.")),
  pending: count,
  converted: count,
  retracted: v.pipe(count, v.description("Whose every conversion was taken back.")),
  expired: count,
  applied: v.pipe(count, v.description("Distinct conversions, by what became of them, from here on.")),
  conflict: count,
  late: count,
  orphan: v.pipe(count, v.description("Whose impression has not been registered yet.")),
  duplicate: v.pipe(count, v.description("Repeated deliveries.")),
});

export const health = v.strictObject({ status: v.literal("ok") });

const published = { policy: v.string(), serving, generation: v.pipe(count, v.description("Of two the later one is another model.")) };
export const models = v.strictObject({
  models: v.array(v.strictObject({ model: v.string(), ...published, version: whole, publishedAt: time })),
});

export const model = v.strictObject({
  model: v.string(),
  policy: v.string(),
  options: settings,
  window: v.strictObject({ ms: count }),
  reward: v.strictObject({ min: number, max: number }),
  encoder: v.pipe(
    v.nullable(
      v.strictObject({
        dimension: count,
        numeric: v.optional(v.record(v.string(), v.strictObject({ min: number, max: number }))),
        interactions: v.optional(v.union([v.literal("all"), v.array(v.strictTuple([v.string(), v.string()]))])),
      }),
    ),
    v.description("Null: features come as numbers."),
  ),
  seed: whole,
  goals: v.nullable(v.record(v.string(), v.strictObject({ weight: number }))),
  shadows: v.array(v.strictObject({ name: v.string(), policy: v.string(), options: settings })),
  serving,
  draws: count,
  greedy: v.boolean(),
  holdout: share,
  minimumShare: share,
  defaultAction: v.nullable(v.string()),
  limits: v.strictObject({ open: count, bytes: count }),
  retention: v.strictObject({ ms: count }),
  publish: v.strictObject({ ms: count }),
  local: v.boolean(),
  counts,
  incidents: v.pipe(
    v.strictObject({ missed: count, refused: count, dropped: count, keptOut: count }),
    v.description("What should not happen: conversions that closing missed; impressions refused, and given up; snapshots not taken."),
  ),
  actions: v.pipe(count, v.description("Size of the catalogue.")),
  bytes: v.pipe(count, v.description("Of everything stored.")),
  digest: v.pipe(v.string(), v.description("Of what was learnt; the same for the same events in any order.")),
  modelVersion: count,
  published: v.nullable(v.strictObject({ version: whole, at: time })),
  kept: v.pipe(v.array(count), v.description("Versions that a rollback can go to, newest first.")),
  conversionRate: v.pipe(v.nullable(share), v.description("Of impressions whose window has passed; null while there are none.")),
});

export const catalogue = v.strictObject({ actions: count });
export const rollback = v.strictObject({ restored: count, modelVersion: count, kept: v.array(count) });
export const erased = v.strictObject({ erased: count });
export const imported = v.strictObject({
  impressions: count,
  repeated: count,
  conversions: v.pipe(v.record(v.string(), count), v.description("How many of each status.")),
});

const estimate = { mean: number, width: number };
const probability = v.optional(v.pipe(share, v.description("Of this action at this place, where the policy knows it.")));

export const recommendations = v.strictObject({
  model: v.string(),
  modelVersion,
  policy: v.string(),
  arm,
  windowEndsAt: time,
  actions: v.pipe(
    v.array(
      v.strictObject({
        impressionId,
        id: v.string(),
        probability,
        score: number,
        ...estimate,
        features: v.optional(v.pipe(v.array(number), v.description("The point, if the policy chose in its own domain."))),
      }),
    ),
    v.description("Best first, each an impression of its own."),
  ),
});

export const impressions = v.strictObject({
  impressions: v.array(v.strictObject({ impressionId, status: v.picklist(["registered", "duplicate"]) })),
});

const feature = v.union([number, v.string(), v.boolean(), v.array(v.string())]);
const features = v.union([v.array(number), v.record(v.string(), feature)]);
const asked = v.strictObject({
  actions: v.optional(v.array(v.strictObject({ id: v.string(), features: v.optional(features) }))),
  exclude: v.optional(v.array(v.string())),
  greedy: v.optional(v.boolean()),
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
        score: number,
        ...estimate,
        probability,
        place: count,
        candidates: v.nullable(count),
        shadows: v.optional(v.pipe(v.record(v.string(), v.string()), v.description("What each shadow would have shown first."))),
        first: v.optional(
          v.pipe(v.string(), v.description("Below the first place: the first impression of the list, in the log's words.")),
        ),
        asked: v.optional(v.pipe(asked, v.description("What the request asked for other than all of the catalogue."))),
      }),
    ),
    v.description("Null if it was decided elsewhere."),
  ),
  context: v.nullable(features),
  conversions: v.array(
    v.strictObject({
      goal: v.string(),
      reward: v.pipe(v.nullable(number), v.description("Null: retracted.")),
      at: time,
      status: v.picklist(["applied", "conflict", "late", "orphan", "void"]),
    }),
  ),
  reward: v.pipe(v.nullable(number), v.description("Of all its conversions that count; null until one does.")),
  now: v.pipe(v.nullable(v.strictObject(estimate)), v.description("What the policy thinks of it now.")),
  candidates: v.pipe(
    v.nullable(v.array(v.strictObject({ id: v.string(), ...estimate, score: number }))),
    v.description("What the policy thinks now of each action of the catalogue in that context, best first."),
  ),
});

export const activated = v.strictObject({ impressionId, status: v.picklist(["activated", "duplicate"]) });

const became = {
  status: v.picklist(["applied", "accepted", "duplicate", "conflict", "late", "orphan", "refused", "unknown"]),
  detail: v.optional(v.string()),
};
export const conversions = v.strictObject({
  conversions: v.array(v.union([v.strictObject({ impressionId: v.string(), ...became }), v.strictObject({ key: v.string(), ...became })])),
});

const bars = v.array(v.strictObject({ fromMs: number, toMs: v.nullable(number), count }));
const armMean = v.strictObject({ impressions: count, mean: number });
export const metrics = v.strictObject({
  model: v.string(),
  policy: v.string(),
  serving,
  now: time,
  windowMs: count,
  counts,
  snapshot: v.nullable(v.strictObject({ version: whole, publishedAt: time, ageMs: count })),
  lagMs: v.pipe(v.nullable(count), v.description("From being shown to being registered, of the newest impression.")),
  bucketMs: count,
  buckets: v.array(v.strictObject({ start: time, arm, impressions: count, converted: count, reward: number, closed: v.boolean() })),
  pendingByAge: bars,
  delay: v.pipe(
    v.nullable(
      v.strictObject({
        impressions: v.pipe(count, v.description("What it is estimated from: what the log holds, of all arms.")),
        conversions: count,
        rateSoFar: v.pipe(share, v.description("Of those impressions, as many have converted.")),
        rate: v.pipe(share, v.description("As many will have, once all have had their time.")),
        toCome: v.pipe(number, v.description("Conversions still to come, of all that was shown.")),
        window95Ms: v.pipe(number, v.description("The window that would catch 95 % of the conversions that this one catches.")),
        distribution: v.pipe(
          v.array(v.strictObject({ delayMs: number, probability: share, low: share, high: share, stillConverts: share })),
          v.description("Share of conversions that come sooner, with a 95 % band; chance of who has not converted by then."),
        ),
        silence: v.pipe(
          v.strictObject({ since: time, expected: number, chance: share, alarm: v.boolean() }),
          v.description("Since a conversion arrived last: how many should have, and the chance that none did, if all is well."),
        ),
      }),
    ),
    v.description("How late conversions come, estimated from those that have come by now; null before the first."),
  ),
  delays: bars,
  lift: v.pipe(
    v.nullable(
      v.strictObject({
        policy: armMean,
        holdout: armMean,
        difference: number,
        interval: v.pipe(v.array(number), v.length(2)),
        relative: v.nullable(number),
      }),
    ),
    v.description("Mean reward of the policy less that of the holdout, with a 95 % interval; null without a holdout."),
  ),
  recent: v.array(
    v.strictObject({
      impressionId,
      action: v.string(),
      shownAt: time,
      modelVersion,
      probability,
      status: v.picklist(["pending", "converted", "retracted", "expired"]),
    }),
  ),
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

export type ProblemBody = v.InferOutput<typeof problem>;
