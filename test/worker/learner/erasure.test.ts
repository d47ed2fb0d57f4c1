import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { KeyHasher } from "../../../worker/domain/ids/key-hasher.ts";
import { TokenSigner } from "../../../worker/domain/ids/token.ts";
import { shownAtOf, uuidAt } from "../../../worker/domain/ids/uuid.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  journalOf,
  keep,
  learnerOf,
  recommend,
  show,
  stateOf,
  statusesOf,
  statusOf,
  storedOf,
} from "../support/client.ts";
import { closing, DAY_MS, forgetting, ring, useClock } from "../support/clock.ts";
import { expectDelays, logOf } from "../support/fold.ts";

useClock();

const context = { country: "Absurdistan" };

const decoded = (token: string) => TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string).verify(token, Date.now())?.id as string;

/** The id of an impression that an isolate has shown and not registered. */
async function tokenOf(model: string): Promise<string> {
  const { generation } = await describeModel(model);
  const shown = { id: uuidAt(Date.now(), new Uint8Array(10)), model, action: "mug", generation, modelVersion: 0, sampling: 0 };
  return TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string).sign({ ...shown, windowEndsAt: Date.now() + HOUR_MS });
}

const hashOf = (model: string, key: string) => KeyHasher.create(env.AFTERCLICK_JOIN_KEY as string).hash(model, key, "backend")[0];

it("takes an impression and what came for it away, and leaves what was learnt", async () => {
  const model = await createModel();
  const [impressionId, other] = await show(
    model,
    { context, action: { id: "secret-tent", features: { brand: "Umbra" } }, keys: ["ana", "order 7"] },
    { keys: ["ana"] },
  );
  await convert({ impressionId, reward: 0.8125 }, { id: "msg_secret" });
  await convert({ model, key: "order 7", reward: 0.5, action: "secret-tent", goal: "secret-goal" });
  const secrets = ["Absurdistan", "secret-tent", "msg_secret", "secret-goal", "0.8125", hashOf(model, "order 7")];
  const stored = await storedOf(model);
  for (const secret of secrets) expect(stored).toContain(secret);
  const learnt = await stateOf(model);
  expect((await call("DELETE", `/v1/impressions/${impressionId}`)).status).toBe(204);
  const left = await storedOf(model);
  for (const secret of secrets) expect(left).not.toContain(secret);
  expect(await stateOf(model)).toEqual(learnt);
  expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
  expect((await call("DELETE", `/v1/impressions/${impressionId}`)).status).toBe(204);
  expect((await call("POST", `/v1/impressions/${impressionId}/activate`)).status).toBe(404);
  const erased = (await logOf(model)).filter(({ type }) => type === "erased");
  expect(erased).toHaveLength(3);
  for (const line of erased) expect(Object.keys(line).toSorted()).toEqual(["id", "seq", "type"]);
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["late"]);
  await expectDelays(model, await logOf(model));
  await evictDurableObject(learnerOf(model));
  expect(await stateOf(model)).toMatchObject({ digest: learnt.digest });
  await keep(model);
  await evictDurableObject(learnerOf(model));
  expect(await stateOf(model)).toMatchObject({ digest: learnt.digest, counts: { ...learnt.counts, late: 1 } });
  expect(await statusOf(other)).toBe("pending");
  const again = { action: "mug", shownAt: Date.now(), id: impressionId };
  expect((await call("POST", `/v1/models/${model}/impressions`, [again])).status).toBe(422);
});

it("counts an impression erased before the end of its window neither as expired nor in the conversion rate", async () => {
  const model = await createModel();
  const [converted, other, unconverted, pending] = await show(model, {}, {}, {}, {});
  await convert([converted, other].map((impressionId) => ({ impressionId, reward: 1 })));
  const erase = (id: string) => call("DELETE", `/v1/impressions/${id}`);
  for (const id of [converted, pending, pending]) expect((await erase(id)).status).toBe(204);
  const counts = { impressions: 4, converted: 2, pending: 1, expired: 0 };
  expect(await describeModel(model)).toMatchObject({ counts, conversionRate: null });
  vi.setSystemTime(Date.now() + HOUR_MS + 1);
  const settled = { counts: { ...counts, pending: 0, expired: 1 }, conversionRate: 0.5 };
  expect(await describeModel(model)).toMatchObject(settled);
  await erase(unconverted);
  expect(await describeModel(model)).toMatchObject(settled);
});

it("takes all away that a key was given for, and what came with it", async () => {
  const model = await createModel();
  const [a, b, other] = await show(model, { keys: ["ana", "order 1"], context }, { keys: ["ana"], context }, { keys: ["bea"] });
  await convert([
    { impressionId: a, reward: 0.5 },
    { model, key: "ana", reward: 0.25, goal: "secret-goal" },
  ]);
  // This conversion waits: no such action was shown to this key.
  expect(statusesOf(await convert({ model, key: "ana", action: "secret-lamp", reward: 0.25 }))).toEqual(["orphan"]);
  const learnt = await describeModel(model);
  const hashes = async () => {
    return runInDurableObject(
      learnerOf(model),
      (_, { storage: { sql } }) =>
        sql.exec("SELECT key FROM keys UNION SELECT key FROM conversions WHERE key IS NOT NULL").toArray().length,
    );
  };
  expect(await hashes()).toBe(3);
  const erase = async () => (await call("DELETE", `/v1/models/${model}/keys/ana`)).body;
  expect(await erase()).toEqual({ erased: 2 });
  expect(await hashes()).toBe(1);
  const left = await storedOf(model);
  for (const secret of ["Absurdistan", "secret-goal", "secret-lamp"]) expect(left).not.toContain(secret);
  expect(await journalOf(model)).toEqual([]);
  expect((await describeModel(model)).digest).toBe(learnt.digest);
  expect(await Promise.all([a, b].map(async (id) => (await call("GET", `/v1/impressions/${id}`)).status))).toEqual([404, 404]);
  expect(await statusOf(other)).toBe("pending");
  expect(await erase()).toEqual({ erased: 0 });
  expect(statusesOf(await convert({ model, key: "order 1", reward: 1 }))).toEqual(["orphan"]);
  await evictDurableObject(learnerOf(model));
  expect((await describeModel(model)).digest).toBe(learnt.digest);
});

it("stays, however often the same webhooks come again, and can be repeated", async () => {
  const model = await createModel();
  const [impressionId] = await show(model, { context, keys: ["order 1"] });
  const orphan = await tokenOf(model);
  const deliver = async () => [
    ...statusesOf(await convert({ impressionId, reward: 0.8125 }, { id: "msg_secret" })),
    ...statusesOf(await convert({ model, key: "order 1", reward: 0.5, goal: "secret-goal" }, { id: "msg_secret_key" })),
    ...statusesOf(await convert({ model, key: "order 2", reward: 0.5, goal: "secret-goal" }, { id: "msg_secret_orphan" })),
    ...statusesOf(await convert({ impressionId: orphan, reward: 0.5, goal: "secret-goal" }, { id: "msg_secret_early" })),
  ];
  expect(await deliver()).toEqual(["applied", "applied", "orphan", "orphan"]);
  const learnt = await stateOf(model);
  const erase = async () => {
    expect((await call("DELETE", `/v1/impressions/${impressionId}`)).status).toBe(204);
    expect((await call("DELETE", `/v1/impressions/${orphan}`)).status).toBe(204);
    expect((await call("DELETE", `/v1/models/${model}/keys/order%202`)).body).toEqual({ erased: 0 });
  };
  for (let time = 1; time <= 2; time++) {
    await erase();
    expect(await deliver()).toEqual(["late", "late", "late", "late"]);
    const [stored, journal] = [await storedOf(model), await journalOf(model)];
    for (const secret of ["secret", "0.8125", "Absurdistan", hashOf(model, "order 1"), hashOf(model, "order 2")]) {
      expect(stored).not.toContain(secret);
    }
    expect(journal).toEqual([]);
    const { digest, counts } = await stateOf(model);
    expect({ digest, counts }).toEqual({ digest: learnt.digest, counts: { ...learnt.counts, orphan: 0, late: 4 * time } });
  }
  // The impression that was erased before it was registered is registered now.
  const late = { id: orphan, action: "mug", context, shownAt: shownAtOf(decoded(orphan)) };
  expect((await call("POST", `/v1/models/${model}/impressions`, [late])).body.impressions).toMatchObject([{ status: "duplicate" }]);
  expect(await storedOf(model)).not.toContain("Absurdistan");
  // Another event of the same key is another story.
  expect(statusesOf(await convert({ model, key: "order 2", reward: 1 }, { id: "msg_new" }))).toEqual(["orphan"]);
});

it.each(["applied", "void", "late", "orphan"])("stays when an older log is imported, in which its conversion is %s", async (status) => {
  const model = await createModel();
  const [id, shownAt] = [uuidAt(Date.now(), new Uint8Array(10)), Date.now()];
  const lines = [
    { type: "impression", id, action: "mug", shownAt, context, keys: ["ana"] },
    { type: "conversion", impression: id, reward: 0.8125, at: shownAt, event: "msg_secret", status },
  ];
  const read = () => call("POST", `/v1/models/${model}/events`, lines.map((line) => JSON.stringify(line)).join("\n"));
  expect((await read()).status).toBe(200);
  expect(await storedOf(model)).toContain("msg_secret");
  expect((await call("DELETE", `/v1/models/${model}/keys/ana`)).body).toEqual({ erased: 1 });
  expect((await read()).body).toMatchObject({ impressions: 0, repeated: 1 });
  for (const secret of ["msg_secret", "0.8125", "Absurdistan"]) expect(await storedOf(model)).not.toContain(secret);
});

it("of a keyed event stays when an older log is imported", async () => {
  const model = await createModel();
  await convert({ model, key: "order 9", reward: 0.8125, goal: "secret-goal" });
  const log = (await call("GET", `/v1/models/${model}/events`)).body;
  expect((await call("DELETE", `/v1/models/${model}/keys/order%209`)).status).toBe(200);
  expect((await call("POST", `/v1/models/${model}/events`, log)).body).toMatchObject({ conversions: { late: 1 } });
  expect(await storedOf(model)).not.toContain("secret-goal");
});

it("stays when its registration comes again with another time", async () => {
  const model = await createModel();
  const item = { id: "shop-1", action: "mug", context, shownAt: Date.now() };
  const [impressionId] = await show(model, item);
  await call("DELETE", `/v1/impressions/${impressionId}`);
  const again = await call("POST", `/v1/models/${model}/impressions`, [{ ...item, shownAt: item.shownAt + 1000 }]);
  expect(again.body.impressions).toMatchObject([{ status: "duplicate" }]);
  expect(await storedOf(model)).not.toContain("Absurdistan");
});

it("is not of an impression that the log has forgotten, nor of a model that was deleted", async () => {
  const model = await createModel({ retention: { ms: DAY_MS } });
  const [impressionId] = await show(model, {});
  await ring(model, closing(Date.now()));
  await ring(model, forgetting(Date.now(), DAY_MS));
  expect((await call("DELETE", `/v1/impressions/${impressionId}`)).status).toBe(404);
  const [young] = await show(model, {});
  await call("DELETE", `/v1/models/${model}`);
  expect((await call("DELETE", `/v1/impressions/${young}`)).status).toBe(404);
});

it("leaves the context of a list to its other impressions, and takes it with the last", async () => {
  const model = await createModel();
  const ids = await recommend(model, { limit: 3, context, exclude: ["kettle"] });
  const isStored = async () => (await storedOf(model)).includes("Absurdistan");
  const contextOf = async (id: string) => (await call("GET", `/v1/impressions/${id}`)).body;
  for (const [n, id] of ids.entries()) {
    expect(await contextOf(id)).toMatchObject({ context, decision: { asked: { exclude: ["kettle"] } } });
    expect((await storedOf(model)).split("Absurdistan")).toHaveLength(2);
    await call("DELETE", `/v1/impressions/${id}`);
    expect(await isStored()).toBe(n < 2);
  }
});

it("takes the features from the state of a Gaussian process, its snapshots and what is published", async () => {
  const model = await createModel({ policy: "delay-gp-ts", options: { dimension: 2, contextDimension: 1 }, featureNorm: 2 });
  const actions = [0.25, 0.5, 0.75].map((feature, i) => ({ id: `action-${i}`, features: [feature] }));
  await call("PUT", `/v1/models/${model}/actions`, actions);
  const secret = 0.123291015625;
  const bytes = Array.from(new Uint8Array(Float64Array.of(secret).buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const shown = (feature: number) => recommend(model, { context: [feature], actions: [{ id: "action-1" }], keys: [`visitor ${feature}`] });
  const [ana] = await shown(secret);
  const [bea] = await shown(0.375);
  await convert([ana, bea].map((impressionId) => ({ impressionId, reward: 1 })));
  await keep(model);
  const hexOf = (value: ArrayBuffer) => Array.from(new Uint8Array(value), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const held = async () => {
    const rows = await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) =>
      sql.exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM snapshots").toArray(),
    );
    const published = await env.EVENTS.get(`model/${model}`, "arrayBuffer");
    return [...rows.map(({ bytes }) => bytes), published ?? expect.fail("nothing is published")].map((each) => hexOf(each).includes(bytes));
  };
  expect(await held()).toContain(true);
  expect((await call("DELETE", `/v1/models/${model}/keys/visitor%20${secret}`)).body).toEqual({ erased: 1 });
  expect((await held()).length).toBeGreaterThanOrEqual(2);
  expect(await held()).not.toContain(true);
  await evictDurableObject(learnerOf(model));
  const [next] = await shown(0.375);
  expect(statusesOf(await convert({ impressionId: next, reward: 1 }))).toEqual(["applied"]);
  expect(await held()).not.toContain(true);
});

it("takes nothing again that KV's list still shows, and misses nothing", async () => {
  const model = await createModel();
  const [impressionId] = await show(model, { context });
  await convert({ impressionId, reward: 1 }, { id: "msg_secret" });
  const { digest } = await describeModel(model);
  const stale = await env.EVENTS.list({ prefix: `event/${model}/` });
  await call("DELETE", `/v1/impressions/${impressionId}`);
  const list = vi
    .spyOn(Object.getPrototypeOf(env.EVENTS), "list")
    .mockResolvedValueOnce({ keys: [], list_complete: true, cacheStatus: null })
    .mockResolvedValue(stale);
  await ring(model, closing(Date.now()));
  await ring(model, Date.now() + DAY_MS);
  // Lists the events that the learner may have missed, the bucket's events, and these again a day later.
  expect(list).toHaveBeenCalledTimes(3);
  list.mockRestore();
  expect(await storedOf(model)).not.toContain("msg_secret");
  expect(await describeModel(model)).toMatchObject({ digest, counts: { late: 0 }, incidents: { missed: 0 } });
});

it("can be rolled back behind, and closed", async () => {
  const model = await createModel();
  const [first] = await show(model, {});
  const version = await keep(model);
  const before = await describeModel(model);
  const [second] = await show(model, {});
  await convert([
    { impressionId: first, reward: 1 },
    { impressionId: second, reward: 1 },
  ]);
  for (const id of [first, second]) await call("DELETE", `/v1/impressions/${id}`);
  await call("POST", `/v1/models/${model}/rollback`, { version });
  expect(await describeModel(model)).toMatchObject({ digest: before.digest, counts: { impressions: 1, applied: 0, converted: 0 } });
  await ring(model, closing(Date.now()));
  await evictDurableObject(learnerOf(model));
  expect(await describeModel(model)).toMatchObject({ digest: before.digest, counts: { impressions: 1, expired: 1 } });
});
