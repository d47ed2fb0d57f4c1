import { createScheduledController, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Recommender } from "afterclick";
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Impression, TokenSigner } from "../../../worker/domain/ids/token.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { createApp } from "../../../worker/edge/app.ts";
import { graceMs } from "../../../worker/environment.ts";
import worker from "../../../worker/index.ts";
import type { Learner } from "../../../worker/learner/learner.ts";
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
  storedOf,
} from "../support/client.ts";
import { bucketOf, closing, MINUTE_MS, QUARTER_MS, ring, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { down, type Fault, kv, learners, lost, replyLost } from "../support/fault.ts";
import { bytesIn, forged, headerOf, publicationIn, versionAt } from "../support/published.ts";

// Faults between an isolate, KV and a learner, each with its required result.

const unreachable = { LEARNER: down.LEARNER };
const edgeModel = (body: object = {}): Promise<string> => createModel({ serving: "edge", ...body });

useClock();
afterEach(() => void vi.restoreAllMocks());

async function show(model: string, fields: object = {}): Promise<string> {
  const shown = { action: "mug", context: { country: "PT" }, shownAt: Date.now(), ...fields };
  const { status, body } = await call("POST", `/v1/models/${model}/impressions`, [shown]);
  expect(status).toBe(201);
  return body.impressions[0].impressionId;
}

describe("KV takes it, the learner fails or its reply is lost", () => {
  it.each([
    ["cannot be reached", { retryable: true }],
    ["fails", {}],
  ])("202; folded at closing, if the learner %s", async (_, flags) => {
    const model = await createModel();
    const [impressionId, other] = await recommend(model, { limit: 2 });
    const sent = await convert(
      [
        { impressionId, reward: 1 },
        { impressionId: other, reward: 1, timestamp: Date.now() + MINUTE_MS },
        { impressionId: other, reward: 7 },
      ],
      { env: { LEARNER: learners(() => lost(flags)) } },
    );
    expect(sent.status).toBe(202);
    expect(statusesOf(sent)).toEqual(["accepted", "accepted", "accepted"]);
    expect(await statusOf(impressionId)).toBe("pending");
    const now = Date.now();
    await ring(model, closing(now) - 1);
    expect(await statusOf(impressionId)).toBe("expired");
    await ring(model, closing(now));
    expect(await statusOf(impressionId)).toBe("converted");
    expect((await describeModel(model)).counts).toMatchObject({ applied: 2, converted: 2, duplicate: 0, late: 0, pending: 0, expired: 0 });
  });
});

it("KV fails, the learner takes it: 202", async () => {
  const model = await createModel();
  const impressionId = await show(model);
  const sent = await convert({ impressionId, reward: 1 }, { env: { EVENTS: down.EVENTS } });
  expect([sent.status, ...statusesOf(sent)]).toEqual([202, "applied"]);
  expect(await journalOf(model)).toEqual([]);
  expect(await statusOf(impressionId)).toBe("converted");
});

it("both fail: 503, nothing claimed", async () => {
  const model = await createModel();
  const impressionId = await show(model);
  const before = await storedOf(model);
  const failed = await convert({ impressionId, reward: 1 }, { id: "msg_again", env: down });
  expect(failed).toMatchObject({ status: 503, body: { status: 503 } });
  expect(await storedOf(model)).toBe(before);
  expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_again" }))).toEqual(["applied"]);
});

it("a forged, truncated, other model's or future token: 401, storage untouched", async () => {
  const model = await createModel();
  const impressionId = await show(model);
  const signer = await TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string);
  const stranger = await TokenSigner.create("another-token-key-of-nobody");
  const now = Date.now();
  const content = await tokenAt(model, now, 3);
  const other = await createModel();
  const bytes = decodeBase64Url(impressionId);
  bytes.set(new TextEncoder().encode(other), 46);
  const refused = {
    forged: await stranger.sign(content),
    truncated: impressionId.slice(0, -4),
    "of a model put in place of its own": encodeBase64Url(bytes.buffer).replaceAll("=", ""),
    "of the future": signer.sign(await tokenAt(model, now + 5 * MINUTE_MS + 1, 3)),
    "of nothing": "x",
  };
  const before = [await storedOf(model), await storedOf(other)];
  for (const [kind, token] of Object.entries(refused)) {
    expect((await convert({ impressionId: token, reward: 1 })).status, kind).toBe(401);
    // In a batch it is the item's status, and the other items count.
    expect(statusesOf(await convert([{ impressionId: token, reward: 1 }])), kind).toEqual(["unknown"]);
  }
  expect([await storedOf(model), await storedOf(other)]).toEqual(before);
  expect(statusesOf(await convert({ impressionId: signer.sign(await tokenAt(model, now + 5 * MINUTE_MS, 3)), reward: 1 }))).toEqual([
    "orphan",
  ]);
});

it("a registration batch is lost with its isolate, or delivered twice: applied once", async () => {
  const model = await edgeModel({ limits: { open: 3 } });
  let calls = 0;
  const fault: Fault = (method, call) => (++calls === 1 ? replyLost("registerShown")(method, call) : call());
  const [impressionId] = await recommend(model, { limit: 2 }, { isolate: createApp(), env: { LEARNER: learners(fault) } });
  expect(calls).toBe(2);
  expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
  // A repeated event takes the room of one.
  await recommend(model, {}, { isolate: createApp() });
  expect(await describeModel(model)).toMatchObject({ counts: { impressions: 3, pending: 2, converted: 1 }, incidents: { refused: 0 } });
});

describe("an alarm is lost or fails", () => {
  const alarmOf = (model: string) => runInDurableObject(learnerOf(model), (_, { storage }) => storage.getAlarm());

  it.each<[string, number, (model: string, impressionId: string) => Promise<unknown>, boolean]>([
    ["the learner starts", 0, (model) => evictDurableObject(learnerOf(model)), true],
    ["the clock of all models", 0, () => worker.scheduled(createScheduledController(), env), true],
    ["an impression that comes in after it was due", 2 * MINUTE_MS, (model) => show(model), true],
    ["a conversion that comes in after it was due", 2 * MINUTE_MS, (_, impressionId) => convert({ impressionId, reward: 1 }), true],
    // The learner takes it as set, and early enough.
    ["an impression that comes in before", 30_000, (model) => show(model), false],
  ])("set by %s", async (_, later, happen, isSet) => {
    const model = await createModel();
    const impressionId = await show(model);
    await runInDurableObject(learnerOf(model), (_, { storage }) => storage.deleteAlarm());
    expect(await alarmOf(model)).toBeNull();
    tick(later);
    await happen(model, impressionId);
    expect((await alarmOf(model)) !== null).toBe(isSet);
    if (!isSet) return;
    vi.setSystemTime(Math.max(Date.now(), (await alarmOf(model)) ?? 0));
    expect(await runDurableObjectAlarm(learnerOf(model))).toBe(true);
    const { modelVersion, published } = await describeModel(model);
    expect(published?.version).toBe(modelVersion);
  });

  it("set again by itself, whatever fails in it", async () => {
    const model = await createModel();
    const impressionId = await show(model);
    await convert({ impressionId, reward: 1 }, { env: unreachable });
    const due = closing(Date.now());
    const broken = ["list", "put"].map((method) =>
      vi.spyOn(Object.getPrototypeOf(env.EVENTS), method).mockRejectedValue(new Error("KV is down")),
    );
    for (let time = 0; time < 8; time++) {
      await ring(model, due + time * MINUTE_MS);
      // The learner could neither publish nor close.
      expect(complaints()).toEqual(["an alarm's task failed Error", "an alarm's task failed Error"]);
    }
    expect(await statusOf(impressionId)).toBe("expired");
    for (const spy of broken) spy.mockRestore();
    await ring(model, due + 8 * MINUTE_MS);
    expect(await statusOf(impressionId)).toBe("converted");
    // A second alarm finds nothing to do.
    const before = await describeModel(model);
    await runInDurableObject(learnerOf(model), (learner: Learner) => learner.alarm());
    expect(await describeModel(model)).toEqual(before);
  });
});

describe("an old snapshot after a newer one, a corrupt one, one of another feature schema", () => {
  /** Isolates look into KV while their learner gives them nothing newer. */
  const unanswering = { LEARNER: learners((method, call) => (method === "newer" ? lost() : call())) };

  /** Learns and publishes. */
  async function learn(model: string): Promise<number> {
    await show(model);
    await ring(model, Date.now() + MINUTE_MS);
    return (await publicationIn(model)).version;
  }

  it("an older one: kept out, counted", async () => {
    const model = await edgeModel();
    const old = await bytesIn(model);
    const isolate = createApp();
    const newer = await learn(model);
    expect(await versionAt(isolate, model)).toBe(newer);
    await env.EVENTS.put(`model/${model}`, old);
    expect(await versionAt(isolate, model, unanswering)).toBe(newer);
    expect((await describeModel(model)).incidents).toMatchObject({ keptOut: 1 });
  });

  it("an older one that takes longer to read: kept out", async () => {
    const model = await edgeModel();
    const old = (await bytesIn(model)).buffer;
    const newer = await learn(model);
    const isolate = createApp();
    const reading = Promise.withResolvers<void>();
    const read = Promise.withResolvers<void>();
    const { restore } = Recommender;
    vi.spyOn(Recommender, "restore").mockImplementationOnce(async (...given) => {
      reading.resolve();
      await read.promise;
      return restore(...given);
    });
    const stale = kv((method, call) => (method === "get" ? Promise.resolve(old) : call()));
    const slow = recommend(model, {}, { isolate, env: { EVENTS: stale } });
    await reading.promise;
    const ask = async () => (await call("POST", `/v1/models/${model}/recommendations`, {}, { isolate })).body.modelVersion;
    expect(await ask()).toBe(newer);
    read.resolve();
    await slow;
    expect(await ask()).toBe(newer);
    expect((await describeModel(model)).incidents).toMatchObject({ keptOut: 1 });
  });

  // A property test damages a publication everywhere.
  const damages: Record<string, (bytes: Uint8Array, end: number) => Uint8Array> = {
    "in its state": (bytes, end) => bytes.with(end, bytes[end] ^ 1),
    "by its last byte": (bytes) => bytes.slice(0, -1),
    "by everything": () => new Uint8Array(),
  };
  it("a corrupt one: kept out, counted; who holds nothing asks the learner", async () => {
    const model = await edgeModel();
    const isolate = createApp();
    const newer = await learn(model);
    expect(await versionAt(isolate, model)).toBe(newer);
    const whole = await forged(await bytesIn(model), { version: newer + 1 });
    for (const [place, damage] of Object.entries(damages)) {
      await env.EVENTS.put(`model/${model}`, damage(whole, headerOf(whole).end));
      expect(await versionAt(isolate, model, unanswering), `corrupt ${place}`).toBe(newer);
    }
    expect((await describeModel(model)).incidents.keptOut).toBe(Object.keys(damages).length);
    const cold = (bindings: object) => call("POST", `/v1/models/${model}/recommendations`, {}, { isolate: createApp(), env: bindings });
    expect((await cold({})).status).toBe(201);
    expect((await cold(unreachable)).status).toBe(503);
    await env.EVENTS.put(`model/${model}`, whole);
    expect(await versionAt(isolate, model, unanswering)).toBe(newer + 1);
  });

  it.each([
    ["features mean something else", { schema: 1 }],
    ["its state is of another version of the SDK", { lengths: [8] }],
  ])("one of another version of the code: kept out, counted, if %s", async (_, fields) => {
    const model = await edgeModel();
    const isolate = createApp();
    const newer = await learn(model);
    expect(await versionAt(isolate, model)).toBe(newer);
    await env.EVENTS.put(`model/${model}`, await forged(await bytesIn(model), { version: newer + 1, ...fields }));
    expect(await versionAt(isolate, model, unanswering)).toBe(newer);
    expect((await describeModel(model)).incidents.keptOut).toBe(1);
  });
});

it("the learner is overloaded: no retry; KV is the buffer", async () => {
  const model = await createModel();
  const impressionId = await show(model);
  const calls: string[] = [];
  const counting = (flags: object) => ({
    LEARNER: learners((method) => {
      calls.push(method);
      return lost(flags);
    }),
  });
  const sent = await convert({ impressionId, reward: 1 }, { env: counting({ retryable: true, overloaded: true }) });
  expect([sent.status, ...statusesOf(sent)]).toEqual([202, "accepted"]);
  expect(calls).toEqual(["ingest"]);
  // A call that was merely lost is retried once.
  await convert({ impressionId, reward: 1 }, { env: counting({ retryable: true }) });
  expect(calls).toEqual(["ingest", "ingest", "ingest"]);
  expect((await describeModel(model)).counts).toMatchObject({ applied: 0, pending: 1 });
  await ring(model, closing(Date.now()));
  expect((await describeModel(model)).counts).toMatchObject({ applied: 2, converted: 1 });
});

describe("clocks differ, or step back", () => {
  it("the watermark only moves forward", async () => {
    const model = await createModel();
    const impressionId = await show(model);
    const shownAt = Date.now();
    await ring(model, closing(shownAt));
    vi.setSystemTime(bucketOf(shownAt) + QUARTER_MS - MINUTE_MS);
    expect(statusesOf(await convert({ impressionId, reward: 1 }, { timestamp: shownAt }))).toEqual(["late"]);
    expect(await runDurableObjectAlarm(learnerOf(model))).toBe(true);
    expect(statusesOf(await convert({ impressionId, reward: 1 }, { timestamp: shownAt }))).toEqual(["late"]);
    // New impressions belong to an open bucket.
    const [fresh] = await recommend(model);
    expect(statusesOf(await convert({ impressionId: fresh, reward: 1 }))).toEqual(["applied"]);
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 2, late: 2, applied: 1, converted: 1 });
  });

  it("an isolate may be five minutes ahead, and no further; what it shows in a closed bucket is refused, and counted", async () => {
    const model = await edgeModel();
    const now = Date.now();
    const shownAt = async (time: number) => {
      vi.setSystemTime(time);
      const answering = learners((method, call) => {
        if (method === "registerShown") vi.setSystemTime(now);
        return call();
      });
      await recommend(model, {}, { isolate: createApp(), env: { LEARNER: answering } });
      const { counts, incidents } = await describeModel(model);
      return [counts.impressions, incidents.refused];
    };
    expect(await shownAt(now + 5 * MINUTE_MS)).toEqual([1, 0]);
    expect(await shownAt(now + 5 * MINUTE_MS + 1)).toEqual([1, 1]);
    expect(await shownAt(now - HOUR_MS - graceMs(env))).toEqual([2, 1]);
    expect(await shownAt(now - HOUR_MS - graceMs(env) - 1)).toEqual([2, 2]);
  });
});

/** An impression that an isolate has shown and whose registration has not arrived, as its id states it. */
async function tokenAt(model: string, shownAt: number, n: number): Promise<Impression> {
  const { generation } = await describeModel(model);
  const id = uuidAt(shownAt, new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, 0, n]));
  return { id, model, action: "mug", generation, modelVersion: 0, sampling: 0, windowEndsAt: shownAt + HOUR_MS };
}
