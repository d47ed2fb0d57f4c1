import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Run, Runner } from "../../../../pages/playground/client/runner.ts";
import type { MatchReport } from "../../../../pages/playground/match.ts";
import { defaults } from "../../../../pages/playground/settings.ts";

/** Web Workers that do nothing of themselves. They record what they get. */
class Idle extends EventTarget {
  static made: Idle[] = [];
  readonly posted: unknown[] = [];
  readonly url: string;
  readonly options: unknown;
  terminated = 0;

  constructor(url: URL, options: unknown) {
    super();
    this.url = String(url);
    this.options = options;
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
}

let runs: Run[];
beforeEach(() => {
  Idle.made = [];
  runs = [];
  vi.stubGlobal("Worker", Idle);
});
afterEach(() => void vi.unstubAllGlobals());

const reportAt = (round: number): MatchReport => ({ round, rounds: 10, sampled: [], truth: [], players: [] });
function started() {
  const runner = new Runner((run) => void runs.push(run));
  runner.start(defaults.linear);
  return { runner, worker: Idle.made[0] };
}

describe("a runner", () => {
  it("gives the settings to a Web Worker of its own, which is a module", () => {
    const { worker } = started();
    expect(worker.url).toMatch(/\/background\.js$/);
    expect([worker.options, worker.posted]).toEqual([{ type: "module" }, [defaults.linear]]);
    expect(runs).toEqual([{ state: "running", report: undefined }]);
  });

  it("hands on each report, and ends with the last one", () => {
    const { worker } = started();
    worker.reports({ report: reportAt(9), ms: 5 });
    expect([runs.at(-1), worker.terminated]).toEqual([{ state: "running", report: reportAt(9) }, 0]);
    worker.reports({ report: reportAt(10), ms: 7 });
    expect([runs.at(-1), worker.terminated]).toEqual([{ state: "done", report: reportAt(10), ms: 7 }, 1]);
    expect(runs).toHaveLength(3);
  });

  it("keeps the last report of a match that is stopped, and hears nothing more of it", () => {
    const { runner, worker } = started();
    worker.reports({ report: reportAt(4), ms: 5 });
    runner.stop();
    expect([runs.at(-1), worker.terminated]).toEqual([{ state: "stopped", report: reportAt(4) }, 1]);
    worker.reports({ report: reportAt(10), ms: 9 });
    worker.dispatchEvent(new Event("error"));
    expect(runs).toHaveLength(3);
  });

  it("stops nothing where no match is running", () => {
    const { runner, worker } = started();
    worker.reports({ report: reportAt(10), ms: 7 });
    runner.stop();
    new Runner((run) => void runs.push(run)).stop();
    expect(runs.map(({ state }) => state)).toEqual(["running", "done"]);
  });

  it("ends a match when another one starts, and hears the new one alone", () => {
    const { runner, worker } = started();
    runner.start(defaults.curve);
    const [, other] = Idle.made;
    expect([worker.terminated, other.terminated, other.posted]).toEqual([1, 0, [defaults.curve]]);
    worker.reports({ report: reportAt(3), ms: 1 });
    worker.dispatchEvent(new Event("error"));
    other.reports({ report: reportAt(2), ms: 1 });
    expect(runs.slice(2)).toEqual([{ state: "running", report: reportAt(2) }]);
  });

  it("plays again after a match has ended", () => {
    const { runner, worker } = started();
    worker.reports({ report: reportAt(10), ms: 7 });
    runner.start(defaults.linear);
    Idle.made[1].reports({ report: reportAt(1), ms: 1 });
    expect(runs.slice(2)).toEqual([
      { state: "running", report: undefined },
      { state: "running", report: reportAt(1) },
    ]);
  });

  it("fails with the problem of the simulation, or with one that names the policy of the browser", () => {
    started().worker.reports({ problem: "out of memory", forbidden: false });
    expect(runs.at(-1)).toEqual({ state: "failed", problem: "out of memory" });
    started();
    Idle.made[1].reports({ problem: "blocked by CSP", forbidden: true });
    expect(runs.at(-1)).toMatchObject({ state: "failed", problem: expect.stringContaining("this browser or its policy forbids it") });
    expect(Idle.made.map(({ terminated }) => terminated)).toEqual([1, 1]);
  });

  it("fails where the simulation cannot be loaded", () => {
    started().worker.dispatchEvent(new Event("error"));
    expect(runs.at(-1)).toMatchObject({ state: "failed", problem: expect.stringContaining("could not be loaded") });
  });

  it("fails without a Web Worker where there is no WebAssembly, and ends the match before", () => {
    const { runner, worker } = started();
    vi.stubGlobal("WebAssembly", undefined);
    runner.start(defaults.linear);
    expect(runs.at(-1)).toMatchObject({ state: "failed", problem: expect.stringContaining("does not offer it") });
    expect([worker.terminated, Idle.made.length]).toEqual([1, 1]);
  });
});
