/** The promise that the description makes about one route. */
export interface Route {
  readonly id: string;
  /** Names of the accepted security schemes. One of them is enough. */
  readonly key: readonly string[];
  /** Schema of the body, if it takes one. */
  readonly body?: string;
  /** Schema, media type or nothing, by status. */
  readonly answers: Readonly<Record<number, string | null>>;
  /** All statuses of its refusals. */
  readonly problems: readonly number[];
  /** Names of its parameters in query and header. */
  readonly parameters?: readonly string[];
  /** Names of its examples, with the keys of each. */
  readonly examples?: Readonly<Record<string, readonly string[]>>;
}

const open: readonly string[] = [];
const secret = ["secretKey"];
const publishable = ["publishableKey", "secretKey"];
const message = ["type", "timestamp", "data"];
const stripeMessage = ["id", "object", "created", "type", "data"];

/** Literals, transcribed once from the served description. They import nothing of the worker. */
export const routes: Readonly<Record<string, Route>> = {
  "GET /": { id: "page", key: open, answers: { 200: "text/html" }, problems: [404, 500] },
  "GET /healthz": { id: "health", key: open, answers: { 200: "Health" }, problems: [500] },
  "GET /openapi.json": { id: "description", key: open, answers: { 200: "application/json" }, problems: [404, 500] },
  "PUT /v1/models/:model": {
    id: "configureModel",
    key: secret,
    body: "ModelBody",
    answers: { 200: "Model", 201: "Model" },
    problems: [400, 401, 403, 409, 413, 422, 500, 503],
    examples: { smallest: ["window"], shop: ["window", "encoder", "minimumShare", "defaultAction", "local"] },
  },
  "PATCH /v1/models/:model": {
    id: "changeModel",
    key: secret,
    body: "ModelPatch",
    answers: { 200: "Model" },
    problems: [400, 401, 403, 404, 409, 413, 422, 500, 503],
    examples: { limits: ["limits", "minimumShare"] },
  },
  "GET /v1/models": { id: "listModels", key: secret, answers: { 200: "Models" }, problems: [401, 403, 500] },
  "GET /v1/models/:model": { id: "describeModel", key: secret, answers: { 200: "Model" }, problems: [401, 403, 404, 422, 500, 503] },
  "GET /v1/models/:model/actions": {
    id: "getActions",
    key: secret,
    answers: { 200: "WholeCatalogue" },
    problems: [401, 403, 404, 422, 500, 503],
  },
  "PUT /v1/models/:model/actions": {
    id: "setActions",
    key: secret,
    body: "ActionsBody",
    answers: { 200: "Catalogue" },
    problems: [400, 401, 403, 404, 413, 422, 500, 503],
    examples: { named: ["actions"] },
  },
  "PATCH /v1/models/:model/actions": {
    id: "changeActions",
    key: secret,
    body: "ActionsPatch",
    answers: { 200: "Catalogue" },
    problems: [400, 401, 403, 404, 413, 422, 500, 503],
    examples: { cheaper: ["actions"], added: ["actions"], soldOut: ["actions"], removed: ["remove"] },
  },
  "POST /v1/models/:model/recommendations": {
    id: "recommend",
    key: publishable,
    body: "RecommendationsBody",
    answers: { 201: "Recommendations" },
    problems: [400, 401, 403, 404, 413, 422, 429, 500, 503],
    examples: {
      catalogue: ["context", "limit", "keys"],
      given: ["context", "actions", "exclude"],
      restricted: ["context", "limit", "filter", "pin", "maxPer", "boost"],
      deferred: ["context", "defer"],
      repeatable: ["context", "requestId"],
      unlearnt: ["context", "learn", "userAgent"],
    },
  },
  "POST /v1/models/:model/impressions": {
    id: "registerImpressions",
    key: publishable,
    body: "ImpressionsBody",
    answers: { 201: "Impressions" },
    problems: [400, 401, 403, 404, 409, 413, 422, 429, 500, 503],
    examples: { newsletter: ["0"] },
  },
  "POST /v1/conversions": {
    id: "reportConversions",
    key: ["webhookSignature"],
    body: "ConversionsBody",
    answers: { 202: "Conversions" },
    problems: [400, 401, 403, 413, 422, 429, 500, 503],
    parameters: ["webhook-id", "webhook-timestamp"],
    examples: { one: message, byKey: message, many: message, restated: message, returned: message },
  },
  "POST /v1/hooks/:sender": {
    id: "takeHook",
    key: ["senderSignature"],
    body: "HookBody",
    answers: { 200: "Ignored", 202: "Conversions" },
    problems: [400, 401, 404, 413, 422, 429, 500, 503],
    parameters: ["goal", "model", "key", "action"],
    examples: { stripeOrder: stripeMessage, stripeOther: stripeMessage },
  },
  "POST /v1/shown": {
    id: "reportFromPage",
    key: open,
    body: "BeaconBody",
    answers: { 202: "Beacon" },
    problems: [400, 401, 403, 413, 422, 429, 500, 503],
    examples: { seen: ["key", "seen"], clicked: ["key", "model", "reached"] },
  },
  "GET /v1/impressions/:id": { id: "explainImpression", key: secret, answers: { 200: "Impression" }, problems: [401, 403, 404, 500, 503] },
  "POST /v1/impressions/:id/activate": {
    id: "activateImpression",
    key: secret,
    answers: { 200: "Activated" },
    problems: [401, 403, 404, 500, 503],
  },
  "DELETE /v1/impressions/:id": { id: "eraseImpression", key: secret, answers: { 204: null }, problems: [401, 403, 404, 500, 503] },
  "POST /v1/models/:model/keys": {
    id: "joinKeys",
    key: secret,
    body: "JoinedKeys",
    answers: { 200: "Joined" },
    problems: [400, 401, 403, 404, 413, 422, 500, 503],
    examples: { login: ["keys"] },
  },
  "GET /v1/models/:model/keys/:key": {
    id: "readKey",
    key: secret,
    answers: { 200: "Stored" },
    problems: [401, 403, 404, 422, 500, 503],
  },
  "DELETE /v1/models/:model/keys/:key": {
    id: "eraseKey",
    key: secret,
    answers: { 200: "Erased" },
    problems: [401, 403, 404, 422, 500, 503],
  },
  "GET /v1/models/:model/examination": {
    id: "examineModel",
    key: secret,
    answers: { 200: "Examination" },
    problems: [401, 403, 404, 422, 500, 503],
  },
  "GET /v1/models/:model/metrics": {
    id: "measureModel",
    key: secret,
    answers: { 200: "Metrics" },
    problems: [401, 403, 404, 422, 500, 503],
  },
  "GET /v1/models/:model/events": {
    id: "exportEvents",
    key: secret,
    answers: { 200: "application/x-ndjson" },
    problems: [400, 401, 403, 404, 422, 500, 503],
    parameters: ["after"],
  },
  "POST /v1/models/:model/events": {
    id: "importEvents",
    key: secret,
    body: "PastLine",
    answers: { 200: "Imported" },
    problems: [400, 401, 403, 404, 413, 422, 429, 500, 503],
    examples: { log: ["0", "1"] },
  },
  "GET /v1/models/:model/snapshot": {
    id: "downloadSnapshot",
    key: secret,
    answers: { 200: "application/octet-stream" },
    problems: [401, 403, 404, 422, 500, 503],
  },
  "GET /v1/models/:model/published": {
    id: "downloadPublished",
    key: publishable,
    answers: { 200: "application/octet-stream", 304: null },
    problems: [401, 403, 404, 422, 429, 500, 503],
  },
  "POST /v1/models/:model/rollback": {
    id: "rollBackModel",
    key: secret,
    body: "RollbackBody",
    answers: { 200: "Rollback" },
    problems: [400, 401, 403, 404, 409, 413, 422, 500, 503],
    examples: { kept: ["version"] },
  },
  "POST /v1/models/:model/reset": {
    id: "resetModel",
    key: secret,
    body: "ResetBody",
    answers: { 200: "Model", 202: "Model" },
    problems: [400, 401, 403, 404, 413, 422, 500, 503],
    examples: { same: [], other: ["policy", "window"], relearnt: ["from", "options"] },
  },
  "DELETE /v1/models/:model": { id: "deleteModel", key: secret, answers: { 204: null }, problems: [401, 403, 404, 422, 500, 503] },
  "DELETE /v1/models/:model/archive": { id: "deleteArchive", key: secret, answers: { 204: null }, problems: [401, 403, 422, 500, 503] },
};
