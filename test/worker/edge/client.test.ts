import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, expectTypeOf, it } from "vitest";
import { afterclick } from "../../../worker/client.ts";
import { app } from "../../../worker/edge/app.ts";
import { HOUR_MS, sign } from "../support/client.ts";

/** Calls the worker instead of the network. */
const fetchWorker = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
  const context = createExecutionContext();
  const response = await app.fetch(new Request(input, init), env, context);
  await waitOnExecutionContext(context);
  return response;
};

const clientWith = (key: string | undefined) => afterclick("http://worker", { key: key as string, fetch: fetchWorker });
const shop = clientWith(env.AFTERCLICK_SECRET_KEY).v1;
const page = clientWith(env.AFTERCLICK_PUBLISHABLE_KEY).v1;
const param = { model: "typed" };

it("creates a model, recommends, reports and explains, each with the types of its answer", async () => {
  const created = await shop.models[":model"].$put({ param, json: { window: { ms: HOUR_MS }, holdout: 0.1 } });
  if (!created.ok) throw new Error(`${created.status}`);
  const { model, counts, options } = await created.json();
  expectTypeOf(counts.pending).toEqualTypeOf<number>();
  expectTypeOf(options).toExtend<Readonly<Record<string, unknown>>>();
  expect([created.status, model, counts.pending, options.dimension]).toEqual([201, "typed", 0, 256]);

  const changed = await shop.models[":model"].$patch({ param, json: { holdout: 0.2 } });
  if (!changed.ok) throw new Error(`${changed.status}`);
  expect((await changed.json()).holdout).toBe(0.2);

  const counted = await shop.models[":model"].actions.$put({ param, json: { actions: [{ id: "boots" }, { id: "hat" }] } });
  expect(await counted.json()).toEqual({ actions: 2, version: expect.any(Number) });

  const shown = await page.models[":model"].recommendations.$post({ param, json: { context: { country: "PT" }, keys: ["order 1/2"] } });
  if (!shown.ok) throw new Error(`${shown.status}`);
  const { actions, arm, windowEndsAt } = await shown.json();
  expectTypeOf(arm).toEqualTypeOf<"policy" | "holdout" | "default" | "catalogue">();
  expectTypeOf(windowEndsAt).toEqualTypeOf<number>();
  expectTypeOf(actions[0].probability).toEqualTypeOf<number | undefined>();
  const [{ impressionId, id }] = actions;
  expect(["boots", "hat"]).toContain(id);

  const json = { type: "conversion" as const, timestamp: Date.now(), data: { impressionId, reward: 1 } };
  const reported = await shop.conversions.$post({ json }, { headers: sign("msg_typed", JSON.stringify(json)) });
  if (!reported.ok) throw new Error(`${reported.status}`);
  expect((await reported.json()).conversions).toEqual([{ impressionId, status: "applied" }]);

  const explained = await shop.impressions[":id"].$get({ param: { id: impressionId } });
  if (!explained.ok) throw new Error(`${explained.status}`);
  const impression = await explained.json();
  expectTypeOf(impression.status).toEqualTypeOf<"pending" | "converted" | "retracted" | "expired" | "deferred" | "rolled-back">();
  expectTypeOf(impression.reward).toEqualTypeOf<number | null>();
  expect(impression).toMatchObject({ impressionId, action: id, status: "converted", reward: 1 });

  const erased = await shop.models[":model"].keys[":key"].$delete({ param: { ...param, key: encodeURIComponent("order 1/2") } });
  expect(await erased.json()).toEqual({ erased: 1 });
  const removed = await shop.models[":model"].$delete({ param });
  expect(removed.status).toBe(204);
});

it("types a refusal by its status, with what is wrong", async () => {
  const refused = await page.models[":model"].$get({ param });
  if (refused.ok) throw new Error("a publishable key may not read a model");
  const problem = await refused.json();
  expectTypeOf(problem.detail).toEqualTypeOf<string>();
  expect([refused.status, problem.status, problem.title]).toEqual([403, 403, "Not allowed"]);
});

it("does not compile what the worker would refuse", async () => {
  // @ts-expect-error: a model needs a window.
  const missing = await shop.models[":model"].$put({ param, json: {} });
  // @ts-expect-error: there is no such option.
  const misspelt = await shop.models[":model"].$put({ param, json: { window: { ms: HOUR_MS }, holdOut: 0.1 } });
  // @ts-expect-error: a change names options of a model.
  const unknown = await shop.models[":model"].$patch({ param, json: { holdOut: 0.1 } });
  expect([missing.status, misspelt.status, unknown.status]).toEqual([400, 400, 400]);
});
