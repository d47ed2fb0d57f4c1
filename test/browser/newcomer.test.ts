import { afterAll, beforeAll, expect, it } from "vitest";
import type { Engine, RunningEngine } from "../support/engine/engine.ts";
import { describeInEngines } from "../support/engine/engines.ts";
import { newcomer } from "./newcomer.ts";
import { startShop, type TestWorker } from "./worker.ts";

// The path of a newcomer in every engine. Where its driver tells, the page must also be silent, and ask no other host. The engines run
// beside each other, because their pages wait for visitors and purchases most of the time.

const suite = (engine: Engine) => {
  let shop: TestWorker;
  let running: RunningEngine;

  beforeAll(async () => {
    [shop, running] = await Promise.all([startShop(), engine.launch()]);
  });
  afterAll(async () => {
    await running?.close();
    await shop?.harness.close();
  });

  it("one click brings the estimates nearer to the truth, a late purchase and its return move one, and the dashboard has the same counts", async () => {
    const { errors, waiting, shelves, late, changes, shop: counts, dashboard } = await newcomer(running.tab, shop.url.href);
    // The mean of Mira's tastes: nothing is known, and the estimates are zero.
    expect(errors[0]).toBe(25);
    expect(errors[1]).toBeLessThanOrEqual(errors[0] - 5);
    expect(new Set(waiting)).toEqual(new Set(["nothing known"]));
    expect(shelves[1]).not.toBe("");
    expect(late[1]).toBe(late[0]);
    expect(late[2]).not.toBe(late[0]);
    expect(changes).toEqual([expect.stringMatching(/^\+\d+$/), expect.stringMatching(/^−\d+$/)]);
    expect(counts.shown).toBeGreaterThanOrEqual(603);
    expect(dashboard).toEqual(counts);
    const elsewhere = (running.requests ?? []).filter((url) => !url.startsWith("data:") && new URL(url).host !== shop.url.host);
    expect([running.messages ?? [], elsewhere]).toEqual([[], []]);
  });
};

describeInEngines(suite, { concurrent: true });
