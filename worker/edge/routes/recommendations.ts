// `POST /v1/models/:model/recommendations`: checks a request and asks the isolate's copy of the model.

import { Hono } from "hono";
import * as v from "valibot";
import type { Unlearnt } from "../../domain/impression/sampling.ts";
import { estimate } from "../../protocol/answers.ts";
import { about, arm, impressionId, modelVersion, number, probability, time } from "../../protocol/figures.ts";
import { type Operations, ofModel, withBody } from "../../protocol/operation.ts";
import { recommendationsBody } from "../../protocol/schema.ts";
import { valid } from "../../protocol/validation.ts";
import { anyKey, isByPage } from "../access/api-keys.ts";
import { askerName } from "../access/asker.ts";
import type { PageGuard } from "../access/page-guard.ts";
import { isCrawler, isFetchedAhead } from "../access/visitor.ts";
import type { Edge } from "../edge.ts";
import { hashedKeys } from "../hashed-keys.ts";
import { modelPath } from "../model-path.ts";
import { tokenSigner } from "../token-signer.ts";

export const answer = () =>
  v.strictObject({
    model: v.string(),
    modelVersion,
    policy: v.string(),
    arm,
    windowEndsAt: time,
    actions: about(
      v.array(
        v.strictObject({
          impressionId,
          id: v.string(),
          probability,
          ...estimate,
          features: v.optional(about(v.array(number), "The chosen point of a policy with its own domain.")),
        }),
      ),
      "Best first. Each action is an impression of its own.",
    ),
  });

export const recommendations = (edge: Edge, guard: PageGuard) =>
  new Hono().post("/v1/models/:model/recommendations", anyKey, modelPath, guard, valid("json", recommendationsBody), async (c) => {
    const { model } = c.req.valid("param");
    const { learn, userAgent, requestId, ...body } = c.req.valid("json");
    const request = { ...body, defer: body.defer || isFetchedAhead(c) };
    const signer = tokenSigner(c.env);
    const byPage = isByPage(c);
    const keys = hashedKeys(c.env, model, request.keys, byPage);
    const unlearnt = unlearntOf(isCrawler(c, userAgent), learn);
    const question = [model, byPage, unlearnt, requestId, request];
    const repeat = requestId === undefined ? undefined : signer.nameOf(JSON.stringify(question));
    const asked = { ...request, byPage, asker: askerName(c), keys, unlearnt, repeat };
    const recommended = await edge.recommend(c.env, c.executionCtx, model, asked);
    const { modelVersion, policy, arm, windowEndsAt, generation, sampling, shard } = recommended;
    const actions = recommended.actions.map(({ id, action, score, mean, width, probability, features }) => ({
      impressionId: signer.sign({ id, model, action, probability, generation, modelVersion, sampling, windowEndsAt, shard }),
      ...{ id: action, score, mean, width },
      ...(probability !== undefined && { probability }),
      ...(features && { features }),
    }));
    return c.json({ model, modelVersion, policy, arm, windowEndsAt, actions }, 201);
  });

/** Why the impressions of a request are not learnt. Undefined if they are. */
function unlearntOf(isCrawler: boolean, learn: boolean): Unlearnt | undefined {
  if (isCrawler) return "crawlers";
  return learn ? undefined : "declined";
}

export const operations = (): Operations => ({
  "POST /v1/models/:model/recommendations": {
    id: "recommend",
    summary: "Choose what to show",
    description:
      "Each action of the response is an impression of its own. A publishable key works only from allowed origins, is rate-limited, and names actions of the catalogue by id unless the model's pageActions is set.",
    key: "publishable",
    body: { RecommendationsBody: recommendationsBody },
    examples: () => ({
      catalogue: { context: { country: "PT" }, limit: 2, keys: ["visitor-7"] },
      given: { context: { country: "PT" }, actions: [{ id: "boots" }, { id: "hat" }], exclude: ["hat"] },
      restricted: {
        context: { country: "PT" },
        limit: 3,
        filter: { brand: ["Acme", "Umbra"], price: { max: 200 } },
        pin: [{ action: "hat", place: 1 }],
        maxPer: { attribute: "brand", count: 2 },
        boost: [{ filter: { brand: "Acme" }, by: 0.02 }],
      },
      deferred: { context: { country: "PT" }, defer: true },
      repeatable: { context: { country: "PT" }, requestId: "page-view-5c1e" },
      unlearnt: {
        context: { country: "PT" },
        learn: false,
        userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
      },
    }),
    answers: { 201: { description: "Best first.", schema: { Recommendations: answer() } } },
    problems: [...withBody, ...ofModel, 429],
  },
});
