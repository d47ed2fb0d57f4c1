import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { call, convert, createModel, show } from "../support/client.ts";
import { useClock } from "../support/clock.ts";

// Refusals say what to do.

useClock();

it.each([["7d"], [604_800_000], [["ms", 1]], [null]])("a window of %j names the form of one", async (window) => {
  const { status, body } = await call("PUT", "/v1/models/remedies", { window });
  expect(status).toBe(400);
  expect(body.detail).toMatch(/^window: expected \{ "ms": 604800000 \} for a week, got /);
});

it.each([
  ["GET", "/v1/models/shop/recommendations", "POST"],
  ["GET", "/v1/conversions", "POST"],
  ["DELETE", "/v1/beacon", "POST"],
  ["PUT", "/v1/models", "GET"],
  ["POST", "/v1/models/shop", "GET, PUT, PATCH, DELETE"],
])("%s %s names the methods of the address", async (method, path, allowed) => {
  const { status, headers, body } = await call(method, path);
  expect(status).toBe(405);
  expect(headers.get("allow")?.split(", ").sort()).toEqual(allowed.split(", ").sort());
  expect(body).toMatchObject({
    status: 405,
    title: "Another method",
    detail: expect.stringMatching(/^\w+: expected [A-Z ]+ at this address$/i),
  });
});

it.each([
  [{ window: { ms: 1000 } }, true],
  [{ policy: "otf-lin-ts" }, true],
  [{ policy: "otf-lin-ts", window: { ms: 1000 } }, true],
  [{ options: { dimension: 7 } }, false],
])("a change to %j names the log as a remedy only if it is one", async (change, isRelearnable) => {
  const model = await createModel();
  await show(model, {});
  const { status, body } = await call("PATCH", `/v1/models/${model}`, change);
  expect(status).toBe(409);
  expect(body.detail.includes('"from": "log"')).toBe(isRelearnable);
  const relearnt = await call("POST", `/v1/models/${model}/reset`, { from: "log", ...change });
  expect(relearnt.status).toBe(isRelearnable ? 202 : 422);
});

it("a conflict says why, and what to do", async () => {
  const model = await createModel();
  const [impressionId] = await show(model, {});
  await convert([{ impressionId, reward: 0.5 }], { id: "order" });
  const { body } = await convert([{ impressionId, reward: 0.25 }], { id: "order" });
  expect(body.conversions[0]).toMatchObject({
    status: "conflict",
    detail: expect.stringMatching(/came before with another reward.*name of its own/),
  });
});

it("a secret that is too short is named before the first message of its sender", async () => {
  const short = { ...env, AFTERCLICK_STRIPE_SECRET: "whsec_short" };
  const { status, body } = await call("POST", "/v1/hooks/stripe", {}, { key: null, env: short });
  expect(status).toBe(500);
  expect(body.detail).toBe("AFTERCLICK_STRIPE_SECRET: expected values of 16 or more characters; set the whole secret again");
});
