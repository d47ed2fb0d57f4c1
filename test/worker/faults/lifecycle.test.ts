import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { NO_KEYS } from "../../../worker/domain/ids/join-key.ts";
import { createApp } from "../../../worker/edge/app.ts";
import type { Learner } from "../../../worker/learner/learner.ts";
import type { Description } from "../../../worker/rpc/message.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  keep,
  learnerOf,
  recommend,
  show,
  stateOf,
  statusesOf,
} from "../support/client.ts";
import { closing, DAY_MS, MINUTE_MS, ring, tick, useClock } from "../support/clock.ts";
import { learners, lost } from "../support/fault.ts";
import { expectConsistent, foldedDigest, logOf } from "../support/fold.ts";

useClock();

const unreachable = { LEARNER: learners(() => lost()) };

it("lists what was created", async () => {
  const model = await createModel({ policy: "otf-lin-ucb" });
  const { body } = await call("GET", "/v1/models");
  expect(body.models).toContainEqual(expect.objectContaining({ model, policy: "otf-lin-ucb", serving: "learner" }));
  expect((await call("GET", "/v1/models/nothing")).status).toBe(404);
});

it("goes by a changed configuration at once, at the edge as well", async () => {
  const model = await createModel({ pageLimit: 1 });
  const put = (body: object) => call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, serving: "learner", ...body });
  const key = env.AFTERCLICK_PUBLISHABLE_KEY as string;
  const ofTwo = () => call("POST", `/v1/models/${model}/recommendations`, { limit: 2 }, { key });
  expect((await ofTwo()).status).toBe(422);
  await put({ pageLimit: 2, defaultAction: "lamp" });
  expect((await ofTwo()).status).toBe(201);
  await put({ serving: "edge", defaultAction: "lamp", holdout: 0.5 });
  const none = { exclude: ["tent", "mug", "lamp"] };
  expect((await call("POST", `/v1/models/${model}/recommendations`, none)).body).toMatchObject({
    arm: "default",
    actions: [{ id: "lamp" }],
  });
  await put({});
  expect((await call("POST", `/v1/models/${model}/recommendations`, none)).status).toBe(201);
  await put({ defaultAction: null });
  expect((await call("POST", `/v1/models/${model}/recommendations`, none)).status).toBe(422);
});

describe("a change of some options", () => {
  const patch = (model: string, body: object, options = {}) => call("PATCH", `/v1/models/${model}`, body, options);

  it("keeps everything that it does not name, what was learnt too", async () => {
    const model = await createModel({ holdout: 0.25, limits: { open: 7000, deferred: 3 } });
    const [impressionId] = await show(model, {});
    await convert({ impressionId, reward: 1 });
    const { bytes: _, modelVersion: __, published: ___, kept: ____, ...before } = await describeModel(model);
    const { status, body } = await patch(model, { limits: { open: 9000 }, defaultAction: "lamp" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...before, limits: { ...before.limits, open: 9000 }, defaultAction: "lamp" });
    expect(await logOf(model)).toContainEqual(expect.objectContaining({ type: "mark", mark: "configuration" }));
  });

  it("changes nothing if it names nothing, or what is stored", async () => {
    const model = await createModel();
    const before = await describeModel(model);
    for (const body of [{}, { window: before.window }, { policy: before.policy, seed: 0 }])
      expect((await patch(model, body)).status).toBe(200);
    expect(await describeModel(model)).toEqual(before);
  });

  it.each<[string, object, number, string]>([
    ["another window", { window: { ms: 1 } }, 409, "window.ms: expected 3600000, got 1."],
    ["an option of a new model", { seed: 7 }, 409, "seed: expected 0, got 7."],
    ["a misspelt option", { hold_out: 0.1 }, 400, 'hold_out: there is no such field; did you mean "holdout"?'],
    ["a value out of range", { holdout: 0.75 }, 422, "holdout: expected at most 0.5, got 0.75"],
    ["no window", { window: null }, 400, 'window: expected { "ms": 604800000 } for a week, got null'],
  ])("refuses %s, and stays as it is", async (_, body, status, detail) => {
    const model = await createModel();
    await show(model, {});
    const before = await describeModel(model);
    expect(await patch(model, body)).toMatchObject({ status, body: { detail: expect.stringContaining(detail) } });
    expect(await describeModel(model)).toEqual(before);
  });

  it("makes no model", async () => {
    for (const body of [{}, { window: { ms: HOUR_MS } }]) expect((await patch("unmade", body)).status).toBe(404);
    expect((await call("GET", "/v1/models/unmade")).status).toBe(404);
  });
});

it("adds and replaces actions of a catalogue, and keeps the others at their places", async () => {
  const model = await createModel();
  const change = (actions: object[]) => call("PATCH", `/v1/models/${model}/actions`, { actions });
  const { body } = await change([{ id: "mug", features: { colour: "red" } }, { id: "stove" }]);
  expect(body).toEqual({ actions: 4, version: expect.any(Number) });
  const stored = await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) =>
    sql.exec<{ content: string }>("SELECT content FROM actions ORDER BY place").toArray(),
  );
  expect(stored.map(({ content }) => JSON.parse(content))).toEqual([
    { id: "tent" },
    { id: "mug", features: { colour: "red" } },
    { id: "lamp" },
    { id: "stove" },
  ]);
  expect((await logOf(model)).filter(({ mark }) => mark === "actions")).toHaveLength(2);
  expect(await change([{ id: "cup" }, { id: "cup" }])).toMatchObject({ status: 422, body: { detail: "actions: expected each id once" } });
  const many = Array.from({ length: 9997 }, (_, n) => ({ id: `more-${n}` }));
  expect(await change(many)).toMatchObject({
    status: 422,
    body: { detail: "actions: expected at most 10000 in the catalogue, got 10001" },
  });
  expect((await describeModel(model)).actions).toBe(4);
  expect((await call("PATCH", "/v1/models/nobody/actions", { actions: [] })).status).toBe(404);
  const misspelt = await call("POST", `/v1/models/${model}/recommendations`, { actions: [{ id: "tnt" }] });
  expect(misspelt.body.detail).toBe('action tnt: has no features and is not in the catalogue; did you mean "tent"?');
  const key = env.AFTERCLICK_PUBLISHABLE_KEY;
  const ofPage = await call("POST", `/v1/models/${model}/recommendations`, { actions: [{ id: "Mug" }] }, { key });
  expect(ofPage.body.detail).toMatch(/^action Mug: is not in the catalogue\. With a publishable key, [^;]*$/);
});

describe("a model that was made under other defaults", () => {
  /** Stores other values for everything that its creator left out, as an earlier version of the worker would have. */
  async function earlier(body: object, change: (config: Description) => object): Promise<string> {
    const model = await createModel(body);
    await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => {
      const stored = JSON.parse(sql.exec<{ config: string }>("SELECT config FROM model").one().config);
      sql.exec("UPDATE model SET config = ?", JSON.stringify({ ...stored, ...change(stored) }));
      // Snapshots of the policy that was replaced.
      sql.exec("DELETE FROM snapshots");
    });
    await evictDurableObject(learnerOf(model));
    await keep(model);
    return model;
  }
  const put = (model: string, body: object) => call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, ...body });
  const others = ({ options }: Description) => ({
    policy: "delay-lin-ucb",
    options: { ...options, dimension: 32, exploration: 0.9 },
    encoder: { version: 4, dimension: 32 },
    reward: { min: 0, max: 2 },
    seed: 5,
    goals: { order: { weight: 1 } },
    draws: 33,
    minimumShare: 0.25,
    limits: { open: 7000, bytes: 5_000_000, deferred: 3 },
    publish: { ms: 60_000 },
    defaults: undefined,
  });

  it("keeps them when it is put again as it was made", async () => {
    const model = await earlier({}, others);
    const before = await describeModel(model);
    expect(before).toMatchObject({ policy: "delay-lin-ucb", encoder: { dimension: 32 }, draws: 33 });
    expect(before).not.toHaveProperty("defaults");
    for (let time = 0; time < 2; time++) {
      const { status, body } = await put(model, {});
      expect(status).toBe(200);
      const { bytes: _, published: __, ...rest } = before;
      expect(body).toMatchObject(rest);
    }
    expect((await describeModel(model)).modelVersion).toBe(before.modelVersion);
  });

  it("has the present defaults, and their version, after a reset to a configuration", async () => {
    const model = await earlier({}, others);
    const kept = (await call("POST", `/v1/models/${model}/reset`, {})).body;
    expect(kept).toMatchObject({ policy: "delay-lin-ucb", draws: 33 });
    expect(kept).not.toHaveProperty("defaults");
    const { body } = await call("POST", `/v1/models/${model}/reset`, { window: { ms: HOUR_MS } });
    expect(body).toMatchObject({ policy: "delay-lin-ts", draws: 100, encoder: { dimension: 256 }, defaults: 4 });
  });

  it("takes two changes at once, each with the stored value of what it leaves out", async () => {
    const model = await earlier({}, others);
    await Promise.all([put(model, { holdout: 0.25 }), put(model, { pageLimit: 7 })]);
    expect(await describeModel(model)).toMatchObject({ holdout: 0.25, pageLimit: 7, draws: 33 });
  });
});

it.each([
  ["policy", { policy: "otf-lin-ucb" }, 'policy: expected "delay-lin-ts", got "otf-lin-ucb".'],
  ["window", { window: { ms: 2 * HOUR_MS } }, "window.ms: expected 3600000, got 7200000."],
  ["shadows", { shadows: [{ name: "other", policy: "otf-lin-ucb" }] }, 'shadows.0: expected none, got {"name":"other",'],
])("keeps the %s that it has learnt under, and what is pending", async (_, change, difference) => {
  const model = await createModel();
  const [impressionId] = await show(model, {});
  const before = await describeModel(model);
  const refused = await call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, serving: "learner", ...change });
  expect(refused).toMatchObject({ status: 409, body: { title: "Conflict", detail: expect.stringContaining(difference) } });
  expect(await describeModel(model)).toEqual(before);
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
  expect((await describeModel(model)).counts).toMatchObject({ converted: 1, pending: 0 });
});

it.each([
  ["the same configuration", {}, 32],
  ["another dimension", { window: { ms: HOUR_MS }, serving: "learner", encoder: { dimension: 16 } }, 16],
])("begins from scratch after a reset with %s", async (_, body, dimension) => {
  const model = await createModel();
  const fresh = await describeModel(model);
  const [pending, converted] = await show(model, {}, {});
  await convert({ impressionId: converted, reward: 1 }, { id: "msg_converted" });
  await convert({ impressionId: pending, reward: 1 }, { id: "msg_journal", env: unreachable });
  tick();
  const reset = await call("POST", `/v1/models/${model}/reset`, body);
  expect(reset).toMatchObject({ status: 200, body: { encoder: { dimension }, actions: 3, counts: { impressions: 0, applied: 0 } } });
  expect(reset.body.modelVersion).toBeGreaterThan(fresh.modelVersion);
  const { digest } = reset.body;
  if (dimension === 32) expect(digest).toBe(fresh.digest);
  // Impressions before the reset are over.
  expect((await call("GET", `/v1/impressions/${pending}`)).status).toBe(404);
  expect(
    statusesOf(
      await convert([
        { impressionId: pending, reward: 1 },
        { impressionId: converted, reward: 1 },
      ]),
    ),
  ).toEqual(["late", "late"]);
  expect(await describeModel(model)).toMatchObject({ digest, counts: { late: 2, orphan: 0, applied: 0 } });
  const late = { action: "mug", shownAt: Date.now() - 1 };
  expect((await call("POST", `/v1/models/${model}/impressions`, [late])).status).toBe(422);
  // Impressions after the reset are learnt, also when their bucket closes while the journal still has older events.
  const [impressionId] = await recommend(model);
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
  const learnt = await stateOf(model);
  await evictDurableObject(learnerOf(model));
  expect(await stateOf(model)).toEqual(learnt);
  await ring(model, closing(Date.now()));
  await ring(model, Date.now() + DAY_MS);
  expect(await describeModel(model)).toMatchObject({ digest: learnt.digest, counts: { applied: 1, late: 2 }, incidents: { missed: 0 } });
  expect(await foldedDigest(await logOf(model))).toBe(learnt.digest);
});

it("is another model after each reset, whatever the clock says", async () => {
  const model = await createModel();
  const generation = async () => (await logOf(model))[0].generation;
  const generations = [await generation()];
  for (const ms of [0, 0, -MINUTE_MS]) {
    tick(ms);
    await call("POST", `/v1/models/${model}/reset`, {});
    generations.push(await generation());
  }
  expect(generations).toEqual(generations.toSorted((a, b) => a - b));
  expect(new Set(generations).size).toBe(4);
  // The clock stands before the reset, but new impressions belong after it.
  const [impressionId] = await recommend(model);
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
});

it.each([
  ["the same configuration", {}],
  ["another dimension", { window: { ms: HOUR_MS }, encoder: { dimension: 16 } }],
])("refuses and counts what isolates show by a model that is over, after a reset with %s", async (_, body) => {
  const model = await createModel({ serving: "edge" });
  const isolate = createApp();
  await recommend(model, {}, { isolate });
  expect((await describeModel(model)).counts.impressions).toBe(1);
  tick();
  await call("POST", `/v1/models/${model}/reset`, body);
  tick();
  const [stale] = await recommend(model, {}, { isolate });
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 0 }, incidents: { refused: 1 } });
  expect(statusesOf(await convert({ impressionId: stale, reward: 1 }))).toEqual(["unknown"]);
  // The isolate soon looks for a newer version.
  tick(15_000);
  await recommend(model, {}, { isolate });
  const [current] = await recommend(model, {}, { isolate });
  expect(statusesOf(await convert({ impressionId: current, reward: 1 }))).toEqual(["applied"]);
  await expectConsistent(model);
});

it("is not mixed up with what was on its way when it was reset or reconfigured", async () => {
  const model = await createModel({ policy: "otf-lin-ucb" });
  await show(model, ...Array.from({ length: 50 }, () => ({})));
  const body = { window: { ms: HOUR_MS }, serving: "learner", policy: "otf-lin-ucb" } as const;
  const request = { limit: 1, exclude: [], defer: false, byPage: false, keys: NO_KEYS };
  const changes = [
    (learner: Learner) => learner.reset({ ...body, encoder: { dimension: 16 } }),
    (learner: Learner) => learner.configure(model, { ...body, encoder: { dimension: 16 }, holdout: 0.1 }),
    (learner: Learner) => learner.reset({ ...body, encoder: { dimension: 8 } }),
  ];
  for (const change of changes) {
    tick();
    await evictDurableObject(learnerOf(model));
    await runInDurableObject(learnerOf(model), async (learner: Learner) => {
      const asked = () => [learner.recommend(request), learner.snapshot(), learner.describe()];
      const answers = await Promise.all([...asked(), change(learner), ...asked()]);
      // Some requests get a retry or a mismatch, but none fails.
      for (const answer of answers) if ("problem" in answer) expect([422, 503]).toContain(answer.problem.status);
    });
    tick();
    await recommend(model);
    const state = await stateOf(model);
    await evictDurableObject(learnerOf(model));
    expect(await stateOf(model)).toEqual(state);
    await expectConsistent(model);
  }
});

it("does not take the conversions of a deleted model for those of its namesake", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  await convert({ impressionId, reward: 1 }, { env: unreachable });
  expect((await call("DELETE", `/v1/models/${model}`)).status).toBe(204);
  tick();
  await call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, serving: "learner" });
  expect(statusesOf(await convert([{ impressionId, reward: 1 }]))).toEqual(["unknown"]);
  expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
  vi.setSystemTime(closing(Date.now()));
  await learnerOf(model).heal();
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 0, late: 0, applied: 0 });
});

it("takes conversions and erasures of impressions that it has from a backup of a deleted model", async () => {
  const model = await createModel();
  const [impressionId, other] = await recommend(model, { limit: 2 });
  const backup = (await call("GET", `/v1/models/${model}/events`)).body;
  await call("DELETE", `/v1/models/${model}`);
  tick();
  await call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, serving: "learner", encoder: { dimension: 32 } });
  await call("PUT", `/v1/models/${model}/actions`, [{ id: "tent" }, { id: "mug" }, { id: "lamp" }]);
  expect((await call("POST", `/v1/models/${model}/events`, backup)).body).toMatchObject({ impressions: 2 });
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
  expect((await call("DELETE", `/v1/impressions/${other}`)).status).toBe(204);
});

it("leaves nothing of a model that is deleted", async () => {
  const model = await createModel({ serving: "edge" });
  const [impressionId] = await recommend(model, { keys: ["ana"] });
  await convert({ impressionId, reward: 1 });
  await keep(model);
  const before = await describeModel(model);
  expect((await call("DELETE", `/v1/models/${model}`)).status).toBe(204);
  const calls = [
    ["GET", ""],
    ["DELETE", ""],
    ["POST", "/reset", {}],
    ["POST", "/reset", { window: { ms: HOUR_MS } }],
    ["POST", "/rollback", {}],
    ["GET", "/snapshot"],
    ["GET", "/metrics"],
    ["GET", "/examination"],
    ["GET", "/events"],
    ["POST", "/events", "{}"],
    ["PUT", "/actions", []],
    ["POST", "/recommendations", {}],
    ["POST", "/impressions", [{ action: "mug", shownAt: Date.now() }]],
    ["DELETE", "/keys/ana"],
  ] as const;
  for (const [method, path, body] of calls) {
    const { status } = await call(method, `/v1/models/${model}${path}`, body);
    expect([method, path, status]).toEqual([method, path, method === "POST" && path === "/events" ? 400 : 404]);
  }
  for (const [method, path] of [
    ["GET", ""],
    ["POST", "/activate"],
    ["DELETE", ""],
  ]) {
    expect((await call(method, `/v1/impressions/${impressionId}${path}`)).status).toBe(404);
  }
  expect((await call("GET", "/v1/models")).body.models.map(({ model }: { model: string }) => model)).not.toContain(model);
  expect((await env.EVENTS.list({ prefix: `model/${model}` })).keys).toEqual([]);
  expect(await runDurableObjectAlarm(learnerOf(model))).toBe(false);
  expect(
    statusesOf(
      await convert([
        { impressionId, reward: 1 },
        { model, key: "ana", reward: 1 },
      ]),
    ),
  ).toEqual(["unknown", "unknown"]);
  const tables = await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) =>
    sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_%' ESCAPE '\\'").toArray(),
  );
  expect(tables).toEqual([]);

  tick();
  expect((await call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS } })).status).toBe(201);
  const after = await describeModel(model);
  expect(after).toMatchObject({
    actions: 0,
    counts: { impressions: 0, applied: 0 },
    kept: [{ version: expect.any(Number), at: Date.now() }],
  });
  expect(after.modelVersion).toBeLessThan(before.modelVersion);
  expect((await logOf(model))[0].generation).toBe(Date.now());
});
