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
import { Learner } from "../../../worker/learner/learner.ts";
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
import { crashing, down, type Fault, kv, learners, lost, replyLost, withStatements } from "../support/fault.ts";
import { bytesIn, forged, headerOf, publicationIn, versionAt } from "../support/published.ts";

// Faults between an isolate, KV and a learner, each with its required result.

const unreachable = { LEARNER: down.LEARNER };
const edgeModel = (body: object = {}): Promise<string> => createModel({ serving: "edge", ...body });

useClock();
afterEach(() => void vi.restoreAllMocks());

let bare = 0;

/** Creates a model without a catalogue, for tests that need many. */
async function bareModel(): Promise<string> {
  const name = `bare-${++bare}`;
  expect((await call("PUT", `/v1/models/${name}`, { window: { ms: HOUR_MS }, serving: "learner" })).status).toBe(201);
  return name;
}

async function show(model: string, fields: object = {}): Promise<string> {
  const shown = { action: "mug", context: { country: "PT" }, shownAt: Date.now(), ...fields };
  const { status, body } = await call("POST", `/v1/models/${model}/impressions`, [shown]);
  expect(status).toBe(201);
  return body.impressions[0].impressionId;
}

describe("an isolate dies before both stores", () => {
  it("no 2xx; the sender retries with the same webhook-id", async () => {
    const model = await createModel();
    const impressionId = await show(model);
    const before = await storedOf(model);
    const never = () => new Promise<never>(() => {});
    const dying = convert({ impressionId, reward: 1 }, { id: "msg_died", env: { LEARNER: learners(never), EVENTS: kv(never) } });
    expect(await Promise.race([dying, scheduler.wait(100)])).toBeUndefined();
    expect(await storedOf(model)).toBe(before);
    expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_died" }))).toEqual(["applied"]);
    expect((await describeModel(model)).counts).toMatchObject({ applied: 1, converted: 1, duplicate: 0 });
  });
});

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

  it("202; already there, if its reply is lost", async () => {
    const model = await createModel();
    const impressionId = await show(model);
    const lossy = { LEARNER: learners(replyLost("ingest")) };
    expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_lost", env: lossy }))).toEqual(["accepted"]);
    const { digest, counts } = await describeModel(model);
    expect(counts).toMatchObject({ applied: 1, converted: 1 });
    await ring(model, closing(Date.now()));
    expect(await describeModel(model)).toMatchObject({ digest, counts: { ...counts, pending: 0 } });
  });
});

describe("KV fails, the learner takes it", () => {
  it("202", async () => {
    const model = await createModel();
    const impressionId = await show(model);
    const sent = await convert({ impressionId, reward: 1 }, { env: { EVENTS: down.EVENTS } });
    expect([sent.status, ...statusesOf(sent)]).toEqual([202, "applied"]);
    expect(await journalOf(model)).toEqual([]);
    expect(await statusOf(impressionId)).toBe("converted");
  });
});

describe("both fail", () => {
  it("503, nothing claimed", async () => {
    const model = await createModel();
    const impressionId = await show(model);
    const before = await storedOf(model);
    const failed = await convert({ impressionId, reward: 1 }, { id: "msg_again", env: down });
    expect(failed).toMatchObject({ status: 503, body: { status: 503 } });
    expect(failed.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await storedOf(model)).toBe(before);
    expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_again" }))).toEqual(["applied"]);
  });
});

describe("the learner throws while it ingests", () => {
  it("rolled back; a retry is safe, whichever statement failed", async () => {
    const expected = await answeredAfterFailureAt(0);
    expect(expected.state.counts).toMatchObject({ impressions: 3, applied: 4, orphan: 0, converted: 3 });
    let failures = 0;
    while ((await answeredAfterFailureAt(failures + 1, expected.state)).failed) failures++;
    expect(failures).toBeGreaterThan(20);
  });

  /** Registers and converts while the n-th change of the learner's tables fails. Repeats each step until it is answered. */
  async function answeredAfterFailureAt(n: number, expected?: object) {
    const model = await bareModel();
    const signer = await TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string);
    const ids = await Promise.all([1, 2, 3].map(async (i) => signer.sign(await tokenAt(model, Date.now(), i))));
    const shown = (id: string) => ({ id, action: "mug", context: { country: "PT" }, shownAt: Date.now() });
    const noKv = { env: { EVENTS: down.EVENTS } };
    const steps = [
      () => call("POST", `/v1/models/${model}/impressions`, ids.slice(0, 2).map(shown)),
      () =>
        convert(
          ids.map((impressionId) => ({ impressionId, reward: 0.5 })),
          { id: "msg_1", ...noKv },
        ),
      () => call("POST", `/v1/models/${model}/impressions`, ids.slice(2).map(shown)),
      () => convert({ impressionId: ids[1], reward: 1 }, { id: "msg_2", ...noKv }),
    ];
    let failed = false;
    const fail = (change: number) => {
      failed ||= change === n;
      if (change === n) throw new Error("disk error");
    };
    await withStatements(learnerOf(model), fail, async () => {
      for (const step of steps) {
        const before = await storedOf(model);
        const { status } = await step();
        expect(complaints()).toEqual(status === 500 ? ["unexpected Error"] : []);
        if (status < 300) continue;
        expect(await storedOf(model), `failed at change ${n}`).toBe(before);
        expect((await step()).status).toBeLessThan(300);
      }
    });
    const { digest, counts } = await describeModel(model);
    const state = { digest, counts };
    if (expected) expect(state, `failed at change ${n}`).toEqual(expected);
    return { state, failed };
  }
});

describe("the learner crashes after it has committed, before its reply", () => {
  it("the retry answers duplicate", async () => {
    const model = await createModel();
    const impressionId = await show(model);
    const { ingest } = Learner.prototype;
    vi.spyOn(Learner.prototype, "ingest").mockImplementationOnce(async function (this: Learner, events) {
      const answer = await ingest.call(this, events);
      const { ctx } = this as unknown as { ctx: DurableObjectState };
      await ctx.storage.sync();
      ctx.abort("crash");
      return answer;
    });
    const sent = await convert({ impressionId, reward: 1 }, { id: "msg_crash" });
    expect([sent.status, ...statusesOf(sent)]).toEqual([202, "accepted"]);
    expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_crash", timestamp: Date.now() }))).toEqual(["duplicate"]);
    expect((await describeModel(model)).counts).toMatchObject({ applied: 1, converted: 1, duplicate: 1 });
  });
});

describe("the same event again; the same event id with another payload", () => {
  it("duplicate with the same answer; conflict and a count, the greatest wins in any order", async () => {
    const model = await createModel();
    const [a, b] = [await show(model), await show(model)];
    const timestamp = Date.now();
    const send = (impressionId: string, reward: number) => convert({ impressionId, reward }, { id: `msg_${impressionId}`, timestamp });
    const first = await send(a, 0.5);
    expect(statusesOf(first)).toEqual(["applied"]);
    const again = await send(a, 0.5);
    expect(again).toMatchObject({ status: first.status, body: { conversions: [{ impressionId: a, status: "duplicate" }] } });
    expect(statusesOf(await send(a, 0.25))).toEqual(["conflict"]);
    expect([statusesOf(await send(b, 0.25)), statusesOf(await send(b, 0.5))]).toEqual([["applied"], ["conflict"]]);
    for (const impressionId of [a, b]) expect((await call("GET", `/v1/impressions/${impressionId}`)).body.reward).toBe(0.5);
    expect((await describeModel(model)).counts).toMatchObject({ applied: 2, conflict: 2, duplicate: 1, converted: 2 });
  });
});

describe("an event before its impression is registered", () => {
  it("kept, and joined when the impression comes, else counted as orphan", async () => {
    const model = await createModel();
    const signer = await TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string);
    const shownAt = Date.now();
    const [impressionId, never] = await Promise.all([1, 2].map(async (n) => signer.sign(await tokenAt(model, shownAt, n))));
    expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_early" }))).toEqual(["orphan"]);
    expect(statusesOf(await convert({ impressionId: never, reward: 1 }))).toEqual(["orphan"]);
    expect((await describeModel(model)).counts).toMatchObject({ orphan: 2, impressions: 0, applied: 0 });
    expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
    await show(model, { id: impressionId, shownAt });
    expect((await describeModel(model)).counts).toMatchObject({ orphan: 1, impressions: 1, applied: 1, converted: 1 });
    expect(statusesOf(await convert({ impressionId, reward: 1 }, { id: "msg_early", timestamp: shownAt }))).toEqual(["duplicate"]);
    await ring(model, closing(shownAt));
    expect((await describeModel(model)).counts).toMatchObject({ orphan: 1, impressions: 1, applied: 1 });
  });
});

describe("after the window", () => {
  it("late: refused, counted", async () => {
    const model = await createModel();
    const [inTime, late] = await recommend(model, { limit: 2 });
    const shownAt = Date.now();
    const { digest } = await describeModel(model);
    vi.setSystemTime(shownAt + HOUR_MS + 4 * MINUTE_MS);
    expect(statusesOf(await convert({ impressionId: late, reward: 1 }, { timestamp: shownAt + HOUR_MS + 1 }))).toEqual(["late"]);
    expect(await describeModel(model)).toMatchObject({ digest, counts: { late: 1, expired: 2, converted: 0 }, conversionRate: 0 });
    // An event in time counts, however late it arrives.
    expect(statusesOf(await convert({ impressionId: inTime, reward: 1 }, { timestamp: shownAt + HOUR_MS }))).toEqual(["applied"]);
    expect(await describeModel(model)).toMatchObject({ counts: { late: 1, expired: 1, converted: 1 }, conversionRate: 0.5 });
  });

  it("late for ever once the bucket is closed, also what happened in time", async () => {
    const model = await createModel();
    const [impressionId, known] = await recommend(model, { limit: 2 });
    const shownAt = Date.now();
    await convert({ impressionId: known, reward: 1 }, { id: "msg_known", timestamp: shownAt });
    await ring(model, closing(shownAt));
    const { digest, counts } = await describeModel(model);
    // Events in both stores are not taken twice.
    expect(counts).toMatchObject({ applied: 1, duplicate: 0, late: 0 });
    for (const seen of [1, 2]) {
      expect(statusesOf(await convert({ impressionId, reward: 1 }, { timestamp: shownAt }))).toEqual(["late"]);
      expect(await describeModel(model)).toMatchObject({ digest, counts: { late: seen, converted: 1 } });
    }
  });
});

describe("a forged, truncated, other model's or future token", () => {
  it("401, storage untouched", async () => {
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
});

describe("a registration batch is lost with its isolate, or delivered twice", () => {
  it("counted: its conversions are orphans", async () => {
    const model = await edgeModel();
    const { digest } = await describeModel(model);
    const [impressionId] = await recommend(model, {}, { isolate: createApp(), env: unreachable });
    expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["orphan"]);
    expect(await describeModel(model)).toMatchObject({ digest, counts: { impressions: 0, orphan: 1, applied: 0 } });
    expect((await call("GET", `/v1/impressions/${impressionId}`)).status).toBe(404);
  });

  it("applied once", async () => {
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
});

describe("a crash at any step of closing and publishing", () => {
  it("goes on from there: the same state, and the newest snapshot in KV", async () => {
    const start = Date.now();
    const expected = await closedAfterCrashAt(0, start);
    expect(expected).toMatchObject({ counts: { impressions: 3, applied: 2, late: 0, orphan: 0, converted: 2, expired: 1 } });
    let crashes = 0;
    while ((await closedAfterCrashAt(crashes + 1, start, expected)).crashed) crashes++;
    expect(crashes).toBeGreaterThan(15);
  });

  /** Runs a model whose bucket has an event that only KV knows until the closing, with a crash at the n-th effect. */
  async function closedAfterCrashAt(n: number, shownAt: number, expected?: object) {
    vi.setSystemTime(shownAt);
    const model = await bareModel();
    const [known, journalled] = [await show(model), await show(model), await show(model)];
    await convert({ impressionId: known, reward: 0.5 });
    await convert({ impressionId: journalled, reward: 1 }, { env: unreachable });
    vi.setSystemTime(closing(shownAt));
    const crashed = await crashing(n, learnerOf(model), (learner) => learner.alarm());
    await describeModel(model);
    for (let time = 0; time < 3; time++) {
      tick(MINUTE_MS);
      await runDurableObjectAlarm(learnerOf(model));
    }
    const { digest, counts, incidents, conversionRate, modelVersion, published } = await describeModel(model);
    const { version, parts } = await publicationIn(model);
    expect([modelVersion, published?.version]).toEqual([version, version]);
    const state = { digest, counts, incidents, conversionRate, bytes: parts[0] };
    if (expected) expect({ ...state, crashed: false }, `crashed at effect ${n}`).toEqual(expected);
    return { ...state, crashed };
  }
});

describe("an alarm is lost or fails", () => {
  const alarmOf = (model: string) => runInDurableObject(learnerOf(model), (_, { storage }) => storage.getAlarm());
  const withoutAlarm = async () => {
    const model = await createModel();
    await show(model);
    await runInDurableObject(learnerOf(model), (_, { storage }) => storage.deleteAlarm());
    expect(await alarmOf(model)).toBeNull();
    return model;
  };

  it("healed when the learner starts", async () => {
    const model = await withoutAlarm();
    await evictDurableObject(learnerOf(model));
    expect(await alarmOf(model)).toBe(Date.now() + 1000);
  });

  it("healed by what comes in after it was due", async () => {
    const model = await withoutAlarm();
    tick(2 * MINUTE_MS);
    await show(model);
    expect(await alarmOf(model)).not.toBeNull();
    expect(await runDurableObjectAlarm(learnerOf(model))).toBe(true);
    const { modelVersion, published } = await describeModel(model);
    expect(published?.version).toBe(modelVersion);
  });

  it("not set again by an impression while the learner takes it as set and early enough", async () => {
    const model = await withoutAlarm();
    tick(30_000);
    await show(model);
    expect(await alarmOf(model)).toBeNull();
  });

  it("healed by a conversion that comes in after it was due", async () => {
    const model = await createModel();
    const impressionId = await show(model);
    await runInDurableObject(learnerOf(model), (_, { storage }) => storage.deleteAlarm());
    tick(2 * MINUTE_MS);
    await convert({ impressionId, reward: 1 });
    expect(await alarmOf(model)).not.toBeNull();
  });

  it("healed by the clock of all models", async () => {
    const model = await withoutAlarm();
    await worker.scheduled(createScheduledController(), env);
    expect(await alarmOf(model)).toBe(Date.now() + 1000);
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

  const flipped = (place: (end: number, length: number) => number) => (bytes: Uint8Array, end: number) => {
    const copy = bytes.slice();
    copy[place(end, bytes.length)] ^= 1;
    return copy;
  };
  const damages: Record<string, (bytes: Uint8Array, end: number) => Uint8Array> = {
    "in its checksum": flipped(() => 3),
    "in the length of its header": flipped(() => 35),
    "where its header begins": flipped(() => 36),
    "within its header": flipped((end) => end >> 1),
    "where its state begins": flipped((end) => end),
    "within its state": flipped((end, length) => (end + length) >> 1),
    "in its last byte": flipped((_, length) => length - 1),
    "by a byte too much": (bytes) => {
      const longer = new Uint8Array(bytes.length + 1);
      longer.set(bytes);
      return longer;
    },
    "by its last byte": (bytes) => bytes.slice(0, -1),
    "by all of its state": (bytes, end) => bytes.slice(0, end),
    "by all but its first bytes": (bytes) => bytes.slice(0, 20),
    "by everything": () => new Uint8Array(),
  };
  it("a corrupt one, wherever it is corrupt: kept out, counted; who holds nothing asks the learner", async () => {
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
    ["its form is another", { format: 2 }],
    ["its state is of another version of the SDK", { lengths: [8] }],
    ["its header lacks something", { lengths: undefined }],
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

describe("the learner is overloaded", () => {
  it("no retry; KV is the buffer", async () => {
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
