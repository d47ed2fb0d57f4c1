import { describe, expect, it } from "vitest";
import { lineFault } from "../../../../cli/verify/line-fault.ts";

// The fields that a line of a log must have, and the values at the ends of what is allowed.

const LAST_TIME = 8.64e15;

const faultOf = (line: object, fields: object): string | undefined => lineFault({ ...line, ...fields } as never);
const accepts = (line: object, ...each: object[]): void => {
  for (const fields of each) expect(faultOf(line, fields), JSON.stringify(fields)).toBeUndefined();
};

const head = { type: "model", model: "shop", generation: 1, horizon: 0, lines: 2, exportedAt: 9, archive: [{ key: "a" }], shards: 1 };
const impression = {
  type: "impression",
  seq: 1,
  id: "i1",
  action: "hat",
  shownAt: 5,
  version: 2,
  features: [0.5],
  sampling: 1,
  decision: null,
};
const conversion = { type: "conversion", seq: 1, impression: "i1", goal: "order", event: "e1", reward: 1, at: 5 };
const markOf = (mark: string, content: object) => ({ type: "mark", seq: 1, mark, content });

describe("a head", () => {
  it("has times, counts and a list of files, or lacks them", () => {
    accepts(
      head,
      {},
      { generation: LAST_TIME, horizon: -LAST_TIME },
      { lines: 0, shards: 0 },
      { lines: undefined, shards: undefined, archive: undefined },
      { generation: undefined, horizon: undefined, exportedAt: undefined },
      { archive: [] },
    );
  });

  it.each<[object, string]>([
    [{ model: 5 }, "model: expected a name, got 5"],
    [{ generation: "x" }, 'generation: expected a time in ms since 1970, got "x"'],
    [{ horizon: null }, "horizon: expected a time in ms since 1970, got null"],
    [{ exportedAt: LAST_TIME + 2 }, "exportedAt: expected a time in ms since 1970, got 8640000000000002"],
    [{ exportedAt: -LAST_TIME - 2 }, "exportedAt: expected a time in ms since 1970, got -8640000000000002"],
    [{ exportedAt: Number.NaN }, "exportedAt: expected a time in ms since 1970, got NaN"],
    [{ lines: -1 }, "lines: expected a whole number, got -1"],
    [{ lines: 1.5 }, "lines: expected a whole number, got 1.5"],
    [{ shards: 2 ** 53 }, "shards: expected a whole number, got 9007199254740992"],
    [{ archive: {} }, "archive: expected a list of files, got {}"],
    [{ archive: [{ key: "a" }, null] }, 'archive: expected a list of files, got [{"key":"a"},null]'],
    [{ archive: [[]] }, "archive: expected a list of files, got [[]]"],
  ])("with %o is refused", (fields, fault) => {
    expect(faultOf(head, fields)).toBe(fault);
  });
});

it("an end states the number of events", () => {
  accepts({ type: "end" }, { lines: 0 }, { lines: 7 });
  expect(faultOf({ type: "end" }, { lines: undefined })).toBe("lines: expected a whole number, got undefined");
  expect(faultOf({ type: "end" }, { lines: -1 })).toBe("lines: expected a whole number, got -1");
});

it.each([impression, conversion, markOf("snapshot", { digest: "d" }), { type: "erased", seq: 1, id: "i1" }])(
  "an event has a number, and that of its shard: $type",
  (line) => {
    accepts(line, {}, { seq: 0 }, { shard: 0 }, { shard: 63 });
    expect(faultOf(line, { seq: -1 })).toBe("seq: expected a whole number, got -1");
    expect(faultOf(line, { seq: "1" })).toBe('seq: expected a whole number, got "1"');
    expect(faultOf(line, { shard: -1 })).toBe("shard: expected a whole number, got -1");
    expect(faultOf(line, { shard: null })).toBe("shard: expected a whole number, got null");
  },
);

it("an erased line has an id", () => {
  const erased = { type: "erased", seq: 1, id: "i1" };
  expect(faultOf(erased, { id: "" })).toBe('id: expected an id, got ""');
  expect(faultOf(erased, { id: 3 })).toBe("id: expected an id, got 3");
});

it("shows at most eighty characters of a wrong value", () => {
  expect(faultOf(head, { model: ["x".repeat(76)] })).toBe(`model: expected a name, got ["${"x".repeat(76)}"]`);
  expect(faultOf(head, { model: ["x".repeat(77)] })).toBe(`model: expected a name, got ["${"x".repeat(77)}"…`);
});

describe("a conversion", () => {
  it("has a goal, an impression, a time and a reward, which a retraction lacks", () => {
    accepts(conversion, {}, { reward: null }, { reward: -3.5 }, { event: undefined }, { at: -LAST_TIME });
  });

  it.each<[object, string]>([
    [{ goal: "" }, 'goal: expected a name, got ""'],
    [{ goal: undefined }, "goal: expected a name, got undefined"],
    [{ reward: Number.POSITIVE_INFINITY }, "reward: expected a finite number or null, got Infinity"],
    [{ reward: "1" }, 'reward: expected a finite number or null, got "1"'],
    [{ at: null }, "at: expected a time in ms since 1970, got null"],
    [{ impression: "" }, 'impression: expected an id, got ""'],
    [{ event: 7 }, "event: expected an id, got 7"],
    [{ event: null }, "event: expected an id, got null"],
  ])("with %o is refused", (fields, fault) => {
    expect(faultOf(conversion, fields)).toBe(fault);
  });
});

describe("an impression", () => {
  it("has an action, a time and numbers", () => {
    accepts(impression, {}, { action: "" }, { version: undefined }, { features: undefined }, { features: [] });
    accepts(impression, { sampling: undefined }, { sampling: 0 }, { sampling: 39 }, { decision: undefined });
  });

  it.each<[object, string]>([
    [{ action: null }, "action: expected an id, got null"],
    [{ shownAt: "now" }, 'shownAt: expected a time in ms since 1970, got "now"'],
    [{ version: "2" }, 'version: expected a number, got "2"'],
    [{ version: Number.NaN }, "version: expected a number, got NaN"],
    [{ features: 1 }, "features: expected an array of numbers"],
    [{ features: [0.5, null] }, "features: expected an array of numbers"],
    [{ sampling: 40 }, "sampling: expected an exponent from 0 to 39, got 40"],
    [{ sampling: -1 }, "sampling: expected an exponent from 0 to 39, got -1"],
    [{ sampling: 0.5 }, "sampling: expected an exponent from 0 to 39, got 0.5"],
    [{ id: "" }, 'id: expected an id, got ""'],
    [{ decision: 1 }, "decision: expected an object or null, got 1"],
    [{ decision: [] }, "decision: expected an object or null, got []"],
  ])("with %o is refused", (fields, fault) => {
    expect(faultOf(impression, fields)).toBe(fault);
  });

  it("has a decision, of which a place is enough", () => {
    const of = (decision: object) => ({ decision: { place: 0, ...decision } });
    accepts(impression, of({}), of({ place: 4 }), of({ candidates: null, first: null, asked: null }));
    accepts(impression, of({ candidates: 0, first: "i0", asked: { limit: 2 } }), of({ probability: 1 }), of({ probability: 1e-12 }));
  });

  it.each<[object, string]>([
    [{ place: undefined }, "decision.place: expected a whole number of at least 0, got undefined"],
    [{ place: -1 }, "decision.place: expected a whole number of at least 0, got -1"],
    [{ candidates: -1 }, "decision.candidates: expected a whole number or null, got -1"],
    [{ candidates: "2" }, 'decision.candidates: expected a whole number or null, got "2"'],
    [{ first: 1 }, "decision.first: expected an id, got 1"],
    [{ asked: [] }, "decision.asked: expected an object, got []"],
    [{ asked: "all" }, 'decision.asked: expected an object, got "all"'],
    [{ probability: 1.0001 }, "decision.probability: expected a number from 1e-12 to 1, got 1.0001"],
    [{ probability: 9e-13 }, "decision.probability: expected a number from 1e-12 to 1, got 9e-13"],
    [{ probability: null }, "decision.probability: expected a number from 1e-12 to 1, got null"],
  ])("with a decision of %o is refused", (fields, fault) => {
    expect(faultOf(impression, { decision: { place: 0, ...fields } })).toBe(fault);
  });
});

const CHANGED = "expected what the worker exported, got a changed line: ";

describe("a mark", () => {
  it("has a name and a content", () => {
    expect(faultOf(markOf("snapshot", {}), { mark: 1 })).toBe("mark: expected a name, got 1");
    for (const content of [null, [], "x"])
      expect(faultOf(markOf("snapshot", {}), { content })).toBe(`${CHANGED}content: expected an object, got ${JSON.stringify(content)}`);
  });

  it("of actions has a size, and each changed action by its place", () => {
    const wrong = `${CHANGED}expected a catalogue's size and its changed actions`;
    accepts(
      markOf("actions", {}),
      { content: { size: 0, changed: [] } },
      {
        content: {
          size: 2,
          changed: [
            [0, { id: "a" }],
            [1, { id: "b" }],
          ],
        },
      },
    );
    for (const content of [
      { changed: [] },
      { size: -1, changed: [] },
      { size: 1 },
      { size: 1, changed: [[0, { id: "a" }], 1] },
      { size: 1, changed: [[-1, { id: "a" }]] },
      { size: 1, changed: [[0, { id: 5 }]] },
      { size: 1, changed: [[0, null]] },
      {
        size: 2,
        changed: [
          [0, { id: "a" }],
          [1, {}],
        ],
      },
    ])
      expect(faultOf(markOf("actions", content), {}), JSON.stringify(content)).toBe(wrong);
  });

  it("of a merge, a rollback and an erasure names what it changes", () => {
    accepts(markOf("merged", { shards: [] }), {}, { content: { shards: [0, 3] } });
    accepts(markOf("rollback", { to: 0 }), {});
    accepts(markOf("erasure", { impression: "i1" }), {});
    // Only these marks have such a content.
    accepts(markOf("snapshot", {}), {});
    expect(faultOf(markOf("merged", { shards: 1 }), {})).toBe(`${CHANGED}shards: expected a list of whole numbers`);
    expect(faultOf(markOf("merged", { shards: [0, -1] }), {})).toBe(`${CHANGED}shards: expected a list of whole numbers`);
    expect(faultOf(markOf("rollback", { to: -1 }), {})).toBe(`${CHANGED}to: expected a version, got -1`);
    expect(faultOf(markOf("erasure", {}), {})).toBe(`${CHANGED}impression: expected an id, got undefined`);
  });
});

describe("a configuration", () => {
  const config = { window: { ms: 1000 }, reward: { min: 0, max: 1 }, goals: null, holdout: 0.5, options: {}, encoder: null };
  const ofConfig = (fields: object) => faultOf(markOf("configuration", { ...config, ...fields }), {});
  const ofGoal = (fields: object) => ofConfig({ goals: { click: { weight: 1 }, order: { weight: 1, ...fields } } });

  it("has a window, and may lack the rest", () => {
    for (const fields of [
      ...[{}, { window: { ms: 1e-3 } }, { window: { ms: LAST_TIME } }, { holdout: 0 }, { holdout: 1 }, { goals: {} }],
      { reward: undefined, goals: undefined, holdout: undefined, options: undefined, encoder: undefined },
      { options: null, encoder: { dimension: 16 } },
    ])
      expect(ofConfig(fields), JSON.stringify(fields)).toBeUndefined();
    for (const goal of [{ weight: 0 }, { window: null, value: null }, { window: { ms: 5 }, value: { max: 2 } }])
      expect(ofGoal(goal), JSON.stringify(goal)).toBeUndefined();
  });

  it.each<[object, string]>([
    [{ window: undefined }, "window: expected { ms } above 0, got undefined"],
    [{ window: { ms: 0 } }, 'window: expected { ms } above 0, got {"ms":0}'],
    [{ window: { ms: LAST_TIME + 2 } }, 'window: expected { ms } above 0, got {"ms":8640000000000002}'],
    [{ reward: null }, "reward: expected { min, max }, got null"],
    [{ reward: { min: 0 } }, 'reward: expected { min, max }, got {"min":0}'],
    [{ reward: { max: 0 } }, 'reward: expected { min, max }, got {"max":0}'],
    [{ goals: [] }, "goals: expected goals by their names, got []"],
    [{ holdout: -0.1 }, "holdout: expected a number from 0 to 1, got -0.1"],
    [{ holdout: 1.1 }, "holdout: expected a number from 0 to 1, got 1.1"],
    [{ holdout: "some" }, 'holdout: expected a number from 0 to 1, got "some"'],
    [{ options: [] }, "options: expected an object, got []"],
    [{ encoder: 16 }, "encoder: expected an object, got 16"],
  ])("with %o is refused", (fields, fault) => {
    expect(ofConfig(fields)).toBe(CHANGED + fault);
  });

  it.each([
    { weight: "1" },
    { weight: Number.POSITIVE_INFINITY },
    { window: { ms: 0 } },
    { window: { ms: LAST_TIME + 2 } },
    { window: 5 },
    { value: 5 },
    { value: [] },
  ])("with a goal of %o is refused", (goal) => {
    expect(ofGoal(goal)).toContain(`${CHANGED}goals: expected goals by their names, got {"click"`);
  });

  it("with a goal that is none is refused", () => {
    expect(ofConfig({ goals: { order: 1 } })).toBe(`${CHANGED}goals: expected goals by their names, got {"order":1}`);
  });

  it("under which a model learnt its log again is checked as well", () => {
    accepts(markOf("relearnt", { config }), {});
    expect(faultOf(markOf("relearnt", {}), {})).toBe(`${CHANGED}config: expected an object, got undefined`);
    expect(faultOf(markOf("relearnt", { config: { ...config, holdout: 2 } }), {})).toBe(
      `${CHANGED}holdout: expected a number from 0 to 1, got 2`,
    );
  });
});
