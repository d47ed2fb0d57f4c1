import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Run, Runner } from "../../../../pages/playground/client/runner.ts";
import type { MatchReport } from "../../../../pages/playground/match.ts";
import { defaults } from "../../../../pages/playground/settings.ts";

/** Web Workers that do nothing of themselves. They record what they get. */
class Idle extends EventTarget {
  static made: Idle[] = [];
  readonly posted: unknown[] = [];
  readonly address: readonly [url: string, options: unknown];
  terminated = 0;

  constructor(url: URL, options: unknown) {
    super();
    this.address = [String(url).replace(/.*\//, ""), options];
    Idle.made.push(this);
  }
  postMessage(message: unknown): void {
    this.posted.push(message);
  }
  terminate(): void {
    this.terminated++;
  }
  reports(data: unknown): void {
    this.dispatchEvent(Object.assign(new Event("message"), { data }));
  }
  fails(): void {
    this.dispatchEvent(new Event("error"));
  }
}

let runs: Run[];
let runner: Runner;
let worker: Idle;
beforeEach(() => {
  Idle.made = [];
  runs = [];
  vi.stubGlobal("Worker", Idle);
  runner = new Runner((run) => void runs.push(run));
  // Without a match there is nothing to stop.
  runner.stop();
  runner.start(defaults.linear);
  [worker] = Idle.made;
});
afterEach(() => void vi.unstubAllGlobals());

const reportAt = (round: number): MatchReport => ({ round, rounds: 10, sampled: [], truth: [], players: [] });

describe("a runner", () => {
  it("gives the settings to a Web Worker of its own, hands on each report, and ends with the last one", () => {
    expect([worker.address, worker.posted]).toEqual([["background.js", { type: "module" }], [defaults.linear]]);
    worker.reports({ report: reportAt(9), ms: 5 });
    expect(worker.terminated).toBe(0);
    worker.reports({ report: reportAt(10), ms: 7 });
    runner.stop();
    expect([runs, worker.terminated]).toEqual([
      [{ state: "running" }, { state: "running", report: reportAt(9) }, { state: "done", report: reportAt(10), ms: 7 }],
      1,
    ]);
  });

  it("keeps the last report of a match that is stopped, and hears nothing more of it", () => {
    worker.reports({ report: reportAt(4), ms: 5 });
    runner.stop();
    expect([runs.at(-1), worker.terminated]).toEqual([{ state: "stopped", report: reportAt(4) }, 1]);
    worker.reports({ report: reportAt(10), ms: 9 });
    worker.fails();
    expect(runs).toHaveLength(3);
  });

  it("ends a match when another one starts, and hears the new one alone", () => {
    runner.start(defaults.curve);
    const [, other] = Idle.made;
    expect([worker.terminated, other.terminated, other.posted]).toEqual([1, 0, [defaults.curve]]);
    worker.reports({ report: reportAt(3), ms: 1 });
    worker.fails();
    other.reports({ report: reportAt(2), ms: 1 });
    expect(runs.slice(2)).toEqual([{ state: "running", report: reportAt(2) }]);
  });

  it.each([
    ["out of memory", () => worker.reports({ problem: "out of memory", forbidden: false })],
    ["this browser or its policy forbids it", () => worker.reports({ problem: "blocked by CSP", forbidden: true })],
    ["could not be loaded", () => worker.fails()],
  ])("fails, ends the match, and says: %s", (words, fail) => {
    fail();
    expect(runs.at(-1)).toEqual({ state: "failed", problem: expect.stringContaining(words) });
    expect(worker.terminated).toBe(1);
  });

  it("fails without a Web Worker where there is no WebAssembly, and ends the match before", () => {
    vi.stubGlobal("WebAssembly", undefined);
    runner.start(defaults.linear);
    expect(runs.at(-1)).toMatchObject({ state: "failed", problem: expect.stringContaining("does not offer it") });
    expect([worker.terminated, Idle.made.length]).toEqual([1, 1]);
  });
});
