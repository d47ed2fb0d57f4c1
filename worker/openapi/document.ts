import type * as v from "valibot";
import { modelParameter } from "../protocol/schema.ts";
import { type Answer, type Operation, operations, type Story } from "./operations.ts";
import { components, jsonSchemaOf, reference } from "./schemas.ts";

const story: Story = {
  now: Date.parse("2026-11-21T12:00:00Z"),
  impressionId: "AUV0AZqmw9gAdnOAtNRsDaCkYX8BmsrQiAAJ0nqZP0Hn2wAAAAAAKnNob3CrIPgyDb4SpCwAyoS8fPoe",
};

const problems = {
  400: "Malformed: the body is not JSON, or not of this form.",
  401: "A valid key or signature is needed.",
  404: "There is no such model, impression or kept version.",
  409: "It conflicts with what the model has learnt under, or there is nothing to go back to.",
  413: "Too large.",
  422: "Understood, but out of range.",
  429: "Over a limit: the caller's, or the model's.",
  500: "Something unexpected, or a variable that is missing or wrong.",
  503: "Nothing was stored. The request may be sent again.",
} as const;

const RETRY_AFTER = { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } };

/** Path, query and header parameters that are no property of one operation. */
const parameters = {
  model: { name: "model", in: "path", required: true, schema: jsonSchemaOf(modelParameter.entries.model), example: "shop" },
  id: { name: "id", in: "path", required: true, schema: { type: "string" }, description: "An impression id.", example: story.impressionId },
  key: {
    name: "key",
    in: "path",
    required: true,
    schema: { type: "string" },
    description: "As it was given with impressions; only its hash is stored.",
    example: "visitor-7",
  },
  webhookId: {
    name: "webhook-id",
    in: "header",
    required: true,
    schema: { type: "string", pattern: "^[!-~]{1,128}$" },
    description: "The same when the message is sent again.",
  },
  webhookTimestamp: {
    name: "webhook-timestamp",
    in: "header",
    required: true,
    schema: { type: "string", pattern: "^[1-9][0-9]{0,11}$" },
    description: "When it is sent, in seconds since 1970; at most five minutes off.",
  },
} as const;

const securitySchemes = {
  secretKey: { type: "http", scheme: "bearer", description: "May do everything." },
  publishableKey: { type: "http", scheme: "bearer", description: "May ask for recommendations only." },
  webhookSignature: {
    type: "apiKey",
    in: "header",
    name: "webhook-signature",
    description: "Standard Webhooks 1.0.0: v1, and the base64 HMAC-SHA256 of id.timestamp.body.",
  },
};

const security = {
  secret: [{ secretKey: [] }],
  publishable: [{ publishableKey: [] }, { secretKey: [] }],
  signature: [{ webhookSignature: [] }],
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
  const { id, summary, description, key, query, body } = operation;
  const named = Array.from(path.matchAll(/:(\w+)/g), ([, name]) => component("parameters", name));
  const headers = key === "signature" ? [component("parameters", "webhookId"), component("parameters", "webhookTimestamp")] : [];
  const queried = Object.entries(query?.entries ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    schema: jsonSchemaOf(schema as v.GenericSchema),
  }));
  const answers = Object.entries(operation.answers).map(([status, answer]) => [status, response(answer)]);
  const refusals = [...operation.problems, 500].map((status) => [status, component("responses", `Problem${status}`)]);
  return {
    operationId: id,
    summary,
    ...(description && { description }),
    security: key ? security[key] : [],
    ...((named.length > 0 || headers.length > 0 || queried.length > 0) && { parameters: [...named, ...queried, ...headers] }),
    ...(body && { requestBody: { required: true, content: requested(operation) } }),
    responses: Object.fromEntries([...answers, ...refusals]),
  };
}

function requested({ body, lines, examples }: Operation): object {
  const values = Object.entries(examples?.(story) ?? {}).map(([name, value]) => [name, { value }]);
  const media = lines ? "application/x-ndjson" : "application/json";
  const schema = reference(body as string);
  return {
    [media]: {
      schema: lines ? { type: "string", description: "Each line by itself.", contentMediaType: media, contentSchema: schema } : schema,
      examples: Object.fromEntries(values),
    },
  };
}

function response({ description, schema, media }: Answer): object {
  if (schema) return { description, content: { "application/json": { schema: reference(schema) } } };
  return { description, ...(media && { content: { [media]: {} } }) };
}
