import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { EventJournal } from "../../../worker/kv/event-journal.ts";
import { PublicationStore } from "../../../worker/kv/publication-store.ts";
import { HOUR_MS } from "../support/client.ts";
import { DAY_MS, useClock } from "../support/clock.ts";

useClock();

const timing = { windowMs: HOUR_MS, graceMs: 0 };

/** How long KV is asked to keep an event of an impression, in ms from now. */
async function lifeOf(shownAt: number): Promise<number> {
  const asked: { expiration: number }[] = [];
  const kv = { put: async (_: string, __: string, options: { expiration: number }) => void asked.push(options) };
  const impression = uuidAt(shownAt, new Uint8Array(10));
  await new EventJournal(kv as never, "shop", timing).put({ impression, goal: "order", event: "1", reward: 1, at: shownAt });
  return asked[0].expiration * 1000 - Date.now();
}

describe("the life of an event in KV", () => {
  it("lasts until an hour after the audit of its bucket", async () => {
    // A bucket of 15 minutes, a window of an hour, a day until the audit, and an hour.
    expect(await lifeOf(Date.now())).toBe(15 * 60_000 + HOUR_MS + DAY_MS + HOUR_MS);
  });

  it("is a minute and a half if that has passed, as KV refuses less than a minute", async () => {
    expect(await lifeOf(Date.now() - 10 * DAY_MS)).toBe(90_000);
  });
});

it("leaves out records that are no events of the impression in their names", async () => {
  const journal = new EventJournal(env.EVENTS, "shop", timing);
  const impression = uuidAt(Date.now(), new Uint8Array(10));
  const event = { impression, goal: "order", event: "1", reward: 1, at: Date.now() };
  await journal.put(event);
  const [{ name }] = (await env.EVENTS.list({ prefix: "event/shop/" })).keys;
  const altered = [
    {},
    7,
    "x",
    [],
    { ...event, impression: 3 },
    { ...event, impression: "x" },
    { ...event, at: "now" },
    { ...event, reward: {} },
  ];
  for (const [i, metadata] of altered.entries()) await env.EVENTS.put(`${name}${i}`, "", { metadata });
  const listed = [];
  for await (const events of journal.list(Date.now())) listed.push(...events);
  expect(listed).toEqual([event]);
});

it("lists the models of all pages of KV, and none without a summary", async () => {
  const summary = { policy: "uniform", serving: "edge", generation: 1, version: 2, publishedAt: 3 };
  const pages: Record<string, object> = {
    first: { keys: [{ name: "model/a", metadata: summary }, { name: "model/b" }], list_complete: false, cursor: "second" },
    second: { keys: [{ name: "model/c", metadata: summary }], list_complete: true },
  };
  const kv = { list: async ({ cursor = "first" }: { cursor?: string }) => pages[cursor] };
  expect(await new PublicationStore(kv as never).list()).toEqual(["a", "c"].map((model) => ({ model, ...summary })));
});
