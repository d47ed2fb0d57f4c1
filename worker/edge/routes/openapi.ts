import { Hono } from "hono";
import { assets, type Environment } from "../../environment.ts";
import type { Operations } from "../../protocol/operation.ts";

export const openapi = new Hono<{ Bindings: Environment }>().get("/openapi.json", async (c) => {
  const file = await assets(c.env).fetch(new URL("/page/openapi.json", c.req.url));
  return c.json<object, 200>(await file.json(), 200);
});

export const operations = (): Operations => ({
  "GET /openapi.json": {
    id: "description",
    summary: "Get this description",
    key: "none",
    answers: { 200: { description: "OpenAPI 3.1.", media: "application/json" } },
    problems: [404],
  },
});
