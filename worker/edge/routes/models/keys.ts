// `/v1/models/:model/keys`: which keys are one visitor, what is stored under a key, and its erasure.

import { Hono } from "hono";
import * as v from "valibot";
import { conversion, impression } from "../../../domain/log/log-line.ts";
import { about, count } from "../../../protocol/figures.ts";
import { list, strictObject } from "../../../protocol/forms.ts";
import { joinKey } from "../../../protocol/join-key.ts";
import { type Operations, ofModel, withBody } from "../../../protocol/operation.ts";
import { modelParameter } from "../../../protocol/schema.ts";
import { valid } from "../../../protocol/validation.ts";
import { learner } from "../../../rpc/learner-client.ts";
import { secretKey } from "../../access/api-keys.ts";
import { hashedKeys } from "../../hashed-keys.ts";
import { modelPath } from "../../model-path.ts";

const parameters = v.object({ ...modelParameter.entries, key: joinKey });

const stored = () =>
  v.strictObject({
    impressions: about(v.array(v.strictObject(impression)), "As in the event log."),
    conversions: about(v.array(v.strictObject(conversion)), "Of these impressions, and others that came with the key."),
  });

/** Keys of one visitor. */
const joinedBody = strictObject({ keys: v.pipe(list(joinKey, 4), v.minLength(2)) });
const joined = () => v.strictObject({ impressions: about(count, "Impressions that got another key.") });

export const answer = () => v.strictObject({ erased: count });

export const keys = new Hono()
  .post("/v1/models/:model/keys", secretKey, modelPath, valid("json", joinedBody), async (c) => {
    const { model } = c.req.valid("param");
    const hashed = hashedKeys(c.env, model, c.req.valid("json").keys, true);
    return c.json({ impressions: await learner(c.env, model, (stub) => stub.joinKeys(hashed)) }, 200);
  })
  .get("/v1/models/:model/keys/:key", secretKey, valid("param", parameters), async (c) => {
    const { model, key } = c.req.valid("param");
    const { backend, page } = hashedKeys(c.env, model, [key], true);
    const lines = await learner(c.env, model, (stub) => stub.keyLines([...backend, ...page].flat()));
    const impressions = lines.filter((line) => line.type === "impression");
    return c.json({ impressions, conversions: lines.filter((line) => line.type === "conversion") }, 200);
  })
  .delete("/v1/models/:model/keys/:key", secretKey, valid("param", parameters), async (c) => {
    const { model, key } = c.req.valid("param");
    const { backend, page } = hashedKeys(c.env, model, [key], true);
    return c.json({ erased: await learner(c.env, model, (stub) => stub.eraseKey([...backend, ...page].flat())) }, 200);
  });

export const operations = (): Operations => ({
  "POST /v1/models/:model/keys": {
    id: "joinKeys",
    summary: "Say that some join keys are one visitor",
    description:
      "The impressions so far under one of the keys are under all of them from now on, and conversions that wait join. Later requests give the keys themselves. A key of a page and one of a backend stay apart.",
    body: { JoinedKeys: joinedBody },
    examples: () => ({ login: { keys: ["visitor-7", "customer-42"] } }),
    answers: { 200: { description: "The keys are joined.", schema: { Joined: joined() } } },
    problems: [...withBody, ...ofModel],
  },
  "GET /v1/models/:model/keys/:key": {
    id: "readKey",
    summary: "Read all that is stored under a join key",
    description: "The lines of the event log about the key, archived ones too: what a visitor gets who asks for it.",
    answers: { 200: { description: "Impressions and conversions, with their times.", schema: { Stored: stored() } } },
    problems: ofModel,
  },
  "DELETE /v1/models/:model/keys/:key": {
    id: "eraseKey",
    summary: "Erase all impressions of a join key",
    answers: { 200: { description: "Number of erased impressions.", schema: { Erased: answer() } } },
    problems: ofModel,
  },
});
