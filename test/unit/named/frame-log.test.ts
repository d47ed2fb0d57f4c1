import { evaluate, otfLinTs } from "afterclick";
import { frameLog } from "afterclick/research";
import { describe, expect, it } from "vitest";

const actions = [
  { id: "1", features: { brand: "Acme" } },
  { id: "2", features: { brand: "Umbra" } },
];
const row = (i: number) => ({
  timestamp: `2019-11-24 00:00:${String(i % 60).padStart(2, "0")}.004101+00:00`,
  item_id: String(1 + (i % 2)),
  propensity_score: "0.5",
  click: i % 4 === 0 ? "1" : "0",
  user_feature_0: i % 3 ? "a" : "b",
  other: "never read",
});
const rows = Array.from({ length: 200 }, (_, i) => row(i));
const columns = Object.fromEntries(Object.keys(rows[0]).map((name) => [name, rows.map((each) => each[name as "click"])]));

describe("a frame", () => {
  it("of rows or of columns has the decisions of its rows", () => {
    const [first, second] = [rows, columns].map((frame) => frameLog(frame, { actions }));
    expect(first).toMatchObject({ dimension: 64, end: Date.UTC(2019, 10, 24, 0, 0, 59, 4) });
    for (const { log, end, dimension } of [first, second]) {
      expect([log.length, end, dimension]).toEqual([200, first.end, 64]);
      expect(log.at(4)).toMatchObject({
        ...{ shownAt: Date.UTC(2019, 10, 24, 0, 0, 4, 4), count: 2, ids: ["1", "2"], index: 0, probability: 0.5 },
        conversions: [{ at: Date.UTC(2019, 10, 24, 0, 0, 4, 4), reward: 1 }],
      });
      expect(log.at(1)).toMatchObject({ index: 1, conversions: [] });
    }
    const vectors = (log: typeof first.log, i: number) =>
      (log.at(i) as unknown as { points: { rows(at: number[]): Float64Array } }).points.rows([0, 1]);
    expect(vectors(second.log, 7)).toEqual(vectors(first.log, 7));
    expect(vectors(first.log, 3)).not.toEqual(vectors(first.log, 1));
  });

  it("has times, rewards and visitors in columns of other names and types", () => {
    const own = [
      { when: 1000n, what: 2, chance: 0.25, paid: 3.5, at: new Date(5000), who: 7, country: "PT" },
      { when: new Date(2000), what: "1", chance: 1, paid: false, at: null, who: "8", country: null },
    ];
    const names = { shownAt: "when", action: "what", probability: "chance", reward: "paid", convertedAt: "at", visitor: "who" };
    const { log, end } = frameLog(own, { actions, columns: { ...names, context: ["country"] }, encoder: { dimension: 16 } });
    expect(end).toBe(5000);
    expect(log.at(0)).toMatchObject({ shownAt: 1000, index: 1, visitor: "7", conversions: [{ at: 5000, reward: 3.5 }] });
    expect(log.at(1)).toMatchObject({ shownAt: 2000, index: 0, visitor: "8", conversions: [] });
  });

  it("is evaluated", async () => {
    const { log, dimension, end } = frameLog(rows, { actions });
    const { logged, decisions } = await evaluate({ log, policy: otfLinTs({ dimension }), window: "none", asOf: end, maturity: () => 1 });
    expect(decisions).toMatchObject({ learnt: 100, evaluated: 100 });
    expect(logged).toMatchObject({ value: expect.closeTo(0.25, 1) });
  });

  it("may be empty", () => {
    expect(frameLog({}, { actions }).log).toHaveLength(0);
  });
});

describe("a frame is refused by row and column:", () => {
  const changed = (change: object) => [row(0), { ...row(1), ...change }];
  it.each([
    [{ item_id: "3" }, /^row 1, item_id: expected the id of one of the actions, got "?3/],
    [{ timestamp: "yesterday" }, /^row 1, timestamp: expected a time/],
    [{ timestamp: null }, /^row 1, timestamp/],
    [{ propensity_score: "" }, /^row 1, propensity_score/],
    [{ click: "yes" }, /^row 1, click/],
  ])("%o", (change, message) => {
    expect(() => frameLog(changed(change), { actions })).toThrow(message);
  });

  it.each([
    [rows, { actions, columns: { reward: "bought" } }, /^columns: expected one of timestamp, .*got "?bought/],
    [rows, { actions, columns: { rewards: "click" } }, /^columns.*rewards/],
    [{ timestamp: [1], item_id: [] }, { actions }, /^frame\.item_id: expected 1 rows/],
    [{ timestamp: 1 }, { actions }, /^frame\.timestamp: expected an array/],
    ["rows", { actions }, /^frame/],
    [rows, { actions, columns: { context: "click" } }, /^columns\.context: expected an array of names, got "click"/],
    [rows, {}, /^actions: expected an array, got undefined/],
    [rows, { actions: ["1"] }, /^actions\[0\]: expected an object, got "1"/],
    [rows, { actions, encoder: null }, /^encoder: expected an object, got null/],
  ])("%#", (frame, options, message) => {
    expect(() => frameLog(frame as never, options as never)).toThrow(message);
  });
});
