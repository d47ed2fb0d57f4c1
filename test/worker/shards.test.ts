import { expect, it, vi } from "vitest";
import { call, convert, createModel, describeModel, keep, show, statusesOf } from "./client.ts";
import { MINUTE_MS, START, tick, useClock } from "./clock.ts";
import { publicationIn } from "./published.ts";

useClock();

const EDGE = { serving: "edge", encoder: { dimension: 16, interactions: "all" } };

/** A model of so many shards. */
const sharded = (shards: number, body: object = {}): Promise<string> => createModel({ ...EDGE, shards, ...body });

/** Events of 60 visitors, some with a visitor's key, some with an id of the shop's own: with retractions, updates, repetitions and erasures. */
async function live(model: string): Promise<void> {
  const actions = ["tent", "mug", "lamp"];
  const started = Date.now();
  const items = Array.from({ length: 60 }, (_, i) => ({
    action: actions[i % 3],
    context: { country: ["PT", "DE", "FI", "FR"][i % 4] },
    shownAt: started - (60 - i) * 1000,
    ...(i % 3 === 1 && { keys: [`visitor-${i}`, `cart-${i}`] }),
    ...(i % 5 === 2 && { id: `own-${i}` }),
  }));
  const ids = await show(model, ...items);
  expect(await show(model, items[2], items[7])).toEqual([ids[2], ids[7]]);
  for (let i = 0; i < 60; i += 2) {
    tick(1000);
    await convert({ impressionId: ids[i], reward: 1 }, { id: `order-${i}`, timestamp: started });
  }
  for (let i = 1; i < 60; i += 6) {
    tick(1000);
    const key = i % 2 === 0 ? `visitor-${i}` : `cart-${i}`;
    const reply = await convert({ model, key, reward: 0.5 }, { id: `keyed-${i}` });
    expect(statusesOf(reply)).toEqual([i % 3 === 1 ? "applied" : "orphan"]);
  }
  expect(statusesOf(await convert({ impressionId: ids[4], reward: 1 }, { id: "order-4", timestamp: started }))).toEqual(["duplicate"]);
  await convert({ impressionId: ids[6] }, { id: "order-6", type: "conversion.retracted" });
  await convert({ impressionId: ids[8], reward: 0.25 }, { id: "later-8", type: "conversion.updated" });
  expect((await call("DELETE", `/v1/impressions/${ids[10]}`)).status).toBe(204);
}

it("the same events through 1, 4 and 16 shards make the same model", async () => {
  const results = [];
  for (const shards of [1, 4, 16]) {
    const model = await sharded(shards);
    await live(model);
    tick(2 * MINUTE_MS);
    await keep(model);
    const { counts, digest, incidents, conversionRate } = await describeModel(model);
    const { parts } = await publicationIn(model);
    results.push({ counts, digest, incidents, conversionRate, parts: parts.map((bytes) => Array.from(bytes).join()) });
    const { body } = await call("GET", `/v1/models/${model}/metrics`);
    expect(body.counts).toEqual(counts);
    vi.setSystemTime(START);
  }
  expect(results[1]).toEqual(results[0]);
  expect(results[2]).toEqual(results[0]);
});
