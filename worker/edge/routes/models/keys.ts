import { Hono } from "hono";
import * as v from "valibot";
import { count } from "../../../protocol/figures.ts";
import { joinKey } from "../../../protocol/join-key.ts";
import { type Operations, ofModel } from "../../../protocol/operation.ts";
import { modelParameter } from "../../../protocol/schema.ts";
import { valid } from "../../../protocol/validation.ts";
import { learner } from "../../../rpc/learner-client.ts";
import { secretKey } from "../../access/api-keys.ts";
import { hashedKeys } from "../../hashed-keys.ts";

const parameters = v.object({ ...modelParameter.entries, key: joinKey });

export const answer = () => v.strictObject({ erased: count });

export const keys = new Hono().delete("/v1/models/:model/keys/:key", secretKey, valid("param", parameters), async (c) => {
  const { model, key } = c.req.valid("param");
  const { backend, page } = hashedKeys(c.env, model, [key], true);
  return c.json({ erased: await learner(c.env, model, (stub) => stub.eraseKey([...backend, ...page].flat())) }, 200);
});

export const operations = (): Operations => ({
  "DELETE /v1/models/:model/keys/:key": {
    id: "eraseKey",
    summary: "Erase all impressions of a join key",
    answers: { 200: { description: "Number of erased impressions.", schema: { Erased: answer() } } },
    problems: ofModel,
  },
});
