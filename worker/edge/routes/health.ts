import { Hono } from "hono";
import * as v from "valibot";
import type { Operations } from "../../protocol/operation.ts";

const answer = () => v.strictObject({ status: v.literal("ok") });

export const health = new Hono().get("/healthz", (c) => c.json({ status: "ok" }, 200));

export const operations = (): Operations => ({
  "GET /healthz": {
    id: "health",
    summary: "Check that the worker answers",
    key: "none",
    answers: { 200: { description: "The worker answers.", schema: { Health: answer() } } },
    problems: [],
  },
});
