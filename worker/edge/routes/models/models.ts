// `/v1/models`: creates, changes, lists and deletes models.

import { Hono } from "hono";
import { PublicationStore } from "../../../kv/publication-store.ts";
import { models as list } from "../../../protocol/answers.ts";
import { model } from "../../../protocol/model-answer.ts";
import { HOUR_MS, type Operations, ofModel, withBody } from "../../../protocol/operation.ts";
import { modelBody, modelPatch } from "../../../protocol/schema.ts";
import { valid } from "../../../protocol/validation.ts";
import { learner } from "../../../rpc/learner-client.ts";
import { secretKey } from "../../access/api-keys.ts";
import { describedModel } from "../../described-model.ts";
import type { Edge } from "../../edge.ts";
import { modelPath } from "../../model-path.ts";

export const models = (edge: Edge) =>
  new Hono()
    .get("/v1/models", secretKey, async (c) => {
      return c.json({ models: await new PublicationStore(c.env.EVENTS).list() }, 200);
    })
    .put("/v1/models/:model", secretKey, modelPath, valid("json", modelBody), async (c) => {
      const { model } = c.req.valid("param");
      const body = c.req.valid("json");
      const { created } = await edge.change(c.env, model, (stub) => stub.configure(model, body));
      return c.json(await describedModel(c.env, model), created ? 201 : 200);
    })
    .patch("/v1/models/:model", secretKey, modelPath, valid("json", modelPatch), async (c) => {
      const { model } = c.req.valid("param");
      const body = c.req.valid("json");
      await edge.change(c.env, model, (stub) => stub.reconfigure(body));
      return c.json(await describedModel(c.env, model), 200);
    })
    .get("/v1/models/:model", secretKey, modelPath, async (c) => {
      return c.json(await describedModel(c.env, c.req.valid("param").model), 200);
    })
    .delete("/v1/models/:model", secretKey, modelPath, async (c) => {
      const { model } = c.req.valid("param");
      await learner(c.env, model, (stub) => stub.remove());
      edge.drop(model);
      return c.body(null, 204);
    })
    .delete("/v1/models/:model/archive", secretKey, modelPath, async (c) => {
      const { model } = c.req.valid("param");
      await learner(c.env, model, (stub) => stub.removeArchive(model));
      return c.body(null, 204);
    });

export const operations = (): Operations => {
  const schema = { Model: model, Counts: model.entries.counts };
  return {
    "PUT /v1/models/:model": {
      id: "configureModel",
      summary: "Create or reconfigure a model",
      description: "Each option says what a change of it needs. An option that the body leaves out keeps its stored value.",
      body: { ModelBody: modelBody },
      examples: () => ({
        smallest: { window: { ms: 7 * 24 * HOUR_MS } },
        shop: {
          window: { ms: 7 * 24 * HOUR_MS },
          encoder: { dimension: 128, numeric: { price: { min: 0, max: 500 } }, interactions: [["country", "brand"]] },
          minimumShare: 0.01,
          defaultAction: "boots",
          local: true,
        },
      }),
      answers: { 201: { description: "Created.", schema }, 200: { description: "The model existed.", schema } },
      problems: [...withBody, 401, 403, 409, 422, 503],
    },
    "PATCH /v1/models/:model": {
      id: "changeModel",
      summary: "Change options of a model",
      description: "Changes what the body names, by the rules of PUT, and creates no model.",
      body: { ModelPatch: modelPatch },
      examples: () => ({ limits: { limits: { open: 100_000 }, minimumShare: 0.02 } }),
      answers: { 200: { description: "The model.", schema } },
      problems: [...withBody, ...ofModel, 409],
    },
    "GET /v1/models": {
      id: "listModels",
      summary: "List the published models",
      answers: { 200: { description: "Models by name. A new one may be missing for a minute.", schema: { Models: list } } },
      problems: [401, 403],
    },
    "GET /v1/models/:model": {
      id: "describeModel",
      summary: "Get configuration, counts and digest",
      answers: { 200: { description: "The model.", schema } },
      problems: ofModel,
    },
  };
};

/** Apart from the others: in the order for trying the routes out, they come last. */
export const deletions = (): Operations => ({
  "DELETE /v1/models/:model": {
    id: "deleteModel",
    summary: "Delete a model and its data",
    description: "The archived files stay.",
    answers: { 204: { description: "Deleted." } },
    problems: ofModel,
  },
  "DELETE /v1/models/:model/archive": {
    id: "deleteArchive",
    summary: "Delete the archived files of a model",
    description: "Deletes those of all generations. The model itself may be deleted already.",
    answers: { 204: { description: "Deleted. Also without an archive." } },
    problems: [401, 403, 422, 503],
  },
});
