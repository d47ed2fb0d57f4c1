import { Hono } from "hono";
import { type Operations, ofModel } from "../../../protocol/operation.ts";
import { learner } from "../../../rpc/learner-client.ts";
import { secretKey } from "../../access/api-keys.ts";
import { modelPath } from "../../model-path.ts";

export const snapshot = new Hono().get("/v1/models/:model/snapshot", secretKey, modelPath, async (c) => {
  const { version, bytes } = await learner(c.env, c.req.valid("param").model, (stub) => stub.snapshot());
  return c.body(new Uint8Array(bytes), 200, { "content-type": "application/octet-stream", "afterclick-version": String(version) });
});

export const operations = (): Operations => ({
  "GET /v1/models/:model/snapshot": {
    id: "downloadSnapshot",
    summary: "Download the state for Recommender.restore",
    answers: {
      200: { description: "The snapshot. The header afterclick-version states its version.", media: "application/octet-stream" },
    },
    problems: ofModel,
  },
});
