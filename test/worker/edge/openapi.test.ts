import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ClientResponse } from "hono/client";
import type { JSONValue } from "hono/utils/types";
import * as v from "valibot";
import { beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import built from "../../../build/public/page/openapi.json";
import type { Afterclick } from "../../../worker/client.ts";
import { app } from "../../../worker/edge/app.ts";
import type { answer as beacon } from "../../../worker/edge/routes/beacon.ts";
import type { activated, registered } from "../../../worker/edge/routes/impressions.ts";
import type { answer as erased } from "../../../worker/edge/routes/models/keys.ts";
import type { answer as recommendations } from "../../../worker/edge/routes/recommendations.ts";
import type { Environment } from "../../../worker/environment.ts";
import { document } from "../../../worker/openapi/document.ts";
import { operations } from "../../../worker/openapi/operations.ts";
import { schemas } from "../../../worker/openapi/schemas.ts";
import type * as answers from "../../../worker/protocol/answers.ts";
import type * as figures from "../../../worker/protocol/metrics-answer.ts";
import type { model } from "../../../worker/protocol/model-answer.ts";
import type { Operation, Story } from "../../../worker/protocol/operation.ts";
import { routes } from "../../support/routes.ts";
import { type CallOptions, call, createModel, describeModel, HOUR_MS, learnerOf, type Reply, recommend, sign } from "../support/client.ts";
import { stripeSigned } from "../support/stripe-payloads.ts";

const keys = { secret: env.AFTERCLICK_SECRET_KEY, publishable: env.AFTERCLICK_PUBLISHABLE_KEY, signature: null, sender: null, none: null };
const publishableKey = keys.publishable as string;
const WEEK_MS = 7 * 24 * HOUR_MS;

let messages = 0;

/** Calls a route as the document describes it. */
async function ask(
  route: string,
  { id = "unknown", ...names }: Record<string, string>,
  body?: unknown,
  options: CallOptions = {},
): Promise<Reply> {
  const [method, path] = route.split(" ");
  const { key = "secret" } = operations[route];
  const filled = path.replaceAll(
    /:(\w+)/g,
    (_, name) => ({ id, model: "shop", key: "visitor-7", sender: "stripe", ...names })[name as "id"],
  );
  const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
  const headers = await signedBy(key, text ?? "");
  return call(method, filled, text, { key: keys[key], ...options, headers: { ...headers, ...options.headers } });
}

async function signedBy(key: keyof typeof keys, body: string): Promise<Record<string, string>> {
  if (key === "sender") return stripeSigned(body);
  return key === "signature" ? sign(`msg_openapi_${++messages}`, body) : {};
}

/** Fails unless the answer matches the document's schema for its status. */
function expectDescribed(route: string, reply: Reply): void {
  const answer = operations[route].answers[reply.status];
  expect(answer, `${route} answered ${reply.status}: ${JSON.stringify(reply.body)}`).toBeDefined();
  const media = answer.schema ? "application/json" : answer.media;
  expect(reply.headers.get("content-type")?.split(";")[0], route).toBe(media);
  if (answer.schema) expectForm(Object.keys(answer.schema)[0], reply.body, route);
  else if (!media) expect(reply.body).toBe("");
  // A cached list would have one visitor's impression ids in the pages of all.
  const cache = route.endsWith("/published") ? "private, no-cache" : "no-store";
  if (route.includes(" /v1/")) expect(reply.headers.get("cache-control"), route).toBe(cache);
}

function expectForm(name: string, value: unknown, route: string): void {
  const { issues = [] } = v.safeParse(schemas[name], value);
  expect(
    issues.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`),
    `${route} as ${name}`,
  ).toEqual([]);
}

async function valuedImpression(): Promise<string> {
  const [id] = await recommend(await createModel({ goals: { purchase: { weight: 1, value: { currency: "EUR" } } } }));
  return id;
}

it("describes the routes that there are", () => {
  const served = app.routes.filter(({ method, path }) => method !== "ALL" && !/^\/(demo|v1\/beacon$)/.test(path));
  const names = new Set(served.map(({ method, path }) => `${method} ${path}`));
  expect(new Set(Object.keys(operations))).toEqual(names);
  expect(new Set(Object.keys(routes))).toEqual(names);
});

it("serves the description that its schemas make", async () => {
  const { body } = await call("GET", "/openapi.json", undefined, { key: null });
  expect(body).toEqual(JSON.parse(JSON.stringify(document(body.info.version))));
  expect(built).toEqual(body);
  expect(Object.values(built.paths).flatMap(Object.keys)).toHaveLength(Object.keys(routes).length);
});

it.each(["/", "/openapi.json"])("says at %s what is missing, if the worker has no static files", async (path) => {
  const response = await app.request(path, {}, { ...env, ASSETS: undefined });
  expect([response.status, response.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  expect(await response.json()).toMatchObject({ detail: expect.stringContaining("copy the block assets of afterclick's wrangler.jsonc") });
});

it("answers every example of the description as it says, in its order", async () => {
  const story = { now: 0, impressionId: "unknown", publishableKey, version: 0 };
  for (const [route, operation] of Object.entries(operations)) {
    story.now = Date.now();
    // Senders report amounts, which need a goal with a value.
    const valued = operation.id === "takeHook" && { impressionId: await valuedImpression() };
    for (const [name, body] of Object.entries<unknown>(operation.examples?.({ ...story, ...valued }) ?? { none: undefined })) {
      // The configuration examples have their own models. All other examples use the shop.
      const model = operation.id === "configureModel" ? name : "shop";
      // A backend asks, so that its keys meet the conversions that it reports.
      const options = operation.id === "recommend" ? { key: keys.secret } : {};
      const reply = await ask(route, { model, id: story.impressionId }, body, options);
      expectDescribed(route, reply);
      const { kept } = await describeModel("shop");
      if (kept) story.version = kept[0].version;
      if (operation.id === "recommend" && !["deferred", "unlearnt"].includes(name)) story.impressionId = reply.body.actions[0].impressionId;
      if (operation.id === "reportConversions") {
        for (const { status } of reply.body.conversions) expect([name, status]).toEqual([name, "applied"]);
      }
    }
  }
});

it("describes what holdouts, shadows, probabilities and closed books add to an answer", async () => {
  const shadows = [{ name: "other", policy: "otf-lin-ucb" }];
  const model = await createModel({ holdout: 0.5, shadows, goals: { purchase: { weight: 1 } } });
  const past = Date.now() - 3 * HOUR_MS;
  const lines = Array.from({ length: 4 }, (_, i) => [
    { type: "impression", id: `past-${i}`, action: "mug", shownAt: past + i, probability: 0.5 },
    { type: "conversion", impression: `past-${i}`, goal: "purchase", reward: 0.5, at: past + 1000 },
  ]);
  const log = lines.flat().map((line) => JSON.stringify(line));
  expectDescribed("POST /v1/models/:model/events", await ask("POST /v1/models/:model/events", { model }, log.join("\n")));
  const ids = await recommend(model, { context: { country: "PT" }, limit: 3 });
  for (const id of ids) expectDescribed("GET /v1/impressions/:id", await ask("GET /v1/impressions/:id", { id }));
  for (const route of ["GET /v1/models/:model", "GET /v1/models/:model/metrics", "GET /v1/models/:model/examination"])
    expectDescribed(route, await ask(route, { model }));
});

it.each([
  { min: 0, max: 1 },
  { min: 2, max: 3 },
  { min: -3, max: -2 },
])("describes the numbers of a pinned action as they are, with rewards of %j", async (reward) => {
  const model = await createModel({ reward });
  const route = "POST /v1/models/:model/recommendations";
  const shown = await ask(route, { model }, { limit: 2, pin: [{ action: "mug", place: 0 }] });
  expectDescribed(route, shown);
  expect(shown.body.actions[0]).toMatchObject({ id: "mug", probability: 1, score: 0, mean: 0, width: 0 });
});

/** A learner and a KV that cannot be reached. */
const unreachable: Partial<Environment> = {
  LEARNER: {
    idFromName: () => "",
    get: () => {
      throw Object.assign(new Error("overloaded"), { overloaded: true });
    },
  } as never,
  EVENTS: { get: () => Promise.reject(new Error()), put: () => Promise.reject(new Error()) } as never,
};

/** Requests that cause each problem, by operation. */
const provocations: Record<number, (route: string, operation: Operation, story: Story) => Promise<Reply>> = {
  async 400(route, { query }) {
    return query && "after" in query.entries
      ? call("GET", "/v1/models/shop/events?after=1&after=2")
      : ask(route, { model: await createModel() }, "{");
  },
  async 401(route, { id }) {
    if (id === "reportFromPage") return ask(route, {}, { key: "pk_unknown-to-this-worker" });
    return ask(route, {}, undefined, { key: null, headers: { "webhook-signature": "v1,none", "stripe-signature": "t=1,v1=00" } });
  },
  async 403(route, { id, key = "secret" }) {
    if (id === "reportFromPage") return ask(route, {}, { key: publishableKey }, { headers: { origin: "https://other.example" } });
    if (key === "secret") return ask(route, {}, undefined, { key: keys.publishable });
    if (key === "publishable") return ask(route, {}, undefined, { key: keys.publishable, headers: { origin: "https://other.example" } });
    const secrets = `${env.AFTERCLICK_WEBHOOK_SECRET} till=whsec_${btoa("another secret of the tests")}`;
    return ask(route, {}, "{}", { headers: sign("till/1", "{}"), env: { AFTERCLICK_WEBHOOK_SECRET: secrets } });
  },
  async 404(route, operation, story) {
    return ask(route, { model: "nobody", sender: "nobody" }, bodyOf(operation, story), { env: { ASSETS: undefined } });
  },
  async 409(route, { id }, { now }) {
    if (id === "registerImpressions") {
      const model = await createModel({ local: true });
      const register = (action: string) => ask(route, { model }, [{ id: "shown-1", action, shownAt: now }], { key: publishableKey });
      expectDescribed(route, await register("mug"));
      return register("tent");
    }
    const model = await createModel();
    await recommend(model);
    if (/^(PUT|PATCH) /.test(route)) return ask(route, { model }, { window: { ms: WEEK_MS } });
    await runInDurableObject(learnerOf(model), (_, { storage }) => void storage.sql.exec("DELETE FROM snapshots"));
    return ask(route, { model }, {});
  },
  async 413(route) {
    return ask(route, {}, "x".repeat(8 * 1024 * 1024 + 1));
  },
  async 422(route, operation, story) {
    if (operation.id === "reportFromPage") return ask(route, {}, { key: publishableKey, model: "-" });
    if (operation.id === "takeHook") return call("POST", "/v1/hooks/stripe?goal=no+goal", {}, { key: null });
    return ask(route, { model: "-" }, bodyOf(operation, { ...story, now: story.now + HOUR_MS }));
  },
  async 429(route, operation, story) {
    if (operation.key === "sender" || operation.key === "signature") {
      const env = { RATE_LIMIT: { limit: async () => ({ success: false }) } };
      const headers = { "cf-connecting-ip": `${operation.key}.invalid`, "stripe-signature": "", "webhook-signature": "v1,none" };
      const forged = () => ask(route, {}, {}, { headers, env });
      await forged();
      return forged();
    }
    if (operation.key === "publishable" || operation.id === "reportFromPage") {
      const over = { limit: async () => ({ success: false }) };
      return ask(route, {}, bodyOf(operation, story), { headers: { "cf-connecting-ip": "192.0.2.1" }, env: { RATE_LIMIT: over } });
    }
    const model = await createModel({ limits: { open: 1 } });
    const lines = ["a", "b"].map((id) => JSON.stringify({ type: "impression", id, action: "mug", shownAt: story.now - 1000 }));
    return ask(route, { model }, lines.join("\n"));
  },
  async 503(route, operation, story) {
    return ask(route, { id: story.impressionId, model: "unseen" }, bodyOf(operation, story), { env: unreachable });
  },
};

function bodyOf({ examples }: Operation, story: Story): unknown {
  return examples && Object.values(examples(story))[0];
}

describe("the problems that are described", () => {
  const story = { now: Date.now(), impressionId: "", publishableKey, version: 0 };

  beforeAll(async () => {
    [story.impressionId] = await recommend(await createModel());
  });

  // A 500 needs a worker that is not set up, or an error that nobody foresaw.
  const described = Object.entries(routes).flatMap(([route, { problems }]) =>
    problems.filter((status) => status !== 500).map((status) => [route, status] as const),
  );
  it.each(described)("%s answers %i", async (route, status) => {
    const reply = await provocations[status](route, operations[route], story);
    expect(reply, JSON.stringify(reply.body)).toMatchObject({ status, body: { status } });
    expect(reply.headers.get("content-type")).toBe("application/problem+json");
    expect(reply.headers.has("retry-after")).toBe(status === 429 || status === 503);
    expectForm("Problem", reply.body, route);
  });
});

/** A type without intersections and read-only throughout. Unknown values become JSON. */
type Plain<T> = [JSONValue] extends [T] ? JSONValue : T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
type Described<Schema extends v.GenericSchema> = Plain<v.InferOutput<Schema>>;
type Given<Method extends (...args: never[]) => Promise<ClientResponse<unknown, number>>, Status extends number = 200 | 201 | 202> = Plain<
  Awaited<ReturnType<Method>> extends infer Answer ? (Answer extends ClientResponse<infer Body, Status> ? Body : never) : never
>;

it("gives answers the types that the worker gives them", () => {
  type Client = Afterclick["v1"];
  type Model = Client["models"][":model"];
  expectTypeOf<Given<Client["models"]["$get"]>>().toEqualTypeOf<Described<typeof answers.models>>();
  expectTypeOf<Given<Model["$put"]>>().toEqualTypeOf<Described<typeof model>>();
  expectTypeOf<Given<Model["$patch"]>>().toEqualTypeOf<Described<typeof model>>();
  expectTypeOf<Given<Model["$get"]>>().toEqualTypeOf<Described<typeof model>>();
  expectTypeOf<Given<Model["reset"]["$post"]>>().toEqualTypeOf<Described<typeof model>>();
  expectTypeOf<Given<Model["rollback"]["$post"]>>().toEqualTypeOf<Described<typeof answers.rollback>>();
  expectTypeOf<Given<Model["actions"]["$put"]>>().toEqualTypeOf<Described<typeof answers.catalogue>>();
  expectTypeOf<Given<Model["metrics"]["$get"]>>().toEqualTypeOf<Described<typeof figures.metrics>>();
  expectTypeOf<Given<Model["examination"]["$get"]>>().toEqualTypeOf<Described<typeof figures.examination>>();
  expectTypeOf<Given<Model["events"]["$post"]>>().toEqualTypeOf<Described<typeof answers.imported>>();
  expectTypeOf<Given<Model["keys"][":key"]["$delete"]>>().toEqualTypeOf<Described<ReturnType<typeof erased>>>();
  expectTypeOf<Given<Model["recommendations"]["$post"]>>().toEqualTypeOf<Described<ReturnType<typeof recommendations>>>();
  expectTypeOf<Given<Model["impressions"]["$post"]>>().toEqualTypeOf<Described<ReturnType<typeof registered>>>();
  expectTypeOf<Given<Client["conversions"]["$post"]>>().toEqualTypeOf<Described<typeof answers.conversions>>();
  expectTypeOf<Given<Client["shown"]["$post"]>>().toEqualTypeOf<Described<ReturnType<typeof beacon>>>();
  expectTypeOf<Given<Client["impressions"][":id"]["$get"]>>().toEqualTypeOf<Described<typeof answers.impression>>();
  expectTypeOf<Given<Client["impressions"][":id"]["activate"]["$post"]>>().toEqualTypeOf<Described<ReturnType<typeof activated>>>();
});
