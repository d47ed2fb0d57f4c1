import { Hono } from "hono";
import * as v from "valibot";
import { rollback as answer } from "../../../protocol/answers.ts";
import { strictObject, wholeNumber } from "../../../protocol/forms.ts";
import { type Operations, ofModel, withBody } from "../../../protocol/operation.ts";
import { valid } from "../../../protocol/validation.ts";
import { secretKey } from "../../access/api-keys.ts";
import type { Edge } from "../../edge.ts";
import { modelPath } from "../../model-path.ts";

/** The learner refuses a body without a version, because it knows which versions there are. */
const rollbackBody = strictObject({ version: v.optional(wholeNumber(0, Number.MAX_SAFE_INTEGER)) });

export const rollback = (edge: Edge) =>
  new Hono().post("/v1/models/:model/rollback", secretKey, modelPath, valid("json", rollbackBody), async (c) => {
    const { model } = c.req.valid("param");
    const { version } = c.req.valid("json");
    const done = await edge.change(c.env, model, (stub) => stub.rollBack(version), { retry: false });
    return c.json(done, 200);
  });

export const operations = (): Operations => ({
  "POST /v1/models/:model/rollback": {
    id: "rollBackModel",
    summary: "Restore a kept snapshot",
    description:
      "Undoes everything learnt since. Later impressions become void. What was undone may be sent again. Without a version the answer is 400, which lists the kept ones with their times.",
    body: { RollbackBody: rollbackBody },
    examples: ({ version }) => ({ kept: { version } }),
    answers: { 200: { description: "The restored version, and the kept ones.", schema: { Rollback: answer } } },
    problems: [...withBody, ...ofModel, 409],
  },
});
