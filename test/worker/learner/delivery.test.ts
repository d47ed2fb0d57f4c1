import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { TokenSigner } from "../../../worker/domain/ids/token.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  journalOf,
  learnerOf,
  recommend,
  statusesOf,
  statusOf,
} from "../support/client.ts";
import { closing, DAY_MS, forgetting, MINUTE_MS, ring, useClock } from "../support/clock.ts";
import { down, failing, kv } from "../support/fault.ts";

const RETENTION_MS = 30 * DAY_MS;

useClock();

it("keeps a conversion in both stores", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
  expect(await journalOf(model)).toHaveLength(1);
});

it("does not rely on KV alone when its list may not show the event before the bucket closes", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  const at = Date.now();
  vi.setSystemTime(closing(at) - MINUTE_MS);
  expect((await convert({ impressionId, reward: 1 }, { timestamp: at, env: { LEARNER: down.LEARNER } })).status).toBe(503);
});

it("does not store what the learner refuses or does not know", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  expect((await convert({ impressionId, reward: 2 })).status).toBe(422);
  expect(await journalOf(model)).toEqual([]);
  const signer = await TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string);
  const gone = {
    id: uuidAt(Date.now(), new Uint8Array(10)),
    model: "gone",
    action: "a",
    generation: 1,
    modelVersion: 0,
    sampling: 0,
    windowEndsAt: Date.now() + HOUR_MS,
  };
  expect(statusesOf(await convert({ impressionId: await signer.sign(gone), reward: 1 }))).toEqual(["unknown"]);
  expect(await journalOf("gone")).toEqual([]);
});

it("answers what the learner says when KV fails to forget it, and closing passes it over", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  const { digest } = await describeModel(model);
  const shownAt = Date.now();
  expect((await convert({ impressionId, reward: 2 }, { env: { EVENTS: kv(failing("delete")) } })).status).toBe(422);
  expect(await journalOf(model)).toHaveLength(1);
  await ring(model, closing(shownAt));
  expect(await describeModel(model)).toMatchObject({ digest, counts: { converted: 0, applied: 0 }, incidents: { missed: 0, refused: 0 } });
});

it("answers 503 when a recommendation finds no learner", async () => {
  const model = await createModel();
  const reply = await call("POST", `/v1/models/${model}/recommendations`, {}, { env: { LEARNER: down.LEARNER } });
  expect(reply).toMatchObject({ status: 503, body: { status: 503 } });
});

it("forgets impressions at the end of their retention, and keeps what it has learnt", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  await convert({ impressionId, reward: 1 });
  const shownAt = Date.now();
  await ring(model, closing(shownAt));
  const { digest, counts } = await describeModel(model);
  await ring(model, forgetting(shownAt, RETENTION_MS) - 1);
  expect(await statusOf(impressionId)).toBe("converted");
  await ring(model, forgetting(shownAt, RETENTION_MS));
  expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
  expect(await describeModel(model)).toMatchObject({ digest, counts });
  // The snapshot that outlives the impressions is published. Then no alarm is due.
  await ring(model, Date.now() + HOUR_MS);
  expect(await runDurableObjectAlarm(learnerOf(model))).toBe(false);
});
