import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import { secureHeaders } from "hono/secure-headers";
import { takeConversions } from "./conversions.ts";
import { demo } from "./demo.ts";
import { type Environment, secret } from "./environment.ts";
import { keys } from "./keys.ts";
import { learner } from "./learner-client.ts";
import type { Shown } from "./message.ts";
import { page } from "./page/page.ts";
import { Problem, problemResponse } from "./problem.ts";
import {
  actionsBody,
  conversionsBody,
  type ImpressionItem,
  impressionsBody,
  modelBody,
  modelParameter,
  recommendationsBody,
  valid,
} from "./schema.ts";
import { hash32, shownAtOf, TokenSigner, uuidAt } from "./token.ts";
import { verifyWebhook } from "./webhook.ts";

const MAX_BODY_BYTES = 1024 * 1024;

export const app = new Hono<{ Bindings: Environment }>();

app.onError(problemResponse);
app.notFound((c) => problemResponse(new Problem(404, "there is nothing at this address"), c));
app.use(secureHeaders());
app.use(
  "/v1/*",
  bodyLimit({ maxSize: MAX_BODY_BYTES, onError: () => Promise.reject(new Problem(413, `the body may have ${MAX_BODY_BYTES} bytes`)) }),
);

const secretKey = keys("AFTERCLICK_SECRET_KEY");
const anyKey = keys("AFTERCLICK_PUBLISHABLE_KEY", "AFTERCLICK_SECRET_KEY");
const model = valid("param", modelParameter);

app.get("/healthz", (c) => c.json({ status: "ok" }));

app.put("/v1/models/:model", secretKey, model, valid("json", modelBody), async (c) => {
  const { model } = c.req.valid("param");
  const body = c.req.valid("json");
  const { created } = await learner(c.env, model, (stub) => stub.configure(model, body));
  return c.json(await learner(c.env, model, (stub) => stub.describe()), created ? 201 : 200);
});

app.get("/v1/models/:model", secretKey, model, async (c) => {
  return c.json(await learner(c.env, c.req.valid("param").model, (stub) => stub.describe()));
});

app.put("/v1/models/:model/actions", secretKey, model, valid("json", actionsBody), async (c) => {
  return c.json(await learner(c.env, c.req.valid("param").model, (stub) => stub.setActions(c.req.valid("json"))));
});

app.post("/v1/models/:model/recommendations", anyKey, model, valid("json", recommendationsBody), async (c) => {
  const { model } = c.req.valid("param");
  const body = c.req.valid("json");
  const signer = await tokens(c.env);
  // Made once: a learner that was asked before and whose answer was lost would show another list.
  const { actions, ...decision } = await learner(c.env, model, (stub) => stub.recommend(body), { retry: false });
  const ranking = actions.map(async ({ id, action, ...scores }) => ({
    impressionId: await signer.sign({ ...decision, id, model, action, probability: scores.probability }),
    id: action,
    ...scores,
  }));
  return c.json({ model, ...decision, actions: await Promise.all(ranking) }, 201);
});

app.post("/v1/models/:model/impressions", secretKey, model, valid("json", impressionsBody), async (c) => {
  const { model } = c.req.valid("param");
  const signer = await tokens(c.env);
  const shown = await Promise.all(c.req.valid("json").map((item, index) => shownOf(item, index, model, signer)));
  const registered = await learner(c.env, model, (stub) => stub.register(shown));
  const impressions = registered.map(async ({ status, ...impression }) => ({
    impressionId: await signer.sign({ model, ...impression }),
    status,
  }));
  return c.json({ impressions: await Promise.all(impressions) }, 201);
});

app.get("/v1/impressions/:id", secretKey, async (c) => {
  const impressionId = c.req.param("id");
  const token = await (await tokens(c.env)).verify(impressionId, Date.now());
  const explanation = token && (await learner(c.env, token.model, (stub) => stub.impression(token.id)));
  if (!explanation) throw new Problem(404, "there is no such impression");
  return c.json({ impressionId, ...explanation });
});

const signed = createMiddleware<{ Bindings: Environment; Variables: { webhookId: string } }>(async (c, next) => {
  const webhookSecret = secret(c.env, "AFTERCLICK_WEBHOOK_SECRET");
  c.set("webhookId", await verifyWebhook(webhookSecret, c.req.raw.headers, await c.req.arrayBuffer(), Date.now()));
  await next();
});

app.post("/v1/conversions", signed, valid("json", conversionsBody), async (c) => {
  return c.json({ conversions: await takeConversions(c.env, c.get("webhookId"), c.req.valid("json")) }, 202);
});

app.route("/demo", demo(app));
app.route("/", page);

function tokens(env: Environment): Promise<TokenSigner> {
  return TokenSigner.create(secret(env, "AFTERCLICK_TOKEN_KEY"));
}

/** The impression as its learner takes it: named by our token, or by a UUID that follows from the caller's own id. */
async function shownOf(item: ImpressionItem, index: number, model: string, signer: TokenSigner): Promise<Shown> {
  const { id, context, shownAt } = item;
  const action = typeof item.action === "string" ? { id: item.action } : item.action;
  const token = id === undefined ? undefined : await signer.verify(id, Date.now());
  if (token) {
    const same = token.model === model && shownAtOf(token.id) === shownAt && token.actionHash === (await hash32(action.id));
    if (!same) throw new Problem(422, `[${index}]: id: is of another model, action or time`);
    return { id: token.id, key: null, action, context };
  }
  if (id === undefined) return { id: uuidAt(shownAt, crypto.getRandomValues(new Uint8Array(10))), key: null, action, context };
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${model}\0${id}`));
  const uuid = uuidAt(shownAt, new Uint8Array(hash));
  // The part after the time, by which a repetition is known even if it states another time.
  return { id: uuid, key: uuid.slice(14), action, context };
}
