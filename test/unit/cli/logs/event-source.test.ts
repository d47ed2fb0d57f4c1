import { CLOCK_TOLERANCE_MS, ENCODER_VERSION } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { LogMismatch } from "../../../../cli/log/event-line.ts";
import { textsOf } from "../../../support/logs/log-lines.ts";
import { actions, config, configuration } from "../../../support/logs/shop-log.ts";
import { eventSource } from "../../../worker/support/event-source.ts";

// The decisions of a log that can be evaluated, and the reasons for which others are left out.

const head = { type: "model", model: "shop", generation: 1, horizon: 0, exportedAt: 9_000_000 };
const SHOWN = 1_000_000;
const decision = { score: 0, mean: 0, width: 0, probability: 0.5, place: 0, candidates: 2 };
const impression = (seq: number, fields: object = {}) => ({
  ...{ type: "impression", seq, id: `i${seq}`, state: "live", arm: "policy", action: "hat", version: 2, context: {}, decision },
  ...{ shownAt: SHOWN, features: [], ...fields },
});
const conversion = (seq: number, of: number, fields: object = {}) => ({
  ...{ type: "conversion", seq, impression: `i${of}`, goal: "conversion", event: `e${seq}`, reward: 1, at: SHOWN + 9, status: "applied" },
  ...fields,
});

function read(lines: readonly object[], asOf?: number, own: object = configuration) {
  return eventSource(textsOf([head, own, actions, ...lines]), { progress: () => {}, asOf });
}

it("leaves out what cannot be evaluated, each by its reason", async () => {
  const { decisions, leftOut } = await read([
    impression(3),
    impression(4, { state: "void" }),
    impression(5, { state: "deferred" }),
    impression(6, { decision: null }),
    impression(7, { decision: { ...decision, probability: undefined } }),
    impression(8, { decision: { ...decision, candidates: null } }),
    impression(9, { arm: "default" }),
    impression(10, { arm: "holdout" }),
    impression(11, { decision: { ...decision, place: 1, first: "i3" } }),
    impression(12, { decision: { ...decision, probability: 1, asked: { pin: [{ action: "hat", place: 0 }] } } }),
  ]);
  expect(decisions.map(({ index, probability }) => [index, probability])).toEqual([
    [1, 0.5],
    [1, 0.5],
  ]);
  expect(Object.fromEntries(leftOut)).toEqual({
    "never shown, or rolled back": 2,
    "without a probability": 2,
    "decided elsewhere, or in the policy's own domain": 1,
    "the default action, without a choice": 1,
    "below the first place of a list": 1,
    "pinned, without a choice": 1,
  });
});

it("describes the log", async () => {
  const source = await read([impression(3)]);
  expect(source).toMatchObject({ dimension: 16, window: { ms: 1000 }, reward: { min: 0, max: 1 }, end: 9_000_000, repeated: 0 });
  expect(source.goals).toBeUndefined();
  expect(source.decisions[0]).toMatchObject({ ids: ["boots", "hat"], count: 2, shownAt: SHOWN, kept: 1 });
  expect(source.decisions[0].points).toMatchObject({ count: 2, dimension: 16 });
});

it("knows the share of impressions that a sampling kept", async () => {
  const { decisions } = await read([impression(3, { sampling: 3 }), impression(4, { sampling: 0 })]);
  expect(decisions.map(({ kept }) => kept)).toEqual([0.125, 1]);
});

it("ignores conversions after a time", async () => {
  const lines = [impression(3), conversion(4, 3, { at: SHOWN + 100 })];
  const conversionsAt = async (asOf?: number) => (await read(lines, asOf)).decisions[0].conversions?.map(({ at }) => at);
  expect(await conversionsAt(SHOWN + 99)).toEqual([]);
  expect(await conversionsAt(SHOWN + 100)).toEqual([SHOWN + 100]);
  expect(await conversionsAt()).toEqual([SHOWN + 100]);
});

it("takes for a conversion of an impression only its own", async () => {
  const { decisions } = await read([
    impression(3),
    impression(4),
    conversion(5, 4),
    conversion(6, 9),
    conversion(7, 3, { status: "late" }),
  ]);
  expect(decisions.map(({ conversions }) => conversions)).toEqual([
    [],
    [{ goal: "conversion", eventId: "report", at: SHOWN + 9, reward: 1 }],
  ]);
});

it("accepts a conversion five minutes before its impression, and none earlier", async () => {
  const at = SHOWN - CLOCK_TOLERANCE_MS;
  expect((await read([impression(3), conversion(4, 3, { at })])).decisions[0].conversions).toEqual([
    { goal: "conversion", eventId: "report", at: SHOWN, reward: 1 },
  ]);
  await expect(read([impression(3), conversion(4, 3, { at: at - 1 })])).rejects.toThrow(
    `line 5, event 4, conversion of i3: at: expected at most five minutes before the impression, got ${at - 1}; correct the time, or remove the line`,
  );
});

it("counts the conversions of each goal by itself", async () => {
  const goals = { click: { weight: 0.5 }, order: { weight: 1 } };
  const declared = { ...configuration, seq: 3, content: { ...config, goals } };
  const lines = [
    declared,
    impression(4, { version: 3 }),
    conversion(5, 4, { goal: "click", at: SHOWN + 5 }),
    conversion(6, 4, { goal: "order", reward: 0.25, at: SHOWN + 7 }),
    conversion(7, 4, { goal: "click", at: SHOWN + 9 }),
    conversion(8, 4, { goal: "other" }),
  ];
  const source = await read(lines);
  expect(source.goals).toEqual({ click: { weight: 0.5 }, order: { weight: 1 } });
  expect(source.decisions[0].conversions).toEqual([
    { goal: "click", eventId: "report", at: SHOWN + 5, reward: 1 },
    { goal: "order", eventId: "report", at: SHOWN + 7, reward: 0.25 },
  ]);
});

it.each([null, { conversion: { weight: 1 } }])(
  "leaves out a reward that the present range refuses, with goals %j, as a relearning does",
  async (goals) => {
    const before = { ...configuration, content: { ...config, goals, reward: { min: 0, max: 9 } } };
    const relearnt = { type: "mark", seq: 6, mark: "relearnt", content: { config: { ...config, goals } } };
    const lines = [impression(3), conversion(4, 3), conversion(5, 3, { reward: 7, at: SHOWN + 10 }), relearnt];
    const { decisions, reward } = await read(lines, undefined, before);
    expect(reward).toEqual({ min: 0, max: 1 });
    expect(decisions[0].conversions).toEqual([{ goal: "conversion", eventId: "report", at: SHOWN + 9, reward: 1 }]);
  },
);

it("counts the lines of two exports once, and reads settings in the order of events, whichever export comes first", async () => {
  const third = { type: "mark", seq: 5, mark: "actions", content: { size: 3, changed: [[2, { id: "scarf" }]] } };
  const early = [head, configuration, actions, impression(3), conversion(4, 3)];
  const late = [
    { ...head, after: 3, exportedAt: head.exportedAt + 1 },
    ...[conversion(4, 3), third, impression(6, { version: 5, decision: { ...decision, candidates: 3 } })],
  ];
  for (const lines of [
    [...early, ...late],
    [...late, ...early],
  ]) {
    const { decisions, repeated, end } = await eventSource(textsOf(lines), { progress: () => {} });
    expect(decisions.map(({ ids }) => ids.length).toSorted()).toEqual([2, 3]);
    expect([repeated, end]).toEqual([1, head.exportedAt + 1]);
  }
});

it.each<[string, object, string]>([
  [
    "whose action was no candidate",
    { action: "gloves" },
    "expected a decision that can be repeated, got another: gloves is none of the 2 candidates of its catalogue",
  ],
  [
    "with a probability too small to weigh",
    { decision: { ...decision, probability: 1e-320 } },
    "decision.probability: expected at least 1e-12, got 1e-320; remove the line",
  ],
])("refuses a decision %s, by its line", async (_, fields, message) => {
  await expect(read([impression(3, fields)])).rejects.toThrow(new LogMismatch(`line 4, event 3, impression i3: ${message}`));
});

describe("candidates", () => {
  const third = { type: "mark", seq: 5, mark: "actions", content: { size: 3, changed: [[2, { id: "scarf" }]] } };
  const idsOf = async (...lines: object[]) => (await read(lines)).decisions.map(({ ids }) => ids.join(" "));

  it("are those of the version that decided, or of the catalogue that the decision names", async () => {
    const candidates = { ...decision, candidates: 3 };
    expect(
      await idsOf(
        impression(3),
        third,
        impression(6, { version: 4 }),
        impression(7, { version: 5, decision: candidates }),
        impression(8, { version: 4, decision: { ...candidates, catalogue: 5 } }),
        impression(9, { version: 5, decision: { ...decision, catalogue: 2 } }),
      ),
    ).toEqual(["boots hat", "boots hat", "boots hat scarf", "boots hat scarf", "boots hat"]);
  });

  it("are of the model, and not of a shard's own marks", async () => {
    expect(await idsOf({ ...third, seq: 1, shard: 1 }, impression(6, { version: 9 }))).toEqual(["boots hat"]);
  });

  it("are without those that a request excludes", async () => {
    expect(await idsOf(impression(3, { decision: { ...decision, asked: { exclude: ["boots"] } } }))).toEqual(["hat"]);
  });
});

it("share the ids of their candidates", async () => {
  const asked = { decision: { ...decision, asked: { exclude: ["boots"] } } };
  const { decisions } = await read([impression(3), impression(4), impression(5, asked), impression(6, asked)]);
  const [first, second, third, fourth] = decisions.map(({ ids }) => ids);
  expect([first === second, third === fourth, first === third]).toEqual([true, true, false]);
  expect(decisions.map((each) => [each.indexOf("hat"), each.indexOf("boots"), each.indexOf("scarf")])).toEqual([
    ...[0, 1].map(() => [1, 0, undefined]),
    ...[0, 1].map(() => [0, undefined, undefined]),
  ]);
});

it("names the decision whose context has no such features, when they are read", async () => {
  const { decisions } = await read([impression(3, { context: [1, 2] })]);
  expect(() => decisions[0].points).toThrow(
    new LogMismatch(
      "line 4, event 3: expected a decision that can be repeated, got another: context: expected features by name, since the model has an encoder",
    ),
  );
});

it("encodes all decisions as the model does since it learnt its log again", async () => {
  const encoder = { dimension: 32, version: ENCODER_VERSION };
  const relearnt = { type: "mark", seq: 5, mark: "relearnt", content: { config: { ...config, encoder }, digest: "d" } };
  const { decisions, dimension } = await read([impression(3), relearnt, impression(6, { version: 5 })]);
  expect(dimension).toBe(32);
  expect(decisions.map(({ points }) => (points as { dimension?: number }).dimension)).toEqual([32, 32]);
  expect(decisions.map(({ ids }) => ids)).toEqual([
    ["boots", "hat"],
    ["boots", "hat"],
  ]);
});

it("needs a configuration", async () => {
  await expect(eventSource(textsOf([head, impression(3)]), { progress: () => {} })).rejects.toThrow(
    "expected a log with the model's configuration, got none: export the log again from an updated worker",
  );
});

describe("lists", () => {
  const ranked = { ...configuration, content: { ...config, policy: "otf-lin-ucb", options: { dimension: 16 } } };
  const placed = (seq: number, place: number, fields: object = {}) =>
    impression(seq, { decision: { ...decision, place, ...(place > 0 && { first: "i3" }) }, action: place ? "boots" : "hat", ...fields });

  it("hold the items of one request in the order of their places", async () => {
    const { lists } = await read([placed(3, 0), placed(4, 1), impression(5)], undefined, ranked);
    expect(lists?.lists.map(({ items }) => items.map((item) => item.index))).toEqual([[1, 0], [1]]);
    expect(lists).toMatchObject({ incomplete: 0, random: [] });
  });

  it("that lack an item are counted as incomplete", async () => {
    const { lists } = await read([placed(4, 1), impression(5)], undefined, ranked);
    expect([lists?.lists.length, lists?.incomplete]).toEqual([1, 1]);
  });

  it("of a holdout are random, each candidate with the same probability", async () => {
    const { lists } = await read(
      [placed(3, 0, { arm: "holdout", sampling: 1 }), placed(4, 1, { arm: "holdout", sampling: 1 }), impression(5)],
      undefined,
      ranked,
    );
    expect(lists?.random).toEqual([expect.objectContaining({ shownAt: SHOWN, count: 2, kept: 0.5, random: true })]);
    expect(lists?.random[0].items.map(({ probability }) => probability)).toEqual([0.5, 0.5]);
    expect(lists?.lists.map(({ random }) => random)).toEqual([true, false]);
  });
});
