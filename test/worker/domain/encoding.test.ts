import { expect, it } from "vitest";
import { call, createModel, describeModel, recommend } from "../support/client.ts";

// How the encoder of a model follows its catalogue.

const put = (model: string, actions: readonly object[]) => call("PUT", `/v1/models/${model}/actions`, { actions });
const products = (from: number, count: number) => Array.from({ length: count }, (_, i) => ({ id: `sku-${from + i}` }));

it("gives the catalogue's categories components of their own, and says how many found none", async () => {
  const model = await createModel({ encoder: { dimension: 17 } });
  // Of 16 components besides the constant, 12 are for single terms, and the first catalogue took three.
  await put(model, products(0, 9));
  expect((await describeModel(model)).encoding).toMatchObject({ dimension: 17, exact: 13, shared: 0 });
  await put(model, products(0, 20));
  expect((await describeModel(model)).encoding).toMatchObject({ exact: 13, shared: 11 });
});

it("names the products that it cannot tell apart", async () => {
  const model = await createModel({ encoder: { dimension: 2 } });
  await put(model, products(0, 3));
  expect((await describeModel(model)).encoding).toMatchObject({ exact: 1, shared: 3, alike: [["sku-0", "sku-1", "sku-2"]] });
});

it("keeps the components of a catalogue that is replaced, until a reset", async () => {
  const model = await createModel({ encoder: { dimension: 17 } });
  await put(model, products(0, 6));
  const before = (await describeModel(model)).encoder?.vocabulary ?? [];
  await put(model, [{ id: "hat", features: { brand: "Acme" } }]);
  const after = (await describeModel(model)).encoder?.vocabulary ?? [];
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.slice(before.length)).toEqual([
    ["id", "hat"],
    ["brand", "Acme"],
  ]);
  const { body } = await call("POST", `/v1/models/${model}/reset`, {});
  // All categories have room, so ids come first: delays may differ by the first category of an action.
  expect(body.encoder.vocabulary).toEqual([
    ["id", "hat"],
    ["brand", "Acme"],
  ]);
});

it("takes the same PUT again after the catalogue has changed its vocabulary, and goes on with what it has learnt", async () => {
  const model = await createModel({ encoder: { dimension: 32 } });
  await recommend(model);
  const { digest } = await describeModel(model);
  await put(model, products(0, 4));
  const again = await call("PUT", `/v1/models/${model}`, { window: { ms: 3_600_000 }, encoder: { dimension: 32 } });
  expect(again).toMatchObject({ status: 200, body: { digest, counts: { impressions: 1 } } });
});

it("takes a thousand categories of contexts, which share components", async () => {
  const model = await createModel();
  for (let n = 0; n < 20; n++) {
    const tags = Array.from({ length: 50 }, (_, i) => `tag ${500 * n + 10 * i}`);
    await recommend(model, { context: { page: `page ${500 * n}`, tags } });
  }
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 20 }, encoding: { exact: 4, shared: 0 } });
});

it("has none without an encoder", async () => {
  expect((await describeModel(await createModel({ options: { dimension: 3 } }))).encoding).toBeNull();
});
