import { Hono } from "hono";

// A worker that makes no decision: it parses the same request and answers as many bytes.

const answer = {
  model: "bench",
  modelVersion: 3,
  policy: "delay-lin-ts",
  arm: "policy",
  windowEndsAt: 1_795_000_000_000,
  actions: [
    {
      impressionId: "A".repeat(84),
      id: "product-9",
      score: 0.381_949_299_588_776_2,
      mean: 0,
      width: 0.249_755_307_492_478_9,
      probability: 0.04,
    },
  ],
};

const app = new Hono();

app.post("/v1/models/:model/recommendations", async (c) => {
  await c.req.json();
  return c.json(answer, 201);
});

export default app;
