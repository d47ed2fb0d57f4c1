// Makes openapi.json of the routes' own descriptions and schemas.

import type * as v from "valibot";
import type { Answer, NamedSchema, Operation, Story } from "../protocol/operation.ts";
import { modelParameter } from "../protocol/schema.ts";
import { operations } from "./operations.ts";
import { components, jsonSchemaOf, reference } from "./schemas.ts";

const story: Story = {
  now: Date.parse("2026-11-21T12:00:00Z"),
  publishableKey: "pk_0123456789abcdef",
  version: 812,
  impressionId: "AUV0AZqmw9gAdnOAtNRsDaCkYX8BmsrQiAAJ0nqZP0Hn2wAAAAAAKnNob3CrIPgyDb4SpCwAyoS8fPoe",
};

const problems = {
  400: "The body is not JSON, or has another form.",
  401: "The key or the signature is missing, malformed, too old or unknown. The detail says which.",
  403: "The key is valid and may not do this: it is of another kind, or its page has an origin that is not allowed.",
  404: "The model, sender, impression or kept version does not exist, or the worker has no static files.",
  409: "The model has learnt under another configuration, it has no kept snapshot, or an id that a page gave belongs to another impression.",
  413: "The body is too large.",
  422: "A value is out of range or does not fit the model.",
  429: "The caller or the model is over a limit.",
  500: "A variable is missing or wrong, or an unexpected error happened.",
  503: "Nothing was stored. Send the request again.",
} as const;

const RETRY_AFTER = { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } };

/** Parameters that several operations share. */
const text = { type: "string" };
const inPath = (name: string, example: string, description?: string, schema: object = text) => {
  return { name, in: "path", required: true, schema, ...(description && { description }), example };
};
const inHeader = (name: string, pattern: string, description: string) => {
  return { name, in: "header", required: true, schema: { ...text, pattern }, description };
};
const parameters = {
  model: inPath("model", "shop", undefined, jsonSchemaOf(modelParameter.entries.model)),
  id: inPath("id", story.impressionId, "An impression id."),
  key: inPath("key", "visitor-7", "Join key of impressions. Only its hash is stored."),
  sender: inPath("sender", "stripe", "stripe, shopify, or a name in AFTERCLICK_SENDERS."),
  webhookId: inHeader("webhook-id", "^[!-~]{1,128}$", "Name of the message. A repetition has the same one."),
  webhookTimestamp: inHeader(
    "webhook-timestamp",
    "^[1-9][0-9]{0,11}$",
    "Time of sending, in seconds since 1970. At most five minutes off.",
  ),
};

const securitySchemes = {
  secretKey: { type: "http", scheme: "bearer", description: "Grants every route." },
  publishableKey: { type: "http", scheme: "bearer", description: "For web pages: grants recommendations and the routes of local models." },
  webhookSignature: {
    type: "apiKey",
    in: "header",
    name: "webhook-signature",
    description: "Standard Webhooks 1.0.0: v1, and the base64 HMAC-SHA256 of id.timestamp.body.",
  },
  senderSignature: {
    type: "apiKey",
    in: "header",
    name: "stripe-signature",
    description:
      "Stripe's signature. Shopify's is in x-shopify-hmac-sha256, WooCommerce's in x-wc-webhook-signature, that of another sender in the configured header.",
  },
};

const security = {
  sender: [{ senderSignature: [] }],
  secret: [{ secretKey: [] }],
  publishable: [{ publishableKey: [] }, { secretKey: [] }],
  signature: [{ webhookSignature: [] }],
  none: [],
};

const component = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });

/** The worker's description, OpenAPI 3.1. */
export function document(version: string) {
  const paths: Record<string, Record<string, object>> = {};
  for (const [route, operation] of Object.entries(operations)) {
    const [method, path] = route.split(" ");
    const template = path.replaceAll(/:(\w+)/g, "{$1}");
    paths[template] = { ...paths[template], [method.toLowerCase()]: described(path, operation) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "afterclick",
      version,
      summary: "A contextual recommender whose policies know that conversions come late.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas: components(),
      parameters,
      securitySchemes,
      responses: Object.fromEntries(
        Object.entries(problems).map(([status, description]) => [`Problem${status}`, problem(status, description)]),
      ),
    },
  };
}

function problem(status: string, description: string): object {
  return {
    description,
    ...((status === "429" || status === "503") && { headers: RETRY_AFTER }),
    content: { "application/problem+json": { schema: reference("Problem") } },
  };
}

function described(path: string, operation: Operation): object {
  const { id, summary, description, key = "secret", query, body } = operation;
  const named = Array.from(path.matchAll(/:(\w+)/g), ([, name]) => component("parameters", name));
  const headers = key === "signature" ? [component("parameters", "webhookId"), component("parameters", "webhookTimestamp")] : [];
  const queried = Object.entries(query?.entries ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    schema: jsonSchemaOf(schema as v.GenericSchema),
  }));
  const parameters = [...named, ...queried, ...headers];
  const answers = Object.entries(operation.answers).map(([status, answer]) => [status, response(answer)]);
  const refusals = [...operation.problems, 500].map((status) => [status, component("responses", `Problem${status}`)]);
  return {
    operationId: id,
    summary,
    ...(description && { description }),
    security: security[key],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: requested(operation) } }),
    responses: Object.fromEntries([...answers, ...refusals]),
  };
}

const referenceTo = (schema: NamedSchema): object => reference(Object.keys(schema)[0]);

function requested({ body = {}, lines, examples }: Operation): object {
  const values = Object.entries(examples?.(story) ?? {}).map(([name, value]) => [name, { value }]);
  const media = lines ? "application/x-ndjson" : "application/json";
  const schema = referenceTo(body);
  return {
    [media]: {
      schema: lines ? { type: "string", description: "One JSON value per line.", contentMediaType: media, contentSchema: schema } : schema,
      examples: Object.fromEntries(values),
    },
  };
}

function response({ description, schema, media }: Answer): object {
  if (schema) return { description, content: { "application/json": { schema: referenceTo(schema) } } };
  return { description, ...(media && { content: { [media]: {} } }) };
}
