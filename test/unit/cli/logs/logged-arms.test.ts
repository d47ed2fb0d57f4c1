import { expect, it } from "vitest";
import { loggedArms } from "../../../../cli/compare/logged-arms.ts";
import { textsOf } from "../../../support/logs/log-lines.ts";

// The counts of both arms, by hand. test/worker/log/compare.test.ts compares them with a worker's.

const HOUR_MS = 3_600_000;
const SHOWN = Date.UTC(2026, 0, 1);
const head = { type: "model", model: "shop", generation: 1, exportedAt: SHOWN + 30 * HOUR_MS };
const configuration = {
  type: "mark",
  mark: "configuration",
  content: { window: { ms: HOUR_MS }, goals: null, reward: { min: 0, max: 1 }, holdout: 0.5 },
};

function impression(id: string, arm: string, { first, ...fields }: { readonly first?: string; readonly shownAt?: number } = {}) {
  const decision = { score: 0, mean: 0, width: 0.1, place: first ? 1 : 0, candidates: 2, ...(first && { first }) };
  return { type: "impression", id, action: "mug", arm, state: "live", version: 1, shownAt: SHOWN, decision, ...fields };
}
const conversion = (of: string, afterMs: number, goal = "order") => {
  return { type: "conversion", impression: of, goal, event: `${of} ${goal}`, reward: 1, at: SHOWN + afterMs, status: "applied" };
};

function read(...lines: object[]) {
  return loggedArms(
    textsOf([head, configuration, ...lines].map((line, i) => ({ ...(i > 0 && { seq: i }), ...line }))),
    undefined,
    () => {},
  );
}

it("counts lists, the squares of their lengths, and the impressions of each that converted", async () => {
  const { counts, goals, end, unassigned } = await read(
    ...[impression("a", "policy"), impression("b", "policy", { first: "a" }), impression("c", "policy", { first: "a" })],
    ...[impression("d", "policy"), impression("e", "holdout"), impression("f", "holdout", { first: "e" })],
    ...[conversion("a", 5), conversion("c", 9), conversion("d", 7), conversion("f", 600_000)],
  );
  expect([goals, end, unassigned]).toEqual([[""], head.exportedAt, 0]);
  expect(counts.arms.map(({ arm, impressions, lists, squares }) => ({ arm, impressions, lists, squares }))).toEqual([
    { arm: "policy", impressions: 4, lists: 2, squares: 10 },
    { arm: "holdout", impressions: 2, lists: 1, squares: 4 },
  ]);
  const reached = counts.reached.map(({ step: _, share: __, ...sums }) => sums);
  expect(reached).toEqual([
    { arm: "policy", goal: "", conversions: 3, converted: 2, conversionSquares: 5, products: 7 },
    { arm: "holdout", goal: "", conversions: 1, converted: 1, conversionSquares: 1, products: 2 },
  ]);
});

it("counts conversions by their delay, those of an instant together", async () => {
  const { counts } = await read(
    ...[impression("a", "policy"), impression("b", "policy"), impression("c", "holdout")],
    ...[conversion("a", 300_000), conversion("b", 300_000), conversion("c", 1_800_000)],
  );
  const cells = counts.delays.get("") ?? [];
  expect(cells.map(({ count, delay, length }) => [count, delay, length])).toEqual([
    [2, 600_000, 1],
    [1, 1_800_000, 1],
  ]);
  expect(cells[0].cohort).toBe(cells[1].cohort);
  expect(cells[0].bin).toBeLessThan(cells[1].bin);
});

it("takes for the delay of any goal the first conversion", async () => {
  const { counts } = await read(impression("a", "policy"), conversion("a", 900_000, "order"), conversion("a", 60_000, "click"));
  expect(counts.delays.get("")).toMatchObject([{ count: 1, delay: 60_000 }]);
  expect(counts.reached).toMatchObject([{ conversions: 1 }]);
});
