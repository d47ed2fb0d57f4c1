import { Tinypool } from "tinypool";
import { afterAll, expect, it } from "vitest";
import type { Order, Ordered } from "../../../trials/simulation/orders/orders.ts";

// The same events through any number of shards in any order, with updates, retractions, repetitions, late events and erasures.
const pool = new Tinypool({ filename: new URL("../../../trials/simulation/pool-worker.ts", import.meta.url).href, maxThreads: 2 });
afterAll(() => pool.destroy());

const IMPRESSIONS = 2000;

it.each([
  ["a new model", 0],
  ["a model of 1,000,000,000 impressions", 20],
])("%s publishes the same bytes from 1, 4 and 16 shards in three orders, equal to the offline fold", async (_, doublings) => {
  const impressions = IMPRESSIONS;
  const before: Uint8Array | undefined = doublings === 0 ? undefined : await pool.run(doublings, { name: "grown" });
  const settings = [1, 4, 16].flatMap((shards) => [0, 1, 2].map((order): Order => ({ impressions, shards, order, before })));
  const all: Ordered[] = await Promise.all(settings.map((setting) => pool.run(setting, { name: "order" })));
  const [first] = all;
  expect(first.events).toBeGreaterThan(IMPRESSIONS);
  expect(first).toMatchObject({ impressions: IMPRESSIONS, digest: await pool.run({ impressions, before }, { name: "fold" }) });
  for (const each of all) expect(each).toEqual(first);
});
