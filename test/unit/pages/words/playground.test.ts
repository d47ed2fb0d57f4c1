import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { Arrivals, Curves } from "../../../../pages/playground/client/curves.tsx";
import { PlayerCard } from "../../../../pages/playground/client/player-card.tsx";
import { Standings } from "../../../../pages/playground/client/standings.tsx";
import { Status } from "../../../../pages/playground/client/status.tsx";
import type { MatchReport, PlayerReport } from "../../../../pages/playground/match.ts";
import { defaults, type Settings } from "../../../../pages/playground/settings.ts";
import { drawn } from "../../../support/markup.ts";
import { type State, saysAsWritten } from "./state.ts";

const screen = { matches: true };
let Form: typeof import("../../../../pages/playground/client/form.tsx").Form;
beforeAll(async () => {
  // The module asks for the screen's width when it is loaded.
  vi.resetModules();
  vi.stubGlobal("matchMedia", () => screen);
  ({ Form } = await import("../../../../pages/playground/client/form.tsx"));
});
afterAll(() => void vi.unstubAllGlobals());

const player = (more: object): PlayerReport => ({
  ...{ name: "A", regret: [0, 2, 5], pending: [0, 3, 4], counted: [0, 1, 6], late: [0, 0, 7] },
  ...{ choices: Uint32Array.of(10, 5, 3, 2), estimate: null, digest: "d1" },
  ...more,
});
const estimate = { mean: Float64Array.of(0.25, 0.5, 1.25, 0.5), deviation: Float64Array.of(0.125, 0.25, 0.125, 0.5) };
const players = [player({ estimate }), player({ name: "B", regret: [0, 1, 1], digest: "d2" })];
const report: MatchReport = { round: 20, rounds: 40, sampled: [0, 10, 20], truth: [0.125, 0.5, 0.75, 1], players };

function forms(): State {
  const { linear, curve } = defaults;
  const of = (more: Partial<Settings>, settings = linear) => ({ settings: { ...settings, ...more } });
  const others = {
    "of one policy": of({ policies: ["uniform"] }),
    "of five policies": of({ policies: ["waiting", "uniform", "otf-lin-ucb", "otf-lin-ts", "delay-lin-ts"] }),
    "without delays, in slow motion": of({ delay: "none", pace: "slow" }),
    "of uniform delays": of({ delay: "uniform", typical: 20, window: 10 }),
    "of delays with a median": of({ delay: "heavy-tail" }),
    "of the curve": of({ delay: "uniform", typical: 1, window: 1, policies: ["gp-ucb-sdf", "uniform"] }, curve),
  };
  return { component: Form, usual: of({}), others };
}

function statuses(): State {
  const settings = { ...defaults.linear, rounds: 40 };
  const at = (round: number) => ({ ...report, round });
  const others = {
    ...Object.fromEntries(
      [9, 10, 19, 20, 30, 39].map((round) => [`after round ${round}`, { run: { state: "running", report: at(round) } }]),
    ),
    "before the first report": { run: { state: "running" } },
    "stopped before it": { run: { state: "stopped" } },
    stopped: { run: { state: "stopped", report: at(30) } },
    "done in less than ten seconds": { run: { state: "done", report: at(40), ms: 9999 } },
    "done in ten": { run: { state: "done", report: at(40), ms: 10_000 } },
    failed: { run: { state: "failed", problem: "Reload." } },
    "with an address that is wrong": { problems: ["rounds: expected more", "colour: unknown setting"] },
  };
  return { component: Status, usual: { settings, run: { state: "idle" }, problems: [] }, others };
}

function cards(): State {
  const of = (problem: "linear" | "curve", place: number, match: object = {}) => ({
    settings: defaults[problem],
    report: { ...report, ...match },
    place,
  });
  const others = {
    "without an estimate": of("linear", 1),
    "before the first round": of("linear", 0, { round: 0, players: [player({ choices: Uint32Array.of(0, 0, 0) })] }),
    "of the curve": of("curve", 0),
    "of the curve, without an estimate": of("curve", 1),
  };
  return { component: PlayerCard, usual: of("linear", 0), others };
}

saysAsWritten("playground", () => {
  const sampled = Array.from({ length: 42 }, (_, i) => i);
  const long = { ...report, round: 41, sampled, players: [player({ regret: sampled })] };
  return {
    "the form": forms(),
    "the status": statuses(),
    "a card": cards(),
    "the curves": { component: Curves, usual: { report }, others: { "of many rounds": { report: long } } },
    "what arrives": { component: Arrivals, usual: { report } },
    "the standings": { component: Standings, usual: { report } },
  };
});

it("the form is open on a wide screen alone", () => {
  const open = [true, false].map((matches) => {
    screen.matches = matches;
    return drawn(Form, { settings: defaults.linear, change() {} }).elements[0].props.open;
  });
  expect(open).toEqual([true, false]);
});

/** Settings of the next match after a change of a field. */
function changed(more: Partial<Settings>, name: string, place: number, event?: object): Partial<Settings> | undefined {
  const settings: Settings = { ...defaults.linear, ...more };
  const change = vi.fn<(settings: Settings) => void>();
  const fields = drawn(Form, { settings, change }).elements.filter(({ props }) => props.name === name);
  (fields[place].props.onChange as (event: unknown) => void)({ currentTarget: event });
  const next = change.mock.calls.at(0)?.[0];
  return next && Object.fromEntries(Object.entries(next).filter(([key, value]) => settings[key as keyof Settings] !== value));
}

it.each([
  [
    "another problem",
    { seed: 77, pace: "slow", window: 9 },
    "problem",
    1,
    undefined,
    { ...defaults.curve, seed: undefined, pace: undefined, delay: undefined },
  ],
  ["another policy", { policies: ["waiting", "uniform"] }, "policies", 0, undefined, { policies: ["waiting", "uniform", "delay-lin-ts"] }],
  [
    "a policy less",
    { policies: ["waiting", "uniform", "otf-lin-ucb"] },
    "policies",
    7,
    undefined,
    { policies: ["waiting", "otf-lin-ucb"] },
  ],
  ["another law", {}, "delay", 0, { value: "heavy-tail" }, { delay: "heavy-tail" }],
  ["a number", {}, "window", 0, { value: "77", valueAsNumber: 77, validity: { valid: true } }, { window: 77 }],
  ["no number", {}, "window", 0, { value: "0", valueAsNumber: 0, validity: { valid: false } }, undefined],
  ["slow motion", {}, "pace", 0, undefined, { pace: "slow" }],
  ["fast motion", { pace: "slow" }, "pace", 0, undefined, { pace: "fast" }],
] as const)("a field of the form starts a match: %s", (_, settings, name, place, event, next) => {
  expect(changed(settings as Partial<Settings>, name, place, event)).toEqual(next);
});

it.each([
  [{ state: "running" }, 41, "stop", 42],
  [{ state: "stopped" }, 999_999_998, "play", 999_999_999],
  [{ state: "failed", problem: "" }, 999_999_999, "play", 0],
] as const)("the buttons of a match that is %j with seed %d: %s, and seed %d", (run, seed, first, next) => {
  const calls = { stop: vi.fn(), play: vi.fn(), change: vi.fn() };
  const settings: Settings = { ...defaults.linear, seed, pace: "slow" };
  const buttons = drawn(Status, { run, settings, problems: [], ...calls }).elements.filter(({ tag }) => tag === "button");
  for (const { props } of buttons.slice(0, 2)) (props.onClick as () => void)();
  expect([calls.stop.mock.calls.length, calls.play.mock.calls.length]).toEqual(first === "stop" ? [1, 0] : [0, 1]);
  expect(calls.change.mock.calls).toEqual([[{ ...settings, seed: next }]]);
});
