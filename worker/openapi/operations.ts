import type * as v from "valibot";
import type { ProblemStatus } from "../protocol/problem.ts";
import { logQuery } from "../protocol/schema.ts";
import type { SchemaName } from "./schemas.ts";

export interface Answer {
  readonly description: string;
  /** Absent: no body, or one of another media type than JSON. */
  readonly schema?: SchemaName;
  readonly media?: string;
}

/** What examples refer to: the document fixes it, a test puts in what it was answered. */
export interface Story {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly impressionId: string;
}

/** One route of the worker. */
export interface Operation {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  /** Absent: for everybody. "publishable": the secret key does as well. */
  readonly key?: "secret" | "publishable" | "signature";
  readonly query?: v.ObjectSchema<v.ObjectEntries, undefined>;
  readonly body?: SchemaName;
  /** Lines of JSON, each of the body's schema. */
  readonly lines?: boolean;
  /** Bodies by name, each with what it shows. */
  readonly examples?: (story: Story) => Readonly<Record<string, unknown>>;
  readonly answers: Readonly<Record<number, Answer>>;
  readonly problems: readonly ProblemStatus[];
}

const HOUR_MS = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
const ofModel = [401, 404, 422, 503] as const;
const withBody = [400, 413] as const;
const NDJSON = "application/x-ndjson";
const model: Answer = { description: "The model.", schema: "Model" };

/** Every route by its method and path, in an order in which one may try them. */
export const operations: Readonly<Record<string, Operation>> = {
  "GET /": {
    id: "page",
    summary: "The dashboard",
    answers: { 200: { description: "A page that asks for the secret key.", media: "text/html" } },
    problems: [],
  },
  "GET /healthz": {
    id: "health",
    summary: "Whether the worker answers",
    answers: { 200: { description: "It does.", schema: "Health" } },
    problems: [],
  },
  "GET /openapi.json": {
    id: "description",
    summary: "This description",
    answers: { 200: { description: "OpenAPI 3.1.", media: "application/json" } },
    problems: [],
  },
  "PUT /v1/models/:model": {
    id: "configureModel",
    summary: "Create or reconfigure a model",
    description:
      "What was learnt is bound to policy, options, window, reward, encoder, seed, goals and shadows; the others may change at any time.",
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
    answers: { 201: { description: "Created.", schema: "Model" }, 200: { description: "It existed; as it is now.", schema: "Model" } },
    problems: [...withBody, 401, 409, 422, 503],
  },
  "GET /v1/models": {
    id: "listModels",
    summary: "Every model with a published snapshot",
    key: "secret",
    answers: { 200: { description: "In order of their names; a new one may be missing for a minute.", schema: "Models" } },
    problems: [401],
  },
  "GET /v1/models/:model": {
    id: "describeModel",
    summary: "Configuration, counts, digest",
    key: "secret",
    answers: { 200: model },
    problems: ofModel,
  },
  "PUT /v1/models/:model/actions": {
    id: "setActions",
    summary: "Replace the catalogue",
    description: "Requests may then name actions by their ids alone, or none to choose among all.",
    key: "secret",
    body: "ActionsBody",
    examples: () => ({
      named: {
        actions: [
          { id: "boots", features: { brand: "Acme", price: 120 } },
          { id: "hat", features: { brand: "Umbra", price: 35 } },
        ],
      },
    }),
    answers: { 200: { description: "How many there are.", schema: "Catalogue" } },
    problems: [...withBody, ...ofModel],
  },
  "POST /v1/models/:model/recommendations": {
    id: "recommend",
    summary: "Choose what to show",
    description: "Each action of the answer is an impression of its own. A publishable key is taken from allowed origins only, and damped.",
    key: "publishable",
    body: "RecommendationsBody",
    examples: () => ({
      catalogue: { context: { country: "PT" }, limit: 2, keys: ["visitor-7"] },
      given: { context: { country: "PT" }, actions: [{ id: "boots" }, { id: "scarf", features: { brand: "Umbra" } }], exclude: ["hat"] },
      deferred: { context: { country: "PT" }, defer: true },
    }),
    answers: { 201: { description: "Best first.", schema: "Recommendations" } },
    problems: [...withBody, ...ofModel, 429],
  },
  "POST /v1/models/:model/impressions": {
    id: "registerImpressions",
    summary: "Register what was shown by other means",
    description:
      "All of them or, if one is refused, none. With an id of your own, the same impression is registered once. A publishable key is taken if the model is local, for 100 at once.",
    key: "publishable",
    body: "ImpressionsBody",
    examples: ({ now }) => ({
      newsletter: [{ id: "newsletter-7-42", context: { country: "PT" }, action: "hat", shownAt: now - HOUR_MS, keys: ["visitor-42"] }],
    }),
    answers: { 201: { description: "Their ids, in the same order.", schema: "Impressions" } },
    problems: [...withBody, ...ofModel, 429],
  },
  "POST /v1/conversions": {
    id: "reportConversions",
    summary: "Report conversions, as a Standard Webhook",
    description:
      "timestamp is when it happened, and decides whether it is inside the window. Sent again with the same webhook-id it counts once. One alone that is forged is a 401, one out of range a 422; in a list each has a status.",
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
    answers: { 202: { description: "Durable. What became of each, in the same order.", schema: "Conversions" } },
    problems: [...withBody, 401, 422, 503],
  },
  "GET /v1/impressions/:id": {
    id: "explainImpression",
    summary: "What became of an impression, and why it was chosen",
    key: "secret",
    answers: { 200: { description: "The impression.", schema: "Impression" } },
    problems: [401, 404, 503],
  },
  "POST /v1/impressions/:id/activate": {
    id: "activateImpression",
    summary: "A deferred impression was shown",
    key: "secret",
    answers: { 200: { description: "From now on it counts.", schema: "Activated" } },
    problems: [401, 404, 503],
  },
  "DELETE /v1/impressions/:id": {
    id: "eraseImpression",
    summary: "Erase what is stored of an impression",
    description: "What was learnt from it stays, as part of sums.",
    key: "secret",
    answers: { 204: { description: "Erased." } },
    problems: [401, 404, 503],
  },
  "DELETE /v1/models/:model/keys/:key": {
    id: "eraseKey",
    summary: "Erase all impressions of a key",
    key: "secret",
    answers: { 200: { description: "How many there were.", schema: "Erased" } },
    problems: ofModel,
  },
  "GET /v1/models/:model/metrics": {
    id: "measureModel",
    summary: "What the dashboard shows",
    key: "secret",
    answers: {
      200: { description: "Rates, delays, lift, what is pending and still to come, whether conversions get through.", schema: "Metrics" },
    },
    problems: ofModel,
  },
  "GET /v1/models/:model/events": {
    id: "exportEvents",
    summary: "The event log as lines of JSON",
    key: "secret",
    query: logQuery,
    answers: { 200: { description: "First a line about the model, then each event in order, each line with a receipt.", media: NDJSON } },
    problems: [400, ...ofModel],
  },
  "POST /v1/models/:model/events": {
    id: "importEvents",
    summary: "Take a past log",
    description:
      "Impressions in order of time, each before its conversions, at most 20,000 lines; all of them or none. Takes what an export gives.",
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
    answers: { 200: { description: "How much was taken.", schema: "Imported" } },
    problems: [...withBody, ...ofModel],
  },
  "GET /v1/models/:model/snapshot": {
    id: "downloadSnapshot",
    summary: "The state as bytes, as Recommender.restore takes them",
    key: "secret",
    answers: { 200: { description: "Its version is in the header afterclick-version.", media: "application/octet-stream" } },
    problems: ofModel,
  },
  "GET /v1/models/:model/published": {
    id: "downloadPublished",
    summary: "What a page needs to decide itself, as afterclick/local takes it",
    description:
      "The served policy's newest published snapshot, the catalogue and the encoder, with a SHA-256 before them. Only of a model that is local.",
    key: "publishable",
    answers: {
      200: { description: "With its ETag.", media: "application/octet-stream" },
      304: { description: "As If-None-Match has it." },
    },
    problems: [...ofModel, 429],
  },
  "POST /v1/models/:model/rollback": {
    id: "rollBackModel",
    summary: "Go back to a kept snapshot",
    description: "What was learnt since is taken back; its impressions are over.",
    key: "secret",
    body: "RollbackBody",
    examples: () => ({ beforeNewest: {} }),
    answers: { 200: { description: "Where it went, and where it could have gone.", schema: "Rollback" } },
    problems: [...withBody, ...ofModel, 409],
  },
  "POST /v1/models/:model/reset": {
    id: "resetModel",
    summary: "Begin from scratch",
    description: "With the same configuration, or with the one in the body. The catalogue stays.",
    key: "secret",
    body: "ResetBody",
    examples: () => ({ same: {}, other: { policy: "otf-lin-ucb", window: { ms: 24 * HOUR_MS } } }),
    answers: { 200: model },
    problems: [...withBody, ...ofModel],
  },
  "DELETE /v1/models/:model": {
    id: "deleteModel",
    summary: "Delete a model and all that is stored of it",
    key: "secret",
    answers: { 204: { description: "Deleted." } },
    problems: ofModel,
  },
};
