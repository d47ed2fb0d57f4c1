import { delayGpUcb, delayLinTs, gpUcbSdf, Model, otfLinUcb, policies, Recommender, SnapshotError, uniform } from "afterclick";
import { definePolicy } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { configureModel } from "../../../worker/domain/model/model.ts";

const DAY_MS = 86_400_000;
const NOW = 1_700_000_000_000;
const window = { ms: 7 * DAY_MS };
const actions = [
  { id: "boots", features: { brand: "Acme", price: 120 } },
  { id: "hat", features: { brand: "Umbra", price: 20 } },
  { id: "scarf", features: { brand: "Acme", price: 35 }, available: false },
];
const encoder = { dimension: 32, numeric: { price: { min: 0, max: 200 } } };

describe("a model", () => {
  it.each([
    [{}],
    [{ policy: "delay-lin-ucb" }],
    [{ policy: "otf-lin-ts" }],
    [{ policy: "otf-lin-ucb", options: { delta: 0.2 } }],
    [{ encoder: { numeric: encoder.numeric } }],
    [{ encoder, policy: "delay-gp-ucb" }],
    [{ options: { dimension: 8 } }],
    [{ policy: "bestsellers" }],
  ])("has the worker's defaults: %j", async (options) => {
    const [model, config] = await Promise.all([Model.create({ window, ...options }), configureModel({ window, ...options } as never)]);
    const {
      version: _,
      actions: __,
      ...own
    } = (await Recommender.restore(model.snapshot(), { policies })).beside as Record<string, unknown>;
    const { encoder, draws, greedy, minimumShare } = config;
    expect(own).toEqual({ encoder, draws, greedy, minimumShare });
    const { policy } = model.recommender;
    expect([policy.id, policy.dimension]).toEqual([config.policy, (config.options as { dimension?: number }).dimension ?? 0]);
  });

  it("learns a context's preference without a declared interaction", async () => {
    const model = await Model.create({ window, actions, encoder, seed: 3 });
    let now = NOW;
    const likes: Record<string, string> = { PT: "boots", SE: "hat" };
    for (let i = 0; i < 400; i++) {
      const country = i % 2 ? "PT" : "SE";
      const { actions: shown } = model.recommend({ context: { country }, now });
      if (shown[0].id === likes[country]) model.convert({ impressionId: shown[0].impressionId, at: now + 1 });
      now += 60_000;
    }
    const firstIn = (country: string) => {
      const shown = Array.from({ length: 20 }, (_, i) => model.recommend({ context: { country }, now: now + i }).actions[0].id);
      return shown.filter((id) => id === likes[country]).length;
    };
    expect(Math.min(firstIn("PT"), firstIn("SE"))).toBeGreaterThanOrEqual(18);
  });

  it("shows available actions of the catalogue or of the request, best first, with their probabilities", async () => {
    const model = await Model.create({ window, actions, encoder });
    const { policy, windowEndsAt, actions: shown } = model.recommend({ context: { country: "PT" }, limit: 9, now: NOW });
    expect({ policy, windowEndsAt }).toEqual({ policy: "delay-lin-ts", windowEndsAt: NOW + window.ms });
    expect(shown.map(({ id }) => id).toSorted()).toEqual(["boots", "hat"]);
    for (const { probability, impressionId } of shown) {
      expect(probability).toBeGreaterThan(0);
      expect(model.recommender.impression(impressionId)).toMatchObject({ status: "pending" });
    }
    const chosen = (request: object) => model.recommend({ ...request, limit: 9, now: NOW }).actions.map(({ id }) => id);
    expect(chosen({ actions: [{ id: "hat" }, { id: "scarf" }] })).toEqual(["hat"]);
    expect(chosen({ actions: [{ id: "belt", features: { brand: "Acme" } }] })).toEqual(["belt"]);
    expect(chosen({ exclude: ["hat"] })).toEqual(["boots"]);
  });

  it("decides the same without registering, for the same ids", async () => {
    const model = await Model.create({ window, actions, encoder });
    const request = { context: { country: "PT" }, limit: 2, now: NOW };
    const decided = model.decide(request, () => ["a", "b"]);
    expect(model.recommender.counts().pending).toBe(0);
    expect(model.recommend({ ...request, impressionId: ["a", "b"] })).toEqual(decided);
    expect(model.recommender.counts().pending).toBe(2);
  });

  it("counts conversions as its recommender does, with a reward of 1 unless they state one", async () => {
    const model = await Model.create({ window, actions, encoder });
    const [{ impressionId }] = model.recommend({ now: NOW }).actions;
    expect(model.convert({ impressionId, at: NOW + 2 * DAY_MS })).toEqual({ status: "applied" });
    expect(model.convert({ impressionId, at: NOW + 2 * DAY_MS })).toEqual({ status: "duplicate" });
    expect(model.convert({ impressionId: "none", at: NOW })).toEqual({ status: "unknown" });
    expect(model.recommender.impression(impressionId)).toMatchObject({ status: "converted", reward: 1 });
    expect(model.convert({ impressionId, at: NOW + 3 * DAY_MS, reward: null })).toEqual({ status: "applied" });
    expect(model.recommender.impression(impressionId)).toMatchObject({ reward: 0 });
  });

  it("learns what was shown by other means as what it decided", async () => {
    const [first, second] = await Promise.all([1, 2].map(() => Model.create({ window, actions, encoder })));
    const { actions: shown } = first.recommend({ context: { country: "PT" }, now: NOW, impressionId: "x" });
    second.register({ impressionId: "x", action: { id: shown[0].id }, context: { country: "PT" }, now: NOW });
    for (const model of [first, second]) model.convert({ impressionId: "x", at: NOW + 1 });
    expect(second.recommender.digest()).toBe(first.recommender.digest());
  });

  it("keeps what it has learnt when its catalogue grows", async () => {
    const model = await Model.create({ window, actions, encoder });
    const { actions: shown } = model.recommend({ now: NOW });
    model.convert({ impressionId: shown[0].impressionId, at: NOW + 1 });
    const digest = model.recommender.digest();
    model.setActions([...actions, { id: "belt", features: { brand: "Belts & Co", price: 15 } }]);
    expect(model.recommender.digest()).toBe(digest);
    expect(model.recommend({ limit: 9, now: NOW }).actions).toHaveLength(3);
    expect(model.actions).toHaveLength(4);
  });

  it("takes a prior by the ids of its actions", async () => {
    const sales = [
      { action: "boots", sales: 90, views: 1000 },
      { action: "hat", sales: 10, views: 1000 },
    ];
    const model = await Model.create({ window, actions, encoder, prior: { sales } });
    const mean = Object.fromEntries(model.recommend({ limit: 2, now: NOW }).actions.map(({ id, mean }) => [id, mean]));
    expect(mean.boots).toBeGreaterThan(mean.hat);
  });

  it("takes numbers as features, and a policy with a domain of its own", async () => {
    const numbers = await Model.create({ window: "none", policy: otfLinUcb({ dimension: 3 }) });
    const given = [
      { id: "a", features: [1, 0] },
      { id: "b", features: [0, 1] },
    ];
    const { windowEndsAt, actions: shown } = numbers.recommend({ context: [1], actions: given, limit: 2 });
    expect(windowEndsAt).toBe(Number.POSITIVE_INFINITY);
    expect(shown).toHaveLength(2);
    expect(() => numbers.recommend({ actions: given })).toThrow(/^features: expected 3 numbers of context and action together, got 2/);
    const wrong = [{ id: "a", features: [0, "1"] }];
    expect(() => numbers.recommend({ context: [1], actions: wrong as never })).toThrow(
      /^features of action a\[1\]: expected a number, got "1"/,
    );
    const grid = await Model.create({ window: "none", policy: "bpe", options: { domain: { points: [[0], [1]] }, horizon: 10 } });
    expect(["0", "1"]).toContain(grid.recommend().actions[0].id);
    expect(() => grid.recommend({ context: { country: "PT" } })).toThrow(/^request: expected a limit only/);
  });
});

describe("a snapshot of a model", () => {
  const learnt = async (options: object = {}) => {
    const model = await Model.create({ window, actions, encoder, seed: 5, ...options });
    for (let i = 0; i < 30; i++) {
      const { actions: shown } = model.recommend({ context: { country: i % 2 ? "PT" : "SE" }, now: NOW + i * 1000 });
      if (i % 3 === 0) model.convert({ impressionId: shown[0].impressionId, at: NOW + i * 1000 + 5 });
    }
    return model;
  };

  it.each([[{}], [{ policy: delayGpUcb.id }], [{ policy: delayLinTs({ dimension: 32 }), draws: 20, minimumShare: 0.1 }]])(
    "restores the same decisions and needs nothing else: %o",
    async (options) => {
      const model = await learnt(options);
      const restored = await Model.restore(model.snapshot());
      expect(restored.snapshot()).toEqual(model.snapshot());
      for (let i = 0; i < 10; i++) {
        const request = { context: { country: "PT" }, limit: 2, now: NOW + DAY_MS + i };
        expect(restored.recommend(request)).toEqual(model.recommend(request));
      }
      expect(restored.actions).toEqual(actions);
      expect(restored.snapshot()).toEqual(model.snapshot());
    },
  );

  it("is also one of its recommender", async () => {
    const model = await learnt();
    const { policy } = await Recommender.restore(model.snapshot(), { policies: [delayLinTs] });
    expect(policy.digest()).toBe(model.recommender.digest());
  });

  it("keeps its catalogue when the caller's list changes", async () => {
    const own = actions.map((action) => ({ ...action, features: { ...action.features, sizes: ["S"] }, title: "Not a feature" }));
    // A framework of pages may hand out proxies.
    const model = await Model.create({ window, actions: own.map((action) => new Proxy(action, {})), encoder });
    const before = model.snapshot();
    expect(model.actions).toEqual(own.map(({ title: _, ...action }) => action));
    own[0].id = "other";
    own[1].features.brand = "other";
    own[1].features.sizes.push("other");
    own.pop();
    expect(model.snapshot()).toEqual(before);
  });

  const refusal = (bytes: Uint8Array) =>
    Model.restore(bytes).then(
      () => undefined,
      (error) => error,
    );

  it("is refused if it was cut anywhere, or altered", async () => {
    const bytes = (await learnt()).snapshot();
    for (const length of [0, 63, 64, 200, bytes.length >> 1, bytes.length - 1]) {
      expect(await refusal(bytes.subarray(0, length))).toMatchObject({ code: "truncated" });
    }
    const altered = bytes.slice();
    altered[bytes.length >> 1] ^= 1;
    expect(await refusal(altered)).toMatchObject({ code: "checksum" });
  });

  it("is refused by name if another version or program made it, or a recommender", async () => {
    const { recommender } = await learnt();
    const beside = (await Recommender.restore((await learnt()).snapshot(), { policies })).beside as { encoder: object };
    const made = (change: object) => refusal(recommender.snapshot({ ...beside, ...change }));
    expect(await refusal(recommender.snapshot())).toMatchObject({ code: "no-model", message: /Recommender\.restore/ });
    expect(await made({ version: 2 })).toMatchObject({ code: "version", message: /^expected model version 1, got 2/ });
    expect(await made({ encoder: { ...beside.encoder, version: 3 } })).toMatchObject({
      code: "version",
      message: /^expected encoder version 4, got 3/,
    });
    expect(await made({ encoder: { ...beside.encoder, dimension: 31 } })).toMatchObject({ code: "malformed" });
    expect(await made({ actions: 7 })).toMatchObject({ code: "malformed" });
    expect(await refusal(recommender.snapshot({ version: 1 }))).toBeInstanceOf(SnapshotError);
  });
});

describe("bad input", () => {
  it.each([
    [{ policy: "linucb" }, /^policy: expected one of .*delay-lin-ts.*got "?linucb/],
    [{ polcy: "delay-lin-ts" }, /^options.*polcy/],
    [{ encoder: { dimension: 1 } }, /^dimension/],
    [{ policy: gpUcbSdf({ dimension: 2 }), encoder: { dimension: 3 } }, /^encoder\.dimension: expected the policy's 2, got 3/],
    [{ policy: gpUcbSdf({ dimension: 2 }), options: {} }, /^options: expected none beside a descriptor/],
    [{ actions: [{ id: "a" }, { id: "a" }] }, /^actions\[1\]\.id: expected each id once/],
    [{ actions: [{ name: "a" }] }, /^actions\[0\]\.id/],
    [{ actions: [{ id: "a", features: { price: 3 } }] }, /price/],
    [{ draws: -1 }, /^draws/],
    [{ greedy: 1 }, /^greedy/],
    [{ window: { days: 7 } }, /^window/],
    [{ window: undefined }, /^window: expected \{ rounds \}.*got undefined/],
    [{ draws: 1e9 }, /^draws: expected a number between 0 and 10000, got 1000000000/],
    [{ minimumShare: 2 }, /^minimumShare: expected a number between 0 and 1, got 2/],
    [{ policy: null }, /^policy: expected a descriptor .*got null/],
    [{ policy: gpUcbSdf }, /^policy: expected a descriptor .*got a function$/],
    [{ options: null }, /^options: expected an object, got null/],
    [{ options: [] }, /^options: expected an object, got an array of 0/],
    [{ encoder: [] }, /^encoder: expected an object, got an array of 0/],
    [{ encoder: false }, /^encoder: expected an object, got false/],
    [{ actions: ["a"] }, /^actions\[0\]: expected an object, got "a"/],
    [{ actions: [{ id: "a", available: "no" }] }, /^actions\[0\]\.available: expected true or false, got "no"/],
    [{ actions: [{ id: "a", features: "Acme" }] }, /^features of action a: expected an object, got "Acme"/],
    [{ actions: [{ id: "a", features: { brand: () => "Acme" } }] }, /^action\.brand: expected a number, a string, .* got a function/],
    [{ actions: [{ id: "a", features: null }] }, /^features of action a: expected an object, got null/],
    [{ prior: [] }, /^prior: expected an object, got an array of 0/],
    [{ prior: {} }, /^prior\.sales: expected an array, got undefined/],
    [{ prior: { sales: [null] } }, /^prior\.sales\[0\]: expected an object, got null/],
    [{ prior: { sales: [{ id: "a", sales: 3 }] } }, /^prior\.sales\[0\]\.id: expected no such option/],
    [
      { prior: { sales: [{ action: "a", sales: 3 }] } },
      /^prior\.sales\[0\]\.action: expected the id of an action of the catalogue, got "a"/,
    ],
    [{ actions: [{ id: "a" }], prior: { sales: [{ action: "a", sales: -3 }] } }, /^prior\.sales\[0\]\.sales: expected .*got -3/],
    [{ policy: "uniform", prior: { sales: [] } }, /^prior: expected none, as uniform takes no prior/],
  ])("is refused by name: %o", async (options, message) => {
    await expect(Model.create({ window, ...options } as never)).rejects.toThrow(message);
  });

  it("restores a policy of the host, also under an id that afterclick has", async () => {
    const own = definePolicy({ id: uniform.id, stateVersion: 7, parse: () => ({}), start: (context) => uniform().start(context) });
    const bytes = (await Model.create({ window, policy: own() })).snapshot();
    expect((await Model.restore(bytes, { policies: [own] })).recommender.policy.id).toBe(uniform.id);
    await expect(Model.restore(bytes)).rejects.toMatchObject({ code: "state-version" });
  });

  it("of the host is refused by name", async () => {
    const made = (host: unknown) => Model.create({ window }, host as never);
    await expect(made(null)).rejects.toThrow(/^host: expected an object, got null/);
    await expect(made({ policy: [gpUcbSdf] })).rejects.toThrow(/^host\.policy: expected no such option/);
    await expect(made({ policies: gpUcbSdf })).rejects.toThrow(/^host\.policies: expected an array of policy factories, got a function/);
  });

  it.each([
    [{ contxt: {} }, /^request.*contxt/],
    [{ context: { hour: 3 } }, /^context\.hour: expected its range under encoder\.numeric, or a string for a category, got 3/],
    [{ context: "PT" }, /^context: expected an object, got "PT"/],
    [{ context: [1, 2] }, /^context: expected features by name/],
    [{ actions: [] }, /^actions: expected at least one/],
    [{ actions: [{ id: "belt" }] }, /^actions: belt has no features and is not in the catalogue/],
    [{ exclude: ["boots", "hat"] }, /^exclude: expected fewer than the 2 available actions, got an array of 2/],
    [{ exclude: "boots" }, /^exclude: expected an array of ids, got "boots"/],
    [{ exclude: new Set(["boots"]) }, /^exclude: expected an array of ids, got a value of type Set/],
    [{ limit: 0 }, /^limit/],
    [{ now: "today" }, /^now/],
  ])("changes nothing: %o", async (request, message) => {
    const model = await Model.create({ window, actions, encoder });
    const before = model.snapshot();
    expect(() => model.recommend({ now: NOW, ...request } as never)).toThrow(message);
    expect(model.snapshot()).toEqual(before);
  });

  it.each([
    [undefined, /^impression: expected an object, got undefined/],
    [{ impressionId: "x", action: "hat", now: NOW }, /^action: expected an object, got "hat"/],
    [{ impressionId: "x", action: { id: "belt" }, now: NOW }, /^action: belt has no features and is not in the catalogue/],
    [{ impressionId: "x", action: { id: "hat" }, features: [1], now: NOW }, /^impression\.features: expected no such option/],
  ])("registers nothing: %o", async (impression, message) => {
    const model = await Model.create({ window, actions, encoder });
    const before = model.snapshot();
    expect(() => model.register(impression as never)).toThrow(message);
    expect(model.snapshot()).toEqual(before);
  });

  it("of a conversion is refused by name", async () => {
    const model = await Model.create({ window, actions, encoder });
    const [{ impressionId }] = model.recommend({ now: NOW }).actions;
    const before = model.snapshot();
    expect(() => model.convert(undefined as never)).toThrow(/^event: expected an object, got undefined/);
    expect(() => model.convert(impressionId as never)).toThrow(/^event: expected an object, got "/);
    expect(() => model.convert({ impressionId, at: NOW - DAY_MS })).toThrow(/^at: expected at most 5 minutes before the impression/);
    expect(model.snapshot()).toEqual(before);
  });

  it("in a new catalogue keeps the one before", async () => {
    const model = await Model.create({ window, actions, encoder });
    const before = model.snapshot();
    expect(() => model.setActions([{ id: "belt", features: { weight: 3 } }])).toThrow(/weight/);
    expect(model.snapshot()).toEqual(before);
  });
});
