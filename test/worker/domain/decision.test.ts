import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { type Policy, policies, Recommender } from "afterclick";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Catalogue } from "../../../worker/domain/catalogue/catalogue.ts";
import { type DecisionRequest, decide } from "../../../worker/domain/decision/decision.ts";
import type { Served } from "../../../worker/domain/decision/served.ts";
import { NO_KEYS } from "../../../worker/domain/ids/join-key.ts";
import { configureModel, featurizer, startModel } from "../../../worker/domain/model/model.ts";
import type { ModelBody } from "../../../worker/protocol/schema.ts";
import { stream } from "../../support/scenario.ts";
import { call, convert, createModel, describeModel, HOUR_MS, learnerOf, type Reply, recommend, statusesOf } from "../support/client.ts";
import { START } from "../support/clock.ts";
import { publicationIn } from "../support/published.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Draws ids, and thereby decisions, from a seed. */
function seeded(seed: number): void {
  const random = stream(seed);
  vi.spyOn(crypto, "getRandomValues").mockImplementation(<T extends ArrayBufferView | null>(array: T): T => {
    const bytes = array as unknown as Uint8Array;
    bytes.forEach((_, i) => {
      bytes[i] = Math.floor(random() * 256);
    });
    return array;
  });
}

interface Shown {
  readonly impressionId: string;
  readonly id: string;
  readonly score: number;
  readonly mean: number;
  readonly probability?: number;
}

const ask = (model: string, body: object = {}): Promise<Reply> => call("POST", `/v1/models/${model}/recommendations`, body);
const shownBy = async (model: string, body: object = {}): Promise<Shown[]> => (await ask(model, body)).body.actions;
const idsOf = (actions: readonly Shown[]): string[] => actions.map(({ id }) => id);
/** The decision without its ids. */
const scoresOf = (actions: readonly Shown[]) => actions.map(({ impressionId: _, ...rest }) => rest);

describe("the actions to choose among", () => {
  it("are the same by name, by their own features and by the catalogue: all of them bit for bit, some to a rounding", async () => {
    const actions = Array.from({ length: 12 }, (_, i) => ({ id: `a${i}`, features: { brand: `brand-${i % 3}`, price: `${i % 5}` } }));
    const bodies = [{}, { actions: actions.map(({ id }) => ({ id })) }, { actions }];
    const model = await createModel();
    await call("PUT", `/v1/models/${model}/actions`, actions);
    await convert({ impressionId: (await shownBy(model))[0].impressionId, reward: 1 });
    const context = { country: "PT" };
    const answers = [];
    for (const body of bodies) {
      seeded(3);
      answers.push(scoresOf(await shownBy(model, { ...body, context, limit: 12, defer: true })));
    }
    expect(answers[0]).toHaveLength(12);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    // A request for few of many actions makes their vectors alone. With several left out, it picks from the vectors of all.
    for (const some of [[actions[7]], actions.slice(2, 9)]) {
      seeded(4);
      const byName = scoresOf(await shownBy(model, { context, actions: some.map(({ id }) => ({ id })), limit: 12, defer: true }));
      // The order of sums in single precision follows from what the actions of a list share.
      const named = byName.map((each) => ({ ...each, score: expect.closeTo(each.score, 6) }));
      seeded(4);
      expect(scoresOf(await shownBy(model, { context, actions: some, limit: 12, defer: true }))).toEqual(named);
      seeded(4);
      const exclude = idsOf(actions.filter((action) => !some.includes(action)) as unknown as Shown[]);
      expect(scoresOf(await shownBy(model, { context, exclude, limit: 12, defer: true }))).toEqual(named);
    }
  });

  it("come and go, while what was shown of them still converts", async () => {
    const model = await createModel();
    const [{ impressionId }] = await shownBy(model, { actions: [{ id: "mug" }] });
    await call("PUT", `/v1/models/${model}/actions`, [{ id: "tent" }, { id: "rope" }]);
    expect(idsOf(await shownBy(model, { limit: 3 })).sort()).toEqual(["rope", "tent"]);
    expect(statusesOf(await convert({ impressionId, reward: 1 }))).toEqual(["applied"]);
    expect((await call("GET", `/v1/impressions/${impressionId}`)).body).toMatchObject({ action: "mug", status: "converted" });
    expect(await ask(model, { actions: [{ id: "mug" }] })).toMatchObject({ status: 422, body: { detail: expect.stringContaining("mug") } });
    // An action with its own features need not be in the catalogue.
    expect(idsOf(await shownBy(model, { actions: [{ id: "mug", features: {} }] }))).toEqual(["mug"]);
    await call("PUT", `/v1/models/${model}/actions`, []);
    expect((await ask(model)).status).toBe(422);
    expect(idsOf(await shownBy(model, { actions: [{ id: "anything" }] }))).toEqual(["anything"]);
  });

  it("may be none: then the default action is shown, and learnt from, or the request is refused", async () => {
    const nothing = { exclude: ["tent", "mug", "lamp"] };
    const bare = await createModel();
    expect(await ask(bare, nothing)).toMatchObject({ status: 422, body: { detail: expect.stringContaining("defaultAction") } });
    for (const defaultAction of ["mug", "bestseller"]) {
      const model = await createModel({ defaultAction, holdout: 0.5 });
      for (let time = 0; time < 5; time++) {
        const { status, body } = await ask(model, nothing);
        expect(status).toBe(201);
        expect(body).toMatchObject({ arm: "default", actions: [{ id: defaultAction }] });
        expect(statusesOf(await convert({ impressionId: body.actions[0].impressionId, reward: 1 }))).toEqual(["applied"]);
      }
      expect((await describeModel(model)).counts).toMatchObject({ impressions: 5, converted: 5 });
    }
  });
});

describe("greedy", () => {
  it("ranks by the mean, with certainty, if the request or the model says so", async () => {
    for (const [config, request] of [
      [{}, { greedy: true }],
      [{ greedy: true }, {}],
    ]) {
      const model = await createModel(config);
      const { body } = await call(
        "POST",
        `/v1/models/${model}/impressions`,
        ["mug", "mug", "lamp"].map((action) => ({ action, shownAt: Date.now() })),
      );
      for (const [i, { impressionId }] of body.impressions.entries()) await convert({ impressionId, reward: i < 2 ? 1 : 0.25 });
      for (let time = 0; time < 5; time++) {
        const actions = await shownBy(model, { ...request, limit: 3, defer: true });
        expect(idsOf(actions).slice(0, 2)).toEqual(["mug", "lamp"]);
        expect(actions.map(({ probability }) => probability)).toEqual([1, 1, 1]);
        // A mean is that of the vector as it is learnt, which is rounded.
        for (const { score, mean } of actions) expect(Math.abs(score - mean)).toBeLessThan(2 ** -10);
      }
    }
  });

  it("may be switched off for a request", async () => {
    const model = await createModel({ greedy: true });
    seeded(8);
    const first = new Set<string>();
    for (let time = 0; time < 20; time++) first.add(idsOf(await shownBy(model, { greedy: false, defer: true }))[0]);
    expect(first.size).toBe(3);
  });
});

const ACTIONS = ["tent", "mug", "lamp", "rope"].map((id) => ({ id }));
/** The 99.9 % quantile of chi-square with 3 degrees of freedom. */
const CHI_SQUARE_3 = 16.27;

/** A model in memory that has learnt that the mug converts. */
async function servedBy(body: Partial<ModelBody>): Promise<Served> {
  const config = await configureModel({ window: { ms: HOUR_MS }, ...body } as ModelBody);
  const policies = await startModel(config);
  const featurize = featurizer(config);
  for (const [i, action] of [...ACTIONS, ...ACTIONS, ACTIONS[1]].entries()) {
    for (const { policy } of policies) learn(policy, featurize.vector(undefined, action), i, action.id === "mug" ? 1 : 0.5);
  }
  return { config, featurize, catalogue: new Catalogue(ACTIONS), policies, version: 1 };
}

function learn(policy: Policy, features: Float64Array, round: number, reward: number): void {
  const impression = policy.append({ ...(policy.dimension > 0 && { features }), round: round + 1, now: round });
  policy.observe({ impression, reward });
}

const request: DecisionRequest = { limit: 1, exclude: [] };

/** Decides often. Returns how often each action came first, its assignments and its probabilities. */
function frequencies(served: Served, times: number, limit = 1) {
  const first = new Map<string, number>();
  const chances = new Map<string, Set<number | undefined>>();
  const arms = new Map<string, number>();
  for (let time = 0; time < times; time++) {
    const { arm, actions } = decide(served, { ...request, limit }, NO_KEYS, 1_700_000_000_000 + time);
    const [{ action, probability }] = actions;
    first.set(action, (first.get(action) ?? 0) + 1);
    chances.set(action, (chances.get(action) ?? new Set()).add(probability));
    arms.set(arm, (arms.get(arm) ?? 0) + 1);
  }
  return { first, chances, arms };
}

/** Chi-square distance of counts from the probabilities. */
function chiSquare(counts: ReadonlyMap<string, number>, chance: (id: string) => number, times: number): number {
  return ACTIONS.reduce((sum, { id }) => {
    const expected = times * chance(id);
    return sum + (expected === 0 ? 0 : ((counts.get(id) ?? 0) - expected) ** 2 / expected);
  }, 0);
}

/** The single probability that was stated for each action. */
const statedChance =
  (chances: ReadonlyMap<string, ReadonlySet<number | undefined>>) =>
  (id: string): number => {
    const [chance = 0, ...others] = chances.get(id) ?? [];
    expect(others).toEqual([]);
    return chance;
  };

describe("a probability that is told", () => {
  const sampling = { policy: "otf-lin-ts", options: { exploration: 0.5 } };
  const settings: [string, Partial<ModelBody>][] = [
    ["a Thompson policy that knows its samples", { ...sampling, draws: 200 }],
    ["one that leaves each action a share", { ...sampling, draws: 200, minimumShare: 0.1 }],
    ["a greedy one that leaves each action a share", { ...sampling, greedy: true, minimumShare: 0.05 }],
    ["a deterministic one that leaves each action a share", { policy: "otf-lin-ucb", minimumShare: 0.15 }],
  ];
  it.each(settings)("is the long-run frequency of %s", async (_, config) => {
    const served = await servedBy(config);
    seeded(21);
    const times = 4000;
    const { first, chances } = frequencies(served, times);
    const chance = statedChance(chances);
    const total = ACTIONS.reduce((sum, { id }) => sum + chance(id), 0);
    // An action that never came may have had a small probability.
    expect(total).toBeGreaterThan(0.99);
    expect(total).toBeLessThan(1 + 1e-9);
    expect(chiSquare(first, chance, times)).toBeLessThan(CHI_SQUARE_3);
    for (const { id } of ACTIONS) expect(chance(id)).toBeGreaterThanOrEqual(config.minimumShare ?? 0);
  });

  it("is told of every place, and is 1 where nothing is left to chance", async () => {
    const { actions } = decide(await servedBy({ policy: "otf-lin-ucb" }), { ...request, limit: 4 }, NO_KEYS, 1_700_000_000_000);
    expect(actions.map(({ probability }) => probability)).toEqual([1, 1, 1, 1]);
    const sampled = decide(await servedBy({ ...sampling, draws: 100 }), { ...request, limit: 4 }, NO_KEYS, 1_700_000_000_000);
    for (const { probability } of sampled.actions)
      expect((probability as number) * 100).toBeCloseTo(Math.round((probability as number) * 100), 9);
  });

  it("is not told where it is not known", async () => {
    const { actions, rows } = decide(await servedBy({ ...sampling, draws: 0 }), request, NO_KEYS, 1_700_000_000_000);
    expect(actions[0]).not.toHaveProperty("probability");
    expect(rows[0].decision).not.toHaveProperty("probability");
  });

  it("is in the answer, the explanation and the log", async () => {
    const model = await createModel({ draws: 10 });
    const actions = await shownBy(model, { limit: 3 });
    const log: string = (await call("GET", `/v1/models/${model}/events`)).body;
    for (const { impressionId, id, probability } of actions) {
      expect(probability).toBeDefined();
      expect((await call("GET", `/v1/impressions/${impressionId}`)).body.decision.probability).toBe(probability);
      expect(log.split("\n").some((line) => line.includes(`"${id}"`) && line.includes(`"probability":${probability}`))).toBe(true);
    }
  });
});

describe("a holdout", () => {
  it("has its share of decisions, among which all orders are equally likely", async () => {
    const served = await servedBy({ holdout: 0.2, draws: 50 });
    seeded(5);
    const times = 6000;
    const orders = new Map<string, number>();
    let held = 0;
    for (let time = 0; time < times; time++) {
      const { arm, actions } = decide(served, { ...request, limit: 2 }, NO_KEYS, 1_700_000_000_000 + time);
      if (arm !== "holdout") continue;
      held++;
      const order = actions.map(({ action }) => action).join(" ");
      orders.set(order, (orders.get(order) ?? 0) + 1);
      expect(actions.map(({ probability }) => probability)).toEqual([0.25, 0.25]);
    }
    // Four standard deviations of a binomial.
    expect(Math.abs(held - 0.2 * times)).toBeLessThan(4 * Math.sqrt(times * 0.2 * 0.8));
    expect(orders.size).toBe(12);
    const distance = Array.from(orders.values()).reduce((sum, count) => sum + (count - held / 12) ** 2 / (held / 12), 0);
    // The same quantile of chi-square with 11 degrees of freedom.
    expect(distance).toBeLessThan(31.26);
  });

  it("does not depend on the policy, nor the policy's decisions on it", async () => {
    const [with_, without] = [await servedBy({ holdout: 0.3, draws: 50 }), await servedBy({ draws: 50 })];
    seeded(6);
    const held = Array.from({ length: 200 }, (_, time) => decide(with_, request, NO_KEYS, time));
    seeded(6);
    const free = Array.from({ length: 200 }, (_, time) => decide(without, request, NO_KEYS, time));
    const alike = held.flatMap(({ arm, actions }, i) => (arm === "policy" ? [[actions, free[i].actions]] : []));
    expect(alike.length).toBeGreaterThan(100);
    for (const [a, b] of alike) expect(a).toEqual(b);
  });

  it("is there under a greedy policy, and in a fixed set of points, and is told in the answer", async () => {
    const model = await createModel({ holdout: 0.5, greedy: true });
    const domain = await createModel({ policy: "gp-ucb", options: { domain: { points: [[0], [0.5], [1]] } }, holdout: 0.5 });
    seeded(7);
    for (const each of [model, domain]) {
      const arms = new Set<string>();
      for (let time = 0; time < 20; time++) {
        const { status, body } = await ask(each);
        expect(status).toBe(201);
        arms.add(body.arm);
        if (body.arm === "holdout") expect(body.actions[0].probability).toBeCloseTo(1 / 3, 12);
      }
      expect(arms).toEqual(new Set(["policy", "holdout"]));
    }
  });
});

describe("shadows", () => {
  const shadows = [
    { name: "ucb", policy: "otf-lin-ucb" },
    { name: "bold", policy: "otf-lin-ts", options: { exploration: 2 } },
  ];

  /** Shows ten lists, half of which convert. A seed decides the ids and thereby everything. */
  async function run(model: string): Promise<{ actions: unknown[]; impressionIds: string[] }> {
    seeded(13);
    const actions = [];
    const impressionIds = [];
    for (let i = 0; i < 10; i++) {
      const shown = await shownBy(model, { context: { country: i % 2 ? "PT" : "ES" }, limit: 2 });
      actions.push(...scoresOf(shown));
      impressionIds.push(shown[0].impressionId);
      if (i % 2) await convert({ impressionId: shown[0].impressionId, reward: i / 16 });
    }
    return { actions, impressionIds };
  }

  it("choose and learn beside the policy, which decides and learns as without them", async () => {
    const [alone, followed] = [await createModel(), await createModel({ shadows })];
    const expected = await run(alone);
    const { actions, impressionIds } = await run(followed);
    expect(actions).toEqual(expected.actions);
    expect((await describeModel(followed)).digest).toBe((await describeModel(alone)).digest);
    for (const impressionId of impressionIds) {
      const { decision } = (await call("GET", `/v1/impressions/${impressionId}`)).body;
      expect(Object.keys(decision.shadows)).toEqual(["ucb", "bold"]);
      for (const chosen of Object.values(decision.shadows)) expect(["tent", "mug", "lamp"]).toContain(chosen);
    }
    expect((await call("GET", `/v1/impressions/${expected.impressionIds[0]}`)).body.decision).not.toHaveProperty("shadows");
  });

  const publish = async (model: string) => {
    vi.setSystemTime(Date.now() + 120_000);
    await runDurableObjectAlarm(learnerOf(model));
    const { version, parts } = await publicationIn(model);
    const restored = await Promise.all(parts.map((bytes) => Recommender.restore(bytes, { policies })));
    // The served policy is published in a form that only decides.
    return { version, digests: restored.slice(1).map((each) => each.digest()), parts };
  };

  it("have learnt what they would have learnt alone", async () => {
    const model = await createModel({ shadows });
    const ucb = await createModel({ policy: "otf-lin-ucb", options: {}, encoder: { dimension: 32, interactions: "all" } });
    const { impressionIds } = await run(model);
    const shown = await Promise.all(impressionIds.map(async (id) => (await call("GET", `/v1/impressions/${id}`)).body));
    expect(shown.filter(({ status }) => status === "converted")).toHaveLength(5);
    const lines = (await call("GET", `/v1/models/${model}/events`)).body;
    const imported = await call("POST", `/v1/models/${ucb}/events`, lines);
    expect(imported.body).toMatchObject({ impressions: 20 });
    expect((await publish(model)).digests[0]).toBe((await describeModel(ucb)).digest);
  });

  it("outlive evictions, and go back with a rollback", async () => {
    const model = await createModel({ shadows });
    await run(model);
    const before = await publish(model);
    expect(before.parts).toHaveLength(3);
    await evictDurableObject(learnerOf(model));
    const [impressionId] = await recommend(model);
    await evictDurableObject(learnerOf(model));
    await convert({ impressionId, reward: 1 });
    const after = await publish(model);
    for (const place of [0, 1]) expect(after.digests[place]).not.toBe(before.digests[place]);
    expect(after.parts[0]).not.toEqual(before.parts[0]);
    expect(await call("POST", `/v1/models/${model}/rollback`, { version: before.version })).toMatchObject({ status: 200 });
    await evictDurableObject(learnerOf(model));
    const restored = await publish(model);
    expect(restored.digests).toEqual(before.digests);
    expect(restored.parts).toEqual(before.parts);
  });

  it("learn from the features that a policy without any does not look at", async () => {
    const model = await createModel({ policy: "uniform", shadows });
    const [impressionId] = await recommend(model, { context: { country: "PT" }, exclude: ["lamp"] });
    await convert({ impressionId, reward: 1 });
    const { body } = await call("POST", `/v1/models/${model}/impressions`, [{ action: "mug", shownAt: Date.now() }]);
    await convert({ impressionId: body.impressions[0].impressionId, reward: 1 });
    const { digests } = await publish(model);
    const other = await createModel({ policy: "uniform", shadows });
    expect(digests[0]).not.toBe((await publish(other)).digests[0]);
    expect((await describeModel(model)).counts).toMatchObject({ impressions: 2, converted: 2 });
  });

  it("are refused if two have the same name", async () => {
    const body = { window: { ms: HOUR_MS }, shadows: [shadows[0], { ...shadows[1], name: shadows[0].name }] };
    expect(await call("PUT", "/v1/models/twins", body)).toMatchObject({
      status: 422,
      body: { detail: "shadows: expected each name once" },
    });
  });

  it("are refused where the policy, or one of them, chooses in a domain of its own", async () => {
    const points = { domain: { points: [[0], [1]] } };
    const body = { window: { ms: HOUR_MS } };
    expect((await call("PUT", "/v1/models/refused", { ...body, policy: "gp-ucb", options: points, shadows })).status).toBe(422);
    const own = [{ name: "own", policy: "gp-ucb", options: points }];
    expect((await call("PUT", "/v1/models/refused", { ...body, shadows: own })).status).toBe(422);
  });
});
