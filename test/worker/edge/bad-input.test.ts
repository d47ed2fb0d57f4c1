import { env } from "cloudflare:workers";
import { beforeAll, expect, it } from "vitest";
import { call, convert, createModel, describeModel, HOUR_MS, journalOf, recommend, sign } from "../support/client.ts";

let model: string;
let numeric: string;
let impressionId: string;

beforeAll(async () => {
  model = await createModel({ encoder: { dimension: 16, numeric: { price: { min: 0, max: 100 } } } });
  numeric = await createModel({ options: { dimension: 2 } });
  [impressionId] = await recommend(model);
  await recommend(numeric, { actions: [{ id: "a", features: [0, 1] }] });
});

async function expectUnchanged(work: () => Promise<void>): Promise<void> {
  const state = async () => [await describeModel(model), await describeModel(numeric), await journalOf(model), await journalOf(numeric)];
  const before = await state();
  await work();
  expect(await state()).toEqual(before);
}

async function expectProblem(method: string, path: string, body: unknown, status: number, detail: RegExp): Promise<void> {
  await expectUnchanged(async () => {
    const reply = await call(method, path, body);
    expect(reply.body).toMatchObject({ type: "about:blank", status, title: expect.any(String), detail: expect.stringMatching(detail) });
    expect(reply.status).toBe(status);
    expect(reply.headers.get("content-type")).toBe("application/problem+json");
  });
}

const window = { ms: HOUR_MS };
const nested = { a: { b: { c: { d: { e: { f: { g: 1 } } } } } } };

it.each([
  ["no JSON", "{", 400, /not JSON/],
  ["no object", 7, 400, /^expected an object, got 7$/],
  ["no window", {}, 400, /^window: required: expected an object with ms, got nothing$/],
  ["a list for the body", [], 400, /^expected an object, got a list of 0$/],
  ["a list for options", { window, options: [] }, 400, /options: expected an object/],
  ["a list for limits", { window, limits: [] }, 400, /limits: expected an object/],
  ["a window as a text", { window: "7d" }, 400, /^window: expected \{ "ms": 604800000 \} for a week, got "7d"$/],
  ["a window as a number", { window: 604_800_000 }, 400, /^window: expected \{ "ms": 604800000 \} for a week, got /],
  [
    "a goal's window as a text",
    { window, goals: { click: { weight: 1, window: "7d" } } },
    400,
    /^goals\.click\.window: expected \{ "ms": 604800000 \}/,
  ],
  ["a window without end", { window: { ms: -1 } }, 422, /window\.ms/],
  ["an unknown key", { window, polcy: "uniform" }, 400, /^polcy: there is no such field; did you mean "policy"\?$/],
  ["an unknown policy", { window, policy: "best" }, 422, /policy: expected one of/],
  ["an unknown option", { window, options: { exploraton: 1 } }, 422, /exploraton/],
  ["an option out of range", { window, options: { exploration: -1 } }, 422, /exploration/],
  ["exact norms", { window, policy: "otf-lin-ts", options: { norms: "exact" } }, 422, /norms.*pending/],
  ["exact norms of a GP", { window, policy: "gp-ucb-sdf", options: { norms: "exact" } }, 422, /norms.*pending/],
  [
    "serving a sequential policy at the edge",
    { window, serving: "edge", policy: "delayed-zooming", options: { domain: { box: [[0, 1]] }, horizon: 100 } },
    422,
    /serving: delayed-zooming has to be served by its learner/,
  ],
  ["dimensions that differ", { window, options: { dimension: 3 }, encoder: { dimension: 4 } }, 422, /dimension/],
  ["an encoder of nothing", { window, encoder: { dimension: 0 } }, 422, /dimension/],
  ["rewards the wrong way round", { window, reward: { min: 1, max: 0 } }, 422, /reward\.max/],
  ["deep nesting", { window, options: nested }, 422, /nesting/],
])("refuses a model with %s", async (_, body, status, detail) => {
  await expectProblem("PUT", "/v1/models/refused", body, status, detail);
  expect((await call("GET", "/v1/models/refused")).status).toBe(404);
});

it.each([
  ["no JSON", "[", 400, /not JSON/],
  ["an unknown key", { lmit: 2 }, 400, /lmit/],
  ["a list for the body", [], 400, /^expected an object, got a list of 0$/],
  ["a limit of none", { limit: 0 }, 422, /limit/],
  ["no candidates", { actions: [] }, 422, /actions/],
  ["all excluded", { exclude: ["tent", "mug", "lamp"] }, 422, /none to choose/],
  ["an unknown action", { actions: [{ id: "tnt" }] }, 422, /tnt.*catalogue/],
  ["an action twice", { actions: [{ id: "mug" }, { id: "mug" }] }, 422, /once/],
  ["features as numbers", { context: [1, 2] }, 422, /by name/],
  ["a number without a range", { context: { age: 3 } }, 422, /context\.age/],
  ["an infinite feature", '{"context":{"price":1e999}}', 422, /price/],
  ["a feature that is no number", '{"context":{"price":NaN}}', 400, /not JSON/],
  ["a null feature", { context: { price: null } }, 400, /price/],
  ["the name of the id taken", { actions: [{ id: "mug", features: { id: "x" } }] }, 422, /taken/],
])("refuses a request for recommendations with %s", async (_, body, status, detail) => {
  await expectProblem("POST", `/v1/models/${model}/recommendations`, body, status, detail);
});

it.each([
  ["the wrong dimension", { actions: [{ id: "a", features: [1, 2, 3] }] }, 422, /2 numbers/],
  ["a huge feature", { actions: [{ id: "a", features: [1e155, 0] }] }, 422, /norm of at most 1,/],
  ["an infinite feature", '{"actions":[{"id":"a","features":[1e999,0]}]}', 422, /finite/i],
  ["features by name", { actions: [{ id: "a", features: { price: 1 } }] }, 422, /array of numbers/],
])("refuses a request for recommendations over numbers with %s", async (_, body, status, detail) => {
  await expectProblem("POST", `/v1/models/${numeric}/recommendations`, body, status, detail);
});

it.each([
  ["no list", { a: 1 }, 400, /actions/],
  ["an id twice", { actions: [{ id: "a" }, { id: "a" }] }, 422, /once/],
  ["a number without a range", { actions: [{ id: "a", features: { weight: 1 } }] }, 422, /weight/],
])("refuses a catalogue with %s", async (_, body, status, detail) => {
  await expectProblem("PUT", `/v1/models/${model}/actions`, body, status, detail);
});

it.each([
  ["nothing", [], 422, /^expected at least 1 item, got a list of 0$/],
  ["an unknown action", [{ action: "mug" }, { action: "tnt" }], 422, /\[1\].*tnt/],
  ["a time to come", [{ action: "mug" }, { action: "mug", shownAt: Date.now() + 600_000 }], 422, /\[1\].*future/],
  ["a time long past", [{ action: "mug", shownAt: Date.now() - HOUR_MS - 600_000 }], 422, /\[0\].*passed/],
  ["a time that is none", [{ action: "mug", shownAt: "yesterday" }], 422, /shownAt/],
  ["features as numbers", [{ action: "mug", context: [1] }], 422, /\[0\].*by name/],
])("refuses to register %s, and the whole batch with it", async (_, items, status, detail) => {
  const body = items.map((item) => ({ shownAt: Date.now(), ...item }));
  await expectProblem("POST", `/v1/models/${model}/impressions`, body, status, detail);
});

it("refuses to register a token of another model, action or time", async () => {
  const [foreign] = await recommend(numeric, { actions: [{ id: "mug", features: [0, 1] }] });
  const { body: explained } = await call("GET", `/v1/impressions/${impressionId}`);
  const { body: other } = await call("GET", `/v1/impressions/${foreign}`);
  for (const item of [
    { id: foreign, action: other.action, shownAt: other.shownAt },
    { id: impressionId, action: explained.action, shownAt: explained.shownAt + 1 },
    { id: impressionId, action: { id: "other" }, shownAt: explained.shownAt },
  ]) {
    await expectProblem("POST", `/v1/models/${model}/impressions`, [item], 422, /another model, action or time/);
  }
});

it.each([
  ["GET", "/v1/models/shop/recommendations", "POST"],
  ["GET", "/v1/conversions", "POST"],
  ["DELETE", "/v1/shown", "POST"],
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

it.each(["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded", "application/octet-stream", "no type"])(
  "reads a body as JSON although it says %s",
  async (type) => {
    const headers = { "content-type": type };
    const shown = await call("POST", `/v1/models/${model}/recommendations`, { limit: 2 }, { headers });
    expect([shown.status, shown.body.actions.length]).toEqual([201, 2]);
    const refused = await call("POST", `/v1/models/${model}/recommendations`, "limit=2", { headers });
    expect(refused).toMatchObject({ status: 400, body: { detail: expect.stringMatching(/^the body is not JSON: .*limit=2/) } });
  },
);

it("takes an empty body for an empty object, with any content type", async () => {
  for (const type of ["application/json", "text/plain"]) {
    const shown = await call("POST", `/v1/models/${model}/recommendations`, "", { headers: { "content-type": type } });
    expect(shown.status).toBe(201);
  }
});

it("takes no purchases for the demonstration shop from pages of other origins, although it asks for no key", async () => {
  const env = { AFTERCLICK_DEMO: "true" };
  const buy = (origin: string, type: string) =>
    call(
      "POST",
      "/demo/purchases",
      { happened: [{ impressionId: "x", agoMs: 0 }] },
      { key: null, headers: { origin, "content-type": type }, env },
    );
  for (const type of ["text/plain", "application/json"]) {
    const refused = await buy("https://evil.example", type);
    expect(refused).toMatchObject({ status: 403, body: { detail: expect.stringContaining("https://evil.example") } });
    expect((await buy("http://worker", type)).status).toBe(202);
  }
});

it.each([
  ["a number in seconds", Math.floor(Date.now() / 1000), /got \d{10}, which are seconds: multiply by 1000$/],
  ["a number in microseconds", Date.now() * 1000, /got \d{16}, which is too large: are these microseconds\?$/],
  ["a time without a zone", "2026-11-21T12:00:00", /got "2026-11-21T12:00:00", which has no zone: add Z for UTC$/],
  ["a day", "2026-11-21", /^timestamp: expected milliseconds since 1970, or ISO 8601 with a zone such as .*, got "2026-11-21"$/],
  ["a number as a text", String(Date.now()), /got "\d{13}"$/],
  ["null", null, /got null$/],
])("never guesses at a timestamp: %s", async (_, timestamp, detail) => {
  await expectUnchanged(async () => {
    const reply = await convert({ impressionId, reward: 1 }, { timestamp: timestamp as number });
    expect(reply).toMatchObject({ status: timestamp === null ? 400 : 422, body: { detail: expect.stringMatching(detail) } });
  });
});

it.each([
  ["a misspelt field", { impressionId: "x", rewards: 1 }, 'data.rewards: there is no such field; did you mean "reward"?'],
  ["another spelling", { impression_id: "x", reward: 1 }, 'data.impression_id: there is no such field; did you mean "impressionId"?'],
  [
    "a foreign field",
    { impressionId: "x", reward: 1, amount: 3 },
    "data.amount: there is no such field; expected one of goal, timestamp, impressionId, reward",
  ],
  ["a missing field", { impressionId: "x" }, "data.reward: required: expected a number, got nothing"],
  ["a reward as a text", { impressionId: "x", reward: "1" }, 'data.reward: expected a number, got "1"'],
])("says what is required, what arrived and what was meant: %s", async (_, data, detail) => {
  expect(await convert(data)).toMatchObject({ status: 400, body: { detail: expect.stringContaining(detail) } });
});

it("reads less of a page than of a backend", async () => {
  const key = env.AFTERCLICK_PUBLISHABLE_KEY;
  const long = { keys: ["x"], actions: Array.from({ length: 1000 }, (_, i) => ({ id: `${i}`.padEnd(128, "x") })) };
  for (const [path, body] of [
    ["recommendations", long],
    ["impressions", Array(100).fill({ action: "mug", shownAt: Date.now(), context: { text: Array(5).fill("x".repeat(256)) } })],
  ] as const) {
    const reply = await call("POST", `/v1/models/${model}/${path}`, body, { key });
    expect(reply).toMatchObject({ status: 413, body: { detail: "the body may have 131072 bytes" } });
  }
  expect((await call("POST", `/v1/models/${model}/recommendations`, long)).status).toBe(422);
});

it("names the first error of a list and one of each field", async () => {
  const reply = await call("POST", `/v1/models/${model}/recommendations`, {
    exclude: [1, 2],
    limit: "x",
    keys: ["a", ""],
    context: { a: null },
  });
  expect(reply).toMatchObject({ status: 400 });
  expect(reply.body.errors.map(({ path }: { path: string }) => path)).toEqual(["context.a", "limit", "exclude.0", "keys.1"]);
});

it("refuses interactions that cost too much to encode, of one action or of all, and says what to do", async () => {
  const crossed = await createModel();
  const path = `/v1/models/${crossed}/recommendations`;
  const texts = (count: number, length: number) => Array.from({ length: count }, (_, i) => `${i}`.padEnd(length));
  const one = [{ id: "a", features: { a: texts(64, 8), b: texts(3, 8) } }];
  await expectProblem("POST", path, { context: { tags: texts(60, 8) }, actions: one }, 422, /features: expected at most 4096 terms/);
  const detail =
    /expected at most 2000000 interactions of all actions together, got \d+; send fewer features, or choose among fewer actions/;
  const many = texts(1000, 100).map((id) => ({ id, features: { tags: texts(12, 8) } }));
  await expectProblem("POST", path, { context: { a: texts(64, 8), b: texts(64, 8), c: texts(64, 8) }, actions: many }, 422, detail);
});

it.each([
  ["no type", { timestamp: 1, data: {} }, 400, /type/],
  ["another type", { type: "refund", timestamp: 1, data: {} }, 400, /type/],
  ["no data", { type: "conversion", timestamp: 1 }, 400, /data/],
  ["an empty batch", { type: "conversion", timestamp: 1, data: [] }, 422, /data/],
  ["too many", { type: "conversion", timestamp: 1, data: Array(501).fill({ impressionId: "x", reward: 1 }) }, 422, /data/],
  ["an unknown key", { type: "conversion", timestamp: 1, data: { impressionId: "x", reward: 1, amount: 3 } }, 400, /amount/],
  ["a goal that is none", { type: "conversion", timestamp: 1, data: { impressionId: "x", reward: 1, goal: "a b" } }, 422, /goal/],
  ["no JSON", "reward=1", 400, /not JSON/],
])("refuses a signed webhook with %s", async (_, content, status, detail) => {
  const body = typeof content === "string" ? content : JSON.stringify(content);
  await expectUnchanged(async () => {
    const reply = await call("POST", "/v1/conversions", body, { key: null, headers: sign("msg_bad", body) });
    expect(reply).toMatchObject({ status, body: { detail: expect.stringMatching(detail) } });
  });
});

it("refuses unsigned, altered and stale webhooks", async () => {
  const body = JSON.stringify({ type: "conversion", timestamp: Date.now(), data: { impressionId, reward: 1 } });
  const good = sign("msg_1", body);
  await expectUnchanged(async () => {
    for (const [sent, headers] of [
      [body, {}],
      [body, { ...good, "webhook-id": "msg_2" }],
      [body, { ...good, "webhook-signature": "v1,AAAA" }],
      [`${body} `, good],
      [body, sign("msg_1", body, Date.now() - 301_000)],
      [body, sign("msg_1", body, Date.now() + 302_000)],
    ] as const) {
      const reply = await call("POST", "/v1/conversions", sent, { key: env.AFTERCLICK_SECRET_KEY, headers });
      expect(reply).toMatchObject({ status: 401, body: { status: 401 } });
    }
  });
});
