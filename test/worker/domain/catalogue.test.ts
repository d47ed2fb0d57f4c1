import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { Catalogue } from "../../../worker/domain/catalogue/catalogue.ts";
import { decodeRecord, encodeRecord, wholeRecord } from "../../../worker/domain/catalogue/catalogue-record.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { type CallOptions, call, convert, createModel, describeModel, learnerOf, recommend, show, statusesOf } from "../support/client.ts";
import { tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { down, learners, lost } from "../support/fault.ts";
import { seedIds } from "../support/lived.ts";
import { catalogueIn, FRESH_MS, publicationIn } from "../support/published.ts";

useClock();
afterEach(() => void vi.restoreAllMocks());

const SHOP = [
  { id: "boots", features: { brand: "Acme" }, attributes: { price: 120, sale: false, sizes: ["s", "m"] } },
  { id: "shoes", features: { brand: "Acme" }, attributes: { price: 80, sale: true, sizes: ["m"] } },
  { id: "hat", features: { brand: "Umbra" }, attributes: { price: 35, sale: true } },
  { id: "scarf", features: { brand: "Umbra" }, attributes: { price: 25 } },
  { id: "lamp" },
];

async function shop(body: object = {}, actions: readonly object[] = SHOP): Promise<string> {
  const model = await createModel({ serving: "edge", ...body });
  expect((await call("PUT", `/v1/models/${model}/actions`, { actions })).status).toBe(200);
  return model;
}

const patch = (model: string, body: object) => call("PATCH", `/v1/models/${model}/actions`, body);
const ask = (model: string, body: object, options: CallOptions = {}) => call("POST", `/v1/models/${model}/recommendations`, body, options);
const shownIn = async (model: string, body: object, options: CallOptions = {}): Promise<string[]> => {
  const reply = await ask(model, body, options);
  expect(reply.status, reply.body.detail).toBe(201);
  return reply.body.actions.map(({ id }: { id: string }) => id);
};

it.each<[string, object, number, string]>([
  ["an unknown attribute", { filter: { bramd: "Acme" } }, 422, 'filter.bramd: no action has the attribute bramd; did you mean "brand"?'],
  ["a text where numbers are", { filter: { price: "80" } }, 422, "filter.price: expected a number or a range with min and max, as actions"],
  ["a range of texts", { filter: { brand: { min: 1 } } }, 422, "filter.brand: expected a text or a list of texts, as actions have it"],
  ["a misspelt bound", { filter: { price: { mx: 3 } } }, 400, 'filter.price.mx: there is no such field; did you mean "max"?'],
  ["an empty list", { filter: { brand: [] } }, 422, "filter.brand: expected at least 1 item"],
  ["null", { filter: { brand: null } }, 400, "filter.brand: expected a text, a number, true, false, a list of texts, or an object"],
  ["a list for the filter", { filter: [] }, 400, "filter: expected an object"],
  ["nothing that passes", { filter: { price: 1 } }, 422, "actions: none to choose among"],
  ["an unknown pin", { pin: [{ action: "boot", place: 0 }] }, 422, 'pin[0].action: boot is not in the catalogue; did you mean "boots"?'],
  ["a pin beyond the list", { pin: [{ action: "hat", place: 1 }] }, 422, "pin[0].place: expected less than the limit 1, got 1"],
  ["an excluded pin", { pin: [{ action: "hat", place: 0 }], exclude: ["hat"] }, 422, "pin[0].action: hat is excluded by the same request"],
  [
    "a place twice",
    {
      pin: [
        { action: "hat", place: 0 },
        { action: "lamp", place: 0 },
      ],
    },
    422,
    "pin[1]: expected each place and each action once",
  ],
  ["a place below the first", { pin: [{ action: "hat", place: -1 }] }, 422, "pin.0.place: expected at least 0"],
  [
    "an unknown family",
    { maxPer: { attribute: "brnd", count: 1 } },
    422,
    "maxPer.attribute: no action has the attribute brnd; did you mean",
  ],
  [
    "families that overlap",
    { maxPer: { attribute: "sizes", count: 1 } },
    422,
    "maxPer.attribute: expected one value of sizes per action, got 2",
  ],
  [
    "an unknown attribute to boost",
    { boost: [{ filter: { brnd: "Acme" }, by: 1 }] },
    422,
    "boost[0].filter.brnd: no action has the attribute",
  ],
  [
    "a boost by a text where there are numbers",
    { boost: [{ filter: { price: "80" }, by: 1 }] },
    422,
    "boost[0].filter.price: expected a number",
  ],
  ["no boost", { boost: [] }, 422, "boost"],
  ["a boost by nothing", { boost: [{ filter: { brand: "Acme" } }] }, 400, "boost.0.by"],
  ["a boost beyond all rewards", { boost: [{ filter: { brand: "Acme" }, by: 1e5 }] }, 422, "boost.0.by: expected at most 10000"],
  ["none of a family", { maxPer: { attribute: "brand", count: 0 } }, 422, "maxPer.count: expected at least 1, got 0"],
])("refuses a request with %s", async (_, body, status, detail) => {
  const model = await shop();
  expect(await ask(model, body)).toMatchObject({ status, body: { detail: expect.stringContaining(detail) } });
});

it("refuses filters, pins, bounds and boosts where the policy chooses in its own domain", async () => {
  const model = await createModel({ policy: "delayed-zooming", options: { domain: { box: [[0, 1]] }, horizon: 100 } });
  for (const body of [{ filter: {} }, { pin: [] }, { maxPer: { attribute: "brand", count: 1 } }, { boost: [{ filter: {}, by: 1 }] }])
    expect(await ask(model, body)).toMatchObject({ status: 422, body: { detail: expect.stringMatching(/^expected a limit only/) } });
});

it("shows pins at their places with probability 1, whatever the filter, and lets the policy fill the others", async () => {
  const model = await shop({ minimumShare: 0.1 });
  const pin = [
    { action: "lamp", place: 1 },
    { action: "hat", place: 3 },
  ];
  const { body } = await ask(model, { limit: 4, pin, filter: { brand: "Acme" } });
  expect(body.actions.map(({ id }: { id: string }) => id)).toEqual([expect.any(String), "lamp", expect.any(String), "hat"]);
  expect(new Set([body.actions[0].id, body.actions[2].id])).toEqual(new Set(["boots", "shoes"]));
  expect(body.actions.map(({ probability }: { probability: number }) => probability)).toEqual([
    expect.any(Number),
    1,
    expect.any(Number),
    1,
  ]);
  expect(body.actions[0].probability).toBeLessThan(1);
  const { body: explained } = await call("GET", `/v1/impressions/${body.actions[1].impressionId}`);
  expect(explained.decision).toMatchObject({
    probability: 1,
    place: 1,
    candidates: 2,
    asked: { pin, filter: { brand: "Acme" }, limit: 4 },
  });
  // Too few candidates: later pins move up. A pinned impression is one like the others.
  expect(await shownIn(model, { limit: 4, pin, exclude: ["boots", "shoes", "scarf"] })).toEqual(["lamp", "hat"]);
  expect(statusesOf(await convert({ impressionId: body.actions[1].impressionId, reward: 1 }))).toEqual(["applied"]);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 6, converted: 1 });
});

it("shows at most so many of a family, pins among them", async () => {
  const model = await shop({ draws: 20 });
  for (let n = 0; n < 20; n++) {
    const [one, two, three, ...rest] = await shownIn(model, { limit: 5, maxPer: { attribute: "brand", count: 1 } });
    expect([one, two, three].includes("lamp") && rest.length === 0).toBe(true);
    const pinned = await shownIn(model, { limit: 5, maxPer: { attribute: "brand", count: 1 }, pin: [{ action: "hat", place: 2 }] });
    expect(pinned).toHaveLength(3);
    expect([pinned[2], pinned.includes("scarf")]).toEqual(["hat", false]);
  }
});

it("adds boosts to scores, with the probabilities of the boosted list, for shadows too, and states the same means", async () => {
  const model = await shop({ draws: 40, shadows: [{ name: "sold", policy: "bestsellers", options: { random: 0 } }] });
  const boost = [
    { filter: { brand: "Acme" }, by: 300 },
    { filter: { sale: true, price: { max: 100 } }, by: 200 },
  ];
  const { body } = await ask(model, { limit: 5, boost });
  const shown: { id: string; score: number; mean: number; probability: number; impressionId: string }[] = body.actions;
  expect(shown.slice(0, 3).map(({ id, probability }) => [id, probability])).toEqual([
    ["shoes", 1],
    ["boots", 1],
    ["hat", 1],
  ]);
  for (const [place, boosted] of [500, 300, 200, 0, 0].entries()) expect(Math.abs(shown[place].score - boosted)).toBeLessThan(50);
  for (const { mean } of shown) expect(mean).toBeLessThanOrEqual(1);
  const { body: explained } = await call("GET", `/v1/impressions/${shown[4].impressionId}`);
  expect(explained.decision).toMatchObject({ asked: { boost }, shadows: { sold: "shoes" } });
});

it("leaves a list in random order as it is, whatever is boosted", async () => {
  const model = await shop({ policy: "uniform" });
  const firsts = new Set<string>();
  for (let n = 0; n < 40; n++) {
    const { body } = await ask(model, { boost: [{ filter: { brand: "Acme" }, by: 1000 }] });
    expect(body.actions[0].probability).toBe(0.2);
    firsts.add(body.actions[0].id);
  }
  expect(firsts.size).toBe(5);
});

it("never serves what is not available, by catalogue, by name, by pin or by default", async () => {
  const model = await shop({ defaultAction: "lamp" });
  expect((await patch(model, { actions: ["hat", "lamp"].map((id) => ({ id, available: false })) })).status).toBe(200);
  expect((await shownIn(model, { limit: 9 })).toSorted()).toEqual(["boots", "scarf", "shoes"]);
  expect(await shownIn(model, { limit: 9, actions: [{ id: "hat" }, { id: "boots" }] })).toEqual(["boots"]);
  expect(await shownIn(model, { actions: [{ id: "hat", features: { brand: "Umbra" } }, { id: "boots" }] })).toEqual(["boots"]);
  expect(await shownIn(model, { limit: 2, pin: [{ action: "hat", place: 0 }], filter: { brand: "Acme" } })).not.toContain("hat");
  expect(await ask(model, { actions: [{ id: "hat" }] })).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining("none to choose") },
  });
  await patch(model, { actions: [{ id: "lamp", available: true }] });
  expect(await shownIn(model, { actions: [{ id: "hat" }] })).toEqual(["lamp"]);
});

it("changes the named fields, adds, and removes, and states the version", async () => {
  const model = await shop();
  const { body: before } = await patch(model, {});
  expect(before.actions).toBe(5);
  const { body } = await patch(model, { actions: [{ id: "hat", attributes: { price: 30 } }, { id: "cap" }], remove: ["boots", "lamp"] });
  expect(body).toEqual({ actions: 4, version: expect.any(Number) });
  expect(body.version).toBeGreaterThan(before.version);
  const { version, actions } = await catalogueIn(model);
  expect([version, actions]).toEqual([
    body.version,
    [{ id: "cap" }, SHOP[1], { id: "hat", features: { brand: "Umbra" }, attributes: { price: 30 } }, SHOP[3]],
  ]);
  expect((await patch(model, { actions: [{ id: "cap" }] })).body).toEqual(body);
});

it.each<[string, object, number, string]>([
  ["an id to remove that is unknown", { remove: ["boot"] }, 422, 'remove[0]: boot is not in the catalogue; did you mean "boots"?'],
  ["an action to change and to remove", { actions: [{ id: "hat" }], remove: ["hat"] }, 422, "remove: expected each id once"],
  ["an unknown field", { add: [] }, 400, "add: there is no such field"],
  ["an action of an unknown form", { actions: [{ id: "hat", stock: 3 }] }, 400, "actions.0.stock: there is no such field"],
  [
    "an action that is too large",
    { actions: [{ id: "hat", attributes: largeAttributes() }] },
    422,
    "action hat: expected at most 262144 characters",
  ],
])("refuses a change with %s, and stays as it is", async (_, body, status, detail) => {
  const model = await shop();
  const { version } = await catalogueIn(model);
  expect(await patch(model, body)).toMatchObject({ status, body: { detail: expect.stringContaining(detail) } });
  expect((await catalogueIn(model)).version).toBe(version);
});

function largeAttributes(): object {
  return Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`a${i}`, Array(64).fill("x".repeat(100))]));
}

it("lets impressions of a changed and of a removed action convert, and learns them as they were shown", async () => {
  const model = await shop({ serving: "learner" });
  const shown = await show(model, { action: "hat" }, { action: "boots" });
  expect((await patch(model, { actions: [{ id: "hat", features: { brand: "Acme" } }], remove: ["boots"] })).status).toBe(200);
  for (const impressionId of shown) expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 2, converted: 2 });
  const log = (await call("GET", `/v1/models/${model}/events`)).body.trimEnd().split("\n");
  await verify(() => log);
});

it("gives a change of 10,000 actions to isolates within ten seconds, though KV shows the one before", async () => {
  const actions = Array.from({ length: 10_000 }, (_, i) => ({ id: `product-${i}`, features: { brand: `brand-${i % 50}` } }));
  const model = await shop({ encoder: { dimension: 32 } }, actions);
  const isolate = createApp();
  await recommend(model, {}, { isolate });
  const { version } = await catalogueIn(model);
  const put = vi.spyOn(Object.getPrototypeOf(env.EVENTS) as KVNamespace, "put").mockRejectedValue(new Error("slow"));
  await patch(model, { actions: actions.slice(0, 9999).map(({ id }) => ({ id, available: false })) });
  put.mockRestore();
  expect(complaints()).toEqual(["an alarm's task failed Error"]);
  expect((await catalogueIn(model)).version).toBe(version);
  tick(FRESH_MS);
  for (const each of [isolate, createApp()]) expect(await shownIn(model, {}, { isolate: each })).toEqual(["product-9999"]);
  await patch(model, { actions: [{ id: "product-0", available: true }], remove: ["product-9999"] });
  // The registration of this decision tells the isolate that it is behind.
  tick(1000);
  await shownIn(model, {}, { isolate });
  expect(await shownIn(model, {}, { isolate })).toEqual(["product-0"]);
  const marks = await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) =>
    sql.exec<{ size: number }>("SELECT length(content) AS size FROM marks WHERE type = 'actions'").toArray(),
  );
  expect(Math.max(...marks.map(({ size }) => size))).toBeLessThan(300_000);
  expect(marks.at(-1)?.size).toBeLessThan(400);
});

it("goes on by its catalogue while the learner gives it nothing, and takes a change of it as changes alone", async () => {
  const model = await shop();
  const isolate = createApp();
  await recommend(model, {}, { isolate });
  await patch(model, { actions: ["boots", "shoes", "hat", "scarf"].map((id) => ({ id, available: false })) });
  const silent = { EVENTS: down.EVENTS, LEARNER: learners((method, call) => (method === "newer" ? lost() : call())) };
  tick(FRESH_MS);
  expect((await shownIn(model, { limit: 9 }, { isolate, env: silent })).length).toBe(5);
  const answers: number[] = [];
  const measured = learners(async (method, call) => {
    const answer = (await call()) as { value: { catalogue: Uint8Array | null } };
    if (method === "newer" && answer.value.catalogue) answers.push(answer.value.catalogue.length);
    return answer;
  });
  tick(FRESH_MS);
  expect(await shownIn(model, { limit: 9 }, { isolate, env: { LEARNER: measured } })).toEqual(["lamp"]);
  expect(answers).toHaveLength(1);
  expect(answers[0]).toBeLessThan(1200);
});

it("publishes the posterior without the catalogue, and the catalogue without the posterior", async () => {
  const model = await shop();
  const { actions, catalogue, version } = await publicationIn(model);
  expect(actions).toBeUndefined();
  const own = await catalogueIn(model);
  expect([own.actions, catalogue]).toEqual([SHOP, own.version]);
  await patch(model, { actions: [{ id: "hat", available: false }] });
  expect((await publicationIn(model)).version).toBe(version);
  expect((await catalogueIn(model)).version).toBeGreaterThan(own.version);
});

it("makes again from the log what isolates decided by catalogues newer than their posterior, under filters, pins, bounds and boosts", async () => {
  seedIds();
  const model = await shop({ holdout: 0.2, minimumShare: 0.02, draws: 30, publish: { ms: 60_000 } });
  const isolates = [createApp(), createApp()];
  const bodies = [
    { limit: 3, filter: { brand: ["Acme", "Umbra"] }, boost: [{ filter: { sale: true }, by: 0.1 }] },
    { limit: 4, pin: [{ action: "hat", place: 1 }] },
    {
      limit: 4,
      maxPer: { attribute: "brand", count: 1 },
      context: { country: "PT" },
      boost: [{ filter: { price: { max: 90 } }, by: -0.05 }],
    },
    { limit: 5, filter: { price: { max: 100 } }, pin: [{ action: "lamp", place: 4 }], maxPer: { attribute: "brand", count: 1 } },
  ];
  for (let n = 0; n < 24; n++) {
    tick(3000);
    if (n % 5 === 2) await patch(model, { actions: [{ id: "scarf", available: n % 2 === 0 }] });
    const [first] = await recommend(model, bodies[n % 4], { isolate: isolates[n % 2] });
    if (n % 3 === 0) await convert({ impressionId: first, reward: 1 });
  }
  const log: string[] = (await call("GET", `/v1/models/${model}/events`)).body.trimEnd().split("\n");
  const lines = log.map((text) => JSON.parse(text));
  expect(lines.some(({ decision }) => decision?.catalogue !== undefined)).toBe(true);
  expect(lines.some(({ arm, decision }) => arm === "holdout" && decision.asked?.maxPer)).toBe(true);
  expect((await verify(() => log)).tally.decisions).toBeGreaterThan(50);
});

it("leaves out the columns of a catalogue that would make its record too long", async () => {
  const record = (columns: number) => encodeRecord(wholeRecord("shop", 1, new Catalogue([{ id: "mug" }], 2), new Uint8Array(columns)));
  expect((await decodeRecord(await record(19_000_000)))?.columns).toHaveLength(19_000_000);
  const long = await decodeRecord(await record(20_000_000));
  expect(long?.columns).toBeUndefined();
  expect(long?.changes).toEqual([{ size: 1, changed: [[0, { id: "mug" }]] }]);
});

describe("a page", () => {
  const key = env.AFTERCLICK_PUBLISHABLE_KEY as string;
  const hidden = { id: "secret-launch", features: { brand: "Acme" }, attributes: { margin: 0.9 }, available: false };
  const catalogue = [...SHOP.map((action, i) => ({ ...action, attributes: { ...action.attributes, margin: i / 10 } })), hidden];
  const shop = async (body: object) => {
    const model = await createModel(body);
    await call("PUT", `/v1/models/${model}/actions`, { actions: catalogue });
    return (request: object) => call("POST", `/v1/models/${model}/recommendations`, request, { key });
  };

  it.each([
    ["none", {}, ["brand"], ["price", "margin", "marginn", "sale", "invented"]],
    ["some", { pageAttributes: ["price", "brand"] }, ["brand", "price"], ["margin", "marginn", "sale", "invented"]],
    ["no", { pageAttributes: [] }, [], ["brand", "price", "margin", "invented"]],
    ["none, and brings actions of its own", { pageActions: true }, ["brand"], ["price", "margin", "invented"]],
  ])("chooses by the attributes that its model names, and hears of no others: %s named", async (_, options, open, closed) => {
    const page = await shop(options);
    const filters = { brand: "Acme", price: { max: 100 }, margin: { min: 0.5 } };
    const conditionOf = (name: string) => (filters as Record<string, unknown>)[name] ?? true;
    const own = "pageActions" in options ? { actions: [{ id: "boots" }, { id: "own", features: { margin: 1 } }] } : {};
    for (const name of open) {
      expect((await page({ filter: { [name]: conditionOf(name) } })).status).toBe(201);
      expect((await page({ boost: [{ filter: { [name]: conditionOf(name) }, by: 0.1 }] })).status).toBe(201);
      expect((await page({ maxPer: { attribute: name, count: 1 } })).status).toBe(201);
    }
    // Each closed name gets the answer of an invented one, whatever its condition.
    for (const name of closed) {
      for (const condition of [true, "Acme", 0.5, { max: 100 }]) {
        const { status, body } = await page({ ...own, filter: { [name]: condition } });
        expect([status, body.detail]).toEqual([422, expect.stringContaining(`filter.${name}: pages may not choose by ${name}:`)]);
        expect(body.detail).not.toMatch(/did you mean/);
        const boosted = await page({ ...own, boost: [{ filter: { [name]: condition }, by: 0.1 }] });
        expect([boosted.status, boosted.body.detail]).toEqual([422, body.detail.replace("filter", "boost[0].filter")]);
      }
      const { status, body } = await page({ ...own, maxPer: { attribute: name, count: 1 } });
      expect([status, body.detail]).toEqual([422, expect.stringContaining("maxPer.attribute: pages may not choose by")]);
    }
  });

  it("hears no name of an action or an attribute in a refusal", async () => {
    const [page, own] = [await shop({}), await shop({ pageActions: true, local: true })];
    const almost = "secret-launc";
    const refused = [
      await page({ actions: [{ id: almost }] }),
      await page({ pin: [{ action: almost, place: 0 }] }),
      await page({ filter: { brandd: "Acme" } }),
      await own({ actions: [{ id: almost }] }),
      await own({ actions: [{ id: almost }], pin: [{ action: almost, place: 0 }] }),
      await call("POST", `/v1/models/${await local()}/impressions`, [{ action: almost, shownAt: Date.now() }], { key }),
    ];
    for (const { status, body } of refused) {
      expect(status).toBe(422);
      expect(body.detail).not.toMatch(/did you mean|secret-launch|margin/);
    }
  });

  async function local(): Promise<string> {
    const model = await createModel({ pageActions: true, local: true });
    await call("PUT", `/v1/models/${model}/actions`, { actions: catalogue });
    return model;
  }
});
