import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Match as MatchClass, MatchReport } from "../../../../pages/playground/match.ts";
import { defaults, type Settings } from "../../../../pages/playground/settings.ts";

type Message = { readonly report: MatchReport; readonly ms: number } & { readonly problem: string; readonly forbidden: boolean };

const short: Settings = { ...defaults.linear, policies: ["uniform"], rounds: 200, window: 20, typical: 5, seed: 3 };
let posted: { readonly message: Message; readonly at: number }[];
let begin: (event: { readonly data: Settings }) => void;
let Match: typeof MatchClass;

beforeAll(async () => {
  vi.resetModules();
  vi.stubGlobal("addEventListener", (type: string, listener: typeof begin) => {
    if (type === "message") begin = listener;
  });
  vi.stubGlobal("postMessage", (message: Message) => void posted.push({ message, at: performance.now() }));
  await import("../../../../pages/playground/background.ts");
  ({ Match } = await import("../../../../pages/playground/match.ts"));
});
afterAll(() => void vi.unstubAllGlobals());

beforeEach(() => {
  posted = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const ended = () => posted.some(({ message }) => message.problem !== undefined || message.report.round === message.report.rounds);
async function played(settings: Settings): Promise<readonly Message[]> {
  begin({ data: settings });
  while (!ended()) {
    await new Promise(setImmediate);
    // The clock moves only while the match waits, so that a slow machine changes nothing.
    if (vi.getTimerCount() > 0) await vi.advanceTimersToNextTimerAsync();
  }
  return posted.map(({ message }) => message);
}

describe("a match in the background", () => {
  it("is reported once if it is short, with its time", async () => {
    const [{ report, ms }, ...others] = await played(short);
    const match = await Match.create(short);
    while (!match.done) match.step();
    expect([report, others]).toEqual([match.report(), []]);
    expect(ms).toBeGreaterThanOrEqual(0);
  });

  it("is reported about every 150 ms, and once at its end", async () => {
    let time = 1000;
    // Each look at the clock takes 100 ms.
    vi.spyOn(performance, "now").mockImplementation(() => (time += 100));
    const reports = await played({ ...short, rounds: 10 });
    expect(reports.map(({ report }) => report.round)).toEqual([2, 4, 6, 8, 10]);
    expect(reports[0].ms).toBe(300);
  });

  it("takes fifteen seconds in slow motion, in a hundred reports", async () => {
    const reports = await played({ ...short, pace: "slow" });
    expect(reports.map(({ report }) => report.round)).toEqual(Array.from({ length: 100 }, (_, i) => 2 * (i + 1)));
    expect(reports.at(-1)?.ms).toBe(15_000);
    const gaps = posted.slice(1).map(({ at }, i) => at - posted[i].at);
    expect(new Set(gaps)).toEqual(new Set([150]));
  });

  it("says in what words it failed", async () => {
    vi.spyOn(Match, "create").mockRejectedValue(new Error("out of memory"));
    expect(await played(short)).toEqual([{ problem: "out of memory", forbidden: false }]);
  });

  it.each([
    "WebAssembly.compile(): Refused because 'unsafe-eval' is not allowed by the Content Security Policy",
    "call to WebAssembly.compile() blocked by CSP",
    "blocked by Content-Security-Policy",
  ])("is forbidden by a policy that the browser calls “%s”", async (problem) => {
    vi.spyOn(Match, "create").mockRejectedValue(new Error(problem));
    expect(await played(short)).toEqual([{ problem, forbidden: true }]);
  });
});
