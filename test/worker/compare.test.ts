import { beforeEach, describe, expect, it } from "vitest";
import { compareArms } from "../../comparison/arm-comparison.ts";
import { loggedArms } from "../../scripts/compare/logged-arms.ts";
import { call, convert, createModel, recommend } from "./client.ts";
import { MINUTE_MS, tick, useClock } from "./clock.ts";
import { seedIds } from "./lived.ts";

useClock();
beforeEach(() => seedIds());

const HOUR_MS = 3_600_000;
const progress = (): void => {};
const head = { type: "model", model: "shop", lines: 9, exportedAt: 30 * HOUR_MS };

function configuration(config: object = {}) {
  return { type: "mark", seq: 1, mark: "configuration", content: { window: { ms: HOUR_MS }, goals: null, holdout: 0.5, ...config } };
}

function impression(id: string, arm: string, { first, ...rest }: { first?: string; state?: string } = {}) {
  return {
    type: "impression",
    id,
    arm,
    state: "live",
    shownAt: HOUR_MS,
    decision: { place: first ? 1 : 0, ...(first && { first }) },
    ...rest,
  };
}

interface Fields {
  readonly at?: number;
  readonly goal?: string;
  readonly status?: string;
  readonly event?: string;
}

function conversion(of: string, reward: number | null, { at = 2 * HOUR_MS, ...rest }: Fields = {}) {
  return { type: "conversion", impression: of, goal: "conversion", event: `${of} ${at}`, reward, at, status: "applied", ...rest };
}

const read = (lines: readonly object[], goal?: string) =>
  loggedArms(
    [head, ...lines].map((line) => JSON.stringify(line)),
    goal,
    progress,
  );

describe("the arms of a log", () => {
  it("are those of a worker's log, with the rates that its metrics count", async () => {
    const model = await createModel({ serving: "edge", holdout: 0.5 });
    for (let n = 0; n < 60; n++) {
      tick(MINUTE_MS / 2);
      const { body } = await call("POST", `/v1/models/${model}/recommendations`, { limit: 2 });
      if (n % 3 === 0) await convert({ impressionId: body.actions[n % 2].impressionId, reward: 1 });
    }
    await recommend(model);
    const log = (await call("GET", `/v1/models/${model}/events`)).body.trimEnd().split("\n");
    const { policy, random, holdout } = await loggedArms(log, undefined, progress);
    expect([policy.length + random.length, holdout]).toEqual([61, 0.5]);
    expect(Math.min(policy.length, random.length)).toBeGreaterThan(15);
    const all = [...policy, ...random].flat();
    expect(all.filter(({ convertedAt }) => convertedAt !== undefined)).toHaveLength(20);
    const { body } = await call("GET", `/v1/models/${model}`);
    expect([all.length, 20]).toEqual([body.counts.impressions, body.counts.converted]);
  });

  it("have one entry for each list that was shown, with the time of the first conversion", async () => {
    const arms = await read([
      configuration(),
      impression("a", "policy"),
      impression("b", "policy", { first: "a" }),
      impression("c", "holdout"),
      impression("d", "holdout", { state: "deferred" }),
      conversion("b", 1),
      conversion("b", 1, { at: 1.5 * HOUR_MS }),
      conversion("c", 1, { status: "late" }),
    ]);
    expect(arms).toMatchObject({ model: "shop", goal: "conversion", window: HOUR_MS, end: 30 * HOUR_MS, holdout: 0.5 });
    expect(arms.policy).toEqual([[{ shownAt: HOUR_MS }, { shownAt: HOUR_MS, convertedAt: 1.5 * HOUR_MS }]]);
    expect(arms.random).toEqual([[{ shownAt: HOUR_MS }]]);
    const { treatment, control } = compareArms(arms.random, arms.policy, { window: HOUR_MS, effect: 0.01, now: arms.end });
    expect([treatment, control]).toEqual([0.5, 0]);
  });

  it("have no conversion that was taken back, and none of another goal", async () => {
    const goals = { click: { weight: 0 }, purchase: { weight: 1, window: { ms: 2 * HOUR_MS } } };
    const lines = [
      configuration({ goals }),
      impression("a", "policy"),
      impression("c", "holdout"),
      conversion("a", 1, { goal: "click" }),
      conversion("c", 1, { goal: "purchase", event: "order" }),
      conversion("c", null, { goal: "purchase", event: "back", at: 2.5 * HOUR_MS }),
    ];
    const purchases = await read(lines, "purchase");
    expect([purchases.window, purchases.policy[0], purchases.random[0]]).toEqual([
      2 * HOUR_MS,
      [{ shownAt: HOUR_MS }],
      [{ shownAt: HOUR_MS }],
    ]);
    expect((await read(lines, "click")).policy[0]).toEqual([{ shownAt: HOUR_MS, convertedAt: 2 * HOUR_MS }]);
    await expect(read(lines)).rejects.toThrow("--goal: expected one of click, purchase, got none");
    await expect(read(lines, "order")).rejects.toThrow("--goal: expected one of click, purchase, got order");
  });

  it("have no declared share after it was changed", async () => {
    const lines = [configuration(), configuration({ holdout: 0.1 }), impression("a", "policy"), impression("c", "holdout")];
    expect((await read(lines)).holdout).toBeUndefined();
  });

  it("need a holdout, a configuration and an exported log", async () => {
    await expect(read([configuration(), impression("a", "policy")])).rejects.toThrow('put the model with "holdout": 0.1');
    await expect(read([impression("a", "policy")])).rejects.toThrow("expected a log with the model's configuration, got none");
    await expect(loggedArms(["{"], undefined, progress)).rejects.toThrow("line 1: expected a line of an exported log");
  });
});
