// Registers, reads, activates and erases impressions.

import { Hono } from "hono";
import * as v from "valibot";
import { shardName } from "../../domain/ids/shard.ts";
import type { TokenContent } from "../../domain/ids/token.ts";
import { leftOut } from "../../domain/impression/sampling.ts";
import type { Environment } from "../../environment.ts";
import { ACTIVATIONS, impression as explanation } from "../../protocol/answers.ts";
import { about, impressionId } from "../../protocol/figures.ts";
import { list } from "../../protocol/forms.ts";
import { HOUR_MS, type Operations, ofModel, withBody } from "../../protocol/operation.ts";
import { Problem } from "../../protocol/problem.ts";
import { valid } from "../../protocol/validation.ts";
import type { LearnerRpc } from "../../rpc/learner.ts";
import { learner } from "../../rpc/learner-client.ts";
import type { Answer } from "../../rpc/message.ts";
import { anyKey, isByPage, secretKey } from "../access/api-keys.ts";
import { askerName } from "../access/asker.ts";
import type { PageGuard } from "../access/page-guard.ts";
import { isCrawler } from "../access/visitor.ts";
import { modelPath } from "../model-path.ts";
import { impressionItem, registrationsOf, registrationTo } from "../registration.ts";
import { tokenSigner } from "../token-signer.ts";

/** Most impressions that a publishable key may register at once. */
const MAX_OF_PAGE = 100;

export const impressionsBody = v.pipe(list(impressionItem, 1000), v.minLength(1));

export const registered = () =>
  v.strictObject({
    impressions: v.array(v.strictObject({ impressionId, status: v.picklist(["registered", "duplicate", "unsampled", "unlearnt"]) })),
  });

export const activated = () =>
  v.strictObject({
    impressionId,
    status: about(
      v.picklist(ACTIVATIONS),
      "accepted: it is not registered yet, and counts as soon as it is. unsampled, unlearnt: it was left out of learning.",
    ),
  });

export const impressions = (guard: PageGuard) =>
  new Hono()
    .post("/v1/models/:model/impressions", anyKey, modelPath, guard, valid("json", impressionsBody), async (c) => {
      const { model } = c.req.valid("param");
      const [byPage, asker] = [isByPage(c), askerName(c)];
      const items = c.req.valid("json");
      if (byPage && items.length > MAX_OF_PAGE) throw new Problem(413, `a page may register ${MAX_OF_PAGE} impressions at once`);
      const registration = registrationTo(c.env, model, byPage, (userAgent) => isCrawler(c, userAgent));
      const { signer } = registration;
      const shown = await registrationsOf(items, registration);
      const taken = await learner(c.env, model, (stub) => stub.register(shown, { byPage, asker }));
      const impressions = taken.map(({ status, ...impression }) => ({ impressionId: signer.sign({ model, ...impression }), status }));
      return c.json({ impressions }, 201);
    })
    .get("/v1/impressions/:id", secretKey, async (c) => {
      const impressionId = c.req.param("id");
      return c.json({ impressionId, ...(await ofToken(c.env, impressionId, (stub, { id }) => stub.impression(id))) }, 200);
    })
    .post("/v1/impressions/:id/activate", secretKey, async (c) => {
      const impressionId = c.req.param("id");
      const status = await ofToken(c.env, impressionId, async (stub, token) => {
        const left = leftOut(token);
        return left ? { value: left.status } : stub.activate(token.id);
      });
      return c.json({ impressionId, status }, 200);
    })
    .delete("/v1/impressions/:id", secretKey, async (c) => {
      await ofToken(c.env, c.req.param("id"), (stub, { id, generation }) => stub.erase(id, generation));
      return c.body(null, 204);
    });

/** Asks the learner of an impression. @throws {Problem} 404 if the impression id is forged, or the learner does not know it. */
async function ofToken<T>(
  env: Environment,
  impressionId: string,
  ask: (stub: DurableObjectStub<LearnerRpc>, token: TokenContent) => Promise<Answer<T | null | false>>,
): Promise<T> {
  const token = tokenSigner(env).verify(impressionId, Date.now());
  const answer = token && (await learner(env, shardName(token.model, token.shard ?? 0), (stub) => ask(stub, token)));
  if (answer) return answer;
  const left = token && leftOut(token);
  if (left)
    throw new Problem(404, "detail" in left ? left.detail : "the impression was left out of learning, near the limits of the model");
  throw new Problem(404, `there is no such impression${token ? ", or it is not registered yet: ask again in a few seconds" : ""}`);
}

export const operations = (): Operations => ({
  "POST /v1/models/:model/impressions": {
    id: "registerImpressions",
    summary: "Register impressions that were decided elsewhere",
    description:
      "If one is refused, none is registered. An impression with an id of your own is registered once. A publishable key works if the model is local, for 100 impressions at once.",
    key: "publishable",
    body: { ImpressionsBody: impressionsBody },
    examples: ({ now }) => ({
      newsletter: [{ id: "newsletter-7-42", context: { country: "PT" }, action: "hat", shownAt: now - HOUR_MS, keys: ["visitor-42"] }],
    }),
    answers: { 201: { description: "Impression ids in the same order.", schema: { Impressions: registered() } } },
    problems: [...withBody, ...ofModel, 409, 429],
  },
});

/** Apart from the registration: in the order for trying the routes out, they follow the conversions. */
export const operationsOfOne = (): Operations => ({
  "GET /v1/impressions/:id": {
    id: "explainImpression",
    summary: "Explain an impression",
    answers: { 200: { description: "The impression.", schema: { Impression: explanation } } },
    problems: [401, 403, 404, 503],
  },
  "POST /v1/impressions/:id/activate": {
    id: "activateImpression",
    summary: "Mark a deferred impression as shown",
    answers: {
      200: { description: "The impression counts from now on, or as soon as it is registered.", schema: { Activated: activated() } },
    },
    problems: [401, 403, 404, 503],
  },
  "DELETE /v1/impressions/:id": {
    id: "eraseImpression",
    summary: "Erase an impression",
    description: "Deletes its stored data. Learnt sums keep its contribution.",
    answers: { 204: { description: "Erased." } },
    problems: [401, 403, 404, 503],
  },
});
