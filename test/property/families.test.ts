import { delayLinTs, epsilonGreedy, otfLinTs, otfLinUcb, type PolicyDescriptor, Recommender, uniform } from "afterclick";
import { families as boundedBy, type FamilyBounds } from "afterclick/research";
import { describe, expect, it } from "vitest";
import { bestWithin, randomWithin } from "../../src/model/families.ts";
import { randomChances } from "../../src/model/random-chances.ts";
import { stream } from "../support/scenario.ts";

/** Chances of all lists by their definition: each place takes one of the candidates that are left and have room. */
function enumerated({ of, room }: FamilyBounds, places: number): number[][] {
  const chances = Array.from(of, () => new Array<number>(places).fill(0));
  const extend = (list: readonly number[], chance: number): void => {
    const used = Array.from(room, (_, family) => list.filter((index) => of[index] === family).length);
    const left = Array.from(of, (_, index) => index).filter((i) => !list.includes(i) && !(used[of[i]] >= room[of[i]]));
    if (list.length === places) return;
    for (const index of left) {
      chances[index][list.length] += chance / left.length;
      extend([...list, index], chance / left.length);
    }
  };
  extend([], 1);
  return chances;
}

const settings: [string, FamilyBounds, number][] = [
  ["one of each of two families", { of: [0, 0, 0, 1, 1, -1], room: [1, 1] }, 3],
  ["two of a family beside others", { of: [0, 0, 0, 0, -1, -1], room: [2] }, 4],
  ["three families of which one has room for all", { of: [0, 0, 1, 1, 2, 2, 2], room: [1, 2, 2] }, 5],
  ["no family", { of: [-1, -1, -1], room: [] }, 3],
  ["fewer candidates with room than places", { of: [0, 0, 0, 1, 1, 1], room: [1, 2] }, 6],
];

it.each(settings)("a random order has the chances of its definition: %s", (_, families, places) => {
  const chances = randomChances(families.of.length, places, families);
  const expected = enumerated(families, places);
  expected.forEach((own, index) => {
    own.forEach((chance, place) => {
      expect(chances(index, place), `${index} at ${place}`).toBeCloseTo(chance, 12);
    });
  });
});

it.each(settings)("a random order has them in 20,000 draws: %s", (_, families, places) => {
  const draw = stream(7);
  const [runs, expected] = [20_000, enumerated(families, places)];
  const reached = expected[0].map((_, place) => expected.reduce((sum, own) => sum + own[place], 0)).filter((sum) => sum > 0.5).length;
  const shown = expected.map((own) => own.map(() => 0));
  for (let run = 0; run < runs; run++) {
    const picks = Array.from({ length: reached }, () => draw());
    for (const [place, index] of randomWithin(expected.length, picks, families).entries()) shown[index][place]++;
  }
  shown.forEach((own, index) => {
    own.forEach((count, place) => {
      const chance = expected[index][place];
      expect(Math.abs(count / runs - chance), `${index} at ${place}`).toBeLessThan(5 * Math.sqrt((chance * (1 - chance)) / runs) + 1e-9);
    });
  });
});

it("sums to one at each place, of 10,000 candidates in 2,000 families", () => {
  const [count, places] = [10_000, 6];
  const of = Int32Array.from({ length: count }, (_, i) => Math.floor(2000 * (((i * 7919) % count) / count) ** 2));
  const chances = randomChances(count, places, { of, room: new Int32Array(2000).fill(2) });
  for (let place = 0; place < places; place++) {
    expect(of.reduce((sum, _, index) => sum + chances(index, place), 0)).toBeCloseTo(1, 10);
  }
  expect(chances(17, 0)).toBeCloseTo(1 / count, 15);
});

it("a bounded ranking is that of the sorted candidates, each unless its family is full", () => {
  const draw = stream(11);
  for (let run = 0; run < 500; run++) {
    const count = 1 + Math.floor(12 * draw());
    // Few different scores, so that many are equal.
    const score = Float64Array.from({ length: count }, () => Math.floor(5 * draw()));
    const of = Array.from(score, () => Math.floor(4 * draw()) - 1);
    const room = [1, 2, 1 + Math.floor(3 * draw())];
    const limit = 1 + Math.floor(8 * draw());
    const expected: number[] = [];
    for (const index of Array.from(score.keys()).sort((a, b) => score[b] - score[a] || a - b)) {
      const used = expected.filter((each) => of[each] === of[index]).length;
      if (expected.length < limit && (of[index] < 0 || used < room[of[index]])) expected.push(index);
    }
    expect(bestWithin(score, limit, { of, room })).toEqual(expected);
  }
});

const candidates = [
  [1, 0],
  [0.9, 0.1],
  [0.8, 0.3],
  [0, 1],
  [0.6, 0.6],
].map((features) => ({ features }));
const families = boundedBy({ of: [0, 0, 0, 1, -1], room: [1, 1] });
const DECISIONS = 800;

async function running(policy: PolicyDescriptor) {
  const { policy: running } = await Recommender.create({ policy, window: "none", seed: 3 });
  const impression = running.append({ ...(running.dimension > 0 && { features: [1, 0] }), round: 1 });
  running.observe({ impression, reward: 1 });
  return running;
}

describe.each([
  ["otf-lin-ts", otfLinTs({ dimension: 2 })],
  ["delay-lin-ts", delayLinTs({ dimension: 2 })],
  ["otf-lin-ucb", otfLinUcb({ dimension: 2 })],
  ["epsilon-greedy", epsilonGreedy({ dimension: 2, kernel: { name: "linear", variance: 1, bias: 0, lengthscale: 1 } })],
  ["uniform", uniform()],
])("a list of %s within families", (_, descriptor) => {
  it.each([0, 0.05, 1])(
    "states the share of decisions that show an action at its place, with a minimum share of %d",
    async (minimumShare) => {
      const policy = await running(descriptor);
      const request = { candidates, families, round: 2, draws: 100, limit: 4, minimumShare };
      const places = 3;
      const shown = candidates.map(() => new Array<number>(places).fill(0));
      for (let n = 0; n < DECISIONS; n++) {
        const choices = policy.choose({ ...request, decision: `decision ${n}` });
        expect(choices).toHaveLength(places);
        for (const [place, { index }] of choices.entries()) shown[index][place]++;
      }
      const chances = policy.placeChances({ ...request, decision: "decision 0" }, Array.from(candidates.keys()));
      shown.flat().forEach((count, at) => {
        const chance = policy.deterministic && minimumShare === 0 ? Math.round(chances[at]) : chances[at];
        expect(Math.abs(count / DECISIONS - chance), `${at}`).toBeLessThan(5 * Math.sqrt((chance * (1 - chance)) / DECISIONS) + 1e-9);
      });
      const first = policy.choose({ ...request, decision: "decision 1" });
      for (const [place, { index, probability }] of first.entries()) {
        if (probability !== undefined) expect(probability).toBe(chances[index * places + place]);
      }
    },
  );
});

it.each<[string, unknown, RegExp]>([
  ["no object", 3, /^bounds: expected an object, got 3$/],
  ["an unknown family", { of: [0, 0, 2], room: [1, 1] }, /^bounds\.of\[2\]: expected a number between -1 and 1, got 2$/],
  ["a family without room", { of: [0], room: [0] }, /^bounds\.room\[0\]: expected a number between 1 and 9007199254740991, got 0$/],
  ["no numbers", { of: null, room: [] }, /^bounds\.of: expected an array of numbers, got null$/],
])("refuses %s", (_, given, message) => {
  expect(() => boundedBy(given as FamilyBounds)).toThrow(message);
});

it("refuses families of other candidates", async () => {
  const policy = await running(uniform());
  const others = boundedBy({ of: [0], room: [1] });
  expect(() => policy.choose({ candidates, families: others, round: 2 })).toThrow("families: expected those of 5 candidates, got 1");
});

it("of the candidates that are asked for, has the bits of all candidates", () => {
  // Families of 1, 2, 3 and more candidates: as many kinds as there can be.
  const of = Array.from({ length: 60 }, (_, family) => Array<number>(family + 1).fill(family)).flat();
  const bounds = { of, room: new Int32Array(60).fill(2) };
  const all = randomChances(of.length, 12, bounds);
  const indices = [0, 700, 1800, 1829];
  const some = randomChances(of.length, 12, bounds, indices);
  for (const index of indices) for (let place = 0; place < 12; place++) expect(some(index, place)).toBe(all(index, place));
});
