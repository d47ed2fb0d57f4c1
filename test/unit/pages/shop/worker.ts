import { afterEach, beforeEach, vi } from "vitest";
import type { Happened } from "../../../../pages/shop/api.ts";
import { Session } from "../../../../pages/shop/session.ts";

export const NOW = Date.parse("2026-11-21T12:00:00Z");
export const WINDOW_MS = 120_000;

/** A simulated worker that shows a mug, a tent and a lamp. It records requests and answers purchases. */
export let worker: {
  asked: { path: string; body: unknown; key?: string }[];
  status: (impressionId: string) => string;
  means: Record<string, number>;
  known: { impressionId: string; status: string }[];
  fails: number | undefined;
  hold: Promise<void> | undefined;
  /** The worker's time minus the page's. */
  ahead: number;
};
export let page: { hidden: boolean };
/** How often the page was drawn again. */
export let changes: number;
/** The session of a page that was just opened. */
export let session: Session;
let count: number;

/** Opens a page with a simulated worker before each test. */
export function openShop(): void {
  beforeEach(async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date", "setInterval", "clearInterval", "setTimeout", "clearTimeout"] });
    page = { hidden: false };
    [changes, count] = [0, 0];
    worker = { asked: [], status: () => "applied", means: { mug: 0.2, tent: 0.1 }, known: [], fails: undefined, hold: undefined, ahead: 0 };
    vi.stubGlobal("document", page);
    vi.stubGlobal("fetch", async (path: string, { body, headers }: { body?: string; headers?: Record<string, string> } = {}) => {
      const json = body === undefined ? undefined : JSON.parse(body);
      worker.asked.push({ path, body: json, ...(headers?.authorization && { key: headers.authorization }) });
      const { fails, hold } = worker;
      await hold;
      if (fails === 0) throw new TypeError("Failed to fetch");
      if (fails !== undefined) return Response.json({ detail: "too many requests" }, { status: fails });
      if (path.startsWith("/demo/knowledge")) {
        const closed = { impressions: 0, converted: 0 };
        const estimates = Object.entries(worker.means).map(([id, mean]) => ({ id, belief: { mean }, closed }));
        return Response.json({ counts: { impressions: 3 }, estimates, impressions: worker.known });
      }
      if (path === "/demo/reset") return Response.json({});
      if (path === "/demo/purchases" || path === "/demo/returns")
        return Response.json({
          conversions: json.happened.map(({ impressionId }: Happened) => ({ impressionId, status: worker.status(impressionId) })),
        });
      const actions = ["mug", "tent", "lamp"].map((id) => ({ impressionId: `i-${++count}`, id }));
      return Response.json({ windowEndsAt: Date.now() + worker.ahead + WINDOW_MS, actions });
    });
    session = await begun();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });
}

export const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
export async function begun(): Promise<Session> {
  const session = new Session("pk", () => changes++);
  session.start();
  await pass(0);
  return session;
}
export async function simulated(visitors: number): Promise<void> {
  const done = session.simulate(visitors);
  for (let left = visitors; left > 10; left -= 10) await pass(600);
  await done;
}
/** Holds back the answers to requests from now on, until `worker.hold` is unset. Returns a function that lets them arrive. */
export function hold(): () => void {
  let release = () => {};
  worker.hold = new Promise((resolve) => {
    release = resolve;
  });
  return release;
}
export const asks = (start: string) => worker.asked.filter(({ path }) => path.startsWith(start));
export const happened = (what: string) => asks(`/demo/${what}`).map(({ body }) => (body as { happened: Happened[] }).happened);
