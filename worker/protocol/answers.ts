import * as v from "valibot";

// Response bodies. The types below are inferred from these schemas, and so is the OpenAPI document. The worker does not validate
// its own responses; tests check real ones against these schemas.

const number = v.number();
const whole = v.pipe(number, v.integer());
const count = v.pipe(whole, v.minValue(0));
const time = v.pipe(whole, v.minValue(0), v.description("Milliseconds since 1970."));
const duration = v.strictObject({ ms: count });
const settings = v.record(v.string(), v.unknown());
const share = v.pipe(number, v.minValue(0), v.maxValue(1));

/** A figure that needs more data: it stands in place of the number. The same as `TooFew` of the SDK. */
export const tooFewFigure = v.pipe(
  v.strictObject({
    tooFew: v.strictObject({
      more: v.pipe(whole, v.minValue(1), v.description("About how many more are needed.")),
      of: v.pipe(v.string(), v.description("What is counted, in the plural, such as conversions.")),
    }),
  }),
  v.description("Too little data for this figure."),
);

const impressionId = v.pipe(v.string(), v.description("Signed, opaque name of the impression."));
const modelVersion = v.pipe(count, v.description("Version of the model that decided. Every learnt event raises it."));
const serving = v.picklist(["edge", "learner"]);
const arm = v.pipe(
  v.picklist(["policy", "holdout", "default"]),
  v.description("policy: chosen by the policy. holdout: uniform control. default: no candidate was left."),
);

const encoding = v.pipe(
  v.nullable(
    v.strictObject({
      dimension: count,
      exact: v.pipe(count, v.description("Components of a single term.")),
      shared: v.pipe(count, v.description("Categories of the catalogue without room for a component of their own.")),
      alike: v.pipe(
        v.array(v.array(v.string())),
        v.description("Groups of actions with equal vectors: the model learns one rate for each."),
      ),
    }),
  ),
  v.description("How well the encoder tells the actions of the catalogue apart. Null if features are arrays of numbers."),
);

const counts = v.strictObject({
  impressions: v.pipe(count, v.description("All shown impressions: pending, converted, retracted and expired.")),
  fromPages: v.pipe(count, v.description("Impressions that came with a publishable key.")),
  pageGoals: v.pipe(count, v.description("Applied conversions that pages reported.")),
  pending: count,
  converted: v.pipe(count, v.description("Impressions that have reached a goal with a weight. `reached` counts by goal.")),
  retracted: v.pipe(count, v.description("Impressions whose conversions were all retracted or refunded in full.")),
  expired: count,
  applied: v.pipe(count, v.description("Distinct conversions by status, here and below.")),
  conflict: count,
  late: count,
  orphan: v.pipe(count, v.description("Conversions of impressions that are not registered yet.")),
  duplicate: v.pipe(count, v.description("Repeated deliveries.")),
});

const currency = v.pipe(
  v.nullable(v.string()),
  v.description("Of rewards and what is expected of them. Null unless all goals with a weight have amounts in one currency."),
);
const reached = v.pipe(
  v.nullable(
    v.array(
      v.strictObject({
        goal: v.string(),
        weight: number,
        converted: v.pipe(
          count,
          v.description("Impressions that have reached the goal. An order that is refunded in full does not count."),
        ),
        rateSoFar: v.pipe(v.nullable(share), v.description("Share of all impressions. Null without any.")),
        amounts: v.pipe(
          v.nullable(
            v.strictObject({
              currency: v.string(),
              orders: v.pipe(count, v.description("Amounts above 0 that count.")),
              refunds: v.pipe(count, v.description("Amounts below 0 that count. They are no conversions.")),
              paid: number,
              refunded: number,
              net: v.pipe(number, v.description("Paid minus refunded.")),
            }),
          ),
          v.description("Null without a value."),
        ),
      }),
    ),
  ),
  v.description("What impressions have brought so far, by declared goal. Null if the model declares none."),
);

export const health = v.strictObject({ status: v.literal("ok") });

const generation = v.pipe(count, v.description("Start of the model, in ms since 1970. A reset starts a new generation."));
const published = { policy: v.string(), serving, generation };
export const models = v.strictObject({
  models: v.array(v.strictObject({ model: v.string(), ...published, version: whole, publishedAt: time })),
});

export const model = v.strictObject({
  model: v.string(),
  generation,
  policy: v.string(),
  options: settings,
  window: duration,
  reward: v.strictObject({ min: number, max: number }),
  encoder: v.pipe(
    v.nullable(
      v.strictObject({
        version: v.literal(3),
        dimension: count,
        numeric: v.optional(v.record(v.string(), v.strictObject({ min: number, max: number }))),
        interactions: v.optional(v.union([v.literal("all"), v.array(v.strictTuple([v.string(), v.string()]))])),
        vocabulary: v.optional(v.array(v.union([v.strictTuple([v.string()]), v.strictTuple([v.string(), v.string()])]))),
      }),
    ),
    v.description("Null if features are arrays of numbers."),
  ),
  seed: whole,
  goals: v.nullable(
    v.record(
      v.string(),
      v.strictObject({
        weight: number,
        window: v.optional(duration),
        after: v.optional(v.string()),
        delay: v.optional(duration),
        public: v.optional(v.boolean()),
        value: v.optional(v.strictObject({ currency: v.string(), max: v.optional(number) })),
      }),
    ),
  ),
  examination: v.optional(v.array(share)),
  shadows: v.array(v.strictObject({ name: v.string(), policy: v.string(), options: settings })),
  serving,
  draws: count,
  greedy: v.boolean(),
  holdout: share,
  minimumShare: share,
  defaultAction: v.nullable(v.string()),
  shards: v.pipe(count, v.description("Learners that share the model's events.")),
  limits: v.strictObject({ open: count, bytes: count, deferred: count }),
  deferral: duration,
  retention: duration,
  publish: duration,
  local: v.boolean(),
  pageActions: v.boolean(),
  pageKeys: v.picklist(["own", "shared"]),
  pageLimit: count,
  pageShare: share,
  featureNorm: number,
  counts,
  reached,
  incidents: v.pipe(
    v.strictObject({
      missed: count,
      refused: count,
      dropped: count,
      unsampled: count,
      keptOut: count,
      collisions: count,
      ofPages: count,
      otherCurrency: count,
      skipped: v.pipe(count, v.description("Stored conversions that the policies did not take.")),
      unanswered: v.pipe(count, v.description("Calls of the coordinator that a shard did not answer.")),
    }),
    v.description(
      "Missed conversions, refused impressions, dropped impressions, impressions left out by sampling, publications that an isolate did not take, impression ids of pages that were taken, orphans whose key only pages gave, and amounts refused because of their currency.",
    ),
  ),
  actions: v.pipe(count, v.description("Size of the catalogue.")),
  encoding,
  bytes: v.pipe(count, v.description("Size of all stored data.")),
  digest: v.pipe(
    v.nullable(v.string()),
    v.description("Digest of the learnt state. The same events give the same digest in any order. Null while the state is learnt again."),
  ),
  modelVersion: count,
  published: v.nullable(v.strictObject({ version: whole, at: time })),
  relearning: v.pipe(
    v.nullable(
      v.strictObject({
        startedAt: time,
        done: v.pipe(whole, v.description("Rows of the log that are learnt, of all shards.")),
        rows: v.pipe(whole, v.description("Rows of the log.")),
        endsAt: v.pipe(v.nullable(time), v.description("Estimate. Null at the beginning.")),
      }),
    ),
    v.description("How far the log is learnt again. Null if it is not."),
  ),
  kept: v.pipe(v.array(count), v.description("Versions that a rollback can restore, newest first.")),
  defaults: v.optional(
    v.pipe(count, v.description("Version of the defaults that the model was created with. Absent if it is older than these versions.")),
  ),
  conversionRate: v.pipe(
    v.nullable(share),
    v.description("Share of impressions that converted, among those whose window has closed. Null while there are none."),
  ),
});

export const catalogue = v.strictObject({
  actions: count,
  version: v.pipe(count, v.description("Version of the catalogue: the number of its newest change in the log.")),
});
export const rollback = v.strictObject({ restored: count, modelVersion: count, kept: v.array(count) });
export const erased = v.strictObject({ erased: count });
export const imported = v.strictObject({
  impressions: count,
  repeated: count,
  conversions: v.pipe(v.record(v.string(), count), v.description("Number of conversions by status.")),
});

const estimate = {
  score: v.pipe(number, v.description("The number that sets the rank. It is no reward, and may be outside their range.")),
  mean: v.pipe(number, v.description("The expected reward, inside the range of rewards.")),
  width: v.pipe(number, v.description("The bonus of the policy: a multiple of the posterior's standard deviation.")),
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
  clippedSum: v.optional(v.pipe(number, v.description("Sum by which they were above it, which does not count."))),
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
const probability = v.optional(
  v.pipe(
    share,
    v.description(
      "Propensity: the chance of this action at this place, over all lists that the request could have got. 1 for a pinned action. Absent if the policy does not know it.",
    ),
  ),
);

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
        ...estimate,
        features: v.optional(v.pipe(v.array(number), v.description("The chosen point of a policy with its own domain."))),
      }),
    ),
    v.description("Best first. Each action is an impression of its own."),
  ),
});

export const impressions = v.strictObject({
  impressions: v.array(v.strictObject({ impressionId, status: v.picklist(["registered", "duplicate", "unsampled"]) })),
});

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

const ACTIVATIONS = ["activated", "accepted", "duplicate", "unsampled"] as const;

export const activated = v.strictObject({
  impressionId,
  status: v.pipe(
    v.picklist(ACTIVATIONS),
    v.description("accepted: it is not registered yet, and counts as soon as it is. unsampled: it was left out of learning."),
  ),
});

/** Statuses of a conversion that its learner has seen. */
const FATES = ["applied", "duplicate", "conflict", "late", "orphan", "unsampled", "refused", "unknown"] as const;

export const beacon = v.strictObject({
  seen: v.pipe(
    v.array(v.strictObject({ impressionId: v.string(), status: v.picklist([...ACTIVATIONS, "unknown", "refused"]) })),
    v.description(
      "duplicate: the impression counts already. accepted: it counts as soon as it is registered. unknown: it was not given by this worker, " +
        "or waited too long.",
    ),
  ),
  reached: v.array(
    v.strictObject({
      impressionId: v.string(),
      goal: v.string(),
      status: v.picklist(FATES),
      detail: v.optional(v.string()),
    }),
  ),
});

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

export const ignored = v.strictObject({ ignored: v.pipe(v.string(), v.description("Type of the message, as its sender names it.")) });

const bars = v.array(v.strictObject({ fromMs: number, toMs: v.nullable(number), count }));
/** A number, or that there is too little data for it. */
const orTooFew = <Schema extends v.GenericSchema>(schema: Schema) => v.union([schema, tooFewFigure]);
const liftedArm = v.strictObject({
  lists: count,
  impressions: count,
  conversions: v.pipe(count, v.description("Impressions that have reached the goal.")),
  rate: v.pipe(v.nullable(share), v.description("Conversion rate, corrected for conversions still to come. Null before any has matured.")),
});
const goalLift = v.strictObject({
  goal: v.string(),
  windowMs: v.pipe(count, v.description("The goal's own window, or the model's.")),
  withinMs: v.pipe(
    count,
    v.description(
      "Rates count conversions within this time: the window, or a shorter time while few impressions have had the whole window.",
    ),
  ),
  currency: v.pipe(v.nullable(v.string()), v.description("Of its amounts. Conversions are compared, not amounts. Null without a value.")),
  policy: liftedArm,
  holdout: liftedArm,
  difference: v.pipe(
    v.union([v.strictObject({ value: number, low: number, high: number }), tooFewFigure]),
    v.description("Policy minus holdout. The 95 % interval holds at all looks together, so you may stop at any."),
  ),
  relative: v.pipe(v.nullable(number), v.description("The difference as a share of the holdout's rate. Null without a difference.")),
  decided: v.pipe(v.boolean(), v.description("Whether the interval excludes 0.")),
  shares: v.pipe(
    v.array(
      v.strictObject({
        holdout: v.pipe(v.nullable(share), v.description("Null: isolates decided by an older share than the learner's.")),
        lists: v.strictObject({ policy: count, holdout: count }),
        compared: v.pipe(v.boolean(), v.description("Whether both arms have two matured lists. If not, the share tells nothing.")),
      }),
    ),
    v.description("The shares that the holdout has had. Rates are compared within each."),
  ),
});
const delay = v.strictObject({
  impressions: v.pipe(count, v.description("Impressions behind the estimate: all that the log holds.")),
  conversions: count,
  rateSoFar: v.pipe(share, v.description("Share of these impressions that has converted.")),
  followedMs: v.pipe(
    number,
    v.description(
      "The longest delay that the estimate knows of. It is the window once five conversions belong to impressions whose window has closed.",
    ),
  ),
  rate: v.pipe(
    orTooFew(share),
    v.description("Share that will have converted when all windows have closed. Needs 5 conversions whose window has closed."),
  ),
  rateInterval: v.pipe(v.nullable(v.pipe(v.array(share), v.length(2))), v.description("Its 95 % interval. Null if there is no rate.")),
  toCome: v.pipe(orTooFew(number), v.description("Expected number of conversions still to come.")),
  window95Ms: v.pipe(
    orTooFew(number),
    v.description("Window that would catch 95 % of the conversions that this one catches. Needs 50 conversions whose window has closed."),
  ),
  quantiles: v.pipe(
    v.array(v.strictObject({ share, delayMs: orTooFew(number) })),
    v.description("Delay that this share of the conversions does not exceed."),
  ),
  windows: v.pipe(
    v.array(v.strictObject({ windowMs: count, caught: orTooFew(share), low: share, high: share, rate: orTooFew(share) })),
    v.description(
      "Shorter windows: the share of the conversions that each would have caught, with a 95 % band, and the share of impressions that converts in it. Needs 15 conversions whose window has closed.",
    ),
  ),
  distribution: v.pipe(
    v.array(v.strictObject({ delayMs: number, probability: share, low: share, high: share, stillConverts: orTooFew(share) })),
    v.description(
      "Share that comes sooner of the conversions that come within followedMs, with a 95 % band, and the chance that a pending impression of this age still converts.",
    ),
  ),
  silence: v.pipe(
    v.strictObject({ since: time, expected: number, chance: share, alarm: v.boolean() }),
    v.description(
      "Expected conversions since the last arrival, and the chance of none if delivery works. The alarm also allows for the rhythm of arrivals.",
    ),
  ),
});
export const metrics = v.strictObject({
  model: v.string(),
  policy: v.string(),
  serving,
  now: time,
  windowMs: count,
  counts,
  reached,
  currency,
  encoding,
  change: v.pipe(
    v.nullable(v.strictObject({ since: time, probability: share })),
    v.description(
      "When the policy says that rates have last changed, and its probability that they have changed at all. Null if they probably have not.",
    ),
  ),
  snapshot: v.nullable(v.strictObject({ version: whole, publishedAt: time, ageMs: count })),
  lagMs: v.pipe(v.nullable(count), v.description("Time from showing the newest impression to registering it.")),
  bucketMs: count,
  buckets: v.array(v.strictObject({ start: time, arm, impressions: count, converted: count, reward: number, closed: v.boolean() })),
  pendingByAge: bars,
  delay: v.pipe(
    v.nullable(delay),
    v.description(
      "Estimated delay distribution of the first conversions, of whichever goal with a weight. Null before the first conversion.",
    ),
  ),
  goals: v.pipe(
    v.nullable(
      v.array(
        v.strictObject({
          goal: v.string(),
          windowMs: v.pipe(count, v.description("The goal's own window, or the model's.")),
          currency: v.pipe(v.nullable(v.string()), v.description("Of its amounts. Null if it has no value.")),
          delay: v.pipe(v.nullable(delay), v.description("Null before its first conversion.")),
        }),
      ),
    ),
    v.description("The same for each declared goal. Null if the model declares none."),
  ),
  delays: bars,
  lift: v.pipe(
    v.nullable(
      v.strictObject({
        effect: v.pipe(share, v.description("Difference of rates for which the interval is narrowest.")),
        unassigned: v.pipe(
          count,
          v.description("Registered and imported impressions. The model did not assign them, so they are not compared."),
        ),
        goals: v.pipe(v.array(goalLift), v.description("Each declared goal by itself. Without goals: `conversion`, which is any.")),
      }),
    ),
    v.description("The policy's conversion rate minus that of the holdout. Null if there never was a holdout."),
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

const clickModel = v.picklist(["no-bias", "position-based", "item-position"]);
export const examination = v.strictObject({
  model: v.string(),
  configured: v.pipe(v.nullable(v.array(share)), v.description("The model's option. Null if it learns as if every place were examined.")),
  lists: v.pipe(count, v.description("Random lists of two or more actions, in the log's newest 100,000 rows.")),
  since: v.pipe(v.nullable(time), v.description("When the oldest of these lists was shown. Null if there are none.")),
  places: v.pipe(
    v.array(
      v.strictObject({
        impressions: count,
        converted: count,
        weight: orTooFew(share),
        low: share,
        high: share,
      }),
    ),
    v.description(
      "Examination of each place of these lists relative to the first, at most 20 places, with 95 % intervals. Needs 20 conversions at the place and the first together; with fewer, low to high is the whole range.",
    ),
  ),
  examination: v.pipe(
    orTooFew(v.array(share)),
    v.description(
      "The weights as the option `examination` takes them, up to the last place that has one. Needs 20 conversions, and the weight of one place.",
    ),
  ),
  clickModels: v.pipe(
    orTooFew(
      v.strictObject({
        best: v.pipe(clickModel, v.description("The simplest model that is at most one standard error behind.")),
        models: v.array(
          v.strictObject({
            name: clickModel,
            logLikelihood: v.pipe(number, v.description("Mean log-likelihood of an impression, in nats, by cross-validation.")),
            perplexity: v.pipe(number, v.description("exp of minus the mean log-likelihood: 1 is perfect.")),
            behind: v.pipe(
              v.strictObject({ value: number, low: number, high: number }),
              v.description("How much higher the greatest of these log-likelihoods is, with a 95 % interval."),
            ),
          }),
        ),
      }),
    ),
    v.description("Click models by how well they predict lists that they were not fitted to. Needs 20 conversions."),
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

/** Read-only at every depth. */
type Frozen<T> = unknown extends T ? T : { readonly [Key in keyof T]: Frozen<T[Key]> };
type Body<Schema extends v.GenericSchema> = Frozen<v.InferOutput<Schema>>;

export type ProblemBody = Body<typeof problem>;
/** A figure that needs more data. */
export type TooFewFigure = Body<typeof tooFewFigure>;
export type ModelSummary = Body<typeof models>["models"][number];
export type ModelBody = Body<typeof model>;
/** The experiment group of a decision. */
export type Assignment = v.InferOutput<typeof arm>;
export type Counts = ModelBody["counts"];
export type Reached = NonNullable<ModelBody["reached"]>[number];
export type Relearning = NonNullable<ModelBody["relearning"]>;
export type Encoding = NonNullable<ModelBody["encoding"]>;
export type Catalogue = Body<typeof catalogue>;
export type Imported = Body<typeof imported>;
export type Rollback = Body<typeof rollback>;
export type Explanation = Body<typeof impression>;
/** An expected reward, and the interval that holds it with a probability of 95 %. */
export type Belief = NonNullable<Explanation["now"]>;
export type Candidate = NonNullable<Explanation["candidates"]>[number];
export type Metrics = Body<typeof metrics>;
export type Examination = Body<typeof examination>;
export type Bucket = Metrics["buckets"][number];
export type Bar = Metrics["delays"][number];
export type Delay = NonNullable<Metrics["delay"]>;
export type Lift = NonNullable<Metrics["lift"]>;
export type GoalLift = Lift["goals"][number];
export type RecentImpression = Metrics["recent"][number];
