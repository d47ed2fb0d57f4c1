import { afterEach, expect, it, vi } from "vitest";
import { verify } from "../../scripts/verify/verification.ts";
import { createApp } from "../../worker/edge/app.ts";
import { call, convert, createModel, keep, recommend, show, statusesOf } from "./client.ts";
import { START, tick, useClock } from "./clock.ts";
import type { Line } from "./fold.ts";
import { seedIds } from "./lived.ts";

// The log of a model whose events are shared by several learners: one file that is replayed.

useClock();
afterEach(() => void vi.restoreAllMocks());

const EDGE = { serving: "edge", encoder: { dimension: 16, interactions: "all" }, minimumShare: 0.1 };
const sharded = (shards: number, body: object = {}): Promise<string> => createModel({ ...EDGE, shards, ...body });

async function exported(model: string, after = 0): Promise<string[]> {
  const { status, body } = await call("GET", `/v1/models/${model}/events?after=${after}`);
  expect(status).toBe(200);
  return body.trimEnd().split("\n");
}

const fieldsOf = (text: string): Line => {
  const { receipt: _, ...fields } = JSON.parse(text);
  return fields;
};

/** Publishes some times, and lets isolates decide by what is published. Conversions come with and without keys. */
async function live(model: string, rounds: number): Promise<string[]> {
  const isolate = createApp();
  const shown: string[] = [];
  for (let n = 0; n < rounds; n++) {
    tick(11_000);
    const body = { context: { country: n % 2 === 0 ? "PT" : "DK" }, limit: 2, keys: [`visitor-${n}`, `cart-${n}`] };
    const [first, second] = await recommend(model, body, { isolate });
    shown.push(first, second);
    if (n % 3 === 0) await convert({ impressionId: first, reward: 1 });
    if (n % 4 === 1) expect(statusesOf(await convert({ model, key: `cart-${n}`, reward: 0.5 }))).toEqual(["applied"]);
    if (n % 7 === 3) await convert({ impressionId: second }, { type: "conversion.retracted" });
    if (n % 5 === 2) await show(model, { shownAt: Date.now() - 500, probability: 0.25 });
    if (n % 6 === 4) await keep(model);
  }
  return shown;
}

it.each([1, 3])("exports all rows of %d shards in an order in which they can be replayed", async (shards) => {
  seedIds();
  const model = await sharded(shards);
  await live(model, 24);
  const log = await exported(model);
  const [head, ...lines] = log.map(fieldsOf);
  expect(head).toMatchObject({ shards, lines: lines.length, after: 0 });
  expect(lines.filter(({ type }) => type === "impression")).toHaveLength(48 + 5);
  expect(new Set(lines.map(({ shard = 0 }) => shard)).size).toBe(shards);
  if (shards > 1) expect(lines.at(-1)).toMatchObject({ seq: head.modelVersion, mark: "merged", content: { digest: head.digest } });
  const { tally, lines: verified } = await verify(() => log);
  expect(verified).toBe(lines.length);
  expect(tally).toMatchObject({ decisions: 48, elsewhere: 5, before: 0 });
  expect(tally.digests).toBeGreaterThan(4);
  vi.setSystemTime(START);
});
