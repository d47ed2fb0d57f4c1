import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { decodePublication } from "../../../worker/domain/model/publication.ts";
import type { Environment } from "../../../worker/environment.ts";
import { call, createModel, HOUR_MS, recommend, sign } from "../support/client.ts";

// Requests of a page with a publishable key, to a model that is open to pages.

const key = env.AFTERCLICK_PUBLISHABLE_KEY as string;
const published = (model: string, headers = {}) => call("GET", `/v1/models/${model}/published`, undefined, { key, headers });
const register = (model: string, items: readonly object[]) => call("POST", `/v1/models/${model}/impressions`, items, { key });

it("is the served policy, the catalogue and the encoder, and nothing of anybody", async () => {
  const model = await createModel({ local: true, serving: "edge", goals: { purchase: { weight: 1 } } });
  await recommend(model, { context: { country: "PT" }, keys: ["visitor-7"] });
  const { status, headers, body } = await published(model);
  expect([status, headers.get("content-type")]).toEqual([200, "application/octet-stream"]);
  const { config, actions = [], parts, ...rest } = (await decodePublication(new Uint8Array(body))) ?? expect.fail("damaged");
  expect(Object.keys(config)).toEqual(["policy", "window", "encoder", "draws", "greedy", "minimumShare"]);
  expect(Object.keys(rest)).toEqual(["model", "generation", "version", "publishedAt", "catalogue"]);
  expect(actions.map(({ id }) => id)).toEqual(["tent", "mug", "lamp"]);
  expect(parts).toHaveLength(1);
  // The ledger of a worker's policy is a table of its learner, so the bytes hold no id.
  expect(new TextDecoder("latin1").decode(parts[0])).not.toMatch(/impressionId|visitor|[0-9a-f]{8}-[0-9a-f]{4}-7/);
});

it("has the features of actions, and not the attributes, which pages cannot use", async () => {
  const model = await createModel({ local: true });
  const kettle = { id: "kettle", features: { brand: "Acme" }, available: false };
  await call("PUT", `/v1/models/${model}/actions`, [{ ...kettle, attributes: { margin: 0.42 } }]);
  const { actions } = (await decodePublication(new Uint8Array((await published(model)).body))) ?? expect.fail("damaged");
  expect(actions).toEqual([kettle]);
});

it("is sent again only when it has changed", async () => {
  const model = await createModel({ local: true });
  const { headers } = await published(model);
  const etag = headers.get("etag") as string;
  expect(Date.parse(headers.get("date") as string)).toBeGreaterThan(Date.now() - 60_000);
  const same = await published(model, { "if-none-match": etag });
  expect([same.status, same.body, same.headers.get("etag")]).toEqual([304, "", etag]);
  for (const tags of [`W/${etag}`, `"another", W/${etag}`]) expect((await published(model, { "if-none-match": tags })).status).toBe(304);
  await call("PUT", `/v1/models/${model}/actions`, [{ id: "kettle" }]);
  expect((await published(model, { "if-none-match": "another" })).status).toBe(200);
});

it("creates no object for a model that does not exist", async () => {
  const get = vi.fn(() => expect.fail("a learner was addressed"));
  const unseen = { LEARNER: { ...env.LEARNER, idFromName: (name: string) => name, get } } as unknown as Partial<Environment>;
  const answers = [
    await call("POST", "/v1/models/nobody/recommendations", {}, { key, env: unseen }),
    await call("GET", "/v1/models/nobody/published", undefined, { key, env: unseen }),
    await call("POST", "/v1/models/nobody/impressions", [{ action: "mug", shownAt: Date.now() }], { key, env: unseen }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  expect(get).not.toHaveBeenCalled();
});

it("is served while KV cannot say whether it exists", async () => {
  const model = await createModel();
  const get = () => Promise.reject(new Error("down"));
  expect(
    (await call("POST", `/v1/models/${model}/recommendations`, {}, { key, env: { EVENTS: { get } as unknown as KVNamespace } })).status,
  ).toBe(201);
});

it("is not given of a model that is not open to pages, nor are impressions taken for it", async () => {
  const model = await createModel();
  expect((await published(model)).status).toBe(404);
  expect((await published("nobody")).status).toBe(404);
  const refused = await register(model, [{ id: "one", action: "mug", shownAt: Date.now() }]);
  expect([refused.status, refused.body.title]).toEqual([403, "Not allowed"]);
  expect((await call("GET", `/v1/models/${model}`)).body.counts.impressions).toBe(0);
});

it("takes what a page has shown once, and joins conversions by its id, in whatever order they come", async () => {
  const model = await createModel({ local: true });
  const now = Date.now();
  const items = ["a", "b"].map((id) => ({
    id,
    action: "mug",
    context: { country: "PT" },
    shownAt: now - 1000,
    keys: [id],
    probability: 0.5,
  }));
  const json = { type: "conversion", timestamp: now, data: { model, key: "b", byPage: true, reward: 1 } };
  const convert = () =>
    call("POST", "/v1/conversions", JSON.stringify(json), { key: null, headers: sign("msg_page", JSON.stringify(json)) });
  expect((await convert()).body.conversions).toMatchObject([
    { key: "b", status: "orphan", detail: expect.stringContaining("none has the key yet") },
  ]);
  expect((await register(model, items)).status).toBe(201);
  const again = await register(
    model,
    items.map((item) => ({ ...item, shownAt: item.shownAt + 5 })),
  );
  expect(again.body.impressions.map(({ status }: { status: string }) => status)).toEqual(["duplicate", "duplicate"]);
  expect((await convert()).body.conversions).toEqual([{ key: "b", status: "duplicate" }]);
  expect((await call("GET", `/v1/models/${model}`)).body.counts).toMatchObject({ impressions: 2, converted: 1, orphan: 0 });
});

it("takes a hundred impressions of a page at once, and no more", async () => {
  const model = await createModel({ local: true });
  const items = Array.from({ length: 101 }, (_, i) => ({ id: `many-${i}`, action: "mug", shownAt: Date.now() }));
  expect((await register(model, items)).status).toBe(413);
  expect((await register(model, items.slice(1))).status).toBe(201);
  // A longer list is refused before its keys are hashed, for which the secret would be needed.
  const keyed = items.map((item) => ({ ...item, keys: ["visitor-7"] }));
  const unhashed = { key, env: { AFTERCLICK_JOIN_KEY: undefined } };
  expect((await call("POST", `/v1/models/${model}/impressions`, keyed, unhashed)).status).toBe(413);
});

it.each([
  [
    "a policy that keeps every impression's features",
    { policy: "gp-ucb-sdf", options: { dimension: 8, kernel: { name: "linear", variance: 1, bias: 0 } } },
  ],
  ["one that fits its kernel itself", { policy: "delay-gp-ts", options: { dimension: 8 } }],
  ["a holdout", { holdout: 0.1 }],
  ["shadows", { shadows: [{ name: "other", policy: "otf-lin-ucb" }] }],
])("is refused with %s", async (_, body) => {
  const { status, body: problem } = await call("PUT", "/v1/models/closed", { window: { ms: HOUR_MS }, local: true, ...body });
  expect([status, problem.detail]).toEqual([422, expect.stringMatching(/^local/)]);
});
