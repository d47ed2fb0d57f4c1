import { expect, it } from "vitest";
import { AwaitedConversions } from "../../../cli/log/awaited.ts";
import { LogMismatch } from "../../../cli/log/event-line.ts";
import { Ledger } from "../../../cli/verify/ledger.ts";
import { Rollbacks } from "../../../cli/verify/rollbacks.ts";
import type { ConversionLine, ImpressionLine } from "../../../worker/domain/log/log-line.ts";
import type { ModelConfig } from "../../../worker/domain/model/model.ts";
import type { Policies } from "../../../worker/domain/model/policies.ts";

// The rules of log verification, by hand. verify.test.ts checks whole logs.

const SHOWN = 1_000_000;
const config = {
  window: { ms: 1000 },
  goals: { order: { weight: 1 }, review: { weight: 0.3 }, click: { weight: 0, window: { ms: 10 } } },
  reward: { min: 0, max: 2 },
} as unknown as ModelConfig;

/** A policy that records its calls. */
function listening() {
  const observed: object[] = [];
  const policy = {
    impressions: 0,
    dimension: 1,
    append: () => ({ slot: policy.impressions++ }),
    // goals.test.ts checks what is observed of each goal.
    observe: ({ impression, goals: _, ...outcome }: { impression: { slot: number }; goals?: object }) =>
      void observed.push({ slot: impression.slot, ...outcome }),
  };
  return { observed, policies: [{ policy, weightAt: () => 1 }] as unknown as Policies };
}

const shown = (fields: Partial<ImpressionLine> = {}) =>
  ({
    type: "impression",
    seq: 1,
    id: "a",
    state: "live",
    features: [1],
    round: 1,
    reward: null,
    converted: false,
    shownAt: SHOWN,
    ...fields,
  }) as ImpressionLine;
const said = (fields: Partial<ConversionLine> = {}) =>
  ({
    type: "conversion",
    seq: 9,
    impression: "a",
    goal: "order",
    event: "one",
    reward: 1,
    at: SHOWN + 5,
    status: "applied",
    ...fields,
  }) as ConversionLine;

/** A ledger that knows which conversions and rollbacks come. */
function ledgerFor(conversions: readonly ConversionLine[], rollbacks: readonly { to: number; at: number }[] = []): Ledger {
  const awaited = new AwaitedConversions();
  for (const { impression } of conversions) awaited.count(impression);
  return new Ledger(new Rollbacks(rollbacks), awaited);
}

/** The policy's calls for the conversions of one impression, or the error. */
function learnt(...lines: [ConversionLine, boolean?][]): unknown {
  const [ledger, { policies, observed }] = [ledgerFor([said(), ...lines.map(([line]) => line)]), listening()];
  ledger.show(policies, shown(), config);
  try {
    for (const [line, counts = true] of lines) ledger.convert(policies, line, counts, config);
  } catch (error) {
    if (error instanceof LogMismatch) return error.message;
    throw error;
  }
  return observed;
}

it.each([
  ["a conversion", [[said()]], [{ slot: 0, reward: 1, delay: { after: 5 } }]],
  ["the last instant of the window", [[said({ at: SHOWN + 1000 })]], [{ slot: 0, reward: 1, delay: { after: 1000 } }]],
  ["no delay below zero", [[said({ at: SHOWN - 3 })]], [{ slot: 0, reward: 1, delay: { after: 0 } }]],
  [
    "the ends of the range",
    [[said({ reward: 0 })], [said({ event: "two", at: SHOWN + 6, reward: 2 })]],
    [
      { slot: 0, reward: 0, delay: { after: 5 } },
      { slot: 0, reward: 2, previous: 0, delay: { before: 5, after: 5 } },
    ],
  ],
  [
    "goals together, each by its weight",
    [[said()], [said({ goal: "review" })]],
    [
      { slot: 0, reward: 1, delay: { after: 5 } },
      { slot: 0, reward: 1 + 1228 / 4096, previous: 1, delay: { before: 5, after: 5 } },
    ],
  ],
  [
    "a retraction",
    [[said()], [said({ event: "two", at: SHOWN + 6, reward: null })]],
    [
      { slot: 0, reward: 1, delay: { after: 5 } },
      { slot: 0, reward: 0, previous: 1, delay: { before: 5 } },
    ],
  ],
  ["nothing of a retraction that comes first", [[said({ reward: null })]], []],
  [
    "only the delay of an earlier event",
    [[said()], [said({ event: "two", at: SHOWN + 4, reward: 2 })]],
    [
      { slot: 0, reward: 1, delay: { after: 5 } },
      { slot: 0, reward: 1, previous: 1, delay: { before: 5, after: 4 } },
    ],
  ],
  [
    "nothing of an earlier retraction",
    [[said()], [said({ event: "two", at: SHOWN + 4, reward: null })]],
    [{ slot: 0, reward: 1, delay: { after: 5 } }],
  ],
  ["nothing of what did not count", [[said({ status: "late", at: SHOWN + 2000 }), false]], []],
  [
    "the greater of two that conflict",
    [[said()], [said({ reward: 2, status: "conflict" })]],
    [
      { slot: 0, reward: 1, delay: { after: 5 } },
      { slot: 0, reward: 2, previous: 1, delay: { before: 5, after: 5 } },
    ],
  ],
] as [string, [ConversionLine, boolean?][], object[]][])("learns %s", (_, lines, observed) => {
  expect(learnt(...lines)).toEqual(observed);
});

it.each([
  ["status: expected late, because the window had ended", [[said({ at: SHOWN + 1001 })]]],
  ["status: expected late, because the window had ended", [[said({ goal: "click", at: SHOWN + 11 })]]],
  ["reward: expected 0 to 2, got 2.5", [[said({ reward: 2.5 })]]],
  ["reward: expected 0 to 2, got -0.5", [[said({ reward: -0.5 })]]],
  ["status: expected applied, got conflict", [[said({ status: "conflict" })]]],
  ["status: expected applied, got conflict", [[said()], [said({ goal: "review", status: "conflict" })]]],
  ["status: expected conflict, got applied", [[said()], [said({ reward: 0.5 })]]],
  ["status: got applied, but no live impression comes before", [[said({ impression: "b" })]]],
  ["status: expected another status than orphan", [[said({ status: "orphan" }), false]]],
] as [string, [ConversionLine, boolean?][]][])("refuses a line as %s", (reason, lines) => {
  expect(learnt(...lines)).toContain(reason);
});

it("takes an orphan of an impression that was never shown, or not yet", () => {
  const [ledger, { policies, observed }] = [ledgerFor([said(), said({ impression: "b" })]), listening()];
  ledger.show(policies, shown({ state: "deferred", round: null }), config);
  for (const impression of ["a", "b"]) ledger.convert(policies, said({ impression, status: "orphan" }), false, config);
  expect(() => ledger.convert(policies, said(), true, config)).toThrow(/no live impression/);
  expect([observed, policies[0].policy.impressions]).toEqual([[], 0]);
});

it("refuses an impression that stands there twice, or has another round than comes next", () => {
  const [ledger, { policies }] = [ledgerFor([]), listening()];
  expect(() => ledger.show(policies, shown({ round: 2 }), config)).toThrow("round: expected 1, got 2");
  ledger.show(policies, shown(), config);
  expect(() => ledger.show(policies, shown({ round: 2 }), config)).toThrow("expected one line per impression");
  expect(() => ledger.show(policies, shown({ id: "b", round: 1 }), config)).toThrow("round: expected 2, got 1");
});

it("forgets at a rollback what came after the version, and nothing that came with it", () => {
  const outcomes = (seq: number, lines: readonly ImpressionLine[]) => {
    const conversions = [said({ seq: 5 }), said({ seq: 6, event: "two", at: SHOWN + 6, reward: 0.5 })];
    const [ledger, { policies }] = [ledgerFor(conversions, [{ to: seq, at: 9 }]), listening()];
    for (const line of lines) ledger.show(policies, line, config);
    for (const line of conversions) {
      ledger.convert(policies, line, true, config);
      ledger.pass(line);
    }
    ledger.rollBack(seq, config);
    return () => ledger.checkOutcomes();
  };
  const resolvedTo = (reward: number | null) => ({ reward, converted: reward !== null });
  const [first, second] = [shown({ seq: 3, ...resolvedTo(1) }), shown({ seq: 4, id: "b", round: 2 })];
  expect(outcomes(5, [first, second])).not.toThrow();
  expect(outcomes(6, [{ ...first, ...resolvedTo(0.5) }, second])).not.toThrow();
  expect(outcomes(6, [first, second])).toThrow("event 3, impression a: reward: expected 0.5, got 1");
  expect(outcomes(4, [{ ...first, ...resolvedTo(null) }, second])).not.toThrow();
  expect(
    outcomes(3, [
      { ...first, ...resolvedTo(null) },
      { ...second, state: "void" },
    ]),
  ).not.toThrow();
  expect(outcomes(3, [{ ...first, ...resolvedTo(null) }, second])).toThrow("event 4, impression b: state: expected void, got live");
});
