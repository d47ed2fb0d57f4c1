import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { delayLinTs, type Policy, Recommender } from "afterclick";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { verify } from "../../../cli/verify/verification.ts";
import { MOST_AMOUNT } from "../../../worker/protocol/most.ts";
import { call, convert, createModel, describeModel, learnerOf, recommend, show, sign, statusesOf, statusOf } from "../support/client.ts";
import { closing, MINUTE_MS, ring, START, tick, useClock } from "../support/clock.ts";
import { complaints } from "../support/complaints.ts";
import { down } from "../support/fault.ts";

// Rewards beyond the range are refused. A stored one that a policy does not take stops nothing.

useClock();
afterEach(() => void vi.restoreAllMocks());

const goals = { click: { weight: 0 }, purchase: { weight: 1, after: "click", value: { currency: "EUR" } } };
const pay = (impressionId: string, reward: unknown, id?: string) =>
  convert({ impressionId, goal: "purchase", reward }, { timestamp: START + 1000, ...(id && { id }) });

/** Every way to read the model works, and gives finite figures. */
async function expectServes(model: string): Promise<void> {
  for (const path of ["", "/metrics", "/events"]) {
    const { status, body } = await call("GET", `/v1/models/${model}${path}`);
    expect([path, status]).toEqual([path, 200]);
    if (path === "/metrics") {
      for (const { reward } of body.buckets) expect(reward).toEqual(expect.any(Number));
    }
  }
  await recommend(model);
  const { body: log } = await call("GET", `/v1/models/${model}/events`);
  await verify(() => log.trimEnd().split("\n"));
}

/** Stores an amount that no request can report. */
const store = (model: string, reward: number, where = "seq = (SELECT max(seq) FROM conversions)") =>
  runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => {
    const changed = sql.exec(`UPDATE conversions SET reward = ? WHERE ${where} RETURNING impression`, reward).toArray();
    expect(changed).toHaveLength(1);
    // What an impression has brought, and the sums over its bucket.
    sql.exec("UPDATE outcomes SET reward = ?1 WHERE id = ?2", reward, changed[0].impression);
    sql.exec("UPDATE tallies SET reward = reward + ?1, square = square + ?1 * ?1 WHERE observed > 0", reward);
  });

describe("an amount beyond the range", () => {
  it.each([1e101, -1e300, 1.0000001e12])("is refused before anything is stored: %d", async (reward) => {
    const model = await createModel({ goals });
    const [impressionId] = await show(model, {});
    tick(MINUTE_MS);
    const { modelVersion } = await describeModel(model);
    for (let i = 0; i < 2; i++) {
      expect(await pay(impressionId, reward)).toMatchObject({
        status: 422,
        body: { detail: expect.stringMatching(/reward: expected a number between -1000000000000 and 1000000000000, got/) },
      });
    }
    expect(await describeModel(model)).toMatchObject({ modelVersion, counts: { applied: 0, converted: 0 } });
    expect(await statusOf(impressionId)).toBe("pending");
    await ring(model, closing(START));
    await expectServes(model);
  });

  it("is refused by an import, which names the line", async () => {
    const model = await createModel({ goals });
    const shownAt = Date.now();
    tick(MINUTE_MS);
    const log = [
      { type: "impression", id: "a", action: "mug", shownAt },
      { type: "conversion", impression: "a", goal: "purchase", reward: 1e101, at: shownAt + 5 },
    ];
    const text = log.map((line) => JSON.stringify(line)).join("\n");
    expect(await call("POST", `/v1/models/${model}/events`, text)).toMatchObject({
      status: 422,
      body: { detail: /line 2: reward: expected/ },
    });
    expect((await describeModel(model)).counts.impressions).toBe(0);
  });

  it("does not matter as a greatest amount, and the greatest one counts", async () => {
    const body = { window: { ms: 1000 }, goals: { purchase: { weight: 1, value: { currency: "EUR", max: 1e13 } } } };
    expect(await call("PUT", "/v1/models/too-much", body)).toMatchObject({ status: 422 });
    const model = await createModel({ goals });
    const [impressionId] = await show(model, {});
    tick(MINUTE_MS);
    for (let i = 0; i < 3; i++) expect(statusesOf(await pay(impressionId, MOST_AMOUNT))).toEqual(["applied"]);
    expect((await call("GET", `/v1/impressions/${impressionId}`)).body.reward).toBe(3 * MOST_AMOUNT);
    await evictDurableObject(learnerOf(model));
    await expectServes(model);
  });
});

it("no reward in any form is answered with 500, and the model serves on", async () => {
  const model = await createModel({ goals: { ...goals, rating: { weight: 1 } }, reward: { min: -1, max: 1 } });
  const [impressionId] = await show(model, {});
  tick(MINUTE_MS);
  const numbers = fc
    .sample(fc.double({ noDefaultInfinity: true, noNaN: true }), { seed: 37, numRuns: 20 })
    .map((each) => JSON.stringify(each));
  const forms = ["1e300", "5e-324", "-5e-324", "-0", "1e999", "-1e999", "1e21", "1e-400", "1e12", "-1e12", "123456789012.123456789"];
  const texts = ['"NaN"', '"Infinity"', '"1e21"', '"20"', '""', "null", "true", "[20]", "{}", '{"valueOf":1}'];
  const statuses = new Map<string, number>();
  for (const [i, reward] of [...numbers, ...forms, ...texts].entries()) {
    for (const goal of ["purchase", "rating"]) {
      const body = `{"type":"conversion","timestamp":${START + 1000},"data":{"impressionId":"${impressionId}","goal":"${goal}","reward":${reward}}}`;
      const id = `msg_fuzz_${i}_${goal}`;
      const { status } = await call("POST", "/v1/conversions", body, { key: null, headers: sign(id, body) });
      statuses.set(`${goal} ${reward}`, status);
    }
  }
  expect(new Set(statuses.values())).toEqual(new Set([202, 400, 422]));
  const of = (goal: string) => forms.map((reward) => statuses.get(`${goal} ${reward}`));
  expect(of("purchase")).toEqual([422, 202, 202, 202, 422, 422, 422, 202, 202, 202, 202]);
  expect(of("rating")).toEqual([422, 202, 202, 202, 422, 422, 422, 202, 422, 422, 422]);
  await evictDurableObject(learnerOf(model));
  await expectServes(model);
  expect((await describeModel(model)).incidents.skipped).toBe(0);
});

describe("a stored event that a policy does not take", () => {
  const reward = 1e101;

  it("is skipped and counted, and others are learnt", async () => {
    const model = await createModel({ goals });
    const [first, second, third] = await show(model, {}, {}, {});
    tick(MINUTE_MS);
    await pay(first, 10);
    await pay(second, 30, "msg_stored");
    await store(model, reward);
    await evictDurableObject(learnerOf(model));
    const { counts, incidents } = await describeModel(model);
    expect(counts).toMatchObject({ applied: 1, converted: 1, impressions: 3 });
    expect(incidents).toMatchObject({ skipped: 1 });
    expect(await statusOf(second)).toBe("pending");
    const { body: explained } = await call("GET", `/v1/impressions/${second}`);
    expect(explained.conversions).toEqual([{ goal: "purchase", reward, currency: "EUR", at: START + 1000, status: "refused" }]);
    await pay(third, 20);
    await pay(second, 5);
    expect((await call("GET", `/v1/impressions/${second}`)).body).toMatchObject({ status: "converted", reward: 5 });
    await expectServes(model);
    const { body } = await call("GET", `/v1/models/${model}/metrics`);
    expect(body.buckets.reduce((sum: number, each: { reward: number }) => sum + each.reward, 0)).toBe(35);
    await ring(model, closing(START));
    await expectServes(model);
    expect((await describeModel(model)).incidents.skipped).toBe(1);
    expect(complaints()).toHaveLength(1);
  });

  it("stops no relearning", async () => {
    const model = await createModel({ goals });
    const [first, second] = await show(model, {}, {});
    tick(MINUTE_MS);
    await pay(first, 10);
    await pay(second, 30);
    await store(model, reward);
    await evictDurableObject(learnerOf(model));
    const from = { from: "log", goals: { ...goals, purchase: { ...goals.purchase, weight: 2 } } };
    expect((await call("POST", `/v1/models/${model}/reset`, from)).status).toBe(202);
    await ring(model, Date.now());
    expect(await describeModel(model)).toMatchObject({ relearning: null, counts: { converted: 1 }, incidents: { skipped: 1 } });
    await expectServes(model);
    expect(complaints().length).toBeGreaterThan(0);
  });
});

describe("a conversion that a policy does not take", () => {
  /** Lets the policies of all models refuse an amount, as an error of arithmetic would. */
  const refuse = async (amount: number) => {
    const { policy } = await Recommender.create({ policy: delayLinTs({ dimension: 1 }), window: "none" });
    const prototype: Policy = Object.getPrototypeOf(policy);
    const { observe } = prototype;
    vi.spyOn(prototype, "observe").mockImplementation(function (this: Policy, outcome) {
      if (outcome.goals?.after.purchase?.reward === amount) throw new RangeError(`cannot learn ${amount}`);
      observe.call(this, outcome);
    });
    vi.spyOn(console, "error").mockImplementation(() => {});
  };
  const skipped = async (model: string) => (await describeModel(model)).incidents.skipped;

  it("is skipped on arrival, and in the journal at closing", async () => {
    const model = await createModel({ goals });
    const [first, second, third] = await show(model, {}, {}, {});
    tick(MINUTE_MS);
    await describeModel(model);
    await refuse(13);
    expect(statusesOf(await pay(first, 13))).toEqual(["applied"]);
    expect(await skipped(model)).toBe(1);
    expect(statusesOf(await pay(first, 13, "msg_again"))).toEqual(["applied"]);
    await pay(second, 20);
    const unreachable = { LEARNER: down.LEARNER };
    const body = { impressionId: third, goal: "purchase", reward: 13 };
    expect(statusesOf(await convert(body, { timestamp: START + 1000, env: unreachable }))).toEqual(["accepted"]);
    await ring(model, closing(START));
    await ring(model, closing(START) + MINUTE_MS);
    expect(await skipped(model)).toBe(3);
    expect(await describeModel(model)).toMatchObject({ counts: { converted: 1, impressions: 3 } });
    await expectServes(model);
  });

  it("stops neither the impression that it waited for, nor a relearning", async () => {
    const model = await createModel({ goals });
    await show(model, {});
    tick(MINUTE_MS);
    await refuse(13);
    await convert({ model, key: "order-1", goal: "purchase", reward: 13 }, { timestamp: START + 1000 });
    const [late] = await show(model, { keys: ["order-1"], shownAt: START });
    expect(await skipped(model)).toBe(1);
    expect(await statusOf(late)).toBe("pending");
    await pay(late, 7);
    await refuse(7);
    expect((await call("POST", `/v1/models/${model}/reset`, { from: "log" })).status).toBe(202);
    await ring(model, Date.now());
    expect(await skipped(model)).toBe(2);
    expect(await describeModel(model)).toMatchObject({ relearning: null, counts: { converted: 0, impressions: 2 } });
    await expectServes(model);
  });
});
