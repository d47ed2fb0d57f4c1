// Mounts the routes, and gives every answer its headers and every error its form.

import { Hono } from "hono";
import type { ApplyGlobalResponse } from "hono/client";
import { createMiddleware } from "hono/factory";
import type { Environment } from "../environment.ts";
import type { ProblemBody } from "../protocol/answers.ts";
import { Problem, type ProblemStatus, problemResponse } from "../protocol/problem.ts";
import { bodyLimit, MAX_BODY_BYTES } from "./access/body-limit.ts";
import { KnownModels } from "./access/known-model.ts";
import { crossOrigin } from "./access/origin.ts";
import { pageGuard } from "./access/page-guard.ts";
import { demo } from "./demo.ts";
import { Edge } from "./edge.ts";
import { beacon } from "./routes/beacon.ts";
import { conversions } from "./routes/conversions.ts";
import { health } from "./routes/health.ts";
import { hooks } from "./routes/hooks.ts";
import { impressions } from "./routes/impressions.ts";
import { actions } from "./routes/models/actions.ts";
import { events } from "./routes/models/events.ts";
import { figures } from "./routes/models/figures.ts";
import { keys } from "./routes/models/keys.ts";
import { models } from "./routes/models/models.ts";
import { reset } from "./routes/models/reset.ts";
import { rollback } from "./routes/models/rollback.ts";
import { snapshot } from "./routes/models/snapshot.ts";
import { openapi } from "./routes/openapi.ts";
import { page } from "./routes/page.ts";
import { published } from "./routes/published.ts";
import { recommendations } from "./routes/recommendations.ts";

/** Routes that pages of listed origins may send bodies to. */
const FOR_PAGES = ["/v1/models/:model/recommendations", "/v1/models/:model/impressions", "/v1/shown"] as const;

/** Security headers of an API response. The page sets its own. */
const apiHeaders = createMiddleware(async (c, next) => {
  await next();
  c.res.headers.set("x-content-type-options", "nosniff");
});

/** Answers hold the impression ids of one visitor, or figures of now. No cache may give them to another, unless the route says how. */
const notStored = createMiddleware(async (c, next) => {
  await next();
  if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
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
  const guard = pageGuard(known);
  // `never`: every route adds its schema to a union, in which an empty one would hide all others.
  const base = new Hono<{ Bindings: Environment }, never>();
  base.onError(problemResponse);
  base.notFound((c) => {
    const methods = methodsAt(base.routes, c.req.path);
    if (methods.length === 0) return problemResponse(new Problem(404, "there is nothing at this address"), c);
    c.header("allow", methods.join(", "));
    return problemResponse(new Problem(405, `${c.req.method}: expected ${methods.join(" or ")} at this address`), c);
  });
  base.use(apiHeaders);
  for (const path of ["/v1/*", "/demo/*"]) base.use(path, notStored);
  // Before the limits of bodies, so that a page can read their refusals.
  for (const path of FOR_PAGES) base.use(path, crossOrigin);

  const app = base
    // Routes before this limit have a greater one of their own.
    .route("/", actions(edge))
    .route("/", events)
    .use("/v1/*", bodyLimit(MAX_BODY_BYTES))
    .route("/", health)
    .route("/", openapi)
    .route("/", models(edge))
    .route("/", recommendations(edge, guard))
    .route("/", impressions(guard))
    .route("/", conversions)
    .route("/", hooks)
    .route("/", beacon(known))
    .route("/", keys)
    .route("/", figures)
    .route("/", snapshot)
    .route("/", published(guard))
    .route("/", rollback(edge))
    .route("/", reset(edge));

  // Another name of the same route. Pages use the first: lists of blockers know the word of this one.
  base.post("/v1/beacon", (c) => base.fetch(new Request(new URL("/v1/shown", c.req.url), c.req.raw), c.env, c.executionCtx));
  base.route("/demo", demo(base));
  base.route("/", page);
  return app;
}

/** The worker's own app: one per isolate. */
export const app = createApp();

/** The routes with the types of all their responses, for a typed client. */
export type App = ApplyGlobalResponse<typeof app, { [Status in ProblemStatus]: { json: ProblemBody } }>;
