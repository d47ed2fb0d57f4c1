import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { KeyHasher } from "../../worker/domain/key-hasher.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  journalOf,
  keep,
  learnerOf,
  show,
  stateOf,
  statusesOf,
  statusOf,
  storedOf,
} from "./client.ts";
import { closing, DAY_MS, ring, useClock } from "./clock.ts";
import { logOf } from "./fold.ts";

useClock();

const context = { country: "Absurdistan" };

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
  expect((await call("DELETE", `/v1/impressions/${impressionId}`)).status).toBe(404);
  expect((await call("POST", `/v1/impressions/${impressionId}/activate`)).status).toBe(404);
  const erased = (await logOf(model)).filter(({ type }) => type === "erased");
  expect(erased).toHaveLength(3);
  for (const line of erased) expect(Object.keys(line).toSorted()).toEqual(["id", "seq", "type"]);
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["late"]);
  await evictDurableObject(learnerOf(model));
  expect(await stateOf(model)).toMatchObject({ digest: learnt.digest });
  await keep(model);
  await evictDurableObject(learnerOf(model));
  expect(await stateOf(model)).toMatchObject({ digest: learnt.digest, counts: { ...learnt.counts, late: 1 } });
  expect(await statusOf(other)).toBe("pending");
  const again = { action: "mug", shownAt: Date.now(), id: impressionId };
  expect((await call("POST", `/v1/models/${model}/impressions`, [again])).status).toBe(422);
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
