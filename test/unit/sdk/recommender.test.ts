import { gpUcbSdf, otfLinTs, otfLinUcb, policies, Recommender, squaredExponential, uniform } from "afterclick";
import { describe, expect, it } from "vitest";

const candidates = [
  { id: "a", features: [1, 0] },
  { id: "b", features: [0, 1] },
  { id: "c", features: [0.5, 0.5] },
];
const policy = otfLinUcb({ dimension: 2 });

describe("create", () => {
  const bad: [string, object, RegExp][] = [
    ["no policy", { window: "none" }, /policy/],
    ["a factory for a descriptor", { policy: otfLinUcb, window: "none" }, /policy/],
    ["no window", { policy }, /window/],
    ["a window of both units", { policy, window: { rounds: 1, ms: 1 } }, /window/],
    ["a window of no rounds", { policy, window: { rounds: 0 } }, /window\.rounds/],
    ["a window of negative length", { policy, window: { ms: -1 } }, /window\.ms/],
    ["a window shorter than a microsecond", { policy, window: { ms: 5e-324 } }, /window\.ms: expected at least 0\.001, got 5e-324/],
    ["a seed that is no integer", { policy, window: "none", seed: 0.5 }, /seed/],
    ["an empty reward range", { policy, window: "none", reward: { min: 1, max: 1 } }, /reward\.max/],
    ["a misspelt option", { policy, window: "none", rewards: {} }, /options\.rewards/],
  ];
  it.each(bad)("refuses %s", async (_, options, message) => {
    await expect(Recommender.create(options as never)).rejects.toThrow(message);
  });

  it("refuses bad options of a policy by name", () => {
    expect(() => otfLinUcb({ dimension: 0 })).toThrow(/dimension/);
    expect(() => otfLinUcb({ dimension: 2, delta: 0 })).toThrow(/delta/);
    expect(() => otfLinUcb({ dimension: 2, ridge: -1 })).toThrow(/ridge/);
    expect(() => otfLinTs({ dimension: 2, width: "wide" as never })).toThrow(/width: expected one of theory, released/);
    expect(() => gpUcbSdf({ dimension: 2, noiseVariance: 0 })).toThrow(/noiseVariance/);
    expect(() => gpUcbSdf({ dimension: 2, refit: { every: 0 } })).toThrow(/refit\.every/);
    expect(() => gpUcbSdf({ dimension: 2, kernel: { name: "cubic" } as never })).toThrow(/kernel\.name/);
  });

  it("copies its options, so that later changes of them change nothing", async () => {
    const options = () => ({
      window: { ms: 1000, grace: 1000 },
      reward: { min: -1, max: 2 },
      examination: [1, 0.5],
      goals: JSON.parse('{ "click": { "weight": 1 }, "__proto__": { "weight": 2, "window": { "ms": 500 } } }'),
      policy: gpUcbSdf({ dimension: 2, kernel: squaredExponential({ lengthscale: [1, 2] }), refit: { every: 4 } }),
    });
    const started = async (given: ReturnType<typeof options>) => {
      const recommender = await Recommender.create(given);
      recommender.register({ impressionId: "a", features: [1, 0], now: 5, place: 1 });
      return recommender;
    };
    const given = options();
    const [recommender, same] = [await started(given), await started(options())];
    Object.assign(given.window, { ms: 1, grace: 0 });
    given.reward.max = 1;
    given.examination[1] = 0.25;
    given.goals.click.weight = 100;
    Object.assign(Object.getOwnPropertyDescriptor(given.goals, "__proto__")?.value, { weight: 9, value: { currency: "EUR" } });
    given.goals.order = { weight: 1 };
    expect(recommender.snapshot()).toEqual(same.snapshot());
    const conversion = { impressionId: "a", at: 9, goal: "__proto__" };
    expect(() => recommender.convert({ ...conversion, reward: 500 })).toThrow("reward: expected a number between -1 and 2, got 500");
    expect(() => recommender.convert({ ...conversion, reward: 1, goal: "order" })).toThrow("goal: expected one of click, __proto__");
    for (const each of [recommender, same]) each.convert({ ...conversion, reward: 2 });
    const restored = await Recommender.restore(recommender.snapshot(), { policies });
    expect(restored.snapshot()).toEqual(same.snapshot());
  });
});

describe("recommend", () => {
  it("returns a ranked list in which every item is an impression of its own", async () => {
    const recommender = await Recommender.create({ policy, window: { rounds: 5 } });
    const { round, policy: id, action, ranking } = recommender.recommend({ candidates, limit: 3 });
    expect([round, id, action]).toEqual([1, "otf-lin-ucb", ranking[0]]);
    expect(ranking.map((each) => each.id).sort()).toEqual(["a", "b", "c"]);
    expect(new Set(ranking.map(({ impressionId }) => impressionId)).size).toBe(3);
    for (const { score, mean, width } of ranking) expect(score).toBe(mean + width);
    expect(recommender.counts()).toEqual({ pending: 3, converted: 0, expired: 0, retracted: 0 });
  });

  it("takes the caller's ids, and refuses one twice", async () => {
    const recommender = await Recommender.create({ policy, window: { rounds: 5 } });
    expect(recommender.recommend({ candidates, impressionId: "mine" }).action.impressionId).toBe("mine");
    const before = recommender.snapshot();
    expect(() => recommender.recommend({ candidates, impressionId: "mine" })).toThrow(/impressionId/);
    expect(() => recommender.recommend({ candidates, limit: 2, impressionId: ["x", "x"] })).toThrow(/impressionId/);
    expect(() => recommender.recommend({ candidates, limit: 2, impressionId: "x" })).toThrow(/impressionId: expected 2/);
    expect(() => recommender.register({ impressionId: "mine", features: [1, 0] })).toThrow(/impressionId/);
    expect(recommender.snapshot()).toEqual(before);
  });

  it("needs the time with a window in ms", async () => {
    const recommender = await Recommender.create({ policy, window: { ms: 1000 } });
    expect(() => recommender.recommend({ candidates })).toThrow(/now/);
    expect(() => recommender.recommend({ candidates, now: Number.NaN })).toThrow(/now/);
    expect(recommender.recommend({ candidates, now: 1 }).round).toBe(1);
  });

  const matrices: [string, object, RegExp][] = [
    ["rows of another dimension", { points: new Float64Array(3) }, /points: expected rows of 2 numbers/],
    ["no rows", { points: new Float64Array(0) }, /points: expected rows/],
    ["a plain array", { points: [1, 0] }, /points: expected a Float64Array/],
    ["a number that is none", { points: Float64Array.of(1, 0, Number.NaN, 1) }, /points\[2\]/],
    ["a number that is not finite", { points: Float64Array.of(1, 0, 0, Number.NEGATIVE_INFINITY, 0, 0) }, /points\[3\]/],
    ["a number that is too large", { points: Float64Array.of(1, 0, 0, 1, 0, 1_000_000.000_001) }, /points\[5\]/],
    ["candidates besides", { candidates, points: new Float64Array(4) }, /points: expected none beside candidates/],
  ];
  it("takes a matrix of the greatest numbers there may be", async () => {
    const recommender = await Recommender.create({ policy, window: { rounds: 5 } });
    expect(recommender.recommend({ points: Float64Array.of(1e6, -1e6, -1e6, 1e6) }).round).toBe(1);
  });

  it.each(matrices)("refuses as a matrix %s, and changes nothing", async (_, request, message) => {
    const recommender = await Recommender.create({ policy, window: { rounds: 5 } });
    const before = recommender.snapshot();
    expect(() => recommender.recommend(request)).toThrow(message);
    expect(() => recommender.policy.choose({ round: 1, ...request })).toThrow(message);
    expect(recommender.snapshot()).toEqual(before);
  });

  it("takes a view of a larger matrix, and a policy without features none", async () => {
    const rows = Float64Array.of(9, 9, ...candidates.flatMap(({ features }) => features));
    const recommender = await Recommender.create({ policy, window: "none" });
    const { ranking } = recommender.recommend({ points: rows.subarray(2), limit: 5 });
    expect(ranking.map(({ id }) => id).sort()).toEqual(["0", "1", "2"]);
    expect(Array.from(recommender.impression(ranking[0].impressionId)?.features ?? [])).toEqual(candidates[ranking[0].index].features);
    const blind = await Recommender.create({ policy: uniform(), window: "none" });
    expect(() => blind.recommend({ points: rows })).toThrow(/points: expected candidates instead/);
  });

  it("derives what it draws from the seed and the impression's id alone", async () => {
    const choose = async (seed: number, impressionId: string): Promise<number> => {
      const recommender = await Recommender.create({ policy: otfLinTs({ dimension: 2 }), window: "none", seed });
      return recommender.recommend({ candidates, impressionId }).action.score;
    };
    expect(await choose(7, "x")).toBe(await choose(7, "x"));
    expect(await choose(7, "x")).not.toBe(await choose(8, "x"));
    expect(await choose(7, "x")).not.toBe(await choose(7, "y"));
  });
});

describe("windows in rounds", () => {
  // A conversion between recommendations r and r + 1, for round s, has e = r - s.
  const statusAfter = async (descriptor: typeof policy, rounds: number, e: number): Promise<string> => {
    const recommender = await Recommender.create({ policy: descriptor, window: { rounds } });
    const { action } = recommender.recommend({ candidates });
    for (let i = 0; i < e; i++) recommender.recommend({ candidates });
    return recommender.convert({ impressionId: action.impressionId, reward: 1 }).status;
  };

  it("count a delay of e for OTFLin: e <= m", async () => {
    expect(await statusAfter(policy, 3, 3)).toBe("applied");
    expect(await statusAfter(policy, 3, 4)).toBe("late");
  });

  it("count a delay of e + 1 for SDF: e + 1 <= m", async () => {
    const sdf = gpUcbSdf({ dimension: 2 });
    expect(await statusAfter(sdf, 3, 2)).toBe("applied");
    expect(await statusAfter(sdf, 3, 3)).toBe("late");
  });

  it("never close when there is none", async () => {
    expect(await statusAfter(policy, 1, 1)).toBe("applied");
    const recommender = await Recommender.create({ policy, window: "none" });
    const { action } = recommender.recommend({ candidates });
    for (let i = 0; i < 200; i++) recommender.recommend({ candidates });
    expect(recommender.convert({ impressionId: action.impressionId, reward: 1 }).status).toBe("applied");
  });
});

describe("windows in ms", () => {
  it("count by when a conversion happened, not by when it came", async () => {
    const recommender = await Recommender.create({ policy, window: { ms: 1000 } });
    const show = (impressionId: string): void => recommender.register({ impressionId, features: [1, 0], now: 10_000 });
    for (const id of ["in time", "on the edge", "late", "slow"]) show(id);
    expect(recommender.convert({ impressionId: "in time", reward: 1, at: 10_500 }).status).toBe("applied");
    expect(recommender.convert({ impressionId: "on the edge", reward: 1, at: 11_000 }).status).toBe("applied");
    expect(recommender.convert({ impressionId: "late", reward: 1, at: 11_001 }).status).toBe("late");
    expect(recommender.expire(11_500)).toBe(2);
    expect(recommender.counts()).toEqual({ pending: 0, converted: 2, expired: 2, retracted: 0 });
    // Delivered after the window has closed, but within the grace.
    expect(recommender.convert({ impressionId: "slow", reward: 1, at: 10_900 }).status).toBe("applied");
  });

  it("forget an impression when its grace is over", async () => {
    const recommender = await Recommender.create({ policy, window: { ms: 1000, grace: 500 } });
    recommender.register({ impressionId: "x", features: [1, 0], now: 0 });
    recommender.expire(1500);
    expect(recommender.impression("x")?.status).toBe("expired");
    recommender.expire(1501);
    expect(recommender.impression("x")).toBeUndefined();
    expect(recommender.convert({ impressionId: "x", reward: 1, at: 900 }).status).toBe("unknown");
  });

  it("never move the clock back", async () => {
    const recommender = await Recommender.create({ policy, window: { ms: 1000 } });
    recommender.register({ impressionId: "x", features: [1, 0], now: 5000 });
    recommender.expire(7000);
    expect(recommender.expire(5500)).toBe(0);
    expect(recommender.impression("x")?.status).toBe("expired");
  });

  it("close in order of time, whatever the order of registration", async () => {
    const recommender = await Recommender.create({ policy, window: { ms: 1000, grace: 9000 } });
    for (const now of [5000, 3000, 4000, 6000]) recommender.register({ impressionId: `at ${now}`, features: [1, 0], now });
    expect(recommender.counts()).toEqual({ pending: 2, converted: 0, expired: 2, retracted: 0 });
    expect(recommender.impression("at 3000")?.status).toBe("expired");
    expect(recommender.impression("at 5000")?.status).toBe("pending");
  });
});

describe("convert", () => {
  const shown = async (): Promise<Recommender> => {
    const recommender = await Recommender.create({ policy, window: { ms: 10_000 } });
    recommender.register({ impressionId: "x", features: [1, 0], now: 0 });
    return recommender;
  };

  it("knows the same event again, and the same event id with another payload", async () => {
    const recommender = await shown();
    const event = { impressionId: "x", reward: 0.5, at: 100, eventId: "e" };
    expect(recommender.convert(event).status).toBe("applied");
    const before = recommender.digest();
    expect(recommender.convert(event).status).toBe("duplicate");
    expect(recommender.digest()).toBe(before);
    expect(recommender.convert({ ...event, reward: 0.25 }).status).toBe("conflict");
    expect(recommender.convert({ ...event, reward: 0.25 }).status).toBe("duplicate");
  });

  it("lets the greatest (time, event id) win per goal, and adds goals up", async () => {
    const events = [
      { impressionId: "x", reward: 0.5, at: 100, eventId: "a" },
      { impressionId: "x", reward: 0.25, at: 200, eventId: "a2" },
      { impressionId: "x", reward: 1, at: 200, eventId: "a1" },
      { impressionId: "x", reward: 0.125, at: 50, eventId: "s", goal: "signup" },
    ];
    const other = await shown();
    other.convert({ impressionId: "x", reward: 0.375, at: 1 });
    for (const order of [events, events.toReversed()]) {
      const recommender = await shown();
      for (const event of order) expect(recommender.convert(event).status).toBe("applied");
      expect(recommender.digest()).toBe(other.digest());
    }
  });

  it("says unknown for an id that it never gave, and changes nothing", async () => {
    const recommender = await shown();
    const before = recommender.snapshot();
    expect(recommender.convert({ impressionId: "forged", reward: 1, at: 1 })).toEqual({ status: "unknown" });
    expect(recommender.snapshot()).toEqual(before);
  });

  const bad: [string, object, RegExp][] = [
    ["a reward above the range", { impressionId: "x", reward: 1.5, at: 1 }, /reward: expected a number between 0 and 1, got 1.5/],
    ["a reward that is not a number", { impressionId: "x", reward: "1", at: 1 }, /reward/],
    ["a reward that is not finite", { impressionId: "x", reward: Number.NaN, at: 1 }, /reward/],
    ["no time with a window in ms", { impressionId: "x", reward: 1 }, /at/],
    ["no id", { reward: 1, at: 1 }, /impressionId/],
    ["an empty goal", { impressionId: "x", reward: 1, at: 1, goal: "" }, /goal/],
    ["a misspelt field", { impressionId: "x", reward: 1, at: 1, event: "e" }, /event\.event/],
  ];
  it.each(bad)("refuses %s and changes nothing", async (_, event, message) => {
    const recommender = await shown();
    const before = recommender.snapshot();
    expect(() => recommender.convert(event as never)).toThrow(message);
    expect(recommender.snapshot()).toEqual(before);
  });
});

describe("a retraction", () => {
  const shown = async (rewards = { min: 0, max: 1 }): Promise<Recommender> => {
    const recommender = await Recommender.create({ policy, window: { ms: 10_000 }, reward: rewards });
    for (const impressionId of ["x", "y"]) recommender.register({ impressionId, features: [1, 0.5], now: 0 });
    return recommender;
  };
  const bought = { impressionId: "x", reward: 0.75, at: 100, eventId: "order" };
  const returned = { impressionId: "x", reward: null, at: 200, eventId: "return" };

  it("takes back what was learnt, and says so", async () => {
    const recommender = await shown();
    const untouched = recommender.digest();
    expect(recommender.convert(bought).status).toBe("applied");
    expect(recommender.impression("x")).toMatchObject({ status: "converted", reward: 0.75 });
    expect(recommender.convert(returned).status).toBe("applied");
    expect(recommender.impression("x")).toMatchObject({ status: "retracted", reward: 0 });
    expect(recommender.counts()).toEqual({ pending: 1, converted: 0, expired: 0, retracted: 1 });
    expect(recommender.digest()).toBe(untouched);
    expect(recommender.convert(returned).status).toBe("duplicate");
  });

  it("that comes before its conversion waits for it, and is then as if they had come in order", async () => {
    const recommender = await shown();
    const untouched = recommender.digest();
    expect(recommender.convert(returned).status).toBe("applied");
    expect(recommender.impression("x")?.status).toBe("pending");
    expect(recommender.convert(bought).status).toBe("applied");
    expect(recommender.impression("x")).toMatchObject({ status: "retracted", reward: 0 });
    expect(recommender.digest()).toBe(untouched);
    const inOrder = await shown();
    for (const event of [bought, returned]) inOrder.convert(event);
    expect(recommender.counts()).toEqual(inOrder.counts());
    expect(recommender.expire(10_001)).toBe(1);
  });

  it("does not close a window as one without a conversion, and leaves the other goals", async () => {
    const recommender = await shown();
    recommender.convert(bought);
    recommender.convert(returned);
    recommender.convert({ impressionId: "y", reward: 0.5, at: 50, goal: "signup" });
    recommender.convert({ impressionId: "y", reward: 0.25, at: 60 });
    recommender.convert({ impressionId: "y", reward: null, at: 70 });
    expect(recommender.impression("y")).toMatchObject({ status: "converted", reward: 0.5 });
    expect(recommender.expire(10_001)).toBe(0);
    expect(recommender.impression("x")?.status).toBe("retracted");
  });

  it("gives way to a later conversion, and to one of its own time and id", async () => {
    const recommender = await shown();
    for (const event of [bought, returned, { ...bought, at: 300, eventId: "again" }]) recommender.convert(event);
    expect(recommender.impression("x")).toMatchObject({ status: "converted", reward: 0.75 });
    const tied = await shown();
    tied.convert({ ...bought, reward: 0.25 });
    expect(tied.convert({ ...bought, reward: null }).status).toBe("conflict");
    expect(tied.impression("x")).toMatchObject({ status: "converted", reward: 0.25 });
  });

  it("is less than any reward, also than one below zero", async () => {
    const recommender = await shown({ min: -1, max: 1 });
    recommender.convert({ ...bought, reward: null });
    expect(recommender.convert({ ...bought, reward: -1 }).status).toBe("conflict");
    expect(recommender.impression("x")).toMatchObject({ status: "converted", reward: -1 });
  });

  it("survives a snapshot: what was told, and what was not", async () => {
    const recommender = await shown();
    recommender.convert(bought);
    recommender.convert(returned);
    recommender.convert({ ...returned, impressionId: "y" });
    const restored = await Recommender.restore(recommender.snapshot(), { policies: [otfLinUcb] });
    expect(restored.counts()).toEqual({ pending: 1, converted: 0, expired: 0, retracted: 1 });
    expect(restored.snapshot()).toEqual(recommender.snapshot());
    for (const each of [recommender, restored]) each.convert({ ...bought, at: 300, eventId: "again" });
    expect(restored.digest()).toBe(recommender.digest());
    expect(restored.snapshot()).toEqual(recommender.snapshot());
  });

  it("needs a reward of null, not of nothing", async () => {
    const recommender = await shown();
    expect(() => recommender.convert({ impressionId: "x", at: 1 } as never)).toThrow(/reward/);
  });
});

describe("register", () => {
  it("teaches the same as recommending the same action", async () => {
    const online = await Recommender.create({ policy, window: { rounds: 9 } });
    const offline = await Recommender.create({ policy, window: { rounds: 9 } });
    for (let i = 0; i < 5; i++) {
      const { action } = online.recommend({ candidates });
      offline.register({ impressionId: action.impressionId, features: candidates[action.index].features });
      for (const each of [online, offline]) each.convert({ impressionId: action.impressionId, reward: 1 });
    }
    expect(offline.snapshot()).toEqual(online.snapshot());
  });

  it("refuses bad features and changes nothing", async () => {
    const recommender = await Recommender.create({ policy, window: { rounds: 9 } });
    const before = recommender.snapshot();
    for (const features of [undefined, [1], [1, Number.NaN], [1e155, 0], "ab"]) {
      expect(() => recommender.register({ impressionId: "x", features: features as never })).toThrow(/features/);
    }
    expect(recommender.snapshot()).toEqual(before);
  });
});

it("runs without features for a policy that looks at none", async () => {
  const recommender = await Recommender.create({ policy: uniform(), window: { rounds: 3 } });
  const { action } = recommender.recommend({ candidates: [{ id: "a" }, { id: "b" }] });
  expect(action.probability).toBe(0.5);
  expect(recommender.convert({ impressionId: action.impressionId, reward: 1 }).status).toBe("applied");
});

it("refits hyper-parameters to what has come back or expired, not to zeros that stand for pending", async () => {
  const points = Array.from({ length: 12 }, (_, i) => ({ features: [i / 12] }));
  const deviations = async (refit: { every: number } | null, rounds: number): Promise<number[]> => {
    const recommender = await Recommender.create({ policy: gpUcbSdf({ dimension: 1, refit }), window: { rounds } });
    for (const { features } of points) recommender.recommend({ candidates: [{ features }] });
    return [...recommender.policy.predict([[0.4], [2]]).variance];
  };
  expect(await deviations({ every: 6 }, 100)).toEqual(await deviations(null, 100));
  expect(await deviations({ every: 6 }, 2)).not.toEqual(await deviations(null, 2));
});

it("says how much memory its core has, which grows with what it holds", async () => {
  const small = await Recommender.create({ policy, window: "none" });
  const large = await Recommender.create({ policy: otfLinUcb({ dimension: 2000 }), window: "none" });
  expect(small.memoryBytes % 65536).toBe(0);
  // Two packed triangles.
  expect(large.memoryBytes - small.memoryBytes).toBeGreaterThan(2 * 8 * 2000 * 1000);
});
