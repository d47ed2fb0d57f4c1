import { runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { mismatchOf } from "../../../cli/compare.ts";
import { liftOf } from "../../../worker/domain/figures/lift.ts";
import { armsOf } from "../../support/logs/arms.ts";
import { call, convert, createModel, describeModel, learnerOf, recommend } from "../support/client.ts";
import { MINUTE_MS, tick, useClock } from "../support/clock.ts";
import { seedIds } from "../support/lived.ts";

useClock();
beforeEach(() => seedIds());

describe("the arms of a log", () => {
  it("are those of a worker's log, with the counts of its description", async () => {
    const model = await createModel({ serving: "edge", holdout: 0.5 });
    for (let n = 0; n < 60; n++) {
      tick(MINUTE_MS / 2);
      const { body } = await call("POST", `/v1/models/${model}/recommendations`, { limit: 2 });
      if (n % 3 === 0) await convert({ impressionId: body.actions[n % 2].impressionId, reward: 1 });
    }
    await recommend(model);
    const log = (await call("GET", `/v1/models/${model}/events`)).body.trimEnd().split("\n");
    const { counts, goals, windows, end } = await armsOf(log);
    const lift = liftOf(counts, goals[0], windows, { effect: 0.01, alpha: 0.05, now: end });
    const [{ policy, holdout, shares }, { body }] = [lift, await call("GET", `/v1/models/${model}`)];
    expect([policy.lists + holdout.lists, shares.map((each) => each.holdout)]).toEqual([61, [0.5]]);
    expect(Math.min(policy.lists, holdout.lists)).toBeGreaterThan(15);
    expect([policy.impressions + holdout.impressions, policy.conversions + holdout.conversions]).toEqual([body.counts.impressions, 20]);
    expect(body.counts.converted).toBe(20);
    expect(mismatchOf(lift)).toBeLessThan(1);
  });

  it("have no conversion whose reward left the range, as in the worker that learns the log again", async () => {
    const model = await createModel({ serving: "edge", holdout: 0.5, reward: { min: 0, max: 2 } });
    for (let n = 0; n < 20; n++) {
      tick(MINUTE_MS / 2);
      const [impressionId] = await recommend(model);
      if (n % 2 === 0) await convert({ impressionId, reward: n % 4 === 0 ? 2 : 1 });
    }
    const converted = async () => {
      const [{ body }, log] = [await call("GET", `/v1/models/${model}`), await call("GET", `/v1/models/${model}/events`)];
      const { counts, goals, windows, end } = await armsOf(log.body.trimEnd().split("\n"));
      const { policy, holdout } = liftOf(counts, goals[0], windows, { effect: 0.01, alpha: 0.05, now: end });
      return [body.counts.converted, policy.conversions + holdout.conversions];
    };
    expect(await converted()).toEqual([10, 10]);
    expect((await call("POST", `/v1/models/${model}/reset`, { from: "log", reward: { min: 0, max: 1 } })).status).toBe(202);
    for (let i = 0; i < 20 && (await describeModel(model)).relearning; i++) await runDurableObjectAlarm(learnerOf(model));
    expect(await converted()).toEqual([5, 5]);
  });
});
