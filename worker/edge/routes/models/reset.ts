import { Hono } from "hono";
import * as v from "valibot";
import { choice, isObject, optional, strictObject } from "../../../protocol/forms.ts";
import { model } from "../../../protocol/model-answer.ts";
import { optionSchemas } from "../../../protocol/model-options.ts";
import { HOUR_MS, type Operations, ofModel, withBody } from "../../../protocol/operation.ts";
import { type ModelBody, modelBody } from "../../../protocol/schema.ts";
import { valid } from "../../../protocol/validation.ts";
import { learner } from "../../../rpc/learner-client.ts";
import { secretKey } from "../../access/api-keys.ts";
import { describedModel } from "../../described-model.ts";
import type { Edge } from "../../edge.ts";
import { modelPath } from "../../model-path.ts";

/** A new configuration. An empty object keeps the configuration. `from`: learn the log again under what the body changes. */
const nothing = strictObject({});
const fromLog = strictObject({ from: v.literal("log"), ...optional(optionSchemas) });
const resetBody = choice([modelBody, nothing, fromLog], (input): typeof nothing | typeof fromLog | typeof modelBody => {
  if (isObject(input) && "from" in input) return fromLog;
  return isObject(input) && Object.keys(input).length === 0 ? nothing : modelBody;
});

export const reset = (edge: Edge) =>
  new Hono().post("/v1/models/:model/reset", secretKey, modelPath, valid("json", resetBody), async (c) => {
    const { model } = c.req.valid("param");
    const body = c.req.valid("json");
    if ("from" in body) {
      const { from: _, ...changes } = body;
      await learner(c.env, model, (stub) => stub.relearn(changes));
      return c.json(await describedModel(c.env, model), 202);
    }
    await edge.change(c.env, model, (stub) => stub.reset("window" in body ? (body as ModelBody) : null));
    return c.json(await describedModel(c.env, model), 200);
  });

export const operations = (): Operations => ({
  "POST /v1/models/:model/reset": {
    id: "resetModel",
    summary: "Reset a model",
    description:
      'Deletes the learnt state. Keeps the configuration, unless the body has one, and the catalogue. With "from": "log" the model learns its log again under the options that the body names, and serves the old state until then.',
    body: { ResetBody: resetBody, ResetFromLog: fromLog },
    examples: () => ({
      same: {},
      other: { policy: "otf-lin-ucb", window: { ms: 24 * HOUR_MS } },
      relearnt: { from: "log", options: { ridge: 2 } },
    }),
    answers: {
      200: { description: "The model, which has learnt nothing yet.", schema: { Model: model } },
      202: { description: "The model, which learns its log again. `relearning` says how far it is.", schema: { Model: model } },
    },
    problems: [...withBody, ...ofModel],
  },
});
