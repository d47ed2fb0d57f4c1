import { describe, expect, it, vi } from "vitest";
import type { Run } from "../../../../pages/playground/client/runner.ts";
import { Status } from "../../../../pages/playground/client/status.tsx";
import type { MatchReport, PlayerReport } from "../../../../pages/playground/match.ts";
import { defaults, type Settings } from "../../../../pages/playground/settings.ts";
import { drawn } from "../../../support/markup.ts";

const player = (name: string, regret: number[]): PlayerReport => ({
  ...{ name, regret, pending: [], counted: [], late: [], choices: new Uint32Array(0), estimate: null, digest: "" },
});
const reportAt = (round: number, rounds = 2000): MatchReport => ({
  ...{ round, rounds, sampled: [], truth: [], players: [player("A", [0, 12.345]), player("B", [0, 3])] },
});

function status(run: Run, { problems = [] as readonly string[], more = {} as Partial<Settings> } = {}) {
  const settings: Settings = { ...defaults.linear, rounds: 2000, ...more };
  const calls = { stop: vi.fn(), play: vi.fn(), change: vi.fn() };
  const { elements, text } = drawn(Status, { run, settings, problems, ...calls });
  const buttons = elements.flatMap(({ tag, props }) => (tag === "button" ? [props] : []));
  const press = (place: number) => (buttons[place].onClick as () => void)();
  const [live] = elements.flatMap(({ props }) => (props.role === "status" ? [props] : []));
  const alerts = elements.filter(({ props }) => props.role === "alert");
  const [bar] = elements.flatMap(({ tag, props }) => (tag === "progress" ? [props] : []));
  return { settings, calls, text, buttons, press, live, alerts, bar };
}

describe("the live region", () => {
  const spoken = (run: Run) => status(run).live.children;

  it.each([
    [0, "Playing."],
    [499, "Playing."],
    [500, "Playing: a quarter is played."],
    [999, "Playing: a quarter is played."],
    [1000, "Playing: half is played."],
    [1500, "Playing: three quarters is played."],
    [1999, "Playing: three quarters is played."],
  ])("says after round %d of 2,000: %s", (round, text) => {
    expect(spoken({ state: "running", report: reportAt(round) })).toBe(text);
  });

  it("says nothing before the first report, nor of a failure, which is an alert", () => {
    expect(spoken({ state: "idle" })).toBe("");
    expect(spoken({ state: "running" })).toBe("");
    expect(spoken({ state: "stopped" })).toBe("");
    expect(spoken({ state: "failed", problem: "Reload." })).toBe("");
  });

  it("says how long a match took, in hundredths below ten seconds, and what each policy has missed", () => {
    const done = (ms: number) => spoken({ state: "done", report: reportAt(2000), ms });
    expect(done(1234)).toBe("Done: 2,000 rounds in 1.23 s. Missed: A 12.3, B 3.");
    expect(done(9999)).toContain("in 10.00 s.");
    expect(done(10_000)).toContain("in 10 s.");
  });

  it("says when a match was stopped, and what each policy had missed", () => {
    expect(spoken({ state: "stopped", report: reportAt(1500) })).toBe("Stopped after 1,500 rounds. Missed: A 12.3, B 3.");
  });

  it("carries the state of the match", () => {
    expect(status({ state: "stopped" }).live["data-state"]).toBe("stopped");
  });
});

describe("the progress", () => {
  it("is the round of the last report", () => {
    const { bar, text } = status({ state: "running", report: reportAt(1500) });
    expect([bar.value, bar.max]).toEqual([1500, 2000]);
    expect(text).toContain("Round 1,500 of 2,000");
  });

  it("is zero without a report", () => {
    for (const run of [{ state: "idle" }, { state: "running" }, { state: "failed", problem: "" }] as const) {
      expect([status(run).bar.value, status(run).text.includes("Round 0 of 2,000")]).toEqual([0, true]);
    }
  });
});

describe("the buttons", () => {
  it("stop a running match", () => {
    const { buttons, press, calls } = status({ state: "running" });
    press(0);
    expect([buttons[0].children, calls.stop.mock.calls.length, calls.play.mock.calls.length]).toEqual(["Stop", 1, 0]);
  });

  it("play a match again that has ended", () => {
    for (const run of [{ state: "stopped" }, { state: "failed", problem: "" }, { state: "done", report: reportAt(9), ms: 1 }] as const) {
      const { buttons, press, calls } = status(run);
      press(0);
      expect([buttons[0].children, calls.stop.mock.calls.length, calls.play.mock.calls.length]).toEqual(["Play again", 0, 1]);
    }
  });

  it.each([
    [41, 42],
    [0, 1],
    [999_999_998, 999_999_999],
    [999_999_999, 0],
  ])("go on from seed %d to seed %d, and change nothing else", (seed, next) => {
    const { settings, buttons, press, calls } = status({ state: "idle" }, { more: { seed, pace: "slow" } });
    press(1);
    expect([buttons[1].children, calls.change.mock.calls]).toEqual(["Next seed", [[{ ...settings, seed: next }]]]);
  });

  it("copy the address of the match", async () => {
    const writeText = vi.fn(async () => {});
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    vi.stubGlobal("location", { href: "https://example.com/playground?seed=1" });
    const { buttons, press } = status({ state: "idle" });
    press(2);
    expect([buttons[2].children, writeText.mock.calls]).toEqual(["Copy link", [["https://example.com/playground?seed=1"]]]);
    vi.unstubAllGlobals();
  });
});

describe("an alert", () => {
  it("names each invalid setting of the address, and that defaults apply", () => {
    const { alerts, text } = status({ state: "idle" }, { problems: ["rounds: expected more", "colour: unknown setting"] });
    expect(alerts).toHaveLength(1);
    expect(text).toMatch(
      /^Some settings in the URL are invalid. Their defaults apply. rounds: expected more colour: unknown setting Round/,
    );
  });

  it("says why a match failed", () => {
    const { alerts } = status({ state: "failed", problem: "Reload the page." });
    expect(alerts.map(({ props }) => props.children)).toEqual(["Reload the page."]);
  });

  it("is not there without a problem", () => {
    expect(status({ state: "running", report: reportAt(3) }).alerts).toEqual([]);
  });
});
