import fc from "fast-check";
import { expect, it } from "vitest";
import { allotted, type Claims, committedTo } from "../../../worker/learner/shards/allotment.ts";
import type { Allowance } from "../../../worker/rpc/message.ts";

// The parts of a model's limits that its shards get. Orders and answers can be lost.

const NOTHING: Allowance = { open: 0, bytes: 0, deferred: 0 };
const NAMES = ["open", "bytes", "deferred"] as const;

const allowance = (max: number) => fc.record({ open: fc.nat({ max }), bytes: fc.nat({ max }), deferred: fc.nat({ max }) });
const fate = fc.constantFrom("answered", "order lost", "answer lost");
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant("use" as const), shard: fc.nat(), amount: allowance(60) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("free" as const), shard: fc.nat(), amount: allowance(60) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("order" as const), fates: fc.array(fate, { minLength: 8, maxLength: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("grow" as const) }) },
);

/** Shards and their coordinator, which notes an allowance before it sends the order. */
class Protocol {
  readonly limits: Allowance;
  readonly shards: { used: Allowance; allowance: Allowance }[] = [];
  readonly #known: Claims[] = [];

  constructor(limits: Allowance, shards: number) {
    this.limits = limits;
    for (let i = 0; i < shards; i++) this.grow();
  }

  grow(): void {
    this.shards.push({ used: NOTHING, allowance: NOTHING });
    this.#known.push({ used: NOTHING, committed: NOTHING });
  }

  change(place: number, by: (name: keyof Allowance, used: number, allowance: number) => number): void {
    const shard = this.shards[place % this.shards.length];
    const used = NAMES.map((name) => [name, by(name, shard.used[name], shard.allowance[name])]);
    shard.used = Object.fromEntries(used);
  }

  order(fates: readonly string[]): void {
    const [own] = this.shards;
    // The coordinator is the first shard, and knows itself.
    this.#known[0] = { used: own.used, committed: committedTo(own.allowance, own.used) };
    const allowances = allotted(this.limits, this.#known);
    for (const [i, given] of allowances.entries()) {
      const outcome = i === 0 ? "answered" : fates[i % fates.length];
      const { used, committed } = this.#known[i];
      this.#known[i] = { used, committed: committedTo(given, committed) };
      if (outcome === "order lost") continue;
      this.shards[i].allowance = given;
      const now = this.shards[i].used;
      if (outcome === "answered") this.#known[i] = { used: now, committed: committedTo(given, now) };
    }
  }

  /** The most that the shards can hold together before they take another order. */
  most(name: keyof Allowance): number {
    return this.shards.reduce((sum, { used, allowance }) => sum + Math.max(used[name], allowance[name]), 0);
  }
}

const used = (amount: Allowance) => (name: keyof Allowance, before: number, most: number) =>
  Math.max(before, Math.min(before + amount[name], most));

function run(limits: Allowance, shards: number, steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]): Protocol {
  const protocol = new Protocol(limits, shards);
  for (const each of steps) {
    if (each.type === "grow") protocol.grow();
    else if (each.type === "order") protocol.order(each.fates);
    else if (each.type === "use") protocol.change(each.shard, used(each.amount));
    else protocol.change(each.shard, (name, before) => Math.max(0, before - each.amount[name]));
    for (const name of NAMES) expect(protocol.most(name)).toBeLessThanOrEqual(limits[name]);
  }
  return protocol;
}

const history = [allowance(200), fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 40 })] as const;

it("shards together never hold more than the limits, whatever orders and answers are lost", () => {
  fc.assert(
    fc.property(...history, (limits, shards, steps) => void run(limits, shards, steps)),
    { numRuns: 1000 },
  );
});

it("once all shards answer, each has an equal share of what nobody uses, and less than one per shard is left", () => {
  fc.assert(
    fc.property(...history, (limits, shards, steps) => {
      const protocol = run(limits, shards, steps);
      for (let i = 0; i < 3; i++) protocol.order(["answered"]);
      for (const name of NAMES) {
        const left = limits[name] - protocol.shards.reduce((sum, shard) => sum + shard.used[name], 0);
        const share = Math.floor(left / protocol.shards.length);
        for (const shard of protocol.shards) expect(shard.allowance[name]).toBe(shard.used[name] + share);
        expect(limits[name] - protocol.most(name)).toBeLessThan(protocol.shards.length);
      }
    }),
    { numRuns: 1000 },
  );
});

it("takes back what exceeds lower limits, and gives nothing more until shards use less", () => {
  const before = { open: 40, bytes: 40, deferred: 0 };
  const parts = [30, 10].map((open) => ({ used: { open, bytes: 5, deferred: 0 }, committed: before }));
  expect(allotted({ open: 20, bytes: 20, deferred: 1 }, parts)).toEqual([
    { open: 30, bytes: 10, deferred: 0 },
    { open: 10, bytes: 10, deferred: 0 },
  ]);
});
