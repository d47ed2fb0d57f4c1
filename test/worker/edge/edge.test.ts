import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { encoder, policies, Recommender } from "afterclick";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { decodeRecord } from "../../../worker/domain/catalogue/catalogue-record.ts";
import { TokenSigner } from "../../../worker/domain/ids/token.ts";
import { featurizer } from "../../../worker/domain/model/model.ts";
import { restorePolicies } from "../../../worker/domain/model/policies.ts";
import { decodePublication, type Publication } from "../../../worker/domain/model/publication.ts";
import { createApp } from "../../../worker/edge/app.ts";
import type { Learner } from "../../../worker/learner/learner.ts";
import { settings } from "../../policies/listed.ts";
import {
  type CallOptions,
  call,
  convert,
  createModel,
  describeModel,
  HOUR_MS,
  learnerOf,
  type Reply,
  recommend,
  show,
} from "../support/client.ts";
import { START } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { counted, down, failing, kv, learners, lost } from "../support/fault.ts";
import { bytesIn, catalogueIn, FRESH_MS, publicationIn, versionAt } from "../support/published.ts";

const MINUTE_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const later = (ms: number) => vi.setSystemTime(Date.now() + ms);
const edgeModel = (body: object = {}): Promise<string> => createModel({ serving: "edge", ...body });
const ask = (model: string, options: CallOptions, body: object = {}): Promise<Reply> =>
  call("POST", `/v1/models/${model}/recommendations`, body, options);
const statusOf = ({ body }: Reply): string => body.conversions[0].status;

/** Changes a model, and runs the alarm that publishes it. */
async function learn(model: string): Promise<number> {
  const { body } = await call("POST", `/v1/models/${model}/impressions`, [{ action: "mug", shownAt: Date.now() }]);
  await convert({ impressionId: body.impressions[0].impressionId, reward: 1 });
  later(MINUTE_MS);
  await runDurableObjectAlarm(learnerOf(model));
  const { modelVersion, published } = await describeModel(model);
  expect(published?.version).toBe(modelVersion);
  return modelVersion;
}

describe("an isolate", () => {
  it("decides without its learner, by what KV has", async () => {
    const model = await edgeModel();
    const { status, body } = await ask(model, { isolate: createApp(), env: { LEARNER: down.LEARNER } });
    expect(status).toBe(201);
    const { modelVersion } = await describeModel(model);
    expect(body).toMatchObject({ model, modelVersion, policy: "delay-lin-ts", arm: "policy", windowEndsAt: Date.now() + HOUR_MS });
    expect(["lamp", "mug", "tent"]).toContain(body.actions[0].id);
  });

  it("holds what decisions need of the served policy, and cannot learn by it", async () => {
    const model = await edgeModel({ shadows: [{ name: "otf", policy: "otf-lin-ts" }] });
    await learn(model);
    const { body: snapshot } = await call("GET", `/v1/models/${model}/snapshot`);
    const { parts } = await publicationIn(model);
    expect(parts[0].length).toBeLessThan(snapshot.byteLength / 3);
    const [served, shadow] = await restorePolicies(parts);
    expect([served.policy.learns, shadow.policy.learns]).toEqual([false, true]);
    expect(() => served.digest()).toThrow(expect.objectContaining({ code: "only-decides" }));
  });

  it("restores the policies that it serves, and none of a model that its learner serves", async () => {
    const shadows = [{ name: "otf", policy: "otf-lin-ts" }];
    const [own, other] = [await edgeModel({ shadows }), await edgeModel({ serving: "learner", shadows })];
    const restore = vi.spyOn(Recommender, "restore");
    const isolate = createApp();
    expect((await ask(other, { isolate })).status).toBe(201);
    expect(restore).toHaveBeenCalledTimes(0);
    expect((await ask(own, { isolate })).status).toBe(201);
    expect(restore).toHaveBeenCalledTimes(2);
  });

  it("goes on by the last snapshot while KV and its learner are both down", async () => {
    const model = await edgeModel();
    const isolate = createApp();
    const version = (await ask(model, { isolate })).body.modelVersion;
    await learn(model);
    for (let minute = 0; minute < 3; minute++) {
      expect(await versionAt(isolate, model, down)).toBe(version);
      later(MINUTE_MS);
    }
    expect(await versionAt(isolate, model)).toBeGreaterThan(version);
  });

  it("serves by the prior as soon as there is a model", async () => {
    await call("PUT", "/v1/models/newborn", { window: { ms: HOUR_MS } });
    const { status, body } = await ask("newborn", { isolate: createApp(), env: { LEARNER: down.LEARNER } }, { actions: [{ id: "a" }] });
    expect(status).toBe(201);
    expect(body.actions).toMatchObject([{ id: "a", mean: 0 }]);
    expect((await publicationIn("newborn")).version).toBe(body.modelVersion);
  });

  it("asks the learner if it holds nothing and KV is down, and says so if that is down as well", async () => {
    const model = await edgeModel();
    const { calls, fault } = counted();
    const isolate = createApp();
    const refused = await ask(model, { isolate, env: down });
    expect(refused).toMatchObject({ status: 503, body: { status: 503 } });
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    expect((await ask(model, { isolate, env: { EVENTS: down.EVENTS, LEARNER: learners(fault) } })).status).toBe(201);
    expect(calls).toEqual(["publication", "registerShown"]);
  });

  it("forgets a model that was deleted elsewhere", async () => {
    const model = await edgeModel();
    const isolate = createApp();
    await ask(model, { isolate });
    await call("DELETE", `/v1/models/${model}`);
    later(FRESH_MS);
    await ask(model, { isolate });
    expect((await ask(model, { isolate })).status).toBe(404);
    expect((await ask("never-there", { isolate })).status).toBe(404);
  });

  it("looks for a newer snapshot in KV in the background, once in ten seconds, while its learner says nothing", async () => {
    const model = await edgeModel();
    const isolate = createApp();
    const { calls, fault } = counted();
    const options = { isolate, env: { EVENTS: kv(fault), LEARNER: down.LEARNER } };
    const before = (await ask(model, options)).body.modelVersion;
    const after = await learn(model);
    later(-MINUTE_MS);
    expect((await ask(model, options)).body.modelVersion).toBe(before);
    // The publication and the catalogue.
    expect(calls).toEqual(["get", "get"]);
    later(FRESH_MS);
    await Promise.all(Array.from({ length: 5 }, () => ask(model, options)));
    expect(calls).toHaveLength(4);
    expect((await ask(model, options)).body.modelVersion).toBe(after);
    // A clock that was set back does not prevent a look-up.
    later(-HOUR_MS);
    await ask(model, options);
    expect(calls).toHaveLength(6);
  });

  it("names the snapshot that it decided by, with which the decision can be made again bit for bit", async () => {
    const model = await edgeModel({ seed: 11 });
    await learn(model);
    const { body: config } = await call("GET", `/v1/models/${model}`);
    const { headers, body: bytes } = await call("GET", `/v1/models/${model}/snapshot`);
    const version = Number(headers.get("afterclick-version"));
    const context = { country: "PT", device: "phone" };
    const reply = await ask(model, { isolate: createApp() }, { context, limit: 3 });
    expect(reply.body.modelVersion).toBe(version);
    const signer = await TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string);
    const tokens = await Promise.all(
      reply.body.actions.map(({ impressionId }: { impressionId: string }) => signer.verify(impressionId, Date.now())),
    );
    expect(tokens.map(({ modelVersion }) => modelVersion)).toEqual([version, version, version]);

    const { policy } = await Recommender.restore(new Uint8Array(bytes), { policies });
    const ids = ["tent", "mug", "lamp"];
    const points = encoder(config.encoder).among(ids.map((id) => ({ id })))(context);
    const { draws } = config;
    const again = policy.choose({ points, limit: 3, draws, round: policy.impressions + 1, now: Date.now(), decision: tokens[0].id });
    expect(again.map(({ index, id: _, ...scores }) => ({ id: ids[index], ...scores }))).toEqual(
      reply.body.actions.map(({ impressionId: _, ...action }: { impressionId: string }) => action),
    );
  });
});

describe("an isolate that learns from a registration that it is behind", () => {
  /** An isolate whose calls of KV and learner are recorded, and whose KV shows nothing newer than at its first request. */
  async function started(model: string) {
    const isolate = createApp();
    const first = (await bytesIn(model)).buffer;
    const { calls, fault } = counted();
    // An isolate looks for the publication first, then for the catalogue.
    let looks = 0;
    const stale = kv((method, call) => fault(method, method === "get" && looks++ % 2 === 0 ? () => Promise.resolve(first.slice(0)) : call));
    const options = { isolate, env: { EVENTS: stale, LEARNER: learners(fault) } };
    const version = async () => (await ask(model, options)).body.modelVersion;
    return { isolate, options, calls, version };
  }

  it("takes the publication from its learner, and leaves KV alone", async () => {
    const model = await edgeModel();
    const { calls, version } = await started(model);
    await version();
    const newer = await learn(model);
    calls.length = 0;
    await version();
    expect(await version()).toBe(newer);
    later(FRESH_MS - 1);
    await version();
    expect(calls.filter((method) => method !== "registerShown")).toEqual(["newer"]);
  });

  it("does so at most once a second", async () => {
    const model = await edgeModel();
    const { calls, version } = await started(model);
    await version();
    const first = await learn(model);
    calls.length = 0;
    await version();
    expect(await version()).toBe(first);
    await call("PUT", `/v1/models/${model}/actions`, [{ id: "kettle" }]);
    later(999);
    await version();
    expect(await version()).toBe(first);
    expect(calls.filter((method) => method === "newer")).toHaveLength(1);
    later(1);
    await version();
    expect(await version()).toBeGreaterThan(first);
    expect(calls.filter((method) => method === "newer")).toHaveLength(2);
  });

  it("takes that of a model created again, though its version is lower", async () => {
    const model = await edgeModel();
    await show(model, ...Array.from({ length: 50 }, () => ({})));
    const before = await learn(model);
    const { options, version } = await started(model);
    expect(await version()).toBe(before);
    later(1);
    await call("DELETE", `/v1/models/${model}`);
    await call("PUT", `/v1/models/${model}`, { window: { ms: HOUR_MS }, defaultAction: "mug" });
    later(1000);
    await version();
    expect(await version()).toBeLessThan(before);
    const { counts, incidents } = await describeModel(model);
    expect([counts.impressions, incidents.refused]).toEqual([1, 1]);
    expect((await ask(model, options)).status).toBe(201);
  });

  it("goes on by its own if the learner's is lost or damaged, and counts the damaged one", async () => {
    const model = await edgeModel();
    const { isolate, options, version } = await started(model);
    const before = await version();
    const newer = await learn(model);
    const broken = (publication: () => Promise<unknown>) => learners((method, call) => (method === "newer" ? publication() : call()));
    const damaged = async () => ({
      value: { publication: new Uint8Array(100), catalogue: null, newest: { generation: 0, catalogue: 0 } },
    });
    for (const publication of [() => lost(), damaged]) {
      later(1000);
      expect((await ask(model, { isolate, env: { ...options.env, LEARNER: broken(publication) } })).body.modelVersion).toBe(before);
    }
    later(1000);
    expect(await version()).toBe(newer);
    expect((await describeModel(model)).incidents.keptOut).toBe(1);
  });

  it("catches up before it refuses a request, at most once a second", async () => {
    const model = await edgeModel();
    const { options, calls, version } = await started(model);
    await version();
    await call("PUT", `/v1/models/${model}/actions`, [{ id: "kettle", features: { brand: "Acme" } }, { id: "cup" }]);
    later(1000);
    calls.length = 0;
    const kettle = { actions: [{ id: "kettle" }, { id: "cup" }], exclude: ["cup"] };
    const answer = await ask(model, options, kettle);
    expect([answer.status, answer.body.actions[0].id]).toEqual([201, "kettle"]);
    expect(calls[0]).not.toBe("registerShown");
    later(1000);
    calls.length = 0;
    const impossible = { actions: [{ id: "cup" }], exclude: ["cup"] };
    for (let times = 0; times < 3; times++) expect((await ask(model, options, impossible)).status).toBe(422);
    expect(calls).toEqual(["newer"]);
  });
});

describe("a learner that isolates ask for its publication", () => {
  const newer = async (model: string, generation: number, version: number) => {
    const answer = await learnerOf(model).newer({ generation, version, catalogue: 1e9 });
    return "value" in answer ? answer.value.publication : expect.fail("a refusal");
  };

  it("gives it to those that hold an earlier one, and encodes it once", async () => {
    const model = await edgeModel();
    await learn(model);
    const { generation, version } = await publicationIn(model);
    const digest = vi.spyOn(crypto.subtle, "digest");
    expect(await newer(model, generation, version)).toBeNull();
    expect(await newer(model, generation, version + 1)).toBeNull();
    expect(await newer(model, generation + 1, 0)).toBeNull();
    for (let n = 0; n < 5; n++) expect(await newer(model, generation, version - 1)).toEqual(await bytesIn(model));
    expect(await newer(model, generation - 1, 1e9)).toEqual(await bytesIn(model));
    expect(digest).not.toHaveBeenCalled();
    expect(await learnerOf(`${model}-unknown`).newer({ generation, version, catalogue: 0 })).toMatchObject({ problem: { status: 404 } });
  });

  it("gives away at most 20 MB a second", async () => {
    const model = await edgeModel();
    const { length } = await bytesIn(model);
    const most = Math.ceil(20_000_000 / length);
    const taken = async () => {
      let count = 0;
      while (await newer(model, 0, 0)) count++;
      return count;
    };
    expect(await taken()).toBe(most);
    later(999);
    expect(await taken()).toBe(0);
    // An isolate that holds nothing gets it all the same.
    expect((await ask(model, { isolate: createApp(), env: { EVENTS: down.EVENTS } })).status).toBe(201);
    later(1);
    expect(await taken()).toBe(most);
  });

  it("gives every state with the catalogue that it names, or a newer one", async () => {
    const model = await edgeModel();
    await runInDurableObject(learnerOf(model), async (learner: Learner) => {
      const [, answer] = await Promise.all([
        learner.setActions([{ id: "kettle" }]),
        learner.newer({ generation: 0, version: 0, catalogue: 0 }),
      ]);
      const { publication, catalogue } = "value" in answer ? answer.value : expect.fail("a refusal");
      const { catalogue: needed } = (await decodePublication(publication as Uint8Array<ArrayBuffer>)) as Publication;
      expect((await decodeRecord(catalogue as Uint8Array<ArrayBuffer>))?.version).toBeGreaterThanOrEqual(needed);
    });
  });
});

it("the columns of the catalogue come with the whole catalogue, and are those of the model's encoder and its available actions", async () => {
  const model = await edgeModel();
  await call("PUT", `/v1/models/${model}/actions`, { actions: [{ id: "mug" }, { id: "kettle", available: false }, { id: "pan" }] });
  const { columns, available } = await catalogueIn(model);
  const { config } = await publicationIn(model);
  expect(columns).toEqual(featurizer(config).columns(available));
  expect(available.map(({ id }) => id)).toEqual(["mug", "pan"]);
});

describe("registration", () => {
  it("is one call for all that comes within a moment", async () => {
    const model = await edgeModel();
    const { calls, fault } = counted();
    const isolate = createApp();
    const env = { LEARNER: learners(fault) };
    await ask(model, { isolate, env });
    calls.length = 0;
    // Time stops until all requests have been answered.
    let missing = 20;
    const { promise, resolve } = Promise.withResolvers<void>();
    vi.spyOn(scheduler, "wait").mockReturnValue(promise);
    const answering: CallOptions["isolate"] = {
      async fetch(...request) {
        const response = await isolate.fetch(...request);
        if (--missing === 0) resolve();
        return response;
      },
    };
    await Promise.all(Array.from({ length: 20 }, () => ask(model, { isolate: answering, env }, { limit: 2 })));
    expect(calls).toEqual(["registerShown"]);
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 41, pending: 41 });
  });

  it("joins conversions that were faster", async () => {
    const model = await edgeModel();
    const isolate = createApp();
    const [impressionId] = await recommend(model, {}, { isolate, env: { LEARNER: learners(failing("registerShown")) } });
    expect(statusOf(await convert({ impressionId, reward: 1 }))).toBe("orphan");
    await recommend(model, {}, { isolate });
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 2, orphan: 0, applied: 1, converted: 1 });
    expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({ status: "converted", reward: 1 });
  });
});

describe("a snapshot", () => {
  it.each([
    ["delay-lin-ts", {}],
    ["gp-ts-sdf", { kernel: { name: "matern52" } }],
    ["gp-ucb-sdf", { kernel: { name: "matern52" }, capacity: 2 }],
  ])("of %s is the same state whatever the order and repetition of the conversions that led to it", async (policy, options) => {
    const shownAt = Date.now();
    const run = async (order: readonly number[]): Promise<{ digest: string; bytes: Uint8Array }> => {
      const model = await edgeModel({ policy, options, seed: 3 });
      const shown = ["tent", "mug", "lamp", "mug"].map((action, i) => ({ id: `i${i}`, action, shownAt: shownAt + i }));
      const { body } = await call("POST", `/v1/models/${model}/impressions`, shown);
      for (const i of order) {
        await convert(
          { impressionId: body.impressions[i % 4].impressionId, reward: (i + 1) / 8 },
          { id: `msg_${i}`, timestamp: shownAt + 10 * i },
        );
        // Snapshots, and a restart from one of them, change nothing.
        if (i % 3 === 0) await call("GET", `/v1/models/${model}/snapshot`);
        if (i % 3 === 1) await evictDurableObject(learnerOf(model));
      }
      await call("GET", `/v1/models/${model}/snapshot`);
      later(MINUTE_MS);
      await runDurableObjectAlarm(learnerOf(model));
      const { parts } = await publicationIn(model);
      vi.setSystemTime(shownAt);
      return { digest: (await describeModel(model)).digest as string, bytes: parts[0] };
    };
    const expected = await run([0, 1, 2, 3, 4, 5]);
    expect(await run([5, 4, 3, 2, 1, 0])).toEqual(expected);
    expect(await run([3, 3, 0, 5, 1, 0, 4, 2, 5])).toEqual(expected);
    expect((await run([0, 1, 2, 3])).digest).not.toBe(expected.digest);
  });
});

describe("publishing", () => {
  it("succeeds at the next alarm if the publication could not be made", async () => {
    const model = await edgeModel();
    const { published } = await describeModel(model);
    await show(model, {});
    vi.spyOn(Recommender, "restore").mockRejectedValueOnce(new Error("no memory"));
    later(MINUTE_MS);
    await runDurableObjectAlarm(learnerOf(model));
    expect(complaints()).toEqual(["an alarm's task failed Error"]);
    expect((await describeModel(model)).published).toEqual(published);
    later(MINUTE_MS);
    await runDurableObjectAlarm(learnerOf(model));
    const { modelVersion, published: after } = await describeModel(model);
    expect(after?.version).toBe(modelVersion);
    expect((await publicationIn(model)).version).toBe(modelVersion);
  });

  const spied = () => vi.spyOn(Object.getPrototypeOf(env.EVENTS) as KVNamespace, "put");
  const published = (model: string, put: ReturnType<typeof spied>): number =>
    put.mock.calls.filter(([key]) => key === `model/${model}`).length;

  it("lets a second pass between two writes to KV, and joins the changes that wait meanwhile", async () => {
    const model = await edgeModel();
    const put = spied();
    const wait = vi.spyOn(scheduler, "wait");
    later(400);
    await Promise.all(["a", "b", "c"].map((id) => call("PUT", `/v1/models/${model}/actions`, [{ id }])));
    expect(wait.mock.calls[0][0]).toBe(600);
    expect(published(model, put)).toBeLessThanOrEqual(2);
    expect((await publicationIn(model)).version).toBe((await describeModel(model)).modelVersion);
  });

  it.each([
    ["reset", "POST", "/reset", "put"],
    ["deletion", "DELETE", "", "delete"],
  ] as const)("lets a second pass before a %s writes to KV too", async (_, method, path, written) => {
    const model = await edgeModel();
    const wait = vi.spyOn(scheduler, "wait");
    const write = vi.spyOn(Object.getPrototypeOf(env.EVENTS) as KVNamespace, written);
    later(400);
    expect((await call(method, `/v1/models/${model}${path}`)).status).toBeLessThan(300);
    expect(wait.mock.calls[0][0]).toBe(600);
    expect(wait.mock.invocationCallOrder[0]).toBeLessThan(write.mock.invocationCallOrder[0]);
  });

  it("keeps the whole model if a deletion fails in KV, and then deletes it", async () => {
    const model = await edgeModel();
    const broken = vi.spyOn(Object.getPrototypeOf(env.EVENTS) as KVNamespace, "delete").mockRejectedValue(new Error("429"));
    expect((await call("DELETE", `/v1/models/${model}`)).status).toBeGreaterThanOrEqual(500);
    expect(complaints().length).toBeGreaterThan(0);
    broken.mockRestore();
    expect((await describeModel(model)).published).not.toBeNull();
    expect((await call("DELETE", `/v1/models/${model}`)).status).toBe(204);
    expect((await call("GET", `/v1/models/${model}`)).status).toBe(404);
  });

  it("ends with the newest if two changes are published at once, however slow KV is", async () => {
    const model = await edgeModel();
    const put = env.EVENTS.put.bind(env.EVENTS);
    const waits = [60, 20, 0];
    spied().mockImplementation((async (...given: Parameters<typeof put>) => {
      await scheduler.wait(waits.shift() ?? 0);
      return put(...given);
    }) as typeof put);
    await Promise.all(["a", "b", "c"].map((id) => call("PUT", `/v1/models/${model}/actions`, [{ id }])));
    const { modelVersion } = await describeModel(model);
    const { version } = await publicationIn(model);
    expect(version).toBe(modelVersion);
    const { actions } = await catalogueIn(model);
    const { body } = await ask(model, { isolate: createApp(), env: { EVENTS: down.EVENTS } });
    expect(actions).toEqual([{ id: body.actions[0].id }]);
  });

  it("leaves nothing of a model that is deleted meanwhile", async () => {
    const model = await edgeModel();
    const put = env.EVENTS.put.bind(env.EVENTS);
    spied().mockImplementation((async (...given: Parameters<typeof put>) => {
      await scheduler.wait(50);
      return put(...given);
    }) as typeof put);
    const [, deleted] = await Promise.all([
      call("PUT", `/v1/models/${model}/actions`, [{ id: "a" }]),
      call("DELETE", `/v1/models/${model}`),
    ]);
    expect(deleted.status).toBe(204);
    expect(complaints()).toEqual(["an alarm's task failed Problem"]);
    expect(await env.EVENTS.get(`model/${model}`)).toBeNull();
    expect((await ask(model, { isolate: createApp() })).status).toBe(404);
  });
});

it("serves a policy that decides in sequence by its learner, and refuses it at the edge with the reason", async () => {
  const sequential = ["bpe", "bpe-delay", "delayed-zooming", "dlpp", "mini-gp-ei", "mini-gp-ucb"];
  for (const { id } of policies) {
    const [{ options }] = settings[id];
    const body = { policy: id, options, window: { ms: HOUR_MS } };
    const { status, body: problem } = await call("PUT", `/v1/models/at-edge-${id}`, { ...body, serving: "edge" });
    if (!sequential.includes(id)) {
      expect(status, id).toBe(201);
      continue;
    }
    expect(status, id).toBe(422);
    expect(problem.detail).toMatch(new RegExp(`^serving: ${id} has to be served by its learner: \\w.+`));
    const model = `in-sequence-${id}`;
    expect(await call("PUT", `/v1/models/${model}`, body)).toMatchObject({ status: 201, body: { serving: "learner" } });
    const { calls, fault } = counted();
    expect((await ask(model, { isolate: createApp(), env: { LEARNER: learners(fault) } })).status).toBe(201);
    expect(calls).toEqual(["recommend"]);
  }
});
