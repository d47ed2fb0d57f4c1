import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Session } from "../../../../pages/shop/session.ts";
import { stage } from "../../../../pages/shop/story.ts";

const WINDOW_MS = 120_000;

/** Counts and estimates that a simulated worker answers, and what delays the answer to the next request of a path. */
let known: { converted: number; mean: number };
let held: { path: string; until: Promise<void> } | undefined;
let count: number;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
  [known, held, count] = [{ converted: 9, mean: 0.8 }, undefined, 0];
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("fetch", async (path: string) => {
    const { converted, mean } = known;
    const belief = { mean, low: 0, high: 1 };
    const estimates = [{ id: "mug", belief, closed: { impressions: 0, converted: 0 } }];
    const action = { impressionId: `i-${++count}`, id: "mug" };
    if (held && path.startsWith(held.path)) {
      const { until } = held;
      held = undefined;
      await until;
    }
    if (path.startsWith("/demo/knowledge")) return Response.json({ counts: { converted }, estimates, impressions: [] });
    if (path === "/demo/reset") known = { converted: 0, mean: 0.1 };
    return Response.json({ windowEndsAt: Date.now() + WINDOW_MS, actions: [action] });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function begun(): Promise<Session> {
  const session = new Session("pk", () => {});
  session.start();
  await vi.advanceTimersByTimeAsync(0);
  return session;
}

/** Holds back the answer to the next request of a path. Returns a function that lets it arrive. */
function hold(path: string): () => Promise<void> {
  let release = () => {};
  held = { path, until: new Promise((resolve) => (release = resolve)) };
  return async () => {
    release();
    await vi.advanceTimersByTimeAsync(0);
  };
}

describe("a page that has started over", () => {
  it("counts looks anew", async () => {
    const session = await begun();
    for (let i = 0; i < 6; i++) await session.visit();
    expect(stage(session)).toContain("You have looked often");
    await session.startOver();
    expect([session.looks, stage(session)]).toEqual([1, "Nothing is known yet, so the bands are wide. Send visitors."]);
  });

  it("drops the estimates that were on their way, and asks again", async () => {
    const session = await begun();
    const arrive = hold("/demo/knowledge");
    await vi.advanceTimersByTimeAsync(1000);
    await session.startOver();
    expect([session.estimates, session.counts, session.before.size]).toEqual([[], undefined, 0]);
    await arrive();
    expect([session.estimates, session.counts, session.before.size]).toEqual([[], undefined, 0]);
    await vi.advanceTimersByTimeAsync(250);
    expect(session).toMatchObject({ counts: { converted: 0 }, estimates: [{ belief: { mean: 0.1 } }] });
    expect([...session.before]).toEqual([["mug", 0.1]]);
  });

  it("drops the recommendations that were on their way", async () => {
    const session = await begun();
    const arrive = hold("/v1/models");
    const visit = session.visit();
    await session.startOver();
    const { shelf } = session;
    await arrive();
    await visit;
    expect([session.shelf, session.shown]).toEqual([shelf, shelf]);
  });
});
