import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { homeOf } from "../../../worker/domain/ids/home.ts";
import { KeyHasher } from "../../../worker/domain/ids/key-hasher.ts";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { call, convert, createModel, describeModel, HOUR_MS, learnerOf, recommend, show, statusesOf, statusOf } from "../support/client.ts";
import { START, useClock } from "../support/clock.ts";

// A conversion by key that does not say which product of a list it is about.

useClock();

const asked = { status: 422, body: { detail: expect.stringMatching(/^action: expected the product/) } };
const converted = async (ids: readonly string[]) =>
  (await Promise.all(ids.map(statusOf))).filter((status) => status === "converted").length;
const actionOf = async (id: string) => (await call("GET", `/v1/impressions/${id}`)).body.action;

it("is refused, and counts once it names the product, in either form of its id", async () => {
  const model = await createModel();
  const products = ["gid://shopify/Product/1", "Cafe\u0301", "lamp"];
  await call("PUT", `/v1/models/${model}/actions`, { actions: products.map((id) => ({ id })) });
  const ids = await recommend(model, { limit: 3, keys: ["ana"] });
  expect(await convert({ model, key: "ana", reward: 1 }, { id: "order-1" })).toMatchObject(asked);
  const batch = await convert([
    { model, key: "ana", reward: 1 },
    { impressionId: ids[0], reward: 0.5 },
  ]);
  expect(statusesOf(batch)).toEqual(["refused", "applied"]);
  expect(await converted(ids)).toBe(1);
  expect((await describeModel(model)).incidents.withoutAction).toBe(2);
  for (const [place, id] of ids.entries()) {
    const given = ["1", "Café", "lamp"][products.indexOf(await actionOf(id))];
    const named = await convert({ model, key: "ana", action: given, reward: 1 }, { id: `order-${place + 2}` });
    expect(statusesOf(named)).toEqual(["applied"]);
  }
  expect(await converted(ids)).toBe(3);
});

it("counts for the newest list of one product, whatever lists there were before", async () => {
  const model = await createModel();
  await show(model, ...["tent", "mug"].map((action) => ({ action, keys: ["ana"], shownAt: START - 2000 })));
  expect(await convert({ model, key: "ana", reward: 1 }, { timestamp: START - 1000 })).toMatchObject(asked);
  const [newest] = await show(model, { keys: ["ana"], shownAt: START - 500 });
  expect(statusesOf(await convert({ model, key: "ana", reward: 1 }))).toEqual(["applied"]);
  expect(await statusOf(newest)).toBe("converted");
});

it("waits if it came before its list, and counts once when it comes again with the product", async () => {
  const model = await createModel();
  const order = { model, key: "ana", reward: 1 };
  const again = { id: "order-1", timestamp: START };
  expect(statusesOf(await convert(order, again))).toEqual(["orphan"]);
  const [tent, mug] = await show(model, ...["tent", "mug"].map((action) => ({ action, keys: ["ana"], shownAt: START - 2000 })));
  expect(await converted([tent, mug])).toBe(0);
  // An older list of one product does not get what belongs to the newer one.
  const [older] = await show(model, { keys: ["ana"], shownAt: START - 3000 });
  expect((await describeModel(model)).counts).toMatchObject({ converted: 0, orphan: 1 });
  expect(statusesOf(await convert(order, again))).toEqual(["duplicate"]);
  expect(statusesOf(await convert({ ...order, action: "mug" }, again))).toEqual(["applied"]);
  expect(statusesOf(await convert({ ...order, action: "mug" }, again))).toEqual(["duplicate"]);
  expect(await Promise.all([tent, mug, older].map(statusOf))).toEqual(["pending", "converted", "pending"]);
  expect((await describeModel(model)).counts).toMatchObject({ converted: 1, orphan: 0, applied: 1 });
});

it("waits for a deferred list of several too, shown before it is registered or after", async () => {
  const model = await createModel();
  await convert({ model, key: "ana", reward: 1 }, { timestamp: START + 1000 });
  const ids = await recommend(model, { limit: 3, keys: ["ana"], defer: true });
  for (const id of ids) await call("POST", `/v1/impressions/${id}/activate`);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: 3, converted: 0, orphan: 1 });
});

it("says what it looked for, if it finds nothing", async () => {
  const model = await createModel();
  await show(model, { keys: ["ana"], shownAt: START - 2000 });
  const wait = async (key: string, more = {}, timestamp = START) => {
    const [{ status, detail }] = (await convert({ model, key, reward: 1, ...more }, { timestamp })).body.conversions;
    expect(status).toBe("orphan");
    return detail;
  };
  const sought = "waits for an impression with this key, given by a backend, of any action, shown from";
  const times = `${new Date(START - HOUR_MS).toISOString()} to ${new Date(START).toISOString()}`;
  expect(await wait("bea")).toBe(`${sought} ${times}; none has the key yet`);
  expect(await wait("ana", {}, START - 3000)).toMatch(/^waits .*; those with the key were shown at other times$/);
  expect(await wait("ana", { action: "gid://shopify/Product/7" })).toContain('of the action "7", shown from');
  expect(await wait("ana", { action: "lamp" })).toMatch(/the newest one with the key is of "mug"$/);
  expect((await describeModel(model)).incidents).toMatchObject({ unknownKeys: 1, otherTimes: 1, otherActions: 2 });
});

it("is refused at the home of its key, which knows the lists of other shards", async () => {
  const model = await createModel({ serving: "edge", encoder: { dimension: 16, interactions: "all" }, shards: 3 });
  const hasher = KeyHasher.create(env.AFTERCLICK_JOIN_KEY as string);
  const keyAt = (home: number, name: string) => {
    const keys = Array.from({ length: 100 }, (_, i) => `${name}-${i}`);
    return keys.find((key) => homeOf(hasher.hash(model, key, "backend")[0], 3) === home) as string;
  };
  const [visitor, early, late] = [keyAt(2, "visitor"), keyAt(1, "early"), keyAt(1, "late")];
  const send = (key: string, more = {}) => convert({ model, key, reward: 1, ...more }, { id: `of-${key}`, timestamp: START });
  expect(statusesOf(await send(early))).toEqual(["orphan"]);
  const list = ["tent", "mug"].map((action) => ({ action, keys: [visitor, early, late], shownAt: START - 1000 }));
  const ids = await show(model, ...list);
  await runDurableObjectAlarm(learnerOf(shardName(model, 2)));
  expect(await converted(ids)).toBe(0);
  expect(await send(late)).toMatchObject(asked);
  expect(statusesOf(await send(early, { action: "mug" }))).toEqual(["applied"]);
  expect(statusesOf(await send(late, { action: "tent" }))).toEqual(["applied"]);
  expect(statusesOf(await send(early, { action: "mug" }))).toEqual(["duplicate"]);
  expect(await converted(ids)).toBe(2);
  expect((await describeModel(model)).counts).toMatchObject({ orphan: 0, applied: 2 });
});
