import * as v from "valibot";
import { type Body, count, generation, number, share, time, whole } from "./figures.ts";
import { storedSchemas } from "./model-options.ts";

// The description of a model, and those of its parts that its figures repeat.

export const encoding = v.pipe(
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

export const counts = v.strictObject({
  impressions: v.pipe(
    count,
    v.description("All shown impressions: pending, converted, retracted, expired, and those that were erased while they were pending."),
  ),
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

export const kept = v.pipe(
  v.array(v.strictObject({ version: count, at: v.pipe(v.nullable(time), v.description("When it was kept.")) })),
  v.description("Versions that a rollback can restore, newest first."),
);

export const currency = v.pipe(
  v.nullable(v.string()),
  v.description("Of rewards and what is expected of them. Null unless all goals with a weight have amounts in one currency."),
);
export const reached = v.pipe(
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

export const model = v.strictObject({
  model: v.string(),
  generation,
  ...storedSchemas(),
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
      overShare: v.pipe(count, v.description("Addresses of pages that had their share of a limit, counted once a minute.")),
      damaged: v.pipe(count, v.description("Archived files that an erasure found lost or altered.")),
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
  kept,
  defaults: v.optional(
    v.pipe(count, v.description("Version of the defaults that the model was created with. Absent if it is older than these versions.")),
  ),
  conversionRate: v.pipe(
    v.nullable(share),
    v.description("Share of impressions that converted, among those whose window has closed. Null while there are none."),
  ),
});

export type ModelBody = Body<typeof model>;
export type Counts = ModelBody["counts"];
export type Reached = NonNullable<ModelBody["reached"]>[number];
export type Relearning = NonNullable<ModelBody["relearning"]>;
export type Encoding = NonNullable<ModelBody["encoding"]>;
