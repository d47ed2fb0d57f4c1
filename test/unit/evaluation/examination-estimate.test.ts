import { type Estimate, estimateExamination, type Figure, isTooFew, type LoggedItem, type LoggedList } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { oddsInterval } from "../../../src/evaluation/estimate/odds-interval.ts";
import { drawRates, EXAMINATION, ListPolicy, listLog } from "../../../src/simulation/list-world.ts";
import { stream } from "../../../src/simulation/stream.ts";

// Examination weights from the places of conversions.

const clicked = [{ at: 0, reward: 1 }];

/** A list that converts once, at a place. `chances`: of that item. Absent: the list is random. */
function converted(place: number, places: number, chances?: readonly number[], rest: Partial<LoggedList> = {}): LoggedList {
  const items = Array.from({ length: places }, (_, k): LoggedItem => {
    const own = k === place ? { conversions: clicked, ...(chances && { chances }) } : {};
    return { index: k, probability: (k === place && chances?.[k]) || 0.1, ...own };
  });
  return { shownAt: 0, count: 10, items, random: chances === undefined, ...rest };
}

const repeated = <T>(count: number, value: T): T[] => new Array<T>(count).fill(value);
function stated(figure: Figure): Estimate {
  if (isTooFew(figure)) throw new Error("expected an estimate");
  return figure;
}
const few = (more: number) => ({ tooFew: { more, of: "conversions at this place or the first" } });
const estimated = (log: readonly LoggedList[]) => estimateExamination({ log, window: "none" });

describe("estimateExamination", () => {
  it("of random lists takes the ratio of conversions, with the interval of the odds of two counts", async () => {
    const found = await estimated([...repeated(40, converted(0, 3)), ...repeated(30, converted(1, 3)), ...repeated(10, converted(2, 3))]);
    expect(found.converted).toBe(80);
    expect(found.places[0]).toEqual({ value: 1, low: 1, high: 1 });
    for (const [place, own] of [
      [1, 30],
      [2, 10],
    ]) {
      const { value, low, high } = stated(found.places[place]);
      const exact = oddsInterval({ own, other: 40 });
      expect(value).toBeCloseTo(own / 40, 9);
      expect(low).toBeCloseTo(exact.low, 9);
      expect(high).toBeCloseTo(exact.high, 9);
    }
    expect(found.weights).toEqual(found.places.map((figure) => stated(figure).value));
  });

  it("of other lists maximises the likelihood of the places of conversions", async () => {
    const log = [
      ...repeated(27, converted(0, 2, [0.8, 0.2])),
      ...repeated(6, converted(1, 2, [0.8, 0.2])),
      ...repeated(12, converted(0, 2, [0.3, 0.6])),
      ...repeated(15, converted(1, 2, [0.3, 0.6])),
      ...repeated(9, converted(0, 2)),
      ...repeated(6, converted(1, 2)),
    ];
    const { value } = stated((await estimated(log)).places[1]);
    const likelihood = (e: number): number =>
      log.reduce((sum, { items }) => {
        const place = items.findIndex(({ conversions }) => conversions);
        const { chances = [0.1, 0.1] } = items[place];
        return sum + Math.log((chances[place] * (place === 0 ? 1 : e)) / (chances[0] + chances[1] * e));
      }, 0);
    for (const other of [0.99, 0.999, 1.001, 1.01]) expect(likelihood(value * other)).toBeLessThan(likelihood(value));
  });

  it("ignores items whose place was certain or whose other chances are unknown, and late conversions", async () => {
    const log = [...repeated(40, converted(0, 2)), ...repeated(20, converted(1, 2))];
    const without: LoggedList = {
      ...converted(1, 2, [0.5, 0.5]),
      items: [
        { index: 0, probability: 0.5 },
        { index: 1, probability: 0.5, conversions: clicked },
      ],
    };
    const late = {
      ...converted(1, 2),
      shownAt: 0,
      items: [
        { index: 0, probability: 0.1 },
        { index: 1, probability: 0.1, conversions: [{ at: 11, reward: 1 }] },
      ],
    };
    const more = [...log, ...repeated(9, converted(1, 2, [0, 1])), without, late];
    const both = await Promise.all([log, more].map((each) => estimateExamination({ log: each, window: { ms: 10 } })));
    expect(both[1]).toEqual(both[0]);
  });

  it("counts a list for all that it stands for", async () => {
    const log = [
      ...repeated(40, converted(0, 2)),
      ...repeated(20, converted(1, 2)),
      ...repeated(5, converted(1, 2, undefined, { kept: 0.25 })),
    ];
    expect(stated((await estimated(log)).places[1]).value).toBeCloseTo(1, 9);
  });

  it("says how many conversions it needs where the log does not tell", async () => {
    const silent = await estimated([...repeated(40, converted(0, 3)), ...repeated(10, converted(1, 3))]);
    // Forty conversions at the first place, and none at the third: at most about three expected ones are likely.
    expect(stated(silent.places[2])).toMatchObject({ value: 0, low: 0 });
    expect(stated(silent.places[2]).high).toBeCloseTo(3 / 40, 2);
    expect(silent.weights).toEqual([1, expect.closeTo(0.25, 9), 0.01]);
    const first = await estimated(repeated(10, converted(1, 2)));
    expect(first).toMatchObject({ places: [{ value: 1 }, few(20)], weights: [1, 1] });
    const five = await estimated([...repeated(3, converted(0, 2)), ...repeated(2, converted(1, 2))]);
    expect(five).toMatchObject({ places: [{ value: 1 }, few(15)], weights: [1, 1] });
    const apart = await estimated([
      ...repeated(20, converted(0, 3, [0.5, 0.5, 0])),
      ...repeated(10, converted(1, 3, [0.5, 0.5, 0])),
      ...repeated(9, converted(2, 3, [0, 0, 1])),
    ]);
    expect(apart.places).toEqual([expect.anything(), expect.objectContaining({ value: expect.closeTo(0.5, 9) }), few(20)]);
    expect((await estimated([])).weights).toEqual([1]);
  });

  it.each([
    [19, 0],
    [20, 0],
    [13, 7],
    [12, 8],
    [10, 10],
    [1, 19],
    [1, 400],
    [400, 1],
    [5000, 0],
    [5000, 5000],
  ])(
    "with %d conversions at the first place and %d at the second, states an interval about the weight that is never certain",
    async (n, m) => {
      const { places, weights } = await estimated([...repeated(n, converted(0, 2)), ...repeated(m, converted(1, 2))]);
      if (n + m < 20) return expect(places[1]).toEqual(few(20 - n - m));
      const { value, low, high } = stated(places[1]);
      expect(value).toBeCloseTo(m / n, 6);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(low).toBeLessThanOrEqual(value);
      expect(high).toBeGreaterThanOrEqual(value);
      expect(high - low).toBeGreaterThan(0);
      return expect(weights[1]).toBeCloseTo(Math.min(1, Math.max(0.01, value)), 9);
    },
  );

  it("is not certain although all items of all lists convert", async () => {
    const all = { ...converted(0, 2), items: [0, 1].map((index) => ({ index, probability: 0.1, conversions: clicked })) };
    const { low, high } = stated((await estimated(repeated(20, all))).places[1]);
    expect(low).toBeLessThan(0.9);
    expect(high).toBeGreaterThan(1.1);
  });

  it("does not take conversions that stand for many for more than they are", async () => {
    const apart = [...repeated(100, converted(0, 2)), ...repeated(50, converted(1, 2))];
    const width = async (log: readonly LoggedList[]) => {
      const { low, high } = stated((await estimated(log)).places[1]);
      return high / low;
    };
    const sampled = apart.map((list) => ({ ...list, kept: 0.25 }));
    expect(await width(sampled)).toBeCloseTo(await width(apart), 6);
    expect(await width(apart.slice(0, 75).concat(apart.slice(100, 125)))).toBeGreaterThan(await width(apart));
  });

  const list = converted(0, 2);
  const bad: [string, object, RegExp][] = [
    ["a log that is no array", { log: {} }, /^log: expected an array of lists/],
    ["a list without items", { log: [{ ...list, items: [] }] }, /^log\[0\]\.items: expected 1 to 10 items/],
    ["an index that no candidate has", { log: [{ ...list, items: [{ index: 10, probability: 1 }] }] }, /^log\[0\]\.items\[0\]\.index/],
    ["a probability of 0", { log: [{ ...list, items: [{ index: 0, probability: 0 }] }] }, /^log\[0\]\.items\[0\]\.probability/],
    ["chances of too few places", { log: [converted(0, 2, [1])] }, /^log\[0\]\.items\[0\]\.chances: expected 2 probabilities/],
    ["a negative chance", { log: [converted(0, 2, [0.5, -0.1])] }, /^log\[0\]\.items\[0\]\.chances\[1\]/],
    ["a share above 1", { log: [{ ...list, kept: 2 }] }, /^log\[0\]\.kept: expected at most 1/],
    ["a window in rounds", { window: { rounds: 3 } }, /^window\.rounds/],
    ["a misspelt option", { logs: [] }, /^request\.logs/],
  ];
  it.each(bad)("refuses %s", async (_, request, message) => {
    await expect(estimateExamination({ log: [list], window: "none", ...request })).rejects.toThrow(message);
  });
});

describe("weights of lists that a policy shows to those who like them", () => {
  function drawn(lists: number, random: "apart" | "together", seed: number) {
    const draws = stream("examination test", seed);
    const rates = drawRates(5, 20, draws);
    return listLog(rates, new ListPolicy(rates, { draws: 20, noise: 0.7 }, draws), { lists, randomShare: 0.05, random }, draws);
  }

  it.each(["apart", "together"] as const)(
    "are those of the simulator, although rates of conversion at a place are not: random lists %s",
    async (random) => {
      const log = drawn(40_000, random, 1);
      const { places } = await estimated(log);
      const clicks = EXAMINATION.map((_, place) => log.filter(({ items }) => items[place].conversions?.length).length);
      EXAMINATION.slice(1).forEach((truth, i) => {
        expect(Math.abs(stated(places[i + 1]).value - truth)).toBeLessThan(0.05);
        expect(clicks[i + 1] / clicks[0]).toBeLessThan(0.95 * truth);
      });
    },
  );

  it("are in their intervals where more see the second place, which a policy takes for 1", async () => {
    let held = 0;
    for (let seed = 0; seed < 100; seed++) {
      const draw = stream("banner", seed);
      const log = Array.from({ length: 200 }, () => converted(draw() < 1 / 2.3 ? 0 : 1, 2));
      const { places, weights } = await estimated(log);
      const { value, low, high } = stated(places[1]);
      held += Number(low <= 1.3 && 1.3 <= high);
      expect(weights[1]).toBe(Math.min(value, 1));
    }
    expect(held).toBeGreaterThan(89);
    expect(held).toBeLessThan(100);
  });

  it("are in their intervals in about 95 % of the logs", async () => {
    let [held, all] = [0, 0];
    for (let seed = 0; seed < 40; seed++) {
      const { places } = await estimated(drawn(3000, "apart", 10 + seed));
      places.slice(1).forEach((figure, i) => {
        const { low, high } = stated(figure);
        held += Number(low <= EXAMINATION[i + 1] && EXAMINATION[i + 1] <= high);
        all++;
      });
    }
    expect(held / all).toBeGreaterThan(0.91);
    expect(held / all).toBeLessThan(0.985);
  });
});
