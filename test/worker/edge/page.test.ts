import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { call, convert, createModel, HOUR_MS, recommend, show, statusOf } from "../support/client.ts";
import { type Line, logOf } from "../support/fold.ts";

// Everybody who has read a page's publishable key may write. These tests bound what reaches a model.

const key = env.AFTERCLICK_PUBLISHABLE_KEY as string;
const FOUR = { options: { dimension: 4 } };
const FOREIGN = [{ id: "x", features: [1e6, -1e6, 0, 0] }];

/** A model of numbers, with two actions in its catalogue. */
async function createNumeric(body: object = {}): Promise<string> {
  const model = await createModel({ ...FOUR, ...body });
  const actions = [
    { id: "a", features: [1, 0, 0, 0] },
    { id: "b", features: [0, 1, 0, 0] },
  ];
  expect((await call("PUT", `/v1/models/${model}/actions`, actions)).status).toBe(200);
  return model;
}

const ask = (model: string, body: object, by = key) => call("POST", `/v1/models/${model}/recommendations`, body, { key: by });
const register = (model: string, item: object) =>
  call("POST", `/v1/models/${model}/impressions`, [{ action: "mug", shownAt: Date.now(), ...item }], { key });

describe("a request for recommendations", () => {
  it.each(["edge", "learner"])("names actions of the catalogue by id, and no others, when the %s decides", async (serving) => {
    const model = await createNumeric({ serving });
    for (const actions of [FOREIGN, [{ id: "x" }], [{ id: "a", features: [1, 0, 0, 0] }], [{ id: "a" }, ...FOREIGN]]) {
      const refused = await ask(model, { actions });
      expect(refused).toMatchObject({ status: 422, body: { detail: expect.stringContaining("name actions of the catalogue by id") } });
    }
    expect((await ask(model, { actions: [{ id: "b" }] })).body.actions).toMatchObject([{ id: "b" }]);
    expect((await call("GET", `/v1/models/${model}`)).body.counts.impressions).toBe(1);
  });

  it("does not blind a model: the means follow the honest impressions", async () => {
    const model = await createNumeric();
    await ask(model, { actions: FOREIGN });
    for (let n = 0; n < 20; n++) {
      const [impressionId] = await recommend(model, { actions: [{ id: "a" }] });
      await recommend(model, { actions: [{ id: "b" }] });
      if (n % 5 > 0) await convert({ impressionId, reward: 1 });
    }
    const { body } = await ask(model, { limit: 2, greedy: true });
    const means = Object.fromEntries(body.actions.map(({ id, mean }: { id: string; mean: number }) => [id, mean]));
    expect(means.a).toBeGreaterThan(0.6);
    expect(means.b).toBeLessThan(0.1);
  });

  it("may bring actions of its own if the model takes them, inside the unit ball", async () => {
    const model = await createNumeric({ pageActions: true, featureNorm: 3 });
    expect((await ask(model, { actions: [{ id: "x", features: [0.5, 0.5, 0.5, 0.5] }] })).status).toBe(201);
    const long = { actions: [{ id: "x", features: [2, 0, 0, 0] }] };
    expect(await ask(model, long)).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/norm of at most 1,.*got 2.00/) } });
    expect((await ask(model, long, env.AFTERCLICK_SECRET_KEY)).status).toBe(201);
  });

  it("may pin an action of its own inside the unit ball, and any of the catalogue", async () => {
    const model = await createNumeric({ pageActions: true, featureNorm: 3 });
    await call("PATCH", `/v1/models/${model}/actions`, { actions: [{ id: "far", features: [2, 0, 0, 0] }] });
    const pinned = (id: string, features?: number[]) =>
      ask(model, { actions: [{ id, features }, { id: "a" }], pin: [{ action: id, place: 0 }] });
    expect(await pinned("x", [2, 0, 0, 0])).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/norm of at most 1,/) } });
    expect((await pinned("x", [0.5, 0, 0, 0])).body.actions).toMatchObject([{ id: "x" }]);
    expect((await pinned("far")).body.actions).toMatchObject([{ id: "far" }]);
  });

  it("has at most the model's pageLimit of items, 20 by default", async () => {
    const [model, wide] = [await createModel(), await createModel({ pageLimit: 30 })];
    expect((await ask(model, { limit: 20 })).status).toBe(201);
    const refused = { status: 422, body: { detail: expect.stringContaining("limit: expected at most 20 with a publishable key, got 21") } };
    expect(await ask(model, { limit: 21 })).toMatchObject(refused);
    expect((await ask(model, { limit: 21 }, env.AFTERCLICK_SECRET_KEY)).status).toBe(201);
    expect([(await ask(wide, { limit: 30 })).status, (await ask(wide, { limit: 31 })).status]).toEqual([201, 422]);
  });

  it.each([
    ["context", { context: Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`feature-${10 + i}`, "é".repeat(128)])) }],
    ["restrictions", { exclude: Array.from({ length: 40 }, (_, i) => `${i}`.padStart(100, "x")) }],
  ])("has at most 4 kB of %s, because they are stored", async (_, body) => {
    const model = await createModel();
    expect(await ask(model, body)).toMatchObject({
      status: 413,
      body: { detail: expect.stringMatching(/at most 4096 bytes of JSON with a publishable key, got 4\d\d\d/) },
    });
    expect((await ask(model, body, env.AFTERCLICK_SECRET_KEY)).status).toBe(201);
    const [[name, value]] = Object.entries(body);
    const less = Array.isArray(value) ? value.slice(1) : Object.fromEntries(Object.entries(value).slice(1));
    expect((await ask(model, { [name]: less })).status).toBe(201);
  });
});

it("bounds the vectors of a model without an encoder, whoever sends them", async () => {
  const model = await createNumeric();
  const long = { actions: [{ id: "x", features: [0, 0, 0, 1.01] }] };
  const refused = { status: 422, body: { detail: expect.stringContaining("the model's featureNorm") } };
  expect(await ask(model, long, env.AFTERCLICK_SECRET_KEY)).toMatchObject(refused);
  expect(await call("PUT", `/v1/models/${model}/actions`, long)).toMatchObject(refused);
  const change = await call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, serving: "learner", ...FOUR, featureNorm: 2 });
  expect(change.status).toBe(200);
  expect((await ask(model, long, env.AFTERCLICK_SECRET_KEY)).status).toBe(201);
});

describe("a registration", () => {
  it.each([
    ["an action outside the catalogue", { action: "unheard-of" }, "is not in the catalogue"],
    ["features of its own for an action of the catalogue", { action: { id: "mug", features: { price: "1" } } }, "has features"],
    ["a probability near 0", { probability: 5e-324 }, "probability: expected at least"],
    ["a time more than a day ago", { shownAt: Date.now() - 86_400_000 - 60_000 }, "of the last day"],
  ])("is refused with %s", async (_, item, detail) => {
    const model = await createModel({ local: true, window: { ms: 50 * HOUR_MS } });
    expect(await register(model, item)).toMatchObject({ status: 422, body: { detail: expect.stringContaining(detail) } });
    expect((await call("GET", `/v1/models/${model}`)).body.counts.impressions).toBe(0);
  });
});

it("half of a surrogate pair is refused in ids and keys, as all of them would be the same key", async () => {
  const model = await createModel();
  const refused = { status: 422, body: { detail: expect.stringContaining("half of a surrogate pair") } };
  for (const half of ["order-\ud800", "order-\udfff"]) {
    expect(await ask(model, { keys: [half] })).toMatchObject(refused);
    expect(await ask(model, { context: { city: half } })).toMatchObject(refused);
    expect(await ask(model, { context: { [half]: 1 } })).toMatchObject(refused);
    expect(await convert({ model, key: half, reward: 1 })).toMatchObject(refused);
    expect(await call("PUT", `/v1/models/${model}/actions`, [{ id: half }])).toMatchObject(refused);
  }
  expect((await ask(model, { keys: ["order-\u{1f33b}"] })).status).toBe(201);
});

describe("join keys", () => {
  const buy = (model: string, order: string) => convert({ model, key: order, reward: 1 });
  const incidentsOf = async (model: string) => (await call("GET", `/v1/models/${model}`)).body.incidents;

  it("of a page meet no purchase that the shop reports, and the answer says why", async () => {
    const model = await createModel();
    await ask(model, { keys: ["order-78"] });
    const { body } = await buy(model, "order-78");
    expect(body.conversions).toMatchObject([{ status: "orphan", detail: expect.stringContaining("pageKeys") }]);
    expect(await incidentsOf(model)).toMatchObject({ ofPages: 1 });
    const [impressionId] = await show(model, { keys: ["order-78"], shownAt: Date.now() - 1000 });
    expect(await statusOf(impressionId)).toBe("converted");
  });

  it("of a page do not take a purchase over from the backend's impression", async () => {
    const model = await createModel({ serving: "edge" });
    const [impressionId] = await recommend(model, { keys: ["order-79"] });
    await ask(model, { keys: ["order-79"] });
    expect((await buy(model, "order-79")).body.conversions).toMatchObject([{ status: "applied" }]);
    expect(await statusOf(impressionId)).toBe("converted");
  });

  it("are the same whoever gives them if the model shares them", async () => {
    const model = await createModel({ pageKeys: "shared" });
    await ask(model, { keys: ["order-80"] });
    expect((await buy(model, "order-80")).body.conversions).toMatchObject([{ status: "applied" }]);
  });

  it("that nobody gave are orphans without an explanation", async () => {
    const model = await createModel();
    expect((await buy(model, "order-81")).body.conversions).toMatchObject([
      { key: "order-81", status: "orphan", detail: expect.stringContaining("given by a backend") },
    ]);
    expect(await incidentsOf(model)).toMatchObject({ ofPages: 0 });
  });
});

describe("an impression id of a page", () => {
  it("is another impression than the same id of a backend", async () => {
    const model = await createModel({ local: true });
    const item = { id: "order-1", action: "mug", shownAt: Date.now() };
    expect((await register(model, item)).body.impressions).toMatchObject([{ status: "registered" }]);
    const taken = await call("POST", `/v1/models/${model}/impressions`, [item]);
    expect(taken.body.impressions).toMatchObject([{ status: "registered" }]);
    expect((await register(model, item)).body.impressions).toMatchObject([{ status: "duplicate" }]);
  });

  it.each(["of an earlier one, with another action", "that the worker gave"])("is refused and counted if it is one %s", async (which) => {
    const model = await createModel({ local: true });
    const item = { id: "page-1", action: "mug", shownAt: Date.now() };
    await register(model, item);
    const [impressionId] = await recommend(model, { actions: [{ id: "mug" }] });
    const again = which === "that the worker gave" ? { ...item, id: impressionId } : { ...item, action: "tent" };
    expect(await register(model, again)).toMatchObject({ status: 409, body: { detail: expect.stringContaining("another impression") } });
    expect((await call("GET", `/v1/models/${model}`)).body).toMatchObject({ counts: { impressions: 2 }, incidents: { collisions: 1 } });
  });
});

it("marks the impressions of pages in the log, through an import too", async () => {
  const model = await createModel({ local: true, serving: "edge" });
  await ask(model, {});
  await register(model, {});
  await recommend(model);
  const marks = (lines: readonly Line[]) => lines.filter(({ type }) => type === "impression").map(({ byPage }) => byPage === true);
  const lines = await logOf(model);
  expect(marks(lines).toSorted()).toEqual([false, true, true]);
  const other = await createModel({ local: true });
  await call("POST", `/v1/models/${other}/events`, lines.map((line) => JSON.stringify(line)).join("\n"));
  expect(marks(await logOf(other))).toEqual(marks(lines));
});
