import { expect, it } from "vitest";
import { run } from "../../../../cli/evaluate.ts";
import { commandOnLog } from "../../../support/logs/log-command.ts";
import { actions, config, configuration } from "../../../support/logs/shop-log.ts";

const HOUR_MS = 3_600_000;
const FIRST = Date.UTC(2026, 0, 1);
const END = FIRST + 240 * HOUR_MS;
const decision = { score: 0, mean: 0, width: 0, probability: 0.5, place: 0, candidates: 2 };
const shown = { type: "impression", state: "live", arm: "policy", version: 2, context: {}, decision, features: [] };
const head = { type: "model", model: "shop", generation: 1, horizon: 0, exportedAt: END };

function impressions(count: number, fields: object = {}): object[] {
  return Array.from({ length: count }, (_, i) => {
    const [id, shownAt] = [`i${i}`, FIRST + HOUR_MS * i];
    const line = { ...shown, id, action: i % 2 ? "hat" : "boots", shownAt, ...fields };
    const conversion = {
      type: "conversion",
      impression: id,
      goal: "conversion",
      event: id,
      reward: 1,
      at: shownAt + 500,
      status: "applied",
    };
    return i % 4 === 1 ? [line, conversion] : [line];
  }).flat();
}

const { fileOf, answered: evaluated, report } = commandOnLog(run, head);

const log = [configuration, actions, ...impressions(200)];

it("reports the decisions, their weights and each estimate", async () => {
  const void_ = { ...shown, id: "v", state: "void", action: "hat", shownAt: FIRST };
  expect(await report([...log, void_], "--policy", "uniform")).toEqual([
    "uniform, impressions since 2026-01-05T04:00:00.000Z, as of 2026-01-11T00:00:00.000Z",
    "  100 decisions for learning, 100 evaluated, 0 too young",
    "  1 left out: never shown, or rolled back",
    "  0% of the evaluated decisions may still convert; 0% of all conversions are still expected",
    "  weights: mean 1.00, maximum 1.00, effective sample size 100",
    "  support: the log could have taken 100% of this policy's choices",
    "",
    "reward per decision     estimate    95 % interval",
    "the log's own policy       0.250    0.171 to 0.342",
    "IPS                        0.250    0.171 to 0.342",
    "self-normalised IPS        0.250    0.171 to 0.342",
    expect.stringMatching(/^doubly robust {14}0\.250 {4}0\.1\d+ to 0\.3\d+$/),
  ]);
});

it("evaluates one action, which earns twice the log's reward", async () => {
  const lines = await report(log, "--action", "hat");
  expect(lines[0]).toMatch(/^always hat, /);
  expect(lines).toContain("  weights: mean 1.00, maximum 2.00, effective sample size 50");
  expect(lines.slice(7, 9)).toEqual([
    "the log's own policy       0.250    0.171 to 0.342",
    "IPS                        0.500    0.342 to 0.684",
  ]);
  expect((await report(log, "--action", "boots")).find((line) => line.startsWith("IPS"))).toMatch(/^IPS +0\.00 +0\.00 to /);
});

it("warns of probabilities that cannot be those of the choices, and not of a few", async () => {
  const warning = "  warning: the mean weight should be 1; the logged probabilities are not those with which the actions were chosen";
  const with_ = (probability: number, count = 200) =>
    report([configuration, actions, ...impressions(count, { decision: { ...decision, probability } })], "--policy", "uniform");
  expect(await with_(0.25)).toContain(warning);
  expect(await with_(0.5)).not.toContain(warning);
  expect(await with_(0.25, 100)).not.toContain(warning);
});

it("warns if the log could not have taken some choices", async () => {
  const warning = "  warning: the intervals reach as far as the rewards of the other choices can be";
  const never = { ...decision, candidates: 2, probability: 1 };
  const sure = [configuration, actions, ...impressions(200, { action: "boots", decision: never })];
  expect(await report(sure, "--policy", "uniform")).toContain(warning);
  expect(await report(log, "--policy", "uniform")).not.toContain(warning);
});

it("reports lists with the examination of their places", async () => {
  const goals = { conversion: { weight: 2, value: { max: 5, currency: "EUR" } } };
  const lines = [{ ...configuration, content: { ...config, goals } }, actions, ...impressions(200)];
  expect(await report(lines, "--policy", "uniform", "--lists")).toEqual([
    "uniform, lists since 2026-01-05T04:00:00.000Z, as of 2026-01-11T00:00:00.000Z",
    "  100 lists for learning, 100 evaluated, 0 too young, 0 incomplete",
    "  mean weights: item-position 1.00, position-based 1.00",
    "  support: the log could have had 100% of this policy's items at their places",
    "  rewards in EUR, times the weight of their goal",
    "",
    "examination of place    estimate    95 % interval",
    "1                           1.00    1.00 to 1.00",
    "  used: 1.00",
    "",
    "reward per list         estimate    95 % interval",
    ...["the log's own policy  ", "item-position         ", "position-based        "].map((name) =>
      expect.stringMatching(new RegExp(`^${name} {5}0\\.500    0\\.\\d+ to 0\\.\\d+$`)),
    ),
  ]);
});

it("prints the result as JSON", async () => {
  const json = async (...options: string[]) => JSON.parse((await report([...log, { ...actions, seq: 2 }], "--json", ...options)).join(""));
  expect(await json("--policy", "uniform", "--split", "0.25")).toMatchObject({
    ...{ policy: "uniform", currency: null, leftOut: {}, repeated: 1, asOf: END, support: 1 },
    decisions: { learnt: 50, evaluated: 150, tooYoung: 0 },
  });
  expect(await json("--action", "hat")).toMatchObject({ policy: "always hat", weights: { greatest: 2 } });
  expect(await json("--policy", "uniform", "--lists")).toMatchObject({
    ...{ policy: "uniform", currency: null, repeated: 1, incomplete: 0, examinationWeights: [1] },
    lists: { learnt: 100, evaluated: 100, tooYoung: 0 },
  });
});

it("gives a policy the dimension of the log, unless its options have one", async () => {
  const linear = (options: object) => evaluated(log, "--policy", "otf-lin-ucb", "--options", JSON.stringify(options));
  expect(await linear({})).toMatchObject({ code: 0, stderr: "" });
  const { code, stderr } = await linear({ dimension: 3 });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^[^\n]*\b3\b[^\n]*\n$/)]);
});

it.each([
  [[], "expected one of --policy and --action, got neither"],
  [["--policy", "uniform", "--action", "hat"], "expected one of --policy and --action, got both"],
  [["--action", "hat", "--lists"], "--lists: expected --policy, got --action, which fills one place"],
  [["--policy", "uniform", "--options", "[]"], "--options: expected a JSON object, got []"],
  [["--policy", "uniform", "--options", "null"], "--options: expected a JSON object, got null"],
  [["--policy", "uniform", "--options", "5"], "--options: expected a JSON object, got 5"],
  [["--policy", "uniform", "--options", "{"], "--options: expected a JSON object, got {"],
  [["--policy", "uniform", "--split", "1.5"], "--split: expected a number from 0 to 1, got 1.5"],
  [["--policy", "uniform", "--draws", "0"], "--draws: expected a number from 1 to 10000, got 0"],
  [["--policy", "uniform", "--draws", "10001"], "--draws: expected a number from 1 to 10000, got 10001"],
  [["--policy", "uniform", "--seed=-1"], "--seed: expected a number from 0 to 9007199254740991, got -1"],
  [["--action", "scarf"], "--action: expected a candidate of the log, got scarf"],
])("refuses %j with its usage", async (options, message) => {
  const { code, stdout, stderr } = await evaluated(log, ...options);
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr.startsWith(`${message}\n\nEstimates the reward`)).toBe(true);
});

it("lists the policies that exist", async () => {
  const { code, stderr } = await evaluated(log, "--policy", "uniformly");
  expect([code, stderr.split("\n")[0]]).toEqual([1, expect.stringMatching(/^--policy: expected one of .*\buniform\b.*, got uniformly$/)]);
});

it("names an action that was no candidate of every decision, and the time", async () => {
  const third = { type: "mark", seq: 500, mark: "actions", content: { size: 3, changed: [[2, { id: "scarf" }]] } };
  const last = { ...shown, seq: 501, id: "last", action: "scarf", version: 500, shownAt: FIRST + 200 * HOUR_MS };
  const { code, stderr } = await evaluated([...log, third, last], "--action", "scarf");
  expect([code, stderr.split("\n")[0]]).toEqual([
    1,
    expect.stringMatching(/^--action: expected a candidate of every decision, but scarf was none at 2026-01-0\dT\d\d:00:00\.000Z$/),
  ]);
});

it("says why no decision can be evaluated", async () => {
  const { code, stderr } = await evaluated([configuration, actions, ...impressions(4, { decision: null })], "--policy", "uniform");
  expect([code, stderr]).toEqual([
    1,
    `${fileOf("log.jsonl")}: expected at least one decision that can be evaluated, got none; left out: 4 without a probability\n`,
  ]);
  const none = await evaluated([configuration], "--policy", "uniform");
  expect(none.stderr).toBe(`${fileOf("log.jsonl")}: expected at least one decision that can be evaluated, got none\n`);
});
