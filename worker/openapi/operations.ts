import type * as v from "valibot";
import type { ProblemStatus } from "../protocol/problem.ts";
import { hookQuery, logQuery } from "../protocol/schema.ts";
import type { SchemaName } from "./schemas.ts";

export interface Answer {
  readonly description: string;
  /** Absent without a JSON body. */
  readonly schema?: SchemaName;
  readonly media?: string;
}

/** Values in examples. The document has fixed ones, a test inserts real ones. */
export interface Story {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly impressionId: string;
  readonly publishableKey: string;
}

/** One route of the worker. */
export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Absent if the route is open. A route for the publishable key takes the secret key too. */
  readonly key?: "secret" | "publishable" | "signature" | "sender";
  readonly query?: v.ObjectSchema<v.ObjectEntries, undefined>;
  readonly body?: SchemaName;
  /** Whether the body is JSON lines, each of the body's schema. */
  readonly lines?: boolean;
  /** Example bodies by name. */
  readonly examples?: (story: Story) => Readonly<Record<string, unknown>>;
  readonly answers: Readonly<Record<number, Answer>>;
  readonly problems: readonly ProblemStatus[];
}

const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
const ofModel = [401, 403, 404, 422, 503] as const;
const withBody = [400, 413] as const;
const NDJSON = "application/x-ndjson";
const model: Answer = { description: "The model.", schema: "Model" };

/** All routes by method and path, in an order for trying them out. */
export const operations: Readonly<Record<string, Operation>> = {
  "GET /": {
    id: "page",
    summary: "The dashboard",
    answers: { 200: { description: "The page. It asks for the secret key.", media: "text/html" } },
    problems: [404],
  },
  "GET /healthz": {
    id: "health",
    summary: "Check that the worker answers",
    answers: { 200: { description: "The worker answers.", schema: "Health" } },
    problems: [],
  },
  "GET /openapi.json": {
    id: "description",
    summary: "Get this description",
    answers: { 200: { description: "OpenAPI 3.1.", media: "application/json" } },
    problems: [404],
  },
  "PUT /v1/models/:model": {
    id: "configureModel",
    summary: "Create or reconfigure a model",
    description: "Each option says what a change of it needs. An option that the body leaves out keeps its stored value.",
    key: "secret",
    body: "ModelBody",
    examples: () => ({
      smallest: { window: { ms: WEEK_MS } },
      shop: {
        window: { ms: WEEK_MS },
        encoder: { dimension: 128, numeric: { price: { min: 0, max: 500 } }, interactions: [["country", "brand"]] },
        minimumShare: 0.01,
        defaultAction: "boots",
        local: true,
      },
    }),
    answers: { 201: { description: "Created.", schema: "Model" }, 200: { description: "The model existed.", schema: "Model" } },
    problems: [...withBody, 401, 403, 409, 422, 503],
  },
  "PATCH /v1/models/:model": {
    id: "changeModel",
    summary: "Change options of a model",
    description: "Changes what the body names, by the rules of PUT, and creates no model.",
    key: "secret",
    body: "ModelPatch",
    examples: () => ({ limits: { limits: { open: 100_000 }, minimumShare: 0.02 } }),
    answers: { 200: model },
    problems: [...withBody, ...ofModel, 409],
  },
  "GET /v1/models": {
    id: "listModels",
    summary: "List the published models",
    key: "secret",
    answers: { 200: { description: "Models by name. A new one may be missing for a minute.", schema: "Models" } },
    problems: [401, 403],
  },
  "GET /v1/models/:model": {
    id: "describeModel",
    summary: "Get configuration, counts and digest",
    key: "secret",
    answers: { 200: model },
    problems: ofModel,
  },
  "PUT /v1/models/:model/actions": {
    id: "setActions",
    summary: "Replace the catalogue",
    description:
      "Requests may then name actions by id. A request without actions chooses among all that are available. Attributes are for filters and maxPer, and are not learnt from.",
    key: "secret",
    body: "ActionsBody",
    examples: () => ({
      named: {
        actions: [
          { id: "boots", features: { brand: "Acme", price: 120 } },
          { id: "hat", features: { brand: "Umbra", price: 35 }, attributes: { sale: true }, available: true },
        ],
      },
    }),
    answers: { 200: { description: "Number of actions, and the version of the catalogue.", schema: "Catalogue" } },
    problems: [...withBody, ...ofModel],
  },
  "PATCH /v1/models/:model/actions": {
    id: "changeActions",
    summary: "Add, change and remove actions of the catalogue",
    description:
      "Changes the fields that an action names and keeps its others. Impressions of a changed or removed action stay valid: they were learnt with the features that they were shown with, and their conversions count.",
    key: "secret",
    body: "ActionsPatch",
    examples: () => ({
      cheaper: { actions: [{ id: "hat", features: { brand: "Umbra", price: 30 } }] },
      added: { actions: [{ id: "scarf", features: { brand: "Umbra", price: 25 } }] },
      soldOut: { actions: [{ id: "scarf", available: false }] },
      removed: { remove: ["scarf"] },
    }),
    answers: { 200: { description: "Number of actions, and the version of the catalogue.", schema: "Catalogue" } },
    problems: [...withBody, ...ofModel],
  },
  "POST /v1/models/:model/recommendations": {
    id: "recommend",
    summary: "Choose what to show",
    description:
      "Each action of the response is an impression of its own. A publishable key works only from allowed origins, is rate-limited, and names actions of the catalogue by id unless the model's pageActions is set.",
    key: "publishable",
    body: "RecommendationsBody",
    examples: () => ({
      catalogue: { context: { country: "PT" }, limit: 2, keys: ["visitor-7"] },
      given: { context: { country: "PT" }, actions: [{ id: "boots" }, { id: "hat" }], exclude: ["hat"] },
      restricted: {
        context: { country: "PT" },
        limit: 3,
        filter: { brand: ["Acme", "Umbra"], price: { max: 200 } },
        pin: [{ action: "hat", place: 1 }],
        maxPer: { attribute: "brand", count: 2 },
      },
      deferred: { context: { country: "PT" }, defer: true },
    }),
    answers: { 201: { description: "Best first.", schema: "Recommendations" } },
    problems: [...withBody, ...ofModel, 429],
  },
  "POST /v1/models/:model/impressions": {
    id: "registerImpressions",
    summary: "Register impressions that were decided elsewhere",
    description:
      "If one is refused, none is registered. An impression with an id of your own is registered once. A publishable key works if the model is local, for 100 impressions at once.",
    key: "publishable",
    body: "ImpressionsBody",
    examples: ({ now }) => ({
      newsletter: [{ id: "newsletter-7-42", context: { country: "PT" }, action: "hat", shownAt: now - HOUR_MS, keys: ["visitor-42"] }],
    }),
    answers: { 201: { description: "Impression ids in the same order.", schema: "Impressions" } },
    problems: [...withBody, ...ofModel, 429],
  },
  "POST /v1/conversions": {
    id: "reportConversions",
    summary: "Report conversions, as a Standard Webhook",
    description:
      "The timestamp is the time of the conversion and decides whether it is inside the window. A repetition with the same webhook-id counts once. A single forged conversion gets 401, one out of range 422; in a list each has a status.",
    key: "signature",
    body: "ConversionsBody",
    examples: ({ now, impressionId }) => ({
      one: { type: "conversion", timestamp: now, data: { impressionId, reward: 1 } },
      byKey: { type: "conversion", timestamp: now, data: { model: "shop", key: "visitor-7", goal: "purchase", reward: 1 } },
      many: {
        type: "conversion",
        timestamp: new Date(now).toISOString(),
        data: [
          { impressionId, goal: "purchase", reward: 0.5 },
          { impressionId, goal: "review", reward: 0.25, timestamp: now - 1000 },
        ],
      },
      restated: { type: "conversion.updated", timestamp: now, data: { impressionId, reward: 0.75 } },
      returned: { type: "conversion.retracted", timestamp: now, data: { impressionId } },
    }),
    answers: { 202: { description: "Stored durably. One result for each conversion, in the same order.", schema: "Conversions" } },
    problems: [...withBody, 401, 403, 422, 503],
  },
  "POST /v1/hooks/:sender": {
    id: "takeHook",
    summary: "Report orders, as Stripe, Shopify or another sender does",
    description:
      "The payload is the sender's own, with its own signature. An impression id in it, or a key if the query has model and key, attributes each line. Messages of other types are ignored.",
    key: "sender",
    query: hookQuery,
    body: "HookBody",
    examples: ({ now, impressionId }) => {
      const metadata = { afterclick_1: `${impressionId} 100` };
      const object = { id: "pi_3PgafmB7WZ01zgkW6dKueIc5", object: "payment_intent", amount_received: 100, currency: "eur", metadata };
      const message = { id: "evt_3PgafmB7WZ01zgkW6YfdG1nj", object: "event", created: Math.floor(now / 1000) };
      return {
        stripeOrder: { ...message, type: "payment_intent.succeeded", data: { object } },
        stripeOther: { ...message, type: "customer.created", data: { object: { id: "cus_1" } } },
      };
    },
    answers: {
      200: { description: "A message without a sale of an impression.", schema: "Ignored" },
      202: { description: "Stored durably. One result for each sale.", schema: "Conversions" },
    },
    problems: [...withBody, 401, 404, 422, 429, 503],
  },
  "POST /v1/beacon": {
    id: "reportFromPage",
    summary: "Report from a page: impressions that were shown, and public goals",
    description:
      "The publishable key is in the body, because sendBeacon sends no headers; any content type will do. A goal counts once for each impression, with reward 1 at the worker's time, within an hour of the impression. Only goals with public are taken, and none with a value.",
    body: "BeaconBody",
    examples: ({ impressionId, publishableKey: key }) => ({
      seen: { key, seen: [impressionId] },
      clicked: { key, model: "shop", reached: [{ impressionId, goal: "click" }] },
    }),
    answers: { 202: { description: "One result for each item, in the same order.", schema: "Beacon" } },
    problems: [...withBody, 401, 403, 422, 429, 503],
  },
  "GET /v1/impressions/:id": {
    id: "explainImpression",
    summary: "Explain an impression",
    key: "secret",
    answers: { 200: { description: "The impression.", schema: "Impression" } },
    problems: [401, 403, 404, 503],
  },
  "POST /v1/impressions/:id/activate": {
    id: "activateImpression",
    summary: "Mark a deferred impression as shown",
    key: "secret",
    answers: { 200: { description: "The impression counts from now on, or as soon as it is registered.", schema: "Activated" } },
    problems: [401, 403, 404, 503],
  },
  "DELETE /v1/impressions/:id": {
    id: "eraseImpression",
    summary: "Erase an impression",
    description: "Deletes its stored data. Learnt sums keep its contribution.",
    key: "secret",
    answers: { 204: { description: "Erased." } },
    problems: [401, 403, 404, 503],
  },
  "DELETE /v1/models/:model/keys/:key": {
    id: "eraseKey",
    summary: "Erase all impressions of a join key",
    key: "secret",
    answers: { 200: { description: "Number of erased impressions.", schema: "Erased" } },
    problems: ofModel,
  },
  "GET /v1/models/:model/metrics": {
    id: "measureModel",
    summary: "Get the metrics of the dashboard",
    key: "secret",
    answers: {
      200: {
        description: "Rates, delays, lift, pending and expected conversions, and whether conversions still arrive.",
        schema: "Metrics",
      },
    },
    problems: ofModel,
  },
  "GET /v1/models/:model/examination": {
    id: "examineModel",
    summary: "Estimate how probably visitors examine each place of a list",
    description:
      "From the lists that were ranked at random, by the holdout or the minimumShare, among the newest 100,000 rows of the log. It is computed on each request.",
    key: "secret",
    answers: { 200: { description: "Weights of places with intervals, and the click model that fits best.", schema: "Examination" } },
    problems: ofModel,
  },
  "GET /v1/models/:model/events": {
    id: "exportEvents",
    summary: "Export the event log",
    description:
      "A model of several shards is one log: before each mark `merged` come the lines of the other shards that it includes, each with its `shard`. Its exports start with 0 or after such a mark.",
    key: "secret",
    query: logQuery,
    answers: { 200: { description: "JSON lines, each with a receipt: first the model, then its events in order.", media: NDJSON } },
    problems: [400, ...ofModel],
  },
  "POST /v1/models/:model/events": {
    id: "importEvents",
    summary: "Import a past log",
    description:
      "At most 20,000 lines: impressions in order of time, each before its conversions. If a line is refused, none is taken. An export is a valid log.",
    key: "secret",
    body: "PastLine",
    lines: true,
    examples: ({ now }) => ({
      log: [
        { type: "impression", id: "order-page-1", action: "hat", context: { country: "ES" }, shownAt: now - 2 * HOUR_MS },
        { type: "conversion", impression: "order-page-1", reward: 1, at: now - HOUR_MS },
      ]
        .map((line) => JSON.stringify(line))
        .join("\n"),
    }),
    answers: { 200: { description: "Numbers of taken lines.", schema: "Imported" } },
    problems: [...withBody, ...ofModel],
  },
  "GET /v1/models/:model/snapshot": {
    id: "downloadSnapshot",
    summary: "Download the state for Recommender.restore",
    key: "secret",
    answers: { 200: { description: "The snapshot. The header afterclick-version states its version.", media: "application/octet-stream" } },
    problems: ofModel,
  },
  "GET /v1/models/:model/published": {
    id: "downloadPublished",
    summary: "Download the publication for afterclick/local",
    description: "The newest snapshot of the served policy, the catalogue and the encoder, preceded by their SHA-256. Local models only.",
    key: "publishable",
    answers: {
      200: { description: "The publication, with an ETag.", media: "application/octet-stream" },
      304: { description: "Unchanged since the ETag in If-None-Match." },
    },
    problems: [...ofModel, 429],
  },
  "POST /v1/models/:model/rollback": {
    id: "rollBackModel",
    summary: "Restore a kept snapshot",
    description: "Undoes everything learnt since. Later impressions become void.",
    key: "secret",
    body: "RollbackBody",
    examples: () => ({ beforeNewest: {} }),
    answers: { 200: { description: "The restored version, and the kept ones.", schema: "Rollback" } },
    problems: [...withBody, ...ofModel, 409],
  },
  "POST /v1/models/:model/reset": {
    id: "resetModel",
    summary: "Reset a model",
    description: "Deletes the learnt state. Keeps the configuration, unless the body has one, and the catalogue.",
    key: "secret",
    body: "ResetBody",
    examples: () => ({ same: {}, other: { policy: "otf-lin-ucb", window: { ms: 24 * HOUR_MS } } }),
    answers: { 200: model },
    problems: [...withBody, ...ofModel],
  },
  "DELETE /v1/models/:model": {
    id: "deleteModel",
    summary: "Delete a model and its data",
    description: "The archived files stay.",
    key: "secret",
    answers: { 204: { description: "Deleted." } },
    problems: ofModel,
  },
  "DELETE /v1/models/:model/archive": {
    id: "deleteArchive",
    summary: "Delete the archived files of a model",
    description: "Deletes those of all generations. The model itself may be deleted already.",
    key: "secret",
    answers: { 204: { description: "Deleted. Also without an archive." } },
    problems: [401, 403, 422, 503],
  },
};
