import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ApplyGlobalResponse } from "hono/client";
import { createMiddleware } from "hono/factory";
import * as v from "valibot";
import { NO_KEYS, type RequestKeys } from "../domain/ids/join-key.ts";
import { KeyHasher } from "../domain/ids/key-hasher.ts";
import { shardName } from "../domain/ids/shard.ts";
import { type TokenContent, TokenSigner } from "../domain/ids/token.ts";
import { isKept } from "../domain/impression/sampling.ts";
import { assets, type Environment, secret } from "../environment.ts";
import { PublicationStore } from "../kv/publication-store.ts";
import type { ProblemBody } from "../protocol/answers.ts";
import type { ModelBody as ModelAnswer } from "../protocol/model-answer.ts";
import { Problem, type ProblemStatus, problemResponse, unknownModel } from "../protocol/problem.ts";
import {
  actionsBody,
  actionsPatch,
  beaconBody,
  conversionsBody,
  hookQuery,
  impressionsBody,
  logQuery,
  type ModelBody,
  modelBody,
  modelParameter,
  modelPatch,
  recommendationsBody,
  resetBody,
  rollbackBody,
} from "../protocol/schema.ts";
import { bodyBy, valid } from "../protocol/validation.ts";
import { learner } from "../rpc/learner-client.ts";
import type { Description } from "../rpc/message.ts";
import { apiKeys, isByPage, type Keyed, keyInBody } from "./api-keys.ts";
import { takeBeacon } from "./beacon.ts";
import { takeConversions } from "./conversions.ts";
import { demo } from "./demo.ts";
import { Edge } from "./edge.ts";
import { takeHook } from "./hook.ts";
import { KnownModels } from "./known-model.ts";
import { localModel } from "./local-model.ts";
import { exported, pastLines } from "./log.ts";
import { crossOrigin, crossOriginRead } from "./origin.ts";
import { page } from "./page.ts";
import { countPage, forgeryLimit, rateLimit } from "./rate-limit.ts";
import { type RegistrationRequest, registrationsOf } from "./registration.ts";
import { verifyWebhook } from "./webhook.ts";

const MAX_BODY_BYTES = 1024 * 1024;
/** Most bytes of a past log, which may be sent in parts, and of a catalogue. */
const MAX_LARGE_BYTES = 4 * MAX_BODY_BYTES;
const LARGE_PATH = /\/v1\/models\/[^/]+\/(events|actions)$/;

/** Most bytes of a body with a publishable key. Reading and encoding more would take longer than 50 ms. */
const MAX_PAGE_BYTES = MAX_BODY_BYTES / 8;

/** Most bytes of a page's report: what `sendBeacon` sends at most. */
const MAX_BEACON_BYTES = 64 * 1024;

/** Most impressions that a publishable key may register at once. */
const MAX_OF_PAGE = 100;

const secretKey = apiKeys("AFTERCLICK_SECRET_KEY");
const anyKey = apiKeys("AFTERCLICK_PUBLISHABLE_KEY", "AFTERCLICK_SECRET_KEY");
const model = valid("param", modelParameter);
const modelAndKey = valid("param", v.object({ ...modelParameter.entries, key: v.string() }));

const signed = createMiddleware<{ Bindings: Environment; Variables: { event: string } }>(async (c, next) => {
  const webhookSecret = secret(c.env, "AFTERCLICK_WEBHOOK_SECRET");
  c.set("event", await verifyWebhook(webhookSecret, c.req.raw.headers, () => bodyBy(() => c.req.arrayBuffer()), Date.now()));
  await next();
});

/** Security headers of an API response. The page sets its own. */
const apiHeaders = createMiddleware(async (c, next) => {
  await next();
  c.res.headers.set("x-content-type-options", "nosniff");
});

const limited = (maxSize: number) => {
  const tooLarge = () => Promise.reject(new Problem(413, `the body may have ${maxSize} bytes`));
  const counted = bodyLimit({ maxSize, onError: tooLarge });
  return createMiddleware(async (c, next) => {
    const { raw } = c.req;
    // A request with a content-length needs no counting stream: the platform enforces the stated length.
    const stated = Number(raw.headers.get("content-length") ?? Number.NaN);
    if (stated <= maxSize && !raw.headers.has("transfer-encoding")) return next();
    // A middleware in front of the mounted app may have read the body.
    if (raw.bodyUsed || raw.body?.locked) return (await bodyBy(() => c.req.arrayBuffer())).byteLength > maxSize ? tooLarge() : next();
    return counted(c, next);
  });
};

const pageBody = limited(MAX_PAGE_BYTES);

/** Limits that hold for a publishable key alone. Follows `apiKeys` on a route with `:model`. */
const guardedBy = (known: KnownModels) =>
  createMiddleware<Keyed>(async (c, next) => {
    if (!isByPage(c)) return next();
    await countPage(c);
    return pageBody(c, async () => {
      if (!(await known.has(c.env, c.req.param("model") as string))) throw unknownModel();
      await next();
    });
  });

/** The methods under which there is something at an address. */
function methodsAt(routes: readonly { readonly method: string; readonly path: string }[], address: string): string[] {
  const at = routes.filter(({ method, path }) => method !== "ALL" && new RegExp(`^${path.replaceAll(/:\w+/g, "[^/]+")}$`).test(address));
  return Array.from(new Set(at.map(({ method }) => method)));
}

/** The worker's routes. Each app has its own model caches and outboxes, like an isolate of its own. */
export function createApp() {
  const edge = new Edge();
  const known = new KnownModels();
  const guarded = guardedBy(known);
  const base = new Hono<{ Bindings: Environment }>();
  base.onError(problemResponse);
  base.notFound((c) => {
    const methods = methodsAt(base.routes, c.req.path);
    if (methods.length === 0) return problemResponse(new Problem(404, "there is nothing at this address"), c);
    c.header("allow", methods.join(", "));
    return problemResponse(new Problem(405, `${c.req.method}: expected ${methods.join(" or ")} at this address`), c);
  });
  base.use(apiHeaders);
  const body = limited(MAX_BODY_BYTES);
  const large = limited(MAX_LARGE_BYTES);
  base.use("/v1/*", (c, next) => (LARGE_PATH.test(c.req.path) ? large(c, next) : body(c, next)));

  const app = base
    .get("/healthz", (c) => c.json({ status: "ok" }, 200))
    .get("/openapi.json", async (c) => {
      const file = await assets(c.env).fetch(new URL("/page/openapi.json", c.req.url));
      return c.json<object, 200>(await file.json(), 200);
    })
    .get("/v1/models", secretKey, async (c) => {
      return c.json({ models: await new PublicationStore(c.env.EVENTS).list() }, 200);
    })
    .put("/v1/models/:model", secretKey, model, valid("json", modelBody), async (c) => {
      const { model } = c.req.valid("param");
      const body = c.req.valid("json");
      const { created } = await learner(c.env, model, (stub) => stub.configure(model, body));
      await edge.renew(c.env, model);
      return c.json(await describe(c.env, model), created ? 201 : 200);
    })
    .patch("/v1/models/:model", secretKey, model, valid("json", modelPatch), async (c) => {
      const { model } = c.req.valid("param");
      const body = c.req.valid("json");
      await learner(c.env, model, (stub) => stub.reconfigure(body));
      await edge.renew(c.env, model);
      return c.json(await describe(c.env, model), 200);
    })
    .get("/v1/models/:model", secretKey, model, async (c) => {
      return c.json(await describe(c.env, c.req.valid("param").model), 200);
    })
    .delete("/v1/models/:model", secretKey, model, async (c) => {
      const { model } = c.req.valid("param");
      await learner(c.env, model, (stub) => stub.remove());
      edge.drop(model);
      return c.body(null, 204);
    })
    .delete("/v1/models/:model/archive", secretKey, model, async (c) => {
      const { model } = c.req.valid("param");
      await learner(c.env, model, (stub) => stub.removeArchive(model));
      return c.body(null, 204);
    })
    .post("/v1/models/:model/reset", secretKey, model, valid("json", resetBody), async (c) => {
      const { model } = c.req.valid("param");
      const body = c.req.valid("json");
      if ("from" in body) {
        const { from: _, ...changes } = body;
        await learner(c.env, model, (stub) => stub.relearn(changes));
        return c.json(await describe(c.env, model), 202);
      }
      await learner(c.env, model, (stub) => stub.reset("window" in body ? (body as ModelBody) : null));
      await edge.renew(c.env, model);
      return c.json(await describe(c.env, model), 200);
    })
    .post("/v1/models/:model/rollback", secretKey, model, valid("json", rollbackBody), async (c) => {
      const { model } = c.req.valid("param");
      const { version } = c.req.valid("json");
      const done = await learner(c.env, model, (stub) => stub.rollBack(version), { retry: false });
      await edge.renew(c.env, model);
      return c.json(done, 200);
    })
    .get("/v1/models/:model/snapshot", secretKey, model, async (c) => {
      const { version, bytes } = await learner(c.env, c.req.valid("param").model, (stub) => stub.snapshot());
      return c.body(new Uint8Array(bytes), 200, { "content-type": "application/octet-stream", "afterclick-version": String(version) });
    })
    .get("/v1/models/:model/metrics", secretKey, model, async (c) => {
      const { model } = c.req.valid("param");
      const { recent, generation, ...metrics } = await learner(c.env, model, (stub) => stub.metrics());
      const signer = tokens(c.env);
      const named = recent.map(({ sampling, shard, ...impression }) => {
        const { impressionId: id, shownAt } = impression;
        const token = { ...impression, id, model, generation, sampling, shard, windowEndsAt: shownAt + metrics.windowMs };
        return { ...impression, impressionId: signer.sign(token) };
      });
      return c.json({ ...metrics, recent: named }, 200);
    })
    .get("/v1/models/:model/examination", secretKey, model, async (c) => {
      const { model } = c.req.valid("param");
      return c.json({ model, ...(await learner(c.env, model, (stub) => stub.examination())) }, 200);
    })
    .put("/v1/models/:model/actions", secretKey, model, valid("json", actionsBody), async (c) => {
      const { model } = c.req.valid("param");
      const counted = await learner(c.env, model, (stub) => stub.setActions(c.req.valid("json")));
      await edge.renew(c.env, model);
      return c.json(counted, 200);
    })
    .patch("/v1/models/:model/actions", secretKey, model, valid("json", actionsPatch), async (c) => {
      const { model } = c.req.valid("param");
      const counted = await learner(c.env, model, (stub) => stub.changeActions(c.req.valid("json")));
      await edge.renew(c.env, model);
      return c.json(counted, 200);
    })
    .get("/v1/models/:model/events", secretKey, model, valid("query", logQuery), async (c) => {
      const { model } = c.req.valid("param");
      const lines = await exported(c.env, model, c.req.valid("query").after);
      return c.body(lines, 200, { "content-type": "application/x-ndjson" });
    })
    .post("/v1/models/:model/events", secretKey, model, async (c) => {
      const { model } = c.req.valid("param");
      const lines = await pastLines(await bodyBy(() => c.req.text()), registrationTo(c.env, model, false));
      return c.json(await learner(c.env, model, (stub) => stub.importLog(lines)), 200);
    })
    .delete("/v1/models/:model/keys/:key", secretKey, modelAndKey, async (c) => {
      const { model, key } = c.req.valid("param");
      const { backend, page } = hashed(c.env, model, [key], true);
      return c.json({ erased: await learner(c.env, model, (stub) => stub.eraseKey([...backend, ...page].flat())) }, 200);
    })
    .use("/v1/models/:model/recommendations", crossOrigin)
    .post("/v1/models/:model/recommendations", anyKey, model, guarded, valid("json", recommendationsBody), async (c) => {
      const { model } = c.req.valid("param");
      const request = c.req.valid("json");
      const signer = tokens(c.env);
      const byPage = isByPage(c);
      const keys = hashed(c.env, model, request.keys, byPage);
      const recommended = await edge.recommend(c.env, c.executionCtx, model, { ...request, byPage }, keys);
      const { modelVersion, policy, arm, windowEndsAt, generation, sampling, shard } = recommended;
      const actions = recommended.actions.map(({ id, action, score, mean, width, probability, features }) => ({
        impressionId: signer.sign({ id, model, action, probability, generation, modelVersion, sampling, windowEndsAt, shard }),
        ...{ id: action, score, mean, width },
        ...(probability !== undefined && { probability }),
        ...(features && { features }),
      }));
      return c.json({ model, modelVersion, policy, arm, windowEndsAt, actions }, 201);
    })
    .use("/v1/models/:model/published", crossOriginRead)
    .get("/v1/models/:model/published", anyKey, model, guarded, async (c) => {
      const { bytes, etag } = await localModel(c.env, c.req.valid("param").model);
      const headers = { etag, date: new Date().toUTCString(), "cache-control": "private, no-cache" };
      if (c.req.header("if-none-match") === etag) return c.body(null, 304, headers);
      return c.body(bytes, 200, { ...headers, "content-type": "application/octet-stream" });
    })
    .use("/v1/models/:model/impressions", crossOrigin)
    .post("/v1/models/:model/impressions", anyKey, model, guarded, valid("json", impressionsBody), async (c) => {
      const { model } = c.req.valid("param");
      const byPage = isByPage(c);
      const items = c.req.valid("json");
      if (byPage && items.length > MAX_OF_PAGE) throw new Problem(413, `a page may register ${MAX_OF_PAGE} impressions at once`);
      const registration = registrationTo(c.env, model, byPage);
      const { signer } = registration;
      const shown = await registrationsOf(items, registration);
      const registered = await learner(c.env, model, (stub) => stub.register(shown, { byPage }));
      const impressions = registered.map(({ status, ...impression }) => ({ impressionId: signer.sign({ model, ...impression }), status }));
      return c.json({ impressions }, 201);
    })
    .get("/v1/impressions/:id", secretKey, async (c) => {
      const impressionId = c.req.param("id");
      const explanation = await ofToken(c.env, impressionId, ({ id, model, shard = 0 }) =>
        learner(c.env, shardName(model, shard), (stub) => stub.impression(id)),
      );
      return c.json({ impressionId, ...explanation }, 200);
    })
    .post("/v1/impressions/:id/activate", secretKey, async (c) => {
      const impressionId = c.req.param("id");
      const status = await ofToken(c.env, impressionId, ({ id, model, shard = 0, sampling }) => {
        if (!isKept(id, sampling)) return Promise.resolve("unsampled" as const);
        return learner(c.env, shardName(model, shard), (stub) => stub.activate(id));
      });
      return c.json({ impressionId, status }, 200);
    })
    .delete("/v1/impressions/:id", secretKey, async (c) => {
      await ofToken(c.env, c.req.param("id"), ({ id, model, shard = 0, generation }) =>
        learner(c.env, shardName(model, shard), (stub) => stub.erase(id, generation)),
      );
      return c.body(null, 204);
    })
    .post("/v1/hooks/:sender", forgeryLimit, valid("query", hookQuery), async (c) => {
      const taken = await takeHook(c, c.req.param("sender"), c.req.valid("query"));
      return "ignored" in taken ? c.json(taken, 200) : c.json(taken, 202);
    })
    .use("/v1/beacon", crossOrigin)
    .post("/v1/beacon", limited(MAX_BEACON_BYTES), valid("json", beaconBody), keyInBody, rateLimit, async (c) => {
      return c.json(await takeBeacon(c.env, c.req.valid("json"), known), 202);
    })
    .post("/v1/conversions", forgeryLimit, signed, valid("json", conversionsBody), async (c) => {
      return c.json({ conversions: await takeConversions(c.env, c.get("event"), c.req.valid("json")) }, 202);
    });

  base.route("/demo", demo(base));
  base.route("/", page);
  return app;
}

/** The worker's own app: one per isolate. */
export const app = createApp();

/** The routes with the types of all their responses, for a typed client. */
export type App = ApplyGlobalResponse<typeof app, { [Status in ProblemStatus]: { json: ProblemBody } }>;

/** `Description` as JSON: options have names. */
type Described = Omit<Description, "options" | "shadows"> & Pick<ModelAnswer, "options" | "shadows">;

async function describe(env: Environment, model: string): Promise<Described> {
  return (await learner(env, model, (stub) => stub.describe())) as Described;
}

function tokens(env: Environment): TokenSigner {
  return TokenSigner.create(secret(env, "AFTERCLICK_TOKEN_KEY"));
}

/** The secret is needed only where there are keys. */
function hashed(env: Environment, model: string, keys: readonly string[], byPage: boolean): RequestKeys {
  return keys.length > 0 ? KeyHasher.create(secret(env, "AFTERCLICK_JOIN_KEY")).hashAll(model, keys, byPage) : NO_KEYS;
}

function registrationTo(env: Environment, model: string, byPage: boolean): RegistrationRequest {
  return { model, byPage, signer: tokens(env), hashed: (keys) => hashed(env, model, keys, byPage) };
}

/** Asks the learner of an impression. @throws {Problem} 404 if the impression id is forged, or the learner does not know it. */
async function ofToken<T>(env: Environment, impressionId: string, ask: (token: TokenContent) => Promise<T | null | false>): Promise<T> {
  const token = tokens(env).verify(impressionId, Date.now());
  const answer = token && (await ask(token));
  if (answer) return answer;
  throw new Problem(404, `there is no such impression${token ? ", or it is not registered yet: ask again in a few seconds" : ""}`);
}
