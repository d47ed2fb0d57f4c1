// Stands for the demo shop's own server, and calls the worker's routes as that would.

import { type Context, Hono } from "hono";
import * as v from "valibot";
import { contextOf, profiles, SHOP_MODEL } from "../../src/simulation/assortment.ts";
import { type Environment, isDemo } from "../environment.ts";
import { Problem } from "../protocol/problem.ts";
import { valid } from "../protocol/validation.ts";
import { learner } from "../rpc/learner-client.ts";
import { plainKey } from "./access/api-keys.ts";
import { bodyLimit } from "./access/body-limit.ts";
import { foreignOrigin, isLocal, isOwnOrNone } from "./access/origin.ts";
import { tokenSigner } from "./token-signer.ts";
import { signed } from "./webhook.ts";

const MAX_BODY_BYTES = 256 * 1024;
/** Most impressions in one request of the shop. */
const MAX_LOOKUPS = 20;

/** Longest time between an event in the shop and its report. */
const MOST_AGO_MS = 86_400_000;

const happened = v.strictObject({
  impressionId: v.pipe(v.string(), v.minLength(1), v.maxLength(2048)),
  agoMs: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MOST_AGO_MS)),
});
const reportBody = v.strictObject({ happened: v.pipe(v.array(happened), v.minLength(1), v.maxLength(500)) });

/** The same refusal as for a forged impression id. */
const noImpression = (): Problem => new Problem(404, "there is no such impression");

/** A worker's own routes, called without a network. */
type Worker = Pick<Hono<{ Bindings: Environment }>, "fetch">;
type Call = Context<{ Bindings: Environment }>;

/**
 * The backend of the demonstration shop. It stands for a shop's own server, which has the secret key and the webhook secret.
 * Everybody who can reach it can report purchases and returns, so it exists only if AFTERCLICK_DEMO is "true", and it needs no key, so pages of
 * other origins may not call it.
 */
export function demo(worker: Worker): Hono<{ Bindings: Environment }> {
  const shop = new Hono<{ Bindings: Environment }>();

  shop.use(async (c, next) => {
    if (!isDemo(c.env)) throw new Problem(404, "there is nothing at this address");
    if (!isOwnOrNone(c.req)) throw foreignOrigin(c.req, "only the demonstration shop's own pages may");
    await next();
  });
  shop.use(bodyLimit(MAX_BODY_BYTES));

  // Hono's fast router takes no pattern beside a fixed path, so both paths are written out.
  for (const [path, bought] of [
    ["/purchases", true],
    ["/returns", false],
  ] as const) {
    /** Reports purchases or returns in one signed webhook. */
    shop.post(path, valid("json", reportBody), async (c) => {
      const now = Date.now();
      const id = `msg_${crypto.randomUUID()}`;
      const { happened } = c.req.valid("json");
      if (happened.some(({ impressionId }) => (modelOf(c, impressionId) ?? SHOP_MODEL) !== SHOP_MODEL)) throw noImpression();
      const data = happened.map(({ impressionId, agoMs }) => ({ impressionId, timestamp: now - agoMs, ...(bought && { reward: 1 }) }));
      const body = JSON.stringify({ type: bought ? "conversion" : "conversion.retracted", timestamp: now, data });
      const headers = { "content-type": "application/json", ...(await signed(c.env, id, body, now)) };
      const request = new Request(new URL("/v1/conversions", c.req.url), { method: "POST", headers, body });
      return worker.fetch(request, c.env, c.executionCtx);
    });
  }

  /** Counts of the model, its estimates for a profile, and the status of the named impressions. */
  shop.get("/knowledge", async (c) => {
    const profile = c.req.query("profile");
    if (profile === undefined || !profiles.some(({ id }) => id === profile)) {
      throw new Problem(422, `profile: expected one of ${profiles.map(({ id }) => id).join(", ")}`);
    }
    const impressionIds = c.req.queries("impression") ?? [];
    if (impressionIds.length > MAX_LOOKUPS) throw new Problem(422, `impression: expected at most ${MAX_LOOKUPS}`);

    const lookUp = async (impressionId: string): Promise<{ impressionId: string; status: string }[]> => {
      if (!isOfShown(c, impressionId)) return [];
      const response = await ask(c, `/v1/impressions/${encodeURIComponent(impressionId)}`);
      // An erased or pruned impression is left out, and so is one of a model that is not shown.
      return response.ok ? [{ impressionId, status: (await response.json<{ status: string }>()).status }] : [];
    };
    const [{ counts }, estimates, impressions] = await Promise.all([
      learner(c.env, SHOP_MODEL, (stub) => stub.describe()),
      learner(c.env, SHOP_MODEL, (stub) => stub.estimates(contextOf(profile))),
      Promise.all(impressionIds.map(lookUp)),
    ]);
    return c.json({ counts, estimates, impressions: impressions.flat() });
  });

  /** The models that the dashboard may show: the shop's and, on the developer's own machine, all others. */
  shop.get("/models", async (c) => {
    const response = await ask(c, "/v1/models");
    const { models } = await response.json<{ models: { model: string }[] }>();
    return c.json({ models: models.filter(({ model }) => isShown(c, model)) });
  });

  shop.get("/models/:model/:statistic{metrics|examination}", (c) => {
    const { model, statistic } = c.req.param();
    if (!isShown(c, model)) throw new Problem(404, "there is no such model");
    return ask(c, `/v1/models/${encodeURIComponent(model)}/${statistic}`);
  });

  /** Explanation of one impression. */
  shop.get("/impressions/:id", (c) => {
    const { id } = c.req.param();
    if (!isOfShown(c, id)) throw noImpression();
    return ask(c, `/v1/impressions/${encodeURIComponent(id)}`);
  });

  /** Deletes what the shop's model has learnt. A browser lets no page of another site send this content type. */
  shop.post("/reset", (c) => {
    const type = c.req.header("content-type") ?? "none";
    if (!/^application\/json\b/i.test(type)) throw new Problem(400, `content-type: expected application/json, got ${type}`);
    return ask(c, `/v1/models/${SHOP_MODEL}/reset`, "POST");
  });

  const isShown = (c: Call, model: string): boolean => model === SHOP_MODEL || isLocal(c.req);

  /** Model of an impression. Undefined if the worker did not give the id: then its own routes refuse it. */
  const modelOf = (c: Call, impressionId: string): string | undefined => tokenSigner(c.env).verify(impressionId, Date.now())?.model;

  const isOfShown = (c: Call, impressionId: string): boolean => isShown(c, modelOf(c, impressionId) ?? SHOP_MODEL);

  /** Calls the worker with the secret key, which the page does not have. */
  function ask(c: Call, path: string, method = "GET"): Response | Promise<Response> {
    const headers = { authorization: `Bearer ${plainKey(c.env, "AFTERCLICK_SECRET_KEY")}`, "content-type": "application/json" };
    const body = method === "GET" ? undefined : "{}";
    return worker.fetch(new Request(new URL(path, c.req.url), { method, headers, body }), c.env, c.executionCtx);
  }

  return shop;
}
