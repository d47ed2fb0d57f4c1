import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Session } from "../../../../pages/shop/session.ts";
import { Shelf } from "../../../../pages/shop/shelf.tsx";
import { story } from "../../../../pages/shop/story.ts";
import { drawn } from "../../../support/markup.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const WINDOW_MS = 120_000;

/** How a simulated worker answers purchases and returns. */
let statuses: { purchases: string; returns: string };

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date", "setInterval", "clearInterval"] });
  statuses = { purchases: "applied", returns: "applied" };
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("fetch", async (path: string) => {
    if (path.startsWith("/demo/knowledge")) return Response.json({ counts: {}, estimates: [], impressions: [] });
    if (path === "/demo/purchases") return Response.json({ conversions: [{ status: statuses.purchases }] });
    if (path === "/demo/returns") return Response.json({ conversions: [{ status: statuses.returns }] });
    return Response.json({ windowEndsAt: Date.now() + WINDOW_MS, actions: [{ impressionId: "i-1", id: "mug" }] });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A session whose reader bought the mug two seconds after it was shown. */
async function bought(): Promise<Session> {
  const session = new Session("pk", () => {});
  session.start();
  await vi.advanceTimersByTimeAsync(2000);
  session.chooseDelay(0);
  session.buy(session.shelf[0]);
  await vi.advanceTimersByTimeAsync(250);
  return session;
}

const returnButton = (session: Session) =>
  drawn(Shelf, { session, now: Date.now() }).elements.find(({ props }) => String(props["aria-label"]).startsWith("Return: "));

describe("a return", () => {
  it("after the window does not count: the page says so, and the purchase keeps its time", async () => {
    const session = await bought();
    const [mug] = session.shelf;
    await vi.advanceTimersByTimeAsync(WINDOW_MS);
    statuses.returns = "late";
    await session.giveBack(mug);
    expect([mug.status, story(mug, Date.now())]).toEqual(["converted", "converted after 0:03"]);
    // Answers that come later do not remove the message.
    await vi.advanceTimersByTimeAsync(3000);
    expect(session.problem).toBe("The window has ended: the return does not count.");
    await session.visit();
    expect(session.problem).toBe("");
  });

  it("that the worker does not answer leaves the time of the purchase, and can be tried again", async () => {
    const session = await bought();
    const [mug] = session.shelf;
    const { settledAt } = mug;
    await vi.advanceTimersByTimeAsync(5000);
    const { fetch } = globalThis;
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    await session.giveBack(mug);
    expect(mug).toMatchObject({ status: "converted", settledAt });
    vi.stubGlobal("fetch", fetch);
    await session.giveBack(mug);
    expect([mug.status, session.problem]).toEqual(["returned", ""]);
  });

  it("is offered until the window ends", async () => {
    const session = await bought();
    vi.setSystemTime(NOW + WINDOW_MS);
    expect(returnButton(session)?.props.disabled).toBe(false);
    vi.setSystemTime(NOW + WINDOW_MS + 1);
    expect(returnButton(session)?.props.disabled).toBe(true);
  });
});
