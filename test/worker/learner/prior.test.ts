import { evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { call, convert, describeModel, HOUR_MS, keep, learnerOf, type Reply, statusesOf } from "../support/client.ts";
import { exported } from "../support/exported.ts";

// What a shop knew before: the model decides by it at once, keeps it, and its log repeats the decisions.

const window = { ms: HOUR_MS };
const PRODUCTS = ["tent", "mug", "lamp"];
const prior = { sales: [{ action: "lamp", sales: 61 }, { action: "mug", sales: 30 }, { action: "gone", sales: 99 }] }; // biome-ignore format: one line

async function made(name: string, more: object = {}): Promise<void> {
  const body = { policy: "bestsellers", options: { random: 0 }, window, prior, ...more };
  expect(await call("PUT", `/v1/models/${name}`, body)).toMatchObject({ status: 201, body: { prior } });
  const actions = PRODUCTS.map((id) => ({ id }));
  expect((await call("PUT", `/v1/models/${name}/actions`, { actions })).status).toBe(200);
}

const recommend = (name: string): Promise<Reply> =>
  call("POST", `/v1/models/${name}/recommendations`, { limit: 3 }, { isolate: createApp() });

/** Sells the tent of so many lists. */
async function sell(name: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const { body } = await recommend(name);
    expect(
      statusesOf(await convert({ impressionId: body.actions.find(({ id }: { id: string }) => id === "tent").impressionId, reward: 1 })),
    ).toEqual(["applied"]);
  }
}

const orderOf = async (name: string): Promise<string[]> => (await recommend(name)).body.actions.map(({ id }: { id: string }) => id);

it("decides by the prior at once, after a change of it, after a restart, a rollback and a reset", async () => {
  await made("prior-kept");
  expect(await orderOf("prior-kept")).toEqual(["lamp", "mug", "tent"]);
  await sell("prior-kept", 2);
  await evictDurableObject(learnerOf("prior-kept"));
  expect(await orderOf("prior-kept")).toEqual(["lamp", "mug", "tent"]);
  const other = { sales: [{ action: "mug", sales: 9 }], from: 0, until: 5 };
  expect(await call("PATCH", "/v1/models/prior-kept", { prior: other })).toMatchObject({ status: 200, body: { prior: other } });
  expect(await orderOf("prior-kept")).toEqual(["mug", "tent", "lamp"]);
  expect((await call("PATCH", "/v1/models/prior-kept", { prior: { sales: [] } })).status).toBe(200);
  expect((await orderOf("prior-kept"))[0]).toBe("tent");
  expect((await call("PATCH", "/v1/models/prior-kept", { prior })).status).toBe(200);
  expect((await call("POST", "/v1/models/prior-kept/reset", {})).status).toBe(200);
  expect(await orderOf("prior-kept")).toEqual(["lamp", "mug", "tent"]);
  const log = await exported("prior-kept");
  expect((await verify(() => log)).tally.decisions).toBeGreaterThan(0);
});

it("repeats decisions of its log, before and after changes of the prior", async () => {
  await made("prior-verified", { options: { by: "rate", random: 0.2 } });
  await sell("prior-verified", 3);
  await call("PATCH", "/v1/models/prior-verified", { prior: { sales: [{ action: "mug", sales: 9, views: 3 }] } });
  await sell("prior-verified", 2);
  const log = await exported("prior-verified");
  expect((await verify(() => log)).tally.decisions).toBe(15);
});

it("has the same state after a restart between a change of the catalogue or the prior and the next snapshot", async () => {
  const model = "prior-grown";
  const features = (i: number) => ({ category: `category ${i % 3}`, brand: `brand ${i}`, price: 10 + i });
  const actions = Array.from({ length: 9 }, (_, i) => ({ id: `product-${i}`, features: features(i) }));
  const sold = (sales: readonly number[]) => ({ sales: sales.map((each, i) => ({ action: `product-${i}`, sales: each })) });
  const encoder = { numeric: { price: { min: 0, max: 100 } }, dimension: 32 };
  expect((await call("PUT", `/v1/models/${model}`, { window, encoder, seed: 3 })).status).toBe(201);
  const grow = async (count: number) => {
    expect((await call("PUT", `/v1/models/${model}/actions`, { actions: actions.slice(0, count) })).status).toBe(200);
  };
  const tell = async (sales: readonly number[]) => {
    expect((await call("PATCH", `/v1/models/${model}`, { prior: sold(sales) })).status).toBe(200);
  };
  const learn = async () => {
    for (let i = 0; i < 4; i++) {
      const body = { context: { device: i % 2 === 0 ? "phone" : "desk" } };
      const { status, body: list } = await call("POST", `/v1/models/${model}/recommendations`, body, { isolate: createApp() });
      expect(status).toBe(201);
      if (i % 2 === 0) await convert({ impressionId: list.actions[0].impressionId, reward: 1 });
    }
  };
  const killed = () => evictDurableObject(learnerOf(model));
  await grow(3);
  await learn();
  await keep(model);
  for (const step of [() => grow(6), () => tell([5, 0, 9, 2]), () => grow(9), () => tell([1, 7, 0, 3, 8, 2, 2])]) {
    await step();
    await killed();
    await learn();
    await killed();
    await learn();
  }
  // A slow machine keeps more versions than eight, and drops the first.
  const version = (await describeModel(model)).kept.at(-1)?.version;
  expect((await call("POST", `/v1/models/${model}/rollback`, { version })).status).toBe(200);
  await learn();
  await killed();
  await learn();
  const log = await exported(model);
  const { tally } = await verify(() => log);
  expect(tally.decisions).toBeGreaterThan(30);
  expect(tally.digests).toBeGreaterThan(0);
});

it.each([
  ["a policy without a prior", { policy: "uniform", prior }, /^prior: expected none, as uniform takes no prior/],
  [
    "an action twice",
    {
      prior: {
        sales: [
          { action: "mug", sales: 1 },
          { action: "mug", sales: 2 },
        ],
      },
    },
    /^prior\.sales: expected each action once, got mug twice/,
  ],
  ["a negative count", { prior: { sales: [{ action: "mug", sales: -1 }] } }, /^prior\.sales\.0\.sales: /],
  ["negative views", { prior: { sales: [{ action: "mug", sales: 1, views: -1 }] } }, /^prior\.sales\.0\.views: /],
  ["too many products", { prior: { sales: Array.from({ length: 5001 }, (_, i) => ({ action: `${i}`, sales: 1 })) } }, /^prior\.sales: /],
])("refuses %s", async (_, body, message) => {
  const { status, body: problem } = await call("PUT", "/v1/models/prior-refused", { policy: "bestsellers", window, ...body });
  expect([400, 422]).toContain(status);
  expect(problem.detail).toMatch(message);
});
