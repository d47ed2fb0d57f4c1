import type { Policy } from "afterclick";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Stream, shuffled, stream } from "../../../src/simulation/stream.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import type { LogRow } from "../../../worker/domain/log/log-row.ts";
import type { ModelConfig } from "../../../worker/domain/model/model.ts";
import { examine } from "../../../worker/learner/figures/examination.ts";
import type { Examination } from "../../../worker/protocol/metrics-answer.ts";
import { call, convert, createModel, describeModel, HOUR_MS } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";

// The examination of places, estimated from the log of simulated visitors whose law is known.

useClock();

// All randomness of a decision comes from its ids. With seeded ids each run has the same lists.
beforeEach(({ task }) => {
  const draws = stream("ids", task.name);
  vi.spyOn(crypto, "getRandomValues").mockImplementation((bytes) => (bytes as unknown as Uint8Array).map(() => draws.below(256)) as never);
});
afterEach(() => void vi.restoreAllMocks());

const few = (more: number, of = "conversions") => ({ tooFew: { more, of } });
const WEIGHTS = [1, 0.6, 0.35];
/** Probability that a visitor who examines an action wants it. The first action alone depends on the country. */
const RATES: Readonly<Record<string, number>> = { tent: 0.4, mug: 0.8, lamp: 0.6, rope: 0.7 };
const wants = (action: string, country: string): number => (action === "tent" && country === "PT" ? 0.9 : RATES[action]);
const actions = Object.keys(RATES).map((id) => ({ id }));

async function visit(model: string, { lists, limit = 3 }: { lists: number; limit?: number }, draws: Stream): Promise<void> {
  const converted: object[] = [];
  for (let i = 0; i < lists; i++) {
    tick(MINUTE_MS / 60);
    const country = draws() < 0.5 ? "PT" : "ES";
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, { context: { country }, limit });
    body.actions.forEach(({ impressionId, id }: { impressionId: string; id: string }, place: number) => {
      if (draws() < WEIGHTS[place] * wants(id, country)) converted.push({ impressionId, reward: 1 });
    });
    if (converted.length > 0 && (converted.length > 200 || i === lists - 1)) await convert(converted.splice(0));
  }
}

type Compared = Exclude<Examination["clickModels"], { readonly tooFew: unknown }>;

async function examinationOf(model: string): Promise<Examination> {
  const { status, body } = await call("GET", `/v1/models/${model}/examination`);
  expect(status).toBe(200);
  return body;
}

const create = async (more: object): Promise<string> => {
  const model = await createModel({ encoder: { dimension: 16 }, ...more });
  await call("PUT", `/v1/models/${model}/actions`, { actions });
  return model;
};

it.each([
  ["the holdout", { holdout: 0.5 }, 0.5],
  ["a minimum share", { minimumShare: 0.1 }, 0.4],
  ["a uniform policy", { policy: "uniform" }, 1],
])("the weights are in their intervals, by lists of %s", async (_, more, share) => {
  const model = await create(more);
  const before = await examinationOf(model);
  expect(before).toEqual({ model, configured: null, lists: 0, since: null, places: [], examination: few(20), clickModels: few(20) });
  const start = Date.now();
  await visit(model, { lists: Math.round(300 / share) }, stream("examination", JSON.stringify(more)));
  const { lists, since, places, examination, clickModels, configured } = await examinationOf(model);
  expect(Math.abs(lists - 300)).toBeLessThan(60);
  expect(since).toBeGreaterThan(start);
  expect(configured).toBeNull();
  expect(places[0]).toMatchObject({ weight: 1, low: 1, high: 1, impressions: lists });
  WEIGHTS.forEach((weight, place) => {
    expect(places[place].low).toBeLessThanOrEqual(weight);
    expect(places[place].high ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(weight);
    expect(Math.abs((places[place].weight as number) - weight)).toBeLessThan(0.2);
    expect((examination as number[])[place]).toBeCloseTo(places[place].weight as number, 1);
  });
  const { best, models } = clickModels as Compared;
  expect(best).toBe("position-based");
  expect(models.find(({ name }) => name === "no-bias")?.behind.low).toBeGreaterThan(0);
  const { window, ...rest } = await describeModel(model);
  const changed = await call("POST", `/v1/models/${model}/reset`, { window, policy: rest.policy, ...more, examination });
  expect(changed).toMatchObject({ status: 200, body: { examination } });
  expect(await examinationOf(model)).toMatchObject({ configured: examination, lists: 0 });
});

it("lists that the policy ranked, single items, late and undone ones tell nothing", async () => {
  const model = await create({ minimumShare: 0 });
  const draws = stream("examination", "none");
  await visit(model, { lists: 40 }, draws);
  expect(await examinationOf(model)).toMatchObject({ lists: 0, places: [], examination: few(20), clickModels: few(20) });
  await call("PATCH", `/v1/models/${model}`, { holdout: 0.5 });
  await visit(model, { lists: 40, limit: 1 }, draws);
  expect((await examinationOf(model)).lists).toBe(0);
  await call("POST", `/v1/models/${model}/impressions`, [{ action: "mug", shownAt: Date.now(), place: 1, probability: 0.25 }]);
  expect((await examinationOf(model)).lists).toBe(0);
});

it("each list counts by the minimum share of its time", async () => {
  const model = await create({ minimumShare: 0 });
  const draws = stream("examination", "changed");
  await visit(model, { lists: 30 }, draws);
  await call("PATCH", `/v1/models/${model}`, { minimumShare: 0.25 });
  await visit(model, { lists: 30 }, draws);
  expect((await examinationOf(model)).lists).toBe(30);
  await call("PATCH", `/v1/models/${model}`, { minimumShare: 0 });
  await visit(model, { lists: 30 }, draws);
  expect((await examinationOf(model)).lists).toBe(30);
});

it("an impression of reward 0 has not converted, unless its goal has no weight", async () => {
  for (const [more, expected] of [
    [{}, 0],
    [{ goals: { click: { weight: 0 }, purchase: { weight: 1, after: "click" } } }, 2],
  ] as const) {
    const model = await create({ ...more, holdout: 0.5, minimumShare: 0.25 });
    const { body } = await call("POST", `/v1/models/${model}/recommendations`, { limit: 3 });
    const [first, second] = body.actions;
    const goal = "goals" in more ? "click" : "conversion";
    await convert([first, second].map(({ impressionId }) => ({ impressionId, goal, reward: "goals" in more ? 1 : 0 })));
    const { places, examination, clickModels } = await examinationOf(model);
    expect(places.reduce((sum, { converted }) => sum + converted, 0)).toBe(expected);
    // No number is stated where two conversions would have to tell it.
    const weight = few(expected === 0 ? 20 : 18, "conversions at this place or the first");
    expect(places[1]).toMatchObject({ weight, low: 0, high: null });
    expect([examination, clickModels]).toEqual([few(20 - expected), few(20 - expected)]);
  }
});

/** Holdout lists of a log from which a sampling has left out half of the items. Each list shows three of twelve actions. */
function sampledLog(lists: number, draws: Stream): LogRow[] {
  const rates = Array.from({ length: 12 }, () => 0.5 * draws());
  return Array.from({ length: lists }, (_, i): LogRow[] => {
    const shown = shuffled([...rates.keys()], draws).slice(0, WEIGHTS.length);
    const first = uuidAt(Date.now() + i, new Uint8Array(10));
    const items = shown.map((action, place) => {
      const converted = draws() < WEIGHTS[place] * rates[action];
      const decision = { score: 0, mean: 0, width: 0, place, candidates: 12, ...(place > 0 && { first }) };
      const row = { id: place === 0 ? first : `${first} ${place}`, action: `${action}`, arm: "holdout", decision, converted };
      return {
        ...row,
        type: "impression",
        state: "live",
        erased: false,
        waits: false,
        reward: converted ? 1 : null,
        version: 1,
        sampling: 1,
      };
    });
    return items.filter(() => draws() < 0.5) as unknown as LogRow[];
  })
    .flat()
    .map((row, i) => ({ ...row, seq: i + 1 }));
}

it("lists from which a sampling left out items give the same weights, in about 95 % of the intervals", async () => {
  let [held, all] = [0, 0];
  for (let run = 0; run < 30; run++) {
    const rows = sampledLog(2000, stream("sampled log", run));
    const config = { policy: "delay-lin-ts", goals: null, minimumShare: 0 } as ModelConfig;
    const page = (seq: number) => rows.slice(seq, seq + 1000);
    const { places } = await examine({ config, policy: {} as Policy, seq: rows.length, page });
    places.slice(1).forEach(({ low, high }, i) => {
      all++;
      held += Number(low <= WEIGHTS[i + 1] && (high ?? Number.POSITIVE_INFINITY) >= WEIGHTS[i + 1]);
    });
  }
  expect(all).toBe(60);
  expect(held).toBeGreaterThanOrEqual(53);
});

it("reads the newest 100,000 rows, a page at a time", async () => {
  const config = { policy: "uniform", goals: null, minimumShare: 0 } as ModelConfig;
  const asked: number[] = [];
  const page = (seq: number): LogRow[] => {
    asked.push(seq);
    const mark = { type: "mark" as const, seq: seq + 1, mark: "snapshot", content: "{}" };
    return asked.length < 4 ? [mark] : [];
  };
  expect((await examine({ config, policy: {} as Policy, seq: 250_000, page })).lists).toBe(0);
  expect(asked).toEqual([150_000, 150_001, 150_002, 150_003]);
  // Rows that arrive meanwhile wait for the next estimate.
  asked.splice(0, 4);
  await examine({ config, policy: {} as Policy, seq: 1, page });
  expect(asked).toEqual([0, 1]);
});

it("needs the secret key, and a model", async () => {
  const model = await create({ window: { ms: HOUR_MS } });
  expect((await call("GET", `/v1/models/${model}/examination`, undefined, { key: null })).status).toBe(401);
  expect((await call("GET", "/v1/models/nobody/examination")).status).toBe(404);
});
