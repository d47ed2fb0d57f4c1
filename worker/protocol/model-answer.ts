// Schemas of the answers that describe a model, and of those parts that its figures repeat.

import * as v from "valibot";
import { FIGURE_NAMES, FIGURES, type FigureName } from "./counted.ts";
import { about, type Body, count, generation, number, share, time, whole } from "./figures.ts";
import { storedSchemas } from "./model-options.ts";

export const encoding = about(
  v.nullable(
    v.strictObject({
      dimension: count,
      exact: about(count, "Components of a single term."),
      shared: about(count, "Categories of the catalogue without room for a component of their own."),
      alike: about(v.array(v.array(v.string())), "Groups of actions with equal vectors: the model learns one rate for each."),
    }),
  ),
  "How well the encoder tells the actions of the catalogue apart. Null if features are arrays of numbers.",
);

const figure = (name: FigureName) => about(count, FIGURES[name].about);
const figures = Object.fromEntries(FIGURE_NAMES.map((name) => [name, figure(name)])) as Record<FigureName, ReturnType<typeof figure>>;

export const counts = v.strictObject({
  ...figures,
  pageGoals: about(count, "Applied conversions that pages reported."),
  pending: count,
  expired: count,
  applied: about(count, "Distinct conversions by status, here and below."),
  conflict: count,
  late: count,
  orphan: about(count, "Conversions of impressions that are not registered yet."),
  duplicate: about(count, "Repeated deliveries."),
  crawlers: about(count, "Impressions that were served to crawlers and link previews, and are not learnt."),
  declined: about(count, "Impressions of requests with learn: false, which are not learnt."),
});

export const kept = about(
  v.array(v.strictObject({ version: count, at: about(v.nullable(time), "When it was kept.") })),
  "Versions that a rollback can restore, newest first.",
);

export const currency = about(
  v.nullable(v.string()),
  "Of rewards and what is expected of them. Null unless all goals with a weight have amounts in one currency.",
);
export const reached = about(
  v.nullable(
    v.array(
      v.strictObject({
        goal: v.string(),
        weight: number,
        converted: about(count, "Impressions that have reached the goal. An order that is refunded in full does not count."),
        rateSoFar: about(v.nullable(share), "Share of all impressions. Null without any."),
        amounts: about(
          v.nullable(
            v.strictObject({
              currency: v.string(),
              orders: about(count, "Amounts above 0 that count."),
              refunds: about(count, "Amounts below 0 that count. They are no conversions."),
              paid: number,
              refunded: number,
              net: about(
                number,
                "Paid minus refunded. It is below the sum of rewards if a refund is greater than its order, because the total of an impression counts as at least 0.",
              ),
            }),
          ),
          "Null without a value.",
        ),
      }),
    ),
  ),
  "What impressions have brought so far, by declared goal. Null if the model declares none.",
);

export const model = v.strictObject({
  model: v.string(),
  generation,
  ...storedSchemas(),
  counts,
  reached,
  incidents: about(
    v.strictObject({
      missed: count,
      refused: count,
      dropped: count,
      unsampled: count,
      keptOut: count,
      collisions: count,
      ofPages: count,
      otherCurrency: count,
      withoutAction: about(count, "Events by key that did not name the product, while the newest list of the key had several."),
      unknownKeys: about(count, "Orphans whose key no impression had when they came, here and in the next two."),
      otherActions: about(count, "Orphans whose key had impressions of other actions alone."),
      otherTimes: about(count, "Orphans whose key had impressions outside the window before them alone."),
      skipped: about(count, "Stored conversions that the policies did not take."),
      unanswered: about(count, "Calls of the coordinator that a shard did not answer."),
      overShare: about(count, "Addresses of pages that had their share of a limit, counted once a minute."),
      damaged: about(count, "Archived files that an erasure found lost or altered."),
      shared: about(count, "Purchases that were refused because their impression has more than one visitor makes."),
    }),
    "Missed conversions, refused impressions, dropped impressions, impressions left out by sampling, publications that an isolate did not take, impression ids of pages that were taken, orphans whose key only pages gave, and amounts refused because of their currency.",
  ),
  actions: about(count, "Size of the catalogue."),
  encoding,
  bytes: about(count, "Size of all stored data."),
  digest: about(
    v.nullable(v.string()),
    "Digest of the learnt state. The same events give the same digest in any order. Null while the state is learnt again.",
  ),
  modelVersion: count,
  published: v.nullable(v.strictObject({ version: whole, at: time })),
  relearning: about(
    v.nullable(
      v.strictObject({
        startedAt: time,
        done: about(whole, "Rows of the log that are learnt, of all shards."),
        rows: about(whole, "Rows of the log."),
        endsAt: about(v.nullable(time), "Estimate. Null at the beginning."),
      }),
    ),
    "How far the log is learnt again. Null if it is not.",
  ),
  kept,
  defaults: v.optional(about(count, "Version of the defaults that the model was created with. Absent if it is older than these versions.")),
  conversionRate: about(
    v.nullable(share),
    "Share of impressions that converted, among those whose window has closed. Null while there are none.",
  ),
});

export type ModelBody = Body<typeof model>;
export type Counts = ModelBody["counts"];
export type Reached = NonNullable<ModelBody["reached"]>[number];
export type Relearning = NonNullable<ModelBody["relearning"]>;
export type Encoding = NonNullable<ModelBody["encoding"]>;
