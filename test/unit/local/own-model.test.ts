import { otfLinTs, otfLinUcb, type PolicyDescriptor, Recommender, uniform } from "afterclick";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Action, OwnModel, type OwnModelOptions } from "../../../src/local/index.ts";
import { Shelf } from "../../../src/local/shelf.ts";
import { emptyDisk, refuse } from "../../support/disk.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const HOUR_MS = 3_600_000;
const policy = otfLinUcb({ dimension: 2 });
const candidates = [{ features: [1, 0] }];

let reports: Error[];

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  reports = [];
  emptyDisk();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const open = (options: Partial<OwnModelOptions> = {}) =>
  OwnModel.open({ name: "news", policy, window: { ms: HOUR_MS }, seed: 5, report: (error) => reports.push(error), ...options });

async function learn(model: OwnModel, reward = 1): Promise<string> {
  const { action } = await model.recommend({ candidates });
  return (await model.convert({ impressionId: action.impressionId, reward })).status;
}
const meanOf = async (model: OwnModel) => (await model.recommend({ candidates })).action.mean;
const roundOf = async (model: OwnModel) => (await model.recommend({ candidates })).round;
const restored = async (model: OwnModel) => Recommender.restore(await model.snapshot(), { policies: [otfLinUcb] });

/** The stored data of the model. A test may change them. */
interface Kept {
  revision: number;
  options: string;
  bytes: Uint8Array;
  at: number;
}
const kept = async () => (await new Shelf("own news", () => {}).get<Kept>("state")) as Kept;
const keep = (change: Partial<Kept>) => kept().then((state) => new Shelf("own news", () => {}).set("state", { ...state, ...change }));

describe("a model of the device's own", () => {
  it("decides and learns as the SDK does from the same calls", async () => {
    const model = await open();
    const sdk = await Recommender.create({ policy, window: { ms: HOUR_MS }, seed: 5 });
    for (let n = 0; n < 5; n++) {
      vi.setSystemTime(NOW + n * 1000);
      const impressionId = `i-${n}`;
      expect(await model.recommend({ candidates, impressionId })).toEqual(sdk.recommend({ candidates, impressionId, now: Date.now() }));
      expect(await model.convert({ impressionId, reward: n / 8 })).toEqual(sdk.convert({ impressionId, reward: n / 8, at: Date.now() }));
    }
    expect((await restored(model)).digest()).toBe(sdk.digest());
  });

  it("takes its turn under a lock of its own name, where the host has locks", async () => {
    const request = vi.fn((_: string, turn: () => unknown) => turn());
    vi.stubGlobal("navigator", { locks: { request } });
    const model = await open();
    await learn(model);
    expect(new Set(request.mock.calls.map(([name]) => name))).toEqual(new Set(["afterclick own news"]));
    expect(request).toHaveBeenCalledTimes(3);
  });

  it("takes its turn without a lock where the host refuses locks, and reports that once", async () => {
    const refusal = new DOMException("storage is refused", "SecurityError");
    const request = vi.fn().mockRejectedValue(refusal);
    vi.stubGlobal("navigator", { locks: { request } });
    const model = await open();
    expect(await Promise.all([learn(model), learn(model)])).toEqual(["applied", "applied"]);
    expect(await roundOf(model)).toBe(3);
    expect([reports, request.mock.calls.length]).toEqual([[refusal], 1]);
  });

  it("takes no second turn when its turn has failed under the lock", async () => {
    const model = await open();
    const recommend = vi.spyOn(Recommender.prototype, "recommend");
    await expect(model.recommend({ candidates: [{ features: [1] }] })).rejects.toThrow(/^candidates/);
    expect([recommend.mock.calls.length, reports]).toEqual([1, []]);
  });

  it("takes its turn in its own page where the host has none", async () => {
    vi.stubGlobal("navigator", undefined);
    const model = await open();
    expect(await Promise.all([learn(model), learn(model)])).toEqual(["applied", "applied"]);
    expect(await roundOf(await open())).toBe(3);
    const forgotten = model.forget();
    expect(await roundOf(model)).toBe(1);
    await forgotten;
    expect(await roundOf(model)).toBe(2);
  });

  it("is told apart by its name", async () => {
    await learn(await open());
    expect(await roundOf(await open({ name: "other" }))).toBe(1);
    expect((await indexedDB.databases()).map(({ name }) => name).sort()).toEqual(["afterclick own news", "afterclick own other"]);
  });

  it.each(["", undefined, 7])("needs a name, and %j is none", async (name) => {
    await expect(open({ name: name as never })).rejects.toThrow(new TypeError("name: expected a text that names the model"));
    await expect(open({ window: { ms: -1 } })).rejects.toThrow(/^window\.ms/);
  });

  it.each([
    ["policy", { policy: otfLinTs({ dimension: 2 }) as PolicyDescriptor }],
    ["options of it", { policy: otfLinUcb({ dimension: 2, ridge: 2 }) }],
    ["window", { window: { ms: HOUR_MS + 1 } }],
    ["reward", { reward: { min: 0, max: 2 } }],
    ["seed", { seed: 6 }],
    ["examination", { examination: [1, 0.5] }],
    ["goals", { goals: { click: { weight: 0.5 }, conversion: { weight: 1 } } }],
  ])("begins anew with another %s, without a word", async (_, other) => {
    await learn(await open());
    expect(await roundOf(await open(other))).toBe(1);
    expect(reports).toEqual([]);
    // The other tab has it now.
    expect(await roundOf(await open(other))).toBe(2);
    expect(await roundOf(await open())).toBe(1);
  });

  it("is the same with what is the default said or not", async () => {
    const { seed: _, ...rest } = { name: "news", policy, window: { ms: HOUR_MS }, seed: 5 };
    await learn(await OwnModel.open(rest));
    expect(await roundOf(await OwnModel.open(rest))).toBe(2);
  });

  it("counts each change, and keeps the device's time with it", async () => {
    const model = await open();
    await learn(model);
    vi.setSystemTime(NOW + 500);
    await meanOf(model);
    expect(await kept()).toMatchObject({ revision: 3, at: NOW + 500 });
    expect((await Recommender.restore((await kept()).bytes, { policies: [otfLinUcb] })).counts()).toMatchObject({ pending: 1 });
  });

  it("takes up nothing anew while nobody else has learnt", async () => {
    const model = await open();
    await learn(model);
    const restore = vi.spyOn(Recommender, "restore");
    await learn(model);
    expect(restore).not.toHaveBeenCalled();
  });

  it("has changed nothing when a call is refused, and goes on", async () => {
    const model = await open();
    await learn(model);
    const [before, state] = [await model.snapshot(), await kept()];
    await expect(model.recommend({ candidates: [{ features: [1] }] })).rejects.toThrow(/^candidates\[0\]\.features/);
    await expect(model.convert({ impressionId: "x", reward: 2 })).rejects.toThrow(/^reward/);
    expect([await model.snapshot(), await kept()]).toEqual([before, state]);
    expect(await learn(model)).toBe("applied");
  });

  it("forgets all that it has learnt, on the device and in memory", async () => {
    const model = await open();
    await learn(model);
    await model.forget();
    // Another seed, for other ids.
    const fresh = (await Recommender.create({ policy, window: { ms: HOUR_MS }, seed: 4 })).snapshot();
    expect(await new Shelf("own news", () => {}).startingWith("")).toMatchObject([["state", { revision: 0, bytes: fresh, at: 0 }]]);
    expect(await model.snapshot()).toEqual(fresh);
    await learn(model);
    expect(await kept()).toMatchObject({ revision: 2 });
    expect(await roundOf(await open())).toBe(2);
  });

  it("keeps again once it has forgotten what a newer version had kept", async () => {
    await learn(await open());
    const { bytes } = await kept();
    bytes[4] ^= 7;
    await keep({ bytes });
    const model = await open();
    await model.forget();
    await learn(model);
    expect(await roundOf(await open())).toBe(2);
  });
});

it("takes no conversion of a forgotten impression for one of a later", async () => {
  for (const seed of [5, 0, undefined]) {
    const model = await open({ seed });
    const old = new Set<string>();
    for (let time = 0; time < 3; time++) {
      const { action } = await model.recommend({ candidates });
      expect(old).not.toContain(action.impressionId);
      for (const impressionId of old) expect(await model.convert({ impressionId })).toEqual({ status: "unknown" });
      old.add(action.impressionId);
      await model.forget();
    }
  }
});

describe("a tab, after another tab made the model forget,", () => {
  it("has forgotten too, and stores nothing of before", async () => {
    const [here, there] = [await open(), await open()];
    await there.recommend({ candidates, impressionId: "before" });
    await here.forget();
    expect(await there.convert({ impressionId: "before", reward: 1 })).toEqual({ status: "unknown" });
    expect(await roundOf(there)).toBe(1);
    expect([await roundOf(await open()), await roundOf(here)]).toEqual([2, 3]);
  });

  it("does not mistake the new state for its own after as many changes", async () => {
    const [here, there] = [await open(), await open()];
    await there.recommend({ candidates, impressionId: "before" });
    await here.forget();
    await here.recommend({ candidates });
    expect(await there.convert({ impressionId: "before", reward: 1 })).toEqual({ status: "unknown" });
  });

  it("has forgotten also under other options", async () => {
    const there = await open({ seed: 6 });
    await learn(there);
    const here = await open();
    await here.forget();
    await learn(here);
    expect(await roundOf(there)).toBe(1);
    // It goes on as long as nobody forgets.
    await learn(here);
    expect(await roundOf(there)).toBe(2);
  });

  it("does not take up a state of before that a third one stored without a lock", async () => {
    const [here, there] = [await open(), await open()];
    await learn(there);
    const before = await kept();
    await here.forget();
    await new Shelf("own news", () => {}).set("state", before);
    expect([await roundOf(here), await roundOf(there)]).toEqual([1, 2]);
  });

  it("goes on if it can only not read", async () => {
    const model = await open();
    await learn(model);
    refuse("get");
    expect(await roundOf(model)).toBe(2);
  });
});

describe("a call", () => {
  /** Delays a write until the test releases it. */
  function held(operation: "set" | "clear"): () => void {
    let release = () => {};
    vi.spyOn(Shelf.prototype, operation).mockReturnValueOnce(
      new Promise((resolve) => {
        release = resolve;
      }),
    );
    return release;
  }

  it.each([
    ["set", (model: OwnModel) => model.recommend({ candidates })],
    ["clear", (model: OwnModel) => model.forget()],
  ] as const)("is done when the device has done its part: %s", async (operation, work) => {
    const model = await open();
    const release = held(operation);
    let done = false;
    const call = work(model).then(() => {
      done = true;
    });
    // Long enough for all other work.
    for (let i = 0; i < 5; i++) await Recommender.create({ policy, window: "none" });
    await new Promise(setImmediate);
    expect(done).toBe(false);
    release();
    await call;
  });
});

describe("the time of a conversion", () => {
  it("is what is said, and now otherwise", async () => {
    const model = await open();
    const shown = async () => (await model.recommend({ candidates })).action.impressionId;
    const status = async (impressionId: string, at?: number) => (await model.convert({ impressionId, reward: 1, at })).status;
    const first = await shown();
    expect(await status(first, NOW + HOUR_MS + 1)).toBe("late");
    vi.setSystemTime(NOW + HOUR_MS);
    expect(await status(first)).toBe("applied");
    const second = await shown();
    vi.setSystemTime(NOW + 2 * HOUR_MS + 1);
    expect([await status(second), await status(second, NOW + 2 * HOUR_MS)]).toEqual(["late", "applied"]);
  });

  it("is now for a time and a reward that are undefined, as if they were absent", async () => {
    const model = await open();
    const { action } = await model.recommend({ candidates });
    vi.setSystemTime(NOW + HOUR_MS);
    expect(await model.convert({ impressionId: action.impressionId, reward: undefined, at: undefined })).toEqual({ status: "applied" });
    expect((await restored(model)).counts()).toMatchObject({ converted: 1 });
    for (const wrong of [{ reward: Number.NaN }, { at: Number.NaN }]) {
      await expect(model.convert({ impressionId: action.impressionId, ...wrong })).rejects.toThrow(RangeError);
    }
  });

  it("stands still while the clock is set back, over visits too, so that no window opens again", async () => {
    const before = await open();
    const { action } = await before.recommend({ candidates });
    vi.setSystemTime(NOW + 2 * HOUR_MS);
    await before.recommend({ candidates });
    vi.setSystemTime(NOW);
    for (const model of [before, await open()]) {
      expect(await model.convert({ impressionId: action.impressionId, reward: 1 })).toEqual({ status: "late" });
    }
  });

  it.each([
    ["rounds", { rounds: 2 } as const],
    ["none", "none" as const],
  ])("is not told with a window of %s", async (_, window) => {
    const model = await open({ window });
    const [recommend, convert] = [vi.spyOn(Recommender.prototype, "recommend"), vi.spyOn(Recommender.prototype, "convert")];
    expect(await learn(model)).toBe("applied");
    expect(recommend.mock.lastCall?.[0]).toEqual({ candidates });
    expect(convert.mock.lastCall?.[0]).toEqual({ impressionId: expect.any(String), reward: 1 });
  });
});

describe("what is kept and cannot be used", () => {
  it("by damage is replaced by what is learnt from now on, and reported", async () => {
    await learn(await open());
    const { bytes } = await kept();
    bytes[200] ^= 7;
    await keep({ bytes });
    const model = await open();
    expect(reports).toEqual([expect.objectContaining({ name: "SnapshotError", code: "checksum" })]);
    expect(await roundOf(model)).toBe(1);
    expect(await kept()).toMatchObject({ revision: 3 });
    expect(await roundOf(await open())).toBe(2);
    expect(reports).toHaveLength(1);
  });

  it.each(["version", "state-version"])(
    "since a newer version has kept it, is left as it is, while this visit learns in memory: %s",
    async (code) => {
      await learn(await open());
      const { bytes } = await kept();
      if (code === "version") bytes[4] ^= 7;
      await keep({ bytes });
      const { SnapshotError } = await import("afterclick");
      if (code !== "version") vi.spyOn(Recommender, "restore").mockRejectedValueOnce(new SnapshotError(code, "newer"));
      const model = await open();
      expect(reports).toEqual([expect.objectContaining({ name: "SnapshotError", code })]);
      expect([await roundOf(model), await roundOf(model)]).toEqual([1, 2]);
      expect(await kept()).toMatchObject({ revision: 2, bytes });
      expect(reports).toHaveLength(1);
    },
  );

  it("for a reason that is not its own, fails the call", async () => {
    await learn(await open());
    vi.spyOn(Recommender, "restore").mockRejectedValueOnce(new RangeError("out of memory"));
    await expect(open()).rejects.toThrow("out of memory");
    expect(reports).toEqual([]);
  });
});

describe("where the disk refuses", () => {
  it("to take more, it goes on in memory, and reports that", async () => {
    const model = await open();
    await learn(model);
    refuse("put");
    await meanOf(model);
    expect(reports).toHaveLength(1);
    await learn(model);
    expect(await roundOf(model)).toBe(4);
    expect(new Set(reports.map(({ name }) => name))).toEqual(new Set(["QuotaExceededError"]));
  });

  it("to forget, that is reported before it is said to be done", async () => {
    const model = await open();
    refuse("clear");
    await model.forget();
    expect(reports).toHaveLength(1);
  });

  it("everything, it learns for this visit, and needs nobody who is told", async () => {
    vi.stubGlobal("indexedDB", undefined);
    const model = await open({ report: undefined });
    expect(await learn(model)).toBe("applied");
    expect(await meanOf(model)).toBeGreaterThan(0);
  });
});

describe("with actions, as a published model takes them", () => {
  const encoded = { name: "boots", policy: otfLinUcb({ dimension: 16 }), encoder: { dimension: 16 } };
  const actions = [
    { id: "boots", features: { brand: "Acme" } },
    { id: "hat", features: { brand: "Bolt" } },
  ];

  it("returns what a published model returns, and learns from it", async () => {
    const model = await open(encoded);
    const { actions: shown, ...rest } = await model.recommend({ context: { country: "PT" }, actions, limit: 5 });
    expect(rest).toEqual({ modelVersion: 0, policy: "otf-lin-ucb", windowEndsAt: NOW + HOUR_MS });
    expect(shown.map(({ id }) => id).sort()).toEqual(["boots", "hat"]);
    expect(Object.keys(shown[0])).toEqual(["impressionId", "id", "score", "mean", "width", "probability"]);
    expect(await model.convert({ impressionId: shown[0].impressionId })).toEqual({ status: "applied" });
    const again = await model.recommend({ context: { country: "PT" }, actions });
    expect(again).toMatchObject({ modelVersion: 2, actions: [{ id: shown[0].id }] });
    expect(again.actions[0].mean).toBeGreaterThan(0);
  });

  it("takes numbers without an encoder, and without a window in ms no window ends", async () => {
    const model = await open({ window: "none" });
    const { actions: shown, windowEndsAt } = await model.recommend({ context: [0.5], actions: [{ id: "a", features: [0.25] }] });
    expect([shown.length, windowEndsAt]).toEqual([1, Number.POSITIVE_INFINITY]);
  });

  it("has as many candidates as actions if its policy reads no features", async () => {
    const model = await open({ policy: uniform() });
    for (const count of [1, 3, 2]) {
      const offered = Array.from({ length: count }, (_, i) => ({ id: `a${i}`, features: [0.25] }));
      const { actions: shown } = await model.recommend({ context: [0.5], actions: offered, limit: count });
      expect(shown.map(({ id }) => id).sort()).toEqual(offered.map(({ id }) => id));
      expect(shown[0].probability).toBeCloseTo(1 / count, 12);
    }
  });

  const namesOf = (shown: readonly { readonly id: string }[]) => shown.map(({ id }) => id);
  /** A model that has learnt that boots convert and hats do not. */
  const wearing = async () => {
    const model = await open(encoded);
    for (const reward of [1, 1, 0, 1]) {
      const { actions: shown } = await model.recommend({ actions: [actions[reward ? 0 : 1]] });
      await model.convert({ impressionId: shown[0].impressionId, reward });
    }
    return model;
  };

  it.each([
    ["reversed", (list: Action[]) => list.reverse()],
    ["longer", (list: Action[]) => list.unshift({ id: "scarf", features: { brand: "Bolt" } })],
    ["of other features", (list: Action[]) => list.splice(0, 2, { id: "boots", features: { brand: "Acme" } }, { id: "hat", features: {} })],
  ])("takes a list that is %s since the last call as it is now", async (_, change) => {
    const model = await wearing();
    const list = [...actions];
    const means = new Map((await model.recommend({ actions: list, limit: 2 })).actions.map(({ id, mean }) => [id, mean]));
    change(list);
    const { actions: shown } = await model.recommend({ actions: list, limit: 3 });
    expect(namesOf(shown).sort()).toEqual(namesOf(list).sort());
    expect(shown.find(({ id }) => id === "boots")?.mean).toBeGreaterThan((means.get("hat") as number) + 0.1);
  });

  it("leaves out actions that are not available", async () => {
    const model = await open(encoded);
    const offered = [
      { ...actions[0], available: false },
      { ...actions[1], available: true },
    ];
    expect(namesOf((await model.recommend({ actions: offered, limit: 2 })).actions)).toEqual(["hat"]);
  });

  it("reads the request and the conversion at the call, not in its turn", async () => {
    const model = await open(encoded);
    const list = [{ id: "boots", features: { brand: "Acme" } }];
    const recommended = model.recommend({ actions: list });
    list[0].id = "hat";
    list.push(list[0]);
    const { actions: shown } = await recommended;
    expect(namesOf(shown)).toEqual(["boots"]);
    const conversion = { impressionId: shown[0].impressionId };
    const converted = model.convert(conversion);
    conversion.impressionId = "other";
    expect(await converted).toEqual({ status: "applied" });
  });

  it("starts again with another encoder", async () => {
    await (await open(encoded)).recommend({ actions });
    const { modelVersion } = await (await open({ ...encoded, encoder: { dimension: 16, interactions: "all" } })).recommend({ actions });
    expect(modelVersion).toBe(0);
    expect((await (await open(encoded)).recommend({ actions })).modelVersion).toBe(0);
  });

  it.each([
    ["actions: expected at least one, as there is no catalogue", { context: { country: "PT" } }],
    ["actions: expected at least one, as there is no catalogue", { actions: [] }],
    ["actions: expected at least one, as none is available", { actions: [{ ...actions[0], available: false }] }],
    ["impressionId: expected actions, a context and a limit, as actions are given", { actions, impressionId: "i" }],
    ["features of action a: expected features by name, since the model has an encoder", { actions: [{ id: "a", features: [1] }] }],
  ])("says %j", async (message, request) => {
    const model = await open(encoded);
    await expect(model.recommend(request as never)).rejects.toThrow(message);
    expect((await restored(model)).counts()).toMatchObject({ pending: 0 });
  });

  it("refuses an encoder of another dimension than the policy's", async () => {
    await expect(open({ encoder: { dimension: 16 } })).rejects.toThrow(
      new RangeError("encoder.dimension: expected the policy's 2, got 16"),
    );
  });
});
