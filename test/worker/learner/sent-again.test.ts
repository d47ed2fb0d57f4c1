import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { shardName } from "../../../worker/domain/ids/shard.ts";
import {
  call,
  convert,
  createModel,
  describeModel,
  journalOf,
  keep,
  learnerOf,
  recommend,
  show,
  statusesOf,
  statusOf,
} from "../support/client.ts";
import { closing, DAY_MS, MINUTE_MS, ring, tick, useClock } from "../support/clock.ts";
import { exported, fieldsOf } from "../support/exported.ts";
import { failing, learners } from "../support/fault.ts";
import { goals, metadataOf, session, stripe } from "../support/sent.ts";

// An event that a rollback undid can be sent again. It then counts once.

useClock();
afterEach(() => void vi.restoreAllMocks());

interface Stage {
  readonly model: string;
  /** Impressions from before the kept version. The first has the key `visitor`. */
  readonly ids: readonly string[];
  readonly at: number;
}
type Send = (stage: Stage) => Promise<string[]>;

const amount = (id: string, reward: number, more: object = {}, place = 0): Send => {
  return async ({ model, ids, at }) => {
    const of = "key" in more ? { model, key: "visitor" } : { impressionId: ids[place] };
    const { type = "conversion", later = 0 } = more as { type?: "conversion.updated"; later?: number };
    const data = { ...of, goal: "purchase", reward, currency: "EUR" };
    return statusesOf(await convert(data, { id: `${id} of ${model}`.replaceAll(" ", "-"), timestamp: at + later, type }));
  };
};

const bought = async (model: string, id: string) =>
  statusesOf(await stripe(session({ id: `cs_${model}`, amount_total: 3000, metadata: metadataOf([id], [3000]) })));

const table: readonly (readonly [string, readonly Send[]])[] = [
  ["an order by its impression", [amount("order", 30)]],
  ["an order by its join key", [amount("order", 30, { key: true })]],
  ["an amended order", [amount("order", 30), amount("amended", 20, { type: "conversion.updated", later: 5 })]],
  ["a refund", [amount("order", 30), amount("refund", -10, { later: 5 })]],
  [
    "a negative restatement",
    [amount("order", 30), amount("other", 12, {}, 1), amount("restated", -5, { type: "conversion.updated", later: 5 })],
  ],
  ["a conflict", [amount("order", 30), amount("order", 31, { later: 5 })]],
  ["an order that a sender reports", [({ model, ids }) => bought(model, ids[0])]],
  ["orders of two impressions", [amount("order", 30), amount("other", 12, {}, 1), amount("third", 7, { later: 9 }, 1)]],
];

const model = (shards: number) =>
  createModel({ goals, encoder: { dimension: 16, interactions: "all" }, ...(shards > 1 && { serving: "edge", shards }) });

async function begun(shards: number): Promise<Stage & { readonly version: number }> {
  const name = await model(shards);
  const ids = await show(name, { keys: ["visitor"] }, { action: "tent" }, { action: "lamp", id: "own-1" });
  tick(MINUTE_MS);
  const at = Date.now();
  const version = await keep(name);
  tick(MINUTE_MS);
  return { model: name, ids, at, version };
}

const rollBack = async ({ model, version }: { readonly model: string; readonly version: number }) =>
  expect(await call("POST", `/v1/models/${model}/rollback`, { version })).toMatchObject({ status: 200, body: { restored: version } });

/** Publishes, so that the description is that of all shards. */
async function digestOf(model: string): Promise<string | null> {
  await keep(model);
  return (await describeModel(model)).digest;
}

async function learntAgain(model: string): Promise<void> {
  await call("POST", `/v1/models/${model}/reset`, { from: "log" });
  for (let i = 0; i < 20 && (await describeModel(model)).relearning; i++) {
    tick(6000);
    for (let shard = 2; shard >= 0; shard--) await runDurableObjectAlarm(learnerOf(shardName(model, shard)));
  }
  expect((await describeModel(model)).relearning).toBeNull();
}

describe.each([1, 3])("in a model of %i shards", (shards) => {
  it.each(table)("%s is learnt once again", async (_, sends) => {
    const stage = await begun(shards);
    const each = async () => {
      const statuses: string[] = [];
      for (const send of sends) statuses.push(...(await send(stage)));
      return statuses;
    };
    const before = await digestOf(stage.model);
    const first = await each();
    const [digest, { counts }] = [await digestOf(stage.model), await describeModel(stage.model)];
    expect(digest).not.toBe(before);
    await rollBack(stage);
    expect(await digestOf(stage.model)).toBe(before);
    expect(await each()).toEqual(first);
    expect(await each()).toEqual(first.map(() => "duplicate"));
    expect(await digestOf(stage.model)).toBe(digest);
    expect((await describeModel(stage.model)).counts).toEqual({ ...counts, duplicate: first.length });

    // A second rollback undoes them again, and they may come a third time.
    await rollBack(stage);
    expect(await digestOf(stage.model)).toBe(before);
    if (shards === 1) await evictDurableObject(learnerOf(stage.model));
    expect(await each()).toEqual(first);
    expect(await digestOf(stage.model)).toBe(digest);

    const log = await exported(stage.model);
    const rows = log.map(fieldsOf).filter(({ type }) => type === "conversion");
    expect(rows.map(({ status }) => status)).toEqual([...first.map(() => "void"), ...first.map(() => "void"), ...first]);
    await verify(() => log);
    const copy = await model(1);
    expect((await call("POST", `/v1/models/${copy}/events`, log.join("\n"))).status).toBe(200);
    expect(await digestOf(copy)).toBe(digest);
    // The same log again changes nothing.
    const { modelVersion } = await describeModel(copy);
    await call("POST", `/v1/models/${copy}/events`, log.join("\n"));
    expect((await describeModel(copy)).modelVersion).toBe(modelVersion);
    await learntAgain(stage.model);
    expect(await digestOf(stage.model)).toBe(digest);
    await verify(await exported(stage.model).then((lines) => () => lines));
  });

  it("impressions that were undone are registered again, with their id or under a name, and take their orders", async () => {
    const stage = await begun(shards);
    const register = () =>
      show(
        stage.model,
        { keys: ["passer-by"] as string[], id: "own-2", shownAt: stage.at },
        { action: "tent", id: "own-3", shownAt: stage.at },
      );
    const [own, other] = await register();
    const [shown] = await recommend(stage.model, { keys: ["reader"] });
    await convert({ impressionId: own, goal: "purchase", reward: 9, currency: "EUR" }, { id: `own-of-${stage.model}` });
    await rollBack(stage);
    const orders = [
      [{ impressionId: own }, "own"],
      [{ model: stage.model, key: "passer-by" }, "passer-by"],
      [{ impressionId: shown }, "shown"],
    ] as const;
    const send = async () => {
      const statuses: string[] = [];
      for (const [of, id] of orders) {
        const data = { ...of, goal: "purchase", reward: 9, currency: "EUR" };
        statuses.push(...statusesOf(await convert(data, { id: `${id}-of-${stage.model}`, timestamp: Date.now() })));
      }
      return statuses;
    };
    tick(MINUTE_MS);
    expect(await send()).toEqual(["late", "late", "late"]);
    const { action, shownAt } = (await call("GET", `/v1/impressions/${shown}`)).body;
    const [ownAgain, otherAgain] = await register();
    expect(await Promise.all([ownAgain, otherAgain, own, other].map(statusOf))).toEqual(["pending", "pending", "pending", "pending"]);
    for (const status of ["registered", "duplicate"]) {
      const again = await call("POST", `/v1/models/${stage.model}/impressions`, [{ id: shown, action, shownAt: shownAt }]);
      expect(again.body.impressions).toEqual([{ impressionId: expect.any(String), status }]);
    }
    expect(await send()).toEqual(["applied", "applied", "applied"]);
    expect(await send()).toEqual(["duplicate", "duplicate", "duplicate"]);
    await keep(stage.model);
    expect((await describeModel(stage.model)).counts).toMatchObject({ impressions: 6, converted: 2, applied: 3 });
    const log = await exported(stage.model);
    await verify(() => log);
    const digest = await digestOf(stage.model);
    await learntAgain(stage.model);
    expect(await digestOf(stage.model)).toBe(digest);
    // An erasure leaves neither of the two rows.
    expect((await call("DELETE", `/v1/impressions/${own}`)).status).toBe(204);
    expect((await exported(stage.model)).map(fieldsOf).filter(({ type }) => type === "erased").length).toBeGreaterThan(2);
    expect((await call("GET", `/v1/impressions/${own}`)).status).toBe(404);
    expect(statusesOf(await convert({ impressionId: own, goal: "purchase", reward: 1 }))).toEqual(["late"]);
  });
});

it("closing brings back nothing that was undone, unless only the journal took it when it was sent again", async () => {
  const stage = await begun(1);
  const [first, second] = stage.ids;
  const order = (impressionId: string, options: object = {}) =>
    convert(
      { impressionId, goal: "purchase", reward: 5, currency: "EUR" },
      { id: `${impressionId.slice(0, 30)}`, timestamp: stage.at, ...options },
    );
  const unreached = { env: { LEARNER: learners(failing("ingest")) } };
  // The learner did not get the first delivery, and its note is older than the rollback.
  expect(statusesOf(await order(second, unreached))).toEqual(["accepted"]);
  for (const id of [first, second]) expect(statusesOf(await order(id))).toEqual(["applied"]);
  tick(MINUTE_MS);
  await rollBack(stage);
  tick(MINUTE_MS);
  expect(statusesOf(await order(first, unreached))).toEqual(["accepted"]);
  expect(await journalOf(stage.model)).toHaveLength(2);
  await ring(stage.model, closing(Date.now()));
  await ring(stage.model, Date.now() + DAY_MS);
  expect(await Promise.all([first, second].map(statusOf))).toEqual(["converted", "expired"]);
  expect(await describeModel(stage.model)).toMatchObject({ counts: { applied: 1, late: 0 }, incidents: { missed: 0 } });
  const log = await exported(stage.model);
  await verify(() => log);
});

it("an export from before the rollback, without its bad lines, brings everything else back", async () => {
  const stage = await begun(1);
  const [since] = await show(stage.model, { id: "own-9" });
  const order = (impressionId: string, id: string) =>
    convert({ impressionId, goal: "purchase", reward: 4, currency: "EUR" }, { id: `${id}-${stage.model}` });
  await order(stage.ids[1], "good");
  await order(since, "since");
  const good = await digestOf(stage.model);
  await order(stage.ids[2], "bad");
  const log = (await exported(stage.model)).filter((line) => !line.includes('"event":"bad-'));
  await rollBack(stage);
  const { body } = await call("POST", `/v1/models/${stage.model}/events`, log.join("\n"));
  expect(body).toMatchObject({ impressions: 1, repeated: 3, conversions: { applied: 2 } });
  expect(await digestOf(stage.model)).toBe(good);
  const lines = await exported(stage.model);
  await verify(() => lines);
});
