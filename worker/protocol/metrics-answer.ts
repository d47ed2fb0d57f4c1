// Schemas of the answers with figures of a model over time: metrics and examination.

import * as v from "valibot";
import {
  about,
  arm,
  type Body,
  count,
  impressionId,
  modelVersion,
  number,
  probability,
  share,
  time,
  tooFewFigure,
  whole,
} from "./figures.ts";
import { counts, currency, encoding, reached } from "./model-answer.ts";
import { modelOptions } from "./model-options.ts";

const bars = v.array(v.strictObject({ fromMs: number, toMs: v.nullable(number), count }));
/** A number, or that there is too little data for it. */
const orTooFew = <Schema extends v.GenericSchema>(schema: Schema) => v.union([schema, tooFewFigure]);
const liftedArm = v.strictObject({
  lists: count,
  impressions: count,
  conversions: about(count, "Impressions that have reached the goal."),
  rate: about(v.nullable(share), "Conversion rate, corrected for conversions still to come. Null before any has matured."),
});
const completeUntil = about(
  time,
  "The moment until which conversions are reported. The figures are as of it: earlier than `now` if reports come late, as with a nightly upload.",
);
const goalLift = v.strictObject({
  goal: v.string(),
  completeUntil,
  windowMs: about(count, "The goal's own window, or the model's."),
  withinMs: about(
    count,
    "Rates count conversions within this time: the window, or a shorter time while few impressions have had the whole window.",
  ),
  currency: about(v.nullable(v.string()), "Of its amounts. Conversions are compared, not amounts. Null without a value."),
  policy: liftedArm,
  holdout: liftedArm,
  effect: about(
    v.nullable(share),
    "Difference of rates for which the interval is narrowest: about a fifth of the rate. Null without an interval.",
  ),
  difference: about(
    v.union([v.strictObject({ value: number, low: number, high: number }), tooFewFigure]),
    "Policy minus holdout. The 95 % interval holds at all looks together, so you may stop at any.",
  ),
  relative: about(v.nullable(number), "The difference as a share of the holdout's rate. Null without a difference."),
  decided: about(v.boolean(), "Whether the interval excludes 0."),
  basis: about(
    v.picklist(["all", "closed windows"]),
    "Lists that are compared. Only those whose windows have closed, if conversions of the policy come sooner or later than those of the holdout, or if products differ in their delays and too few conversions tell how.",
  ),
  shares: about(
    v.array(
      v.strictObject({
        holdout: about(v.nullable(share), "Null: isolates decided by an older share than the learner's."),
        lists: v.strictObject({ policy: count, holdout: count }),
        compared: about(v.boolean(), "Whether both arms have two matured lists. If not, the share tells nothing."),
      }),
    ),
    "The shares that the holdout has had. Rates are compared within each.",
  ),
});
const delay = v.strictObject({
  completeUntil,
  reportTime: about(
    v.nullable(count),
    "If nearly all conversions are said to have happened at one time of the UTC day: this time in ms. It is then that of a report. Delays are up to a day too long and depend on the hour, so figures are of impressions that had had followedMs by the last report.",
  ),
  impressions: about(count, "Impressions behind the estimate: all that the log holds and that were shown until `completeUntil`."),
  conversions: count,
  rateSoFar: about(share, "Share of these impressions that has converted."),
  followedMs: about(
    number,
    "The longest delay that the estimate knows of. It is the window once five conversions belong to impressions whose window has closed. If products differ in their delays, those with much traffic must be old enough too. With a reportTime it is the window, or a half of it, a quarter and so on while closed windows are of less than a day.",
  ),
  rate: about(share, "Share of impressions that convert within followedMs, corrected for conversions still to come."),
  rateInterval: about(v.pipe(v.array(share), v.length(2)), "Its 95 % interval."),
  toCome: about(number, "Expected number of conversions still to come within followedMs of their impressions."),
  toComeInterval: about(v.pipe(v.array(number), v.length(2)), "The 95 % interval in which their number will be."),
  window95Ms: about(
    orTooFew(number),
    "Window that would catch 95 % of the conversions that this one catches. Needs 50 conversions whose window has closed.",
  ),
  quantiles: about(
    v.array(v.strictObject({ share, delayMs: orTooFew(number) })),
    "Delay that this share of the conversions does not exceed.",
  ),
  windows: about(
    v.array(v.strictObject({ windowMs: count, caught: orTooFew(share), low: share, high: share, rate: orTooFew(share) })),
    "Shorter windows: the share of the conversions that each would have caught, with a 95 % band, and the share of impressions that converts in it. Needs 15 conversions whose window has closed.",
  ),
  distribution: about(
    v.array(v.strictObject({ delayMs: number, probability: share, low: share, high: share, stillConverts: orTooFew(share) })),
    "Share that comes sooner of the conversions that come within followedMs, with a 95 % band, and the chance that a pending impression of this age still converts. Empty with a reportTime until closed windows are of a week.",
  ),
  silence: about(
    v.strictObject({ since: time, expected: number, chance: share, alarm: v.boolean() }),
    "Expected conversions since the last arrival, and the chance of none if delivery works. The alarm also allows for the rhythm of arrivals.",
  ),
});
const senderFigures = v.strictObject({
  sender: v.string(),
  days: v.array(
    v.strictObject({
      day: about(v.string(), "In UTC. An order counts on the day of its first message."),
      orders: count,
      attributed: about(count, "Orders with an impression id or a key."),
      ignored: v.optional(about(v.record(v.string(), count), "Orders whose latest message was ignored or has a refused line, by reason.")),
    }),
  ),
  finding: about(
    v.nullable(v.string()),
    "What is wrong if almost no order has an impression, if many are ignored, or if the grace is shorter than the sender repeats a message. Null: nothing.",
  ),
});
export const metrics = v.strictObject({
  model: v.string(),
  policy: v.string(),
  serving: modelOptions.serving.schema,
  now: time,
  windowMs: count,
  counts,
  reached,
  currency,
  encoding,
  change: about(
    v.nullable(v.strictObject({ since: time, probability: share })),
    "When the policy says that rates have last changed, and its probability that they have changed at all. Null if they probably have not.",
  ),
  snapshot: v.nullable(v.strictObject({ version: whole, publishedAt: time, ageMs: count })),
  lagMs: about(v.nullable(count), "Time from showing the newest impression to registering it."),
  bucketMs: count,
  buckets: v.array(v.strictObject({ start: time, arm, impressions: count, converted: count, reward: number, closed: v.boolean() })),
  pendingByAge: bars,
  delay: about(
    v.nullable(delay),
    "Estimated delay distribution of the first conversions, of whichever goal with a weight. Null until an impression converts or its window has closed.",
  ),
  goals: about(
    v.nullable(
      v.array(
        v.strictObject({
          goal: v.string(),
          windowMs: about(count, "The goal's own window, or the model's."),
          currency: about(v.nullable(v.string()), "Of its amounts. Null if it has no value."),
          delay: about(v.nullable(delay), "Null as above."),
        }),
      ),
    ),
    "The same for each declared goal. Null if the model declares none.",
  ),
  delays: about(
    bars,
    "Converted impressions by the time to their first conversion. A retracted conversion and later ones are not in them.",
  ),
  lift: about(
    v.nullable(
      v.strictObject({
        unassigned: about(count, "Registered and imported impressions. The model did not assign them, so they are not compared."),
        goals: about(v.array(goalLift), "Each declared goal by itself. Without goals: `conversion`, which is any."),
      }),
    ),
    "The policy's conversion rate minus that of the holdout. Null if there never was a holdout.",
  ),
  senders: about(v.array(senderFigures), "Orders that the senders of hooks reported to this worker, of all models, in the last 14 days."),
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

const atLeast0 = v.pipe(number, v.minValue(0));
const clickModel = v.picklist(["no-bias", "position-based", "item-position"]);
export const examination = v.strictObject({
  model: v.string(),
  configured: about(v.nullable(v.array(share)), "The model's option. Null if it learns as if every place were examined."),
  lists: about(count, "Random lists of two or more actions, in the log's newest 100,000 rows."),
  since: about(v.nullable(time), "When the oldest of these lists was shown. Null if there are none."),
  places: about(
    v.array(
      v.strictObject({
        impressions: count,
        converted: count,
        weight: orTooFew(atLeast0),
        low: atLeast0,
        high: v.nullable(atLeast0),
      }),
    ),
    "Examination of each place of these lists relative to the first, at most 20 places, with 95 % intervals. It is above 1 at a place that more visitors examine than the first. Needs 20 conversions at the place and the first together. `high` is null where too few conversions leave it open.",
  ),
  examination: about(
    orTooFew(v.array(share)),
    "The weights as the option `examination` takes them, up to the last place that has one. Needs 20 conversions, and the weight of one place.",
  ),
  clickModels: about(
    orTooFew(
      v.strictObject({
        best: about(clickModel, "The simplest model that is at most one standard error behind."),
        models: v.array(
          v.strictObject({
            name: clickModel,
            logLikelihood: about(number, "Mean log-likelihood of an impression, in nats, by cross-validation."),
            perplexity: about(number, "exp of minus the mean log-likelihood: 1 is perfect."),
            behind: about(
              v.strictObject({ value: number, low: number, high: number }),
              "How much higher the greatest of these log-likelihoods is, with a 95 % interval.",
            ),
          }),
        ),
      }),
    ),
    "Click models by how well they predict lists that they were not fitted to. Needs 20 conversions.",
  ),
});

export type Metrics = Body<typeof metrics>;
export type SenderFigures = Metrics["senders"][number];
export type Examination = Body<typeof examination>;
export type Bucket = Metrics["buckets"][number];
export type Bar = Metrics["delays"][number];
export type Delay = NonNullable<Metrics["delay"]>;
export type Lift = NonNullable<Metrics["lift"]>;
export type GoalLift = Lift["goals"][number];
export type RecentImpression = Metrics["recent"][number];
