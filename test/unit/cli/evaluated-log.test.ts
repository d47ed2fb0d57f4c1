import { ENCODER_VERSION } from "afterclick";
import { describe, expect, it } from "vitest";
import { textsOf, whole } from "../../support/logs/log-lines.ts";
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

const read = (...lines: (object | string)[]) => eventSource(textsOf(lines), { progress: () => {} });
const withText = (line: object, field: string, text: string): string =>
  JSON.stringify(whole(line)).replace(new RegExp(`"${field}":[^,}]*`), `"${field}":${text}`);

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
  ["rolled back", { ...impression, state: "void" }, { ...conversion, status: "void" }],
  ["erased", { type: "erased", seq: 3, id: "i1" }, { type: "erased", seq: 4, id: "i1" }],
])("takes the lines of the latest export, in which an impression was %s", async (_, ...changed) => {
  const other = { ...impression, seq: 5, id: "i2", shownAt: 20 };
  const before = [head, configuration, actions, impression, conversion, other];
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
      "a subnormal propensity",
      [withText({ ...impression, seq: 9, id: "i2" }, "probability", "1e-320")],
      "event 9, impression i2: decision.probability: expected at least 1e-12, got 1e-320",
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
