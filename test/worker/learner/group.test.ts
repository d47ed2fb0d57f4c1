import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import type { ConversionEvent } from "../../../worker/domain/conversion/event.ts";
import { NO_KEYS } from "../../../worker/domain/ids/join-key.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import type { Answer, DecidedElsewhere, RecommendRequest } from "../../../worker/rpc/message.ts";
import { settings } from "../../policies/listed.ts";
import { call, createModel, describeModel, learnerOf } from "../support/client.ts";
import { exported } from "../support/exported.ts";

// Calls that arrive together are one transaction, and one that cannot be done fails alone.

const CALLS = 100;
const shownAt = Date.now() - 10_000;
const idOf = (n: number): string => uuidAt(shownAt, new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, n >> 8, n & 255]));
const places = Array.from({ length: CALLS }, (_, n) => n);

const asked = (n: number, fields: Partial<RecommendRequest> = {}): RecommendRequest => {
  return {
    context: { country: `country-${n}` },
    limit: 1,
    exclude: [],
    keys: NO_KEYS,
    byPage: false,
    defer: false,
    ...fields,
  } as RecommendRequest;
};
const shown = (n: number, fields: Partial<DecidedElsewhere> = {}): DecidedElsewhere => {
  return { id: idOf(n), name: null, action: { id: "mug" }, context: { country: "PT" }, keys: NO_KEYS, ...fields };
};
const event = (n: number, fields: Partial<ConversionEvent> = {}): ConversionEvent => {
  return { impression: idOf(n), goal: "conversion", event: `msg_${n}`, reward: 0.5, at: shownAt + 1000, ...fields };
};

/** The values of calls that are made at once. A refused call has the status of its problem, a failed one the message of its error. */
function together<T>(calls: readonly Promise<Answer<T>>[]): Promise<(T | number | string)[]> {
  return Promise.all(
    calls.map((each) =>
      each.then(
        (answer) => ("problem" in answer ? answer.problem.status : answer.value),
        (error: Error) => error.message,
      ),
    ),
  );
}

/** Makes the disk full for rows of a table that fit a condition. */
function fillDisk(model: string, table: string, condition: string): Promise<void> {
  return runInDurableObject(learnerOf(model), (_, { storage }) => {
    const full = "SELECT RAISE(ABORT, 'database or disk is full')";
    storage.sql.exec(`CREATE TRIGGER full BEFORE INSERT ON ${table} WHEN ${condition} BEGIN ${full}; END`);
  });
}

const blocksOf = (model: string): Promise<number> => {
  const query = "SELECT count(*) AS count FROM blocks";
  return runInDurableObject(learnerOf(model), (_, { storage }) => storage.sql.exec<{ count: number }>(query).one().count);
};

it("decides a hundred requests in a few groups, each by one version of the model, and the log repeats them", async () => {
  const model = await createModel({ serving: "learner" });
  const learner = learnerOf(model);
  const answers = await together(places.map((n) => learner.recommend(asked(n, n % 10 === 0 ? { repeat: "the same" } : {}))));
  const ids = answers.map((answer) => (answer as { readonly actions: readonly { readonly id: string }[] }).actions[0].id);
  // Ten of them are the same request.
  expect(new Set(ids).size).toBe(CALLS - 9);
  const blocks = await blocksOf(model);
  expect(blocks).toBeLessThan(10);
  expect(new Set(answers.map((answer) => (answer as { readonly modelVersion: number }).modelVersion)).size).toBeLessThanOrEqual(blocks);
  await together(ids.map((impression, n) => learner.ingest([event(n, { impression, at: Date.now() })])));
  await together(places.map((n) => learner.recommend(asked(n))));
  const log = await exported(model);
  const { tally } = await verify(() => log);
  expect(tally).toMatchObject({ decisions: 2 * CALLS - 9, conversions: CALLS });
});

it("decides one request after the other with a policy that needs all its earlier decisions", async () => {
  const model = "in-sequence";
  const [{ options }] = settings["bpe-delay"];
  expect((await call("PUT", `/v1/models/${model}`, { policy: "bpe-delay", options, window: { ms: 3_600_000 } })).status).toBe(201);
  const answers = await together(places.map(() => learnerOf(model).recommend(asked(0, { context: undefined }))));
  expect(await blocksOf(model)).toBe(CALLS);
  expect(new Set(answers.map((answer) => (answer as { readonly modelVersion: number }).modelVersion)).size).toBe(CALLS);
});

it("refuses a request that does not fit the model, fails one for which the disk is full, and answers all others", async () => {
  const model = await createModel({ serving: "learner" });
  const learner = learnerOf(model);
  await fillDisk(model, "keys", "true");
  const keyed = asked(80, { keys: { page: [], backend: [["a".repeat(32)]] } as never });
  const requests = places.map((n) => (n === 40 ? asked(n, { exclude: ["mug", "tent", "lamp"] }) : n === 80 ? keyed : asked(n)));
  const answers = await together(requests.map((request) => learner.recommend(request)));
  expect(answers[40]).toBe(422);
  expect(answers[80]).toContain("database or disk is full");
  const ids = answers.flatMap((answer) => (typeof answer === "object" ? answer.actions.map(({ id }) => id) : []));
  expect(new Set(ids).size).toBe(CALLS - 2);
  expect((await describeModel(model)).counts).toMatchObject({ impressions: CALLS - 2 });
  const log = await exported(model);
  expect((await verify(() => log)).tally).toMatchObject({ decisions: CALLS - 2 });
});

it("takes the conversions of a hundred webhooks, beside a refused one, a duplicate and one for which the disk is full", async () => {
  const model = await createModel();
  const learner = learnerOf(model);
  await together(places.map((n) => learner.register([shown(n)])));
  await fillDisk(model, "conversions", "new.event = 'msg_80'");
  const events = places.map((n) => (n === 40 ? event(n, { reward: 1e9 }) : n === 60 ? event(59) : event(n)));
  const answers = await together(events.map((each) => learner.ingest([each])));
  expect(answers[80]).toContain("database or disk is full");
  const statuses = answers.map((answer) => (typeof answer === "object" ? answer[0].status : "failed"));
  expect(statuses).toEqual(places.map((n) => ({ 40: "refused", 60: "duplicate", 80: "failed" })[n] ?? "applied"));
  expect((await describeModel(model)).counts).toMatchObject({ converted: CALLS - 3 });
  await runInDurableObject(learner, (_, { storage }) => void storage.sql.exec("DROP TRIGGER full"));
  // The sender sends again.
  expect(await together([learner.ingest([event(80)])])).toMatchObject([[{ status: "applied" }]]);
});

it("registers the impressions of a hundred calls, each of them whole or not at all", async () => {
  const model = await createModel({ local: true });
  const learner = learnerOf(model);
  await fillDisk(model, "names", "new.name = 'full'");
  const items = places.map((n) => {
    if (n === 40) return [shown(n), shown(n + CALLS, { action: { id: "boat" } })];
    if (n === 60) return [shown(59)];
    if (n === 80) return [shown(n), shown(n + CALLS, { name: "full" })];
    return [shown(n)];
  });
  const answers = await together(items.map((each) => learner.register(each)));
  expect(answers[40]).toBe(422);
  expect(answers[80]).toContain("database or disk is full");
  const statuses = answers.map((answer) => (typeof answer === "object" ? answer[0].status : "none"));
  expect(statuses).toEqual(places.map((n) => ({ 40: "none", 60: "duplicate", 80: "none" })[n] ?? "registered"));
  expect((await describeModel(model)).counts).toMatchObject({ impressions: CALLS - 3 });
});

it("lets only one of two calls at once give a page's id to its action", async () => {
  const model = await createModel({ local: true });
  const learner = learnerOf(model);
  const calls = places.map((n) => learner.register([shown(0, { action: { id: n % 2 ? "tent" : "mug" } })], { byPage: true }));
  const answers = await together(calls);
  expect(answers.filter((answer) => answer === 409)).toHaveLength(CALLS / 2);
});
