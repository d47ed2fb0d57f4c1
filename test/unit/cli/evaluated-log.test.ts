import { ENCODER_VERSION } from "afterclick";
import { describe, expect, it } from "vitest";
import { actions, config, configuration } from "../../support/logs/shop-log.ts";
import { eventSource } from "../../worker/support/event-source.ts";

// Logs that cannot be evaluated are refused by name, without a stack.

const head = { type: "model", model: "shop", generation: 1, horizon: 0, exportedAt: 9000 };
const decision = { score: 0, mean: 0, width: 0, probability: 0.5, place: 0, candidates: 2 };
const impression = {
  type: "impression",
  seq: 3,
  id: "i1",
  state: "live",
  arm: "policy",
  action: "hat",
  version: 2,
  context: {},
  decision,
  shownAt: 5,
  features: [],
};
const conversion = { type: "conversion", seq: 4, impression: "i1", goal: "conversion", event: "e1", reward: 1, at: 9, status: "applied" };

const read = (...lines: (object | string)[]) =>
  eventSource(
    lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))),
    { progress: () => {} },
  );
const withText = (line: object, field: string, text: string): string =>
  JSON.stringify(line).replace(new RegExp(`"${field}":[^,}]*`), `"${field}":${text}`);

it("reads a small log", async () => {
  const { decisions } = await read(head, configuration, actions, impression, conversion);
  expect(decisions).toHaveLength(1);
  expect(decisions[0]).toMatchObject({
    ids: ["boots", "hat"],
    index: 1,
    probability: 0.5,
    conversions: [{ goal: "conversion", at: 9, reward: 1 }],
  });
});

it.each([
  ["without goals", null],
  ["with goals", { conversion: { weight: 1 } }],
])("leaves out a reward that the present range refuses, %s, as a relearning does", async (_, goals) => {
  const before = { ...configuration, content: { ...config, goals, reward: { min: 0, max: 9 } } };
  const after = {
    type: "mark",
    seq: 6,
    mark: "relearnt",
    content: { config: { ...config, goals, encoder: { dimension: 16, version: ENCODER_VERSION } } },
  };
  const beyond = { ...conversion, seq: 5, event: "e2", reward: 7, at: 10 };
  const { decisions, reward } = await read(head, before, actions, impression, conversion, beyond, after);
  expect(reward).toEqual({ min: 0, max: 1 });
  expect(decisions[0].conversions).toEqual([{ goal: "conversion", at: 9, reward: 1 }]);
});

it("counts the lines of two exports once, and reports the repeated ones", async () => {
  const later = { ...conversion, seq: 5, event: "e2", reward: 0.5, at: 10 };
  const once = await read(head, configuration, actions, impression, conversion, later);
  const twice = await read(
    head,
    configuration,
    actions,
    impression,
    conversion,
    head,
    configuration,
    actions,
    impression,
    conversion,
    later,
  );
  expect(once.repeated).toBe(0);
  expect(twice.repeated).toBe(4);
  expect(twice.decisions.map(({ conversions }) => conversions)).toEqual(once.decisions.map(({ conversions }) => conversions));
});

/** A catalogue of three actions from event 5 on, and a decision among them. */
const third = { type: "mark", seq: 5, mark: "actions", content: { size: 3, changed: [[2, { id: "scarf" }]] } };
const later = { ...impression, seq: 6, id: "i2", version: 5, decision: { ...decision, candidates: 3 }, shownAt: 20 };

it("reads settings in the order of events, whichever export comes first", async () => {
  const [early, late] = [
    [head, configuration, actions, impression, conversion],
    [{ ...head, after: 4, exportedAt: 9500 }, third, later],
  ];
  const candidates = async (lines: readonly object[]) =>
    (await read(...lines)).decisions.toSorted((a, b) => a.shownAt - b.shownAt).map(({ ids }) => ids);
  const expected = [
    ["boots", "hat"],
    ["boots", "hat", "scarf"],
  ];
  expect(await candidates([...early, ...late])).toEqual(expected);
  expect(await candidates([...late, ...early])).toEqual(expected);
});

it.each([
  ["rolled back", { state: "void" }, { status: "void" }],
  ["erased", { type: "erased", id: "i1" }, { type: "erased", id: "i1" }],
])("takes the lines of the latest export, in which an impression was %s", async (_, ofImpression, ofConversion) => {
  const other = { ...impression, seq: 5, id: "i2", shownAt: 20 };
  const before = [head, configuration, actions, impression, conversion, other];
  const changed = [
    { ...impression, ...ofImpression },
    { ...conversion, ...ofConversion },
  ];
  const after = [{ ...head, exportedAt: 9500 }, configuration, actions, ...changed, other];
  for (const lines of [
    [...before, ...after],
    [...after, ...before],
  ]) {
    const { decisions, repeated, end } = await read(...lines);
    expect(decisions.map(({ shownAt }) => shownAt)).toEqual([20]);
    expect({ repeated, end }).toEqual({ repeated: 5, end: 9500 });
  }
});

it("takes each export that has as many events as its head states, repeated ones too", async () => {
  const [whole, part] = [
    { ...head, lines: 4 },
    { ...head, after: 3, lines: 1 },
  ];
  const { decisions, repeated } = await read(whole, configuration, actions, impression, conversion, part, conversion);
  expect([decisions.length, repeated]).toEqual([1, 1]);
});

describe("a log is refused by name", () => {
  it.each<[string, (object | string)[], string]>([
    ["an export that ends early", [{ ...head, lines: 3 }, configuration, actions], "line 1, the head: expected 3 events, got 2"],
    [
      "an export that ends early, before another",
      [{ ...head, lines: 3 }, configuration, actions, { ...head, lines: 1 }, impression],
      "line 1, the head: expected 3 events, got 2; export the log again",
    ],
    [
      "a second export that ends early",
      [{ ...head, lines: 2 }, configuration, actions, { ...head, lines: 3 }, actions, impression],
      "line 4, the head: expected 3 events, got 2",
    ],
    ["more events than stated", [{ ...head, lines: 1 }, configuration, actions], "line 1, the head: expected 1 events, got 2"],
  ])("%s", async (_, lines, message) => {
    await expect(read(...lines)).rejects.toThrow(message);
  });

  it.each<[string, (object | string)[], string]>([
    [
      "a second model",
      [{ ...head, model: "toys" }],
      "line 6, the head: expected the log of one model, model shop, got lines of model toys too: use each log by itself",
    ],
    ["another generation", [{ ...head, generation: 2 }], "expected the log of one model, generation 1, got lines of generation 2"],
    [
      "two lines of one number",
      [{ ...conversion, impression: "i2" }],
      "line 6, event 4, conversion of i2: expected one line of event 4, got two that differ, of i1 and i2",
    ],
    [
      "two numbers of one impression",
      [{ ...impression, seq: 9 }],
      "line 6, event 9, impression i1: expected each impression once, got its id under two numbers",
    ],
    [
      "an action that was no candidate",
      [{ ...impression, seq: 9, id: "i2", action: "gloves" }],
      "line 6, event 9, impression i2: expected a decision that can be repeated, got another: gloves is none of the 2 candidates",
    ],
    [
      "an infinite propensity",
      [withText({ ...impression, seq: 9, id: "i2" }, "probability", "1e999")],
      "event 9, impression i2: decision.probability: expected a number from 1e-12 to 1, got Infinity",
    ],
    [
      "a subnormal propensity",
      [withText({ ...impression, seq: 9, id: "i2" }, "probability", "1e-320")],
      "decision.probability: expected a number from 1e-12 to 1, got 1e-320",
    ],
    [
      "a propensity of 0",
      [withText({ ...impression, seq: 9, id: "i2" }, "probability", "0")],
      "decision.probability: expected a number from 1e-12 to 1, got 0",
    ],
    [
      "a propensity that is none",
      [withText({ ...impression, seq: 9, id: "i2" }, "probability", '"x"')],
      "decision.probability: expected a number",
    ],
    ["an endless sampling", [{ ...impression, seq: 9, id: "i2", sampling: 1e300 }], "sampling: expected an exponent from 0 to 39"],
    ["no time", [{ ...impression, seq: 9, id: "i2", shownAt: null }], "shownAt: expected a time"],
    ["features that are none", [{ ...impression, seq: 9, id: "i2", features: 1 }], "features: expected an array"],
    ["a decision that is none", [{ ...impression, seq: 9, id: "i2", decision: 1 }], "decision: expected an object"],
    ["no place", [{ ...impression, seq: 9, id: "i2", decision: { ...decision, place: -1 } }], "decision.place: expected a whole number"],
    [
      "a request that cannot be repeated",
      [{ ...impression, seq: 9, id: "i2", decision: { ...decision, asked: { exclude: 1 } } }],
      "event 9, impression i2: expected a decision that can be repeated",
    ],
    ["no action", [{ ...impression, seq: 9, id: "i2", action: 1 }], "action: expected an id"],
    ["no id", [{ ...impression, seq: 9, id: null }], "id: expected an id"],
    [
      "an infinite reward",
      [withText({ ...conversion, seq: 9 }, "reward", "1e999")],
      "event 9, conversion of i1: reward: expected a finite number",
    ],
    ["no goal", [{ ...conversion, seq: 9, goal: 1 }], "goal: expected a name"],
    ["no impression", [{ ...conversion, seq: 9, impression: null }], "impression: expected an id"],
    ["no time of a conversion", [{ ...conversion, seq: 9, at: "now" }], "at: expected a time"],
    ["no number", [{ ...conversion, seq: 1.5 }], "seq: expected a whole number, got 1.5"],
    [
      "a configuration that is none",
      [{ ...configuration, seq: 9, content: null }],
      "event 9, configuration: expected what the worker exported, got a changed line",
    ],
  ])("%s", async (_, lines, message) => {
    const refused = await read(head, configuration, actions, impression, conversion, ...lines).then(
      () => undefined,
      (error: Error) => error,
    );
    expect(refused?.name).toBe("LogMismatch");
    expect(refused?.message).toContain(message);
  });
});
