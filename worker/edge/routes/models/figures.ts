import { Hono } from "hono";
import { examination, metrics } from "../../../protocol/metrics-answer.ts";
import { type Operations, ofModel } from "../../../protocol/operation.ts";
import { learner } from "../../../rpc/learner-client.ts";
import { secretKey } from "../../access/api-keys.ts";
import { modelPath } from "../../model-path.ts";
import { senderFigures } from "../../order-figures.ts";
import { tokenSigner } from "../../token-signer.ts";

export const figures = new Hono()
  .get("/v1/models/:model/metrics", secretKey, modelPath, async (c) => {
    const { model } = c.req.valid("param");
    const { recent, generation, ...metrics } = await learner(c.env, model, (stub) => stub.metrics());
    const senders = await senderFigures(c.env);
    const signer = tokenSigner(c.env);
    const named = recent.map(({ sampling, shard, ...impression }) => {
      const { impressionId: id, shownAt } = impression;
      const token = { ...impression, id, model, generation, sampling, shard, windowEndsAt: shownAt + metrics.windowMs };
      return { ...impression, impressionId: signer.sign(token) };
    });
    return c.json({ ...metrics, senders, recent: named }, 200);
  })
  .get("/v1/models/:model/examination", secretKey, modelPath, async (c) => {
    const { model } = c.req.valid("param");
    return c.json({ model, ...(await learner(c.env, model, (stub) => stub.examination())) }, 200);
  });

export const operations = (): Operations => ({
  "GET /v1/models/:model/metrics": {
    id: "measureModel",
    summary: "Get the metrics of the dashboard",
    answers: {
      200: {
        description: "Rates, delays, lift, pending and expected conversions, and whether conversions still arrive.",
        schema: { Metrics: metrics },
      },
    },
    problems: ofModel,
  },
  "GET /v1/models/:model/examination": {
    id: "examineModel",
    summary: "Estimate how probably visitors examine each place of a list",
    description:
      "From the lists that were ranked at random, by the holdout or the minimumShare, among the newest 100,000 rows of the log. It is computed on each request.",
    answers: {
      200: { description: "Weights of places with intervals, and the click model that fits best.", schema: { Examination: examination } },
    },
    problems: ofModel,
  },
});
