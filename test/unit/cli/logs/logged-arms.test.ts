import { describe, expect, it } from "vitest";
import { ComparisonError, checkArms } from "../../../../cli/compare/logged-arms.ts";
import { liftOf } from "../../../../worker/domain/figures/lift.ts";
import { armsOf } from "../../../support/logs/arms.ts";
import { textsOf } from "../../../support/logs/log-lines.ts";

// The counts of both arms, by hand. test/worker/log/compare.test.ts compares them with a worker's.

const HOUR_MS = 3_600_000;
const head = { type: "model", model: "shop", generation: 1, exportedAt: 30 * HOUR_MS };

function configuration(config: object = {}) {
  return {
    type: "mark",
    mark: "configuration",
    content: { window: { ms: HOUR_MS }, holdout: 0.5, ...config },
  };
}

interface Shown {
  readonly first?: string;
  readonly state?: string;
  readonly version?: number;
  readonly shard?: number;
  readonly seq?: number;
  readonly decision?: object | null;
}

function impression(id: string, arm: string, { first, ...rest }: Shown = {}) {
  const decision = { score: 0, mean: 0, width: 0.1, place: first ? 1 : 0, candidates: 2, ...(first && { first }) };
  return { type: "impression", id, action: "mug", arm, state: "live", version: 1, shownAt: HOUR_MS, decision, ...rest };
}

interface Fields {
  readonly at?: number;
  readonly goal?: string;
  readonly status?: string;
  readonly event?: string;
}

function conversion(of: string, reward: number | null, { at = 2 * HOUR_MS, ...rest }: Fields = {}) {
  return { type: "conversion", impression: of, goal: "conversion", event: `${of} ${at}`, reward, at, status: "applied", ...rest };
}

const texts = (lines: readonly object[]): string[] => textsOf([head, ...lines.map((line, i) => ({ seq: i + 1, ...line }))]);

async function read(lines: readonly object[], goal?: string) {
  const arms = await armsOf(texts(lines), goal);
  checkArms(arms);
  return arms;
}

async function lifts(lines: readonly object[], goal?: string) {
  const { counts, goals, windows, end } = await read(lines, goal);
  return goals.map((each) => liftOf(counts, each, windows, { effect: 0.01, alpha: 0.05, now: end }));
}

/** Impressions of an arm, of which the first `converted` convert. */
function many(arm: string, count: number, converted: number, more: Shown = {}): object[] {
  return Array.from({ length: count }, (_, i) => {
    const id = `${arm} ${more.version ?? 1} ${more.shard ?? 0} ${i}`;
    return [impression(id, arm, more), ...(i < converted ? [conversion(id, 1)] : [])];
  }).flat();
}

const counted = (...lines: object[]) => armsOf(texts([configuration(), ...lines]));
/** A conversion so long after its impression. */
const cameTo = (of: string, afterMs: number, goal = "order") => conversion(of, 1, { at: HOUR_MS + afterMs, goal, event: `${of} ${goal}` });

it("counts lists, the squares of their lengths, and the impressions of each that converted", async () => {
  const { counts, goals, end, unassigned } = await counted(
    ...[impression("a", "policy"), impression("b", "policy", { first: "a" }), impression("c", "policy", { first: "a" })],
    ...[impression("d", "policy"), impression("e", "holdout"), impression("f", "holdout", { first: "e" })],
    ...[cameTo("a", 5), cameTo("c", 9), cameTo("d", 7), cameTo("f", 600_000)],
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
  const { counts } = await counted(
    ...[impression("a", "policy"), impression("b", "policy"), impression("c", "holdout")],
    ...[cameTo("a", 300_000), cameTo("b", 300_000), cameTo("c", 1_800_000)],
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
  const { counts } = await counted(impression("a", "policy"), cameTo("a", 900_000, "order"), cameTo("a", 60_000, "click"));
  expect(counts.delays.get("")).toMatchObject([{ count: 1, delay: 60_000 }]);
  expect(counts.reached).toMatchObject([{ conversions: 1 }]);
});

describe("the arms of a log", () => {
  it("count each list that was shown, and its impressions that converted", async () => {
    const [lift] = await lifts([
      configuration(),
      impression("a", "policy"),
      impression("b", "policy", { first: "a" }),
      impression("c", "holdout"),
      impression("d", "holdout", { state: "deferred" }),
      impression("e", "default"),
      conversion("b", 1),
      conversion("b", 1, { at: 1.5 * HOUR_MS }),
      conversion("c", 1, { status: "late" }),
    ]);
    expect(lift).toMatchObject({
      ...{ goal: "", windowMs: HOUR_MS, currency: null, decided: false, relative: null },
      policy: { lists: 1, impressions: 2, conversions: 1 },
      holdout: { lists: 1, impressions: 1, conversions: 0 },
      difference: { tooFew: { more: 30 } },
    });
  });

  it("have no conversion that was taken back, and each goal by itself", async () => {
    const goals = { click: { weight: 0 }, purchase: { weight: 1, window: { ms: HOUR_MS / 2 }, value: { max: 100, currency: "EUR" } } };
    const lines = [
      configuration({ goals }),
      impression("a", "policy"),
      impression("c", "holdout"),
      conversion("a", 1, { goal: "click" }),
      conversion("c", 1, { goal: "purchase", event: "order" }),
      conversion("c", null, { goal: "purchase", event: "back", at: 2.5 * HOUR_MS }),
    ];
    const none = { lists: 1, impressions: 1, conversions: 0 };
    expect(await lifts(lines)).toMatchObject([
      { goal: "click", windowMs: HOUR_MS, currency: null, policy: { ...none, conversions: 1 }, holdout: none },
      { goal: "purchase", windowMs: HOUR_MS / 2, currency: "EUR", policy: none, holdout: none },
    ]);
    expect((await lifts(lines, "click")).map(({ goal }) => goal)).toEqual(["click"]);
    await expect(read(lines, "order")).rejects.toThrow("--goal: expected one of click, purchase, got order");
  });

  it("use the delay law of each goal alone", async () => {
    const window = { ms: 28 * HOUR_MS };
    const goals = { click: { weight: 0 }, purchase: { weight: 1 } };
    // Old impressions bought after 20 h, and young ones have only clicked, at once.
    const old = Array.from({ length: 40 }, (_, i) => [
      { ...impression(`old ${i}`, i % 2 ? "policy" : "holdout"), shownAt: 0 },
      ...(i < 20 ? [conversion(`old ${i}`, 1, { goal: "purchase", at: 20 * HOUR_MS })] : []),
    ]);
    const young = Array.from({ length: 40 }, (_, i) => [
      { ...impression(`young ${i}`, i % 2 ? "policy" : "holdout"), shownAt: 29 * HOUR_MS },
      conversion(`young ${i}`, 1, { goal: "click", at: 29 * HOUR_MS }),
    ]);
    const [click, purchase] = await lifts([configuration({ goals, window }), ...old.flat(), ...young.flat()]);
    // Young impressions have matured for clicks, and not for purchases.
    expect([click.policy.rate, click.holdout.rate]).toEqual([expect.closeTo(0.5, 6), expect.closeTo(0.5, 6)]);
    expect([purchase.policy.rate, purchase.holdout.rate]).toEqual([expect.closeTo(0.5, 1), expect.closeTo(0.5, 1)]);
  });

  it("say that a goal was removed", async () => {
    const goals = { click: { weight: 0 }, purchase: { weight: 1 } };
    const { click: _, ...left } = goals;
    const relearnt = { type: "mark", mark: "relearnt", content: { config: configuration({ goals: left }).content, digest: "" } };
    const lines = [
      configuration({ goals }),
      impression("a", "policy"),
      impression("c", "holdout"),
      conversion("a", 1, { goal: "click" }),
      relearnt,
    ];
    await expect(read(lines, "click")).rejects.toThrow(
      "--goal: expected a goal that model shop still declares, got click, which was removed",
    );
    expect((await lifts(lines)).map(({ goal, policy }) => [goal, policy.conversions])).toEqual([["purchase", 0]]);
  });
});

describe("a share that changes", () => {
  const before = [...many("policy", 100, 10), ...many("holdout", 100, 10)];
  const change = { ...configuration({ holdout: 0.1 }), seq: 1000 };
  const after = { version: 1000, seq: undefined };

  /** Lines with numbers in order, from 1000 on after the change. */
  const numbered = (...parts: readonly (readonly object[])[]) =>
    parts.flatMap((lines, part) => lines.map((line, i) => ({ ...line, seq: 1000 * part + i + 1 + Number(part > 0) })));

  it("makes no difference while the rates of both arms rise", async () => {
    const risen = [...many("policy", 900, 360, after), ...many("holdout", 100, 40, after)];
    const lines = numbered([configuration(), ...before], risen);
    const [lift] = await lifts([...lines, change]);
    expect(lift.shares).toEqual([
      { holdout: 0.1, lists: { policy: 900, holdout: 100 }, compared: true },
      { holdout: 0.5, lists: { policy: 100, holdout: 100 }, compared: true },
    ]);
    expect(lift.difference).toMatchObject({ value: expect.closeTo(0, 12) });
    expect(lift.decided).toBe(false);
  });

  it("keeps apart what isolates decided by the share before", async () => {
    const late = [...many("policy", 50, 5, { version: 2 }), ...many("holdout", 50, 5, { version: 2 })];
    const [{ shares }] = await lifts([...numbered([configuration(), ...before], late), change]);
    expect(shares).toEqual([
      { holdout: 0.5, lists: { policy: 100, holdout: 100 }, compared: true },
      { holdout: null, lists: { policy: 50, holdout: 50 }, compared: true },
    ]);
  });

  it("is that of the model's versions in the rows of a shard, which have numbers of their own", async () => {
    const own = [
      { ...impression("early", "policy", { version: 2 }), shard: 1, seq: 2 },
      { ...impression("late", "policy", { version: 1001 }), shard: 1, seq: 41 },
    ];
    const [{ shares }] = await lifts([...numbered([configuration(), ...before]), change, ...own]);
    expect(shares).toMatchObject([
      { holdout: 0.1, lists: { policy: 1, holdout: 0 }, compared: false },
      { holdout: 0.5, lists: { policy: 101, holdout: 100 }, compared: true },
    ]);
  });

  it("may have been 0 or 1, which tells nothing", async () => {
    const lines = [configuration({ holdout: 0 }), ...many("policy", 100, 90)];
    await expect(read(lines)).rejects.toThrow('PATCH it with { "holdout": 0.1 }');
    const all = [configuration(), ...many("holdout", 100, 90)];
    await expect(read(all)).rejects.toThrow("expected lists of the policy beside those of the holdout");
    const risen = [...many("policy", 900, 90, after), ...many("holdout", 400, 40, after)];
    const [{ shares, difference }] = await lifts([...numbered(lines, risen), change]);
    expect(shares).toMatchObject([
      { holdout: 0, compared: false },
      { holdout: 0.1, compared: true },
    ]);
    expect(difference).toMatchObject({ value: expect.closeTo(0, 12) });
  });
});

describe("a log that cannot be compared", () => {
  const lines = [configuration(), impression("a", "policy"), impression("c", "holdout")];

  it("has no holdout, no configuration, or another form", async () => {
    await expect(read([configuration(), impression("a", "policy")])).rejects.toThrow('PATCH it with { "holdout": 0.1 }');
    await expect(read([impression("a", "policy")])).rejects.toThrow("expected a log with the model's configuration, got none");
    await expect(armsOf(["{"])).rejects.toThrow("line 1: expected a line of an exported log");
  });

  it("has impressions that were registered, whose share nobody knows", async () => {
    const registered = { candidates: null, probability: 0.5, score: 0, mean: 0, width: 0, place: 0 };
    const others = [impression("x", "holdout", { decision: registered }), impression("y", "holdout", { decision: null })];
    await expect(read([configuration(), impression("a", "policy"), ...others])).rejects.toThrow(
      "got none of model shop; it did not assign its 2 registered, imported or pinned impressions",
    );
    const { unassigned, counts } = await read([...lines, ...others]);
    const [{ holdout }] = await lifts([...lines, ...others]);
    expect([unassigned, holdout.lists, counts.arms.length]).toEqual([2, 1, 3]);
  });

  it("has no conversion of the asked goal", async () => {
    const converted = [...lines, conversion("a", 1, { goal: "purchase" }), conversion("c", 1, { goal: "click", status: "late" })];
    await expect(read(converted, "purchas")).rejects.toThrow(
      new ComparisonError("--goal: expected one of the goals that the log's conversions have, click, purchase, got purchas"),
    );
    expect((await lifts(converted, "purchase")).map(({ goal, policy }) => [goal, policy.conversions])).toEqual([["purchase", 1]]);
    expect((await lifts(converted, "click")).map(({ goal, policy }) => [goal, policy.conversions])).toEqual([["click", 0]]);
    expect((await lifts(lines, "purchase")).map(({ goal }) => goal)).toEqual(["purchase"]);
  });

  it("takes the lines of the latest export, in which some were rolled back", async () => {
    const before = texts([...lines, impression("b", "policy"), conversion("b", 1)]);
    const undone = [impression("b", "policy", { state: "void" }), conversion("b", 1, { status: "void" })];
    const [, ...after] = texts([...lines, ...undone]);
    const [newer] = textsOf([{ ...head, exportedAt: head.exportedAt + 1, lines: after.length }]);
    const latest = [newer, ...after];
    const once = await armsOf(latest);
    expect(await armsOf([...before, ...latest])).toEqual({ ...once, repeated: 5 });
    expect(await armsOf([...latest, ...before])).toEqual({ ...once, repeated: 5 });
  });
});
