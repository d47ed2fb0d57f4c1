import { expect, it } from "vitest";
import { call, convert, createModel, HOUR_MS, show, stateOf, statusesOf } from "../support/client.ts";
import { closing, MINUTE_MS, QUARTER_MS, ring, START, tick, useClock } from "../support/clock.ts";
import { logOf } from "../support/fold.ts";

useClock();

// Computed by hand. A reward is truncated to a multiple of 1/4096, and again after weighting. An order weighs 1,
// a review 0.3, a return -0.3.
const goals = { order: { weight: 1 }, review: { weight: 0.3 }, return: { weight: -0.3 } };
/** Reported events, each with its goal, its reward (or `back`, if it is retracted), ms after the impression, and its webhook-id if that matters. */
const rules: readonly (readonly [rule: string, reports: string, answers: string, reward: number | null, status: string])[] = [
  ["nothing", "", "", null, "pending"],
  ["one order", "order 1 0", "applied", 1, "converted"],
  ["a reward of nothing says nothing", "order 0 0", "applied", null, "pending"],
  ["nothing, again", "order 0 9 a, order 0 9 a, order 0 9 b", "applied duplicate applied", null, "pending"],
  ["nothing, too late", "order 0 3600001", "late", null, "pending"],
  ["nothing, then an order", "order 0 9, order 1 10", "applied applied", 1, "converted"],
  ["an order, then nothing", "order 1 9, order 0 10", "applied applied", 1, "converted"],
  ["nothing, then an order of its id", "order 0 9 a, order 1 10 a", "applied applied", 1, "converted"],
  ["an order, and nothing of its id from before", "order 1 10 a, order 0 9 a", "applied applied", 1, "converted"],
  ["an order and nothing at once", "order 1 9 a, order 0 9 a", "applied applied", 1, "converted"],
  ["an order corrected to nothing", "order 1 9 a, order 0 10 a", "applied applied", 0, "retracted"],
  ["an order corrected to nothing before it came", "order 0 10 a, order 1 9 a", "applied applied", 0, "retracted"],
  [
    "an order corrected to nothing, and ordered again",
    "order 1 8 a, order 0 9 a, order 0.5 10 a",
    "applied applied conflict",
    0.5,
    "converted",
  ],
  ["one of two orders corrected to nothing", "order 0.5 8 a, order 1 9 b, order 0 10 b", "applied applied applied", 0.5, "converted"],
  ["one of two goals corrected to nothing", "order 1 8 a, review 1 8 a, order 0 9 a", "applied applied applied", 1228 / 4096, "converted"],
  ["what is rounded to nothing", "order 0.0001 9", "applied", null, "pending"],
  ["a reward is rounded down", "order 0.7 0", "applied", 2867 / 4096, "converted"],
  ["a weighted one is rounded down", "review 1 0", "applied", 1228 / 4096, "converted"],
  ["a rounded one is weighted and rounded again", "review 0.7 0", "applied", 860 / 4096, "converted"],
  ["one below zero is rounded up", "return 1 0", "applied", -1228 / 4096, "converted"],
  ["goals add up, each rounded by itself", "order 0.7 0, review 1 0, review 0.9 9", "applied applied applied", 3972 / 4096, "converted"],
  ["in the last moment of the window", "order 1 3600000", "applied", 1, "converted"],
  ["a moment later", "order 1 3600001", "late", null, "pending"],
  ["before it was shown, as clocks differ", "order 1 -300000", "applied", 1, "converted"],
  ["the latest counts", "order 0.25 9, order 0.5 10", "applied applied", 0.5, "converted"],
  ["the latest counts, whichever comes last", "order 0.5 10, order 0.25 9", "applied applied", 0.5, "converted"],
  ["at the same time the greater id", "order 0.5 9 b, order 0.25 9 a", "applied applied", 0.5, "converted"],
  ["at the same time the greater id, though its reward is less", "order 0.5 9 a, order 0.25 9 b", "applied applied", 0.25, "converted"],
  ["of one id the greater reward", "order 0.25 9 a, order 0.5 9 a", "applied conflict", 0.5, "converted"],
  ["of one id the greater reward, whichever comes last", "order 0.5 9 a, order 0.25 9 a", "applied conflict", 0.5, "converted"],
  ["of one id the later time, though its reward is less", "order 0.5 9 a, order 0.25 10 a", "applied conflict", 0.25, "converted"],
  ["one id of two goals is no conflict", "order 0.5 9 a, review 1 9 a", "applied applied", 3276 / 4096, "converted"],
  ["the same again", "order 0.5 9 a, order 0.5 9 a", "applied duplicate", 0.5, "converted"],
  ["the same but for what is rounded away", "order 0.5 9 a, order 0.5001 9 a", "applied duplicate", 0.5, "converted"],
  ["taken back", "order 1 9, order back 10", "applied applied", 0, "retracted"],
  ["taken back of one id", "order 1 9 a, order back 9 a", "applied conflict", 1, "converted"],
  ["taken back before it came", "order back 10, order 1 9", "applied applied", 0, "retracted"],
  ["taken back, and nothing else", "order back 9", "applied", null, "pending"],
  ["taken back, and ordered again", "order 1 8, order back 9, order 0.5 10", "applied applied applied", 0.5, "converted"],
  ["one of two goals taken back", "order 1 8, review 1 8, order back 9", "applied applied applied", 1228 / 4096, "converted"],
  ["taken back too late", "order 1 8, order back 3600001", "applied late", 1, "converted"],
];

async function report(impressionId: string, reports: string, shownAt: number): Promise<string> {
  const answers: string[] = [];
  for (const [goal, reward, after, id] of reports.split(", ").flatMap((each) => (each ? [each.split(" ")] : []))) {
    const name = id && `${id}/${impressionId.slice(-8)}`;
    const item = { impressionId, goal, ...(reward !== "back" && { reward: Number(reward) }) };
    const type = reward === "back" ? "conversion.retracted" : "conversion";
    const reply = await convert(item, { type, timestamp: shownAt + Number(after), ...(name && { id: name }) });
    expect(reply).toMatchObject({ status: 202 });
    answers.push(...statusesOf(reply));
  }
  return answers.join(" ");
}

it("answers, learns and logs by the rules, each of them alone and all of them together", async () => {
  const model = await createModel({ goals, reward: { min: 0, max: 1 } });
  const shown = await show(model, ...rules.map(() => ({})));
  // Most events happen within the hour. A sender's clock may be ahead by five minutes.
  tick(HOUR_MS);
  for (const [i, [rule, reports, answers, reward, status]] of rules.entries()) {
    expect(await report(shown[i], reports, START), rule).toBe(answers);
    const { body } = await call("GET", `/v1/impressions/${shown[i]}`);
    expect({ reward: body.reward, status: body.status }, rule).toEqual({ reward, status });
  }
  const logged = (await logOf(model)).filter(({ type }) => type === "impression").map(({ reward }) => reward);
  expect(logged).toEqual(rules.map(([, , , reward]) => reward));
  // A reward of nothing appears in no figure.
  const all = rules.flatMap(([, reports, answers]) => {
    const rewards = reports.split(", ").map((each) => each.split(" ")[1]);
    return answers.split(" ").filter((_, i) => rewards[i] && !["0", "0.0001"].includes(rewards[i]));
  });
  const many = (answer: string) => all.filter((each) => each === answer).length;
  const [converted, retracted] = ["converted", "retracted"].map((wanted) => rules.filter(([, , , , status]) => status === wanted).length);
  expect((await stateOf(model)).counts).toMatchObject({
    impressions: rules.length,
    converted,
    retracted,
    pending: rules.length - retracted - converted,
    applied: many("applied"),
    conflict: many("conflict"),
    late: many("late"),
    duplicate: many("duplicate"),
  });
});

// Shown at twelve. Half past twelve is in the second bucket after that. The bucket closes at 13:20.
it.each([
  ["before it closes, of its last moment", { at: HOUR_MS, sent: 80 * MINUTE_MS - 1 }, "applied"],
  ["once it is closed, of its first moment", { at: 0, sent: 80 * MINUTE_MS }, "late"],
  ["once it is closed, of the next bucket", { at: QUARTER_MS, sent: 80 * MINUTE_MS, shown: QUARTER_MS }, "applied"],
])(
  "takes or refuses what comes for a bucket %s",
  async (_, { at, sent, shown = QUARTER_MS - 1 }: { at: number; sent: number; shown?: number }, answer) => {
    const model = await createModel();
    tick(shown);
    const [impressionId] = await show(model, {});
    if (sent === 80 * MINUTE_MS) await show(model, { shownAt: START });
    tick(sent - shown);
    if (sent === 80 * MINUTE_MS) await ring(model, closing(START));
    expect(await report(impressionId, `order 1 ${Math.max(at, shown) - shown}`, START + shown)).toBe(answer);
  },
);

it("states in a log what it told its policy, so that a log that is read by these rules is consistent", async () => {
  const model = await createModel({ goals });
  const [impressionId] = await show(model, {});
  await report(impressionId, "review 0.7 9", START);
  expect(await logOf(model)).toContainEqual(expect.objectContaining({ type: "conversion", reward: 2867 / 4096, status: "applied" }));
});

it("says how a reward was rounded, for every status that stores it, and what a conflict is", async () => {
  const model = await createModel({ goals: { order: { weight: 1 } } });
  const [impressionId] = await show(model, {});
  const rounding = async (reward: number, id: string) =>
    (await convert({ impressionId, goal: "order", reward }, { id, timestamp: START })).body.conversions;
  const rounded = { from: 0.7, to: 2867 / 4096 };
  expect(await rounding(0.7, "msg_rounding")).toEqual([{ impressionId, status: "applied", rounded }]);
  expect(await rounding(0.7, "msg_rounding")).toEqual([{ impressionId, status: "duplicate", rounded }]);
  const detail = "a reward of 0 is that of an impression without conversions: it changes nothing, and need not be reported";
  expect(await rounding(0.0001, "msg_tiny")).toEqual([{ impressionId, status: "applied", detail, rounded: { from: 0.0001, to: 0 } }]);
  expect(await rounding(0.75, "msg_exact")).toEqual([{ impressionId, status: "applied" }]);
  const conflict = { impressionId, status: "conflict", detail: expect.stringMatching(/came before with another reward.*name of its own/) };
  expect(await rounding(0.5, "msg_exact")).toEqual([conflict]);
  const items = [
    { impressionId, goal: "order", reward: 1.1 },
    { impressionId, goal: "ordr", reward: 0.5 },
    { model, key: "k", goal: "order", reward: 0.1 },
  ];
  expect((await convert(items, { timestamp: START })).body.conversions).toEqual([
    {
      impressionId,
      status: "refused",
      detail: "reward: expected a number between 0 and 1, got 1.1; for amounts of money declare a goal with a value",
    },
    { impressionId, status: "refused", detail: 'goal: expected one of order, got ordr; did you mean "order"?' },
    { key: "k", status: "orphan", detail: expect.stringContaining("none has the key yet"), rounded: { from: 0.1, to: 409 / 4096 } },
  ]);
});
