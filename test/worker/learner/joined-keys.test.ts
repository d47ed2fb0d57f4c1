import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { homeOf } from "../../../worker/domain/ids/home.ts";
import { KeyHasher } from "../../../worker/domain/ids/key-hasher.ts";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import { call, convert, createModel, describeModel, learnerOf, recommend, show, statusesOf, statusOf } from "../support/client.ts";
import { START, useClock } from "../support/clock.ts";

// Keys of one visitor, before a login and after it.

useClock();

const join = (model: string, ...keys: string[]) => call("POST", `/v1/models/${model}/keys`, { keys });

it("an order by the key of the customer finds what the visitor was shown before the login", async () => {
  const model = await createModel();
  const [before, older, other] = await show(
    model,
    { keys: ["visitor-7"], shownAt: START - 1000 },
    { keys: ["visitor-7"], shownAt: START - 2000 },
    { keys: ["visitor-8"], shownAt: START - 500 },
  );
  expect(await join(model, "visitor-7", "customer-42")).toMatchObject({ status: 200, body: { impressions: 2 } });
  expect((await join(model, "customer-42", "visitor-7")).body).toEqual({ impressions: 0 });
  expect(statusesOf(await convert({ model, key: "customer-42", reward: 1 }))).toEqual(["applied"]);
  expect(await Promise.all([before, older, other].map(statusOf))).toEqual(["converted", "pending", "pending"]);
  // Both keys are one visitor in each direction.
  const [after] = await show(model, { keys: ["customer-42"], shownAt: START - 100 });
  await join(model, "visitor-7", "customer-42");
  expect(statusesOf(await convert({ model, key: "visitor-7", reward: 1 }))).toEqual(["applied"]);
  expect(await statusOf(after)).toBe("converted");
  expect((await call("DELETE", `/v1/models/${model}/keys/customer-42`)).body).toEqual({ erased: 3 });
});

it("an order that waits joins the newest impression, once", async () => {
  const model = await createModel();
  const order = () => convert({ model, key: "customer-42", reward: 1 }, { id: `order-of-${model}`, timestamp: START });
  const ids = await show(model, ...[3000, 1000, 2000].map((age) => ({ keys: ["visitor-7"], shownAt: START - age })));
  expect(statusesOf(await order())).toEqual(["orphan"]);
  await join(model, "visitor-7", "customer-42");
  expect(await Promise.all(ids.map(statusOf))).toEqual(["pending", "converted", "pending"]);
  expect(statusesOf(await order())).toEqual(["duplicate"]);
  expect((await describeModel(model)).counts).toMatchObject({ converted: 1, applied: 1, orphan: 0 });
});

it("lists of several and deferred impressions keep their rules", async () => {
  const model = await createModel();
  await recommend(model, { limit: 3, keys: ["visitor-7"] });
  await convert({ model, key: "customer-42", reward: 1 });
  await join(model, "visitor-7", "customer-42");
  expect((await describeModel(model)).counts).toMatchObject({ converted: 0, orphan: 1 });
  const [deferred] = await recommend(model, { keys: ["visitor-9"], defer: true });
  await convert({ model, key: "customer-43", reward: 1 }, { timestamp: Date.now() + 1 });
  await join(model, "visitor-9", "customer-43");
  await call("POST", `/v1/impressions/${deferred}/activate`);
  expect(await statusOf(deferred)).toBe("converted");
});

it("keys join across shards, whichever waits", async () => {
  const model = await createModel({ serving: "edge", encoder: { dimension: 16 }, shards: 3 });
  const hasher = KeyHasher.create(env.AFTERCLICK_JOIN_KEY as string);
  const keyAt = (home: number, name: string) => {
    const keys = Array.from({ length: 100 }, (_, i) => `${name}-${i}`);
    return keys.find((key) => homeOf(hasher.hash(model, key, "backend")[0], 3) === home) as string;
  };
  const [visitor, customer] = [keyAt(2, "visitor"), keyAt(1, "customer")];
  const order = (id: string) => convert({ model, key: customer, reward: 1 }, { id, timestamp: START });
  expect(statusesOf(await order("early"))).toEqual(["orphan"]);
  const [id] = await show(model, { keys: [visitor], shownAt: START - 1000 });
  expect((await join(model, visitor, customer)).body).toEqual({ impressions: 1 });
  await runDurableObjectAlarm(learnerOf(shardName(model, 2)));
  expect(await statusOf(id)).toBe("converted");
  expect([...statusesOf(await order("early")), ...statusesOf(await order("late"))]).toEqual(["duplicate", "applied"]);
});

it("refuses one key, five, and nobody's", async () => {
  const model = await createModel();
  for (const keys of [[], ["a"], ["a", "b", "c", "d", "e"], ["a", "guest"]]) expect((await join(model, ...keys)).status).toBe(422);
  expect((await join("model-of-nobody", "a", "b")).status).toBe(404);
  const page = { key: env.AFTERCLICK_PUBLISHABLE_KEY };
  expect((await call("POST", `/v1/models/${model}/keys`, { keys: ["a", "b"] }, page)).status).toBe(403);
});
