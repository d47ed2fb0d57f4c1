import fc from "fast-check";
import { expect, it } from "vitest";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { Block, type BlockRow, encodeBlock } from "../../../worker/domain/impression/block.ts";

/** A finite number with any bits. */
const number = fc.double({ noNaN: true });
const dyadic = fc.integer({ min: -32_768, max: 32_767 }).map((units) => units / 4096);
const features = fc.oneof(fc.array(dyadic, { maxLength: 40 }), fc.array(number, { maxLength: 9 })).map((all) => Float64Array.from(all));
const context = fc.option(
  fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()), { maxKeys: 3, noNullPrototype: true }),
);

const list = fc.record({
  context,
  asked: fc.option(fc.record({ exclude: fc.array(fc.string(), { minLength: 1, maxLength: 2 }) }, { noNullPrototype: true }), {
    nil: undefined,
  }),
  shadows: fc.option(fc.constant({ other: "mug" }), { nil: undefined }),
  arm: fc.constantFrom("policy" as const, "holdout" as const, "default" as const),
  version: fc.nat(),
  byPage: fc.boolean(),
  sampling: fc.nat({ max: 16 }),
  candidates: fc.option(fc.nat({ max: 1000 })),
  decided: fc.boolean(),
  named: fc.boolean(),
  shownAt: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_900_000 }),
  /** Whether the first of the list was left out of the block. */
  withoutFirst: fc.boolean(),
  items: fc.array(
    fc.record({
      action: fc.string({ minLength: 1, maxLength: 5 }),
      features,
      score: number,
      mean: number,
      width: number,
      probability: fc.option(number, { nil: undefined }),
      erased: fc.boolean(),
      random: fc.uint8Array({ minLength: 10, maxLength: 10 }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
});

type List = typeof list extends fc.Arbitrary<infer Value> ? Value : never;

function rowsOf(lists: readonly List[]): BlockRow[] {
  return lists.flatMap(({ items, named, decided, shownAt, candidates, asked, shadows, withoutFirst, ...common }): BlockRow[] => {
    const ids = items.map(({ random }) => uuidAt(shownAt, random));
    const all = items.map(({ score, mean, width, probability, erased, random: _, ...own }, place): BlockRow => {
      const scores = { score, mean, width, ...(probability !== undefined && { probability }) };
      const shared = { ...(shadows && { shadows }), ...(place > 0 && { first: ids[0] }), ...(asked && { asked }) };
      const row = { ...common, ...own, id: ids[place], name: named ? ids[place].slice(14) : null };
      const whole = { ...row, decision: decided ? { ...scores, place, candidates, ...shared } : null };
      if (!erased) return whole;
      const nothing = { name: null, action: "", features: new Float64Array(0), context: null, decision: null };
      return { ...whole, ...nothing, arm: "" as "policy", version: 0, byPage: false, sampling: 0 };
    });
    return withoutFirst ? all.slice(1) : all;
  });
}

const blocks = fc.array(list, { minLength: 1, maxLength: 5 });

it("a block gives back each impression, bit for bit", () => {
  fc.assert(
    fc.property(blocks, (lists) => {
      const rows = rowsOf(lists);
      const block = new Block(encodeBlock(rows));
      expect(block.count).toBe(rows.length);
      rows.forEach((row, i) => {
        expect(block.row(i)).toStrictEqual(row);
        // Ids of different lists may be the same by chance.
        expect(block.id(block.placeOf(row.id))).toBe(row.id);
        expect(JSON.stringify(block.row(i).decision)).toBe(JSON.stringify(row.decision));
      });
    }),
  );
});

it("a block is read where it lies, and is copied only out of a larger buffer", () => {
  fc.assert(
    fc.property(blocks, fc.nat({ max: 9 }), (lists, offset) => {
      const rows = rowsOf(lists);
      const bytes = encodeBlock(rows);
      expect(new Block(bytes).bytes).toBe(bytes);
      const larger = new Uint8Array(offset + bytes.length + 1);
      larger.set(bytes, offset);
      expect(new Block(larger.subarray(offset, offset + bytes.length)).rows()).toStrictEqual(rows);
    }),
  );
});

it("a block does not have what was not put into it", () => {
  fc.assert(
    fc.property(blocks, fc.uint8Array({ minLength: 10, maxLength: 10 }), (lists, random) => {
      const rows = rowsOf(lists);
      const id = uuidAt(1_600_000_000_000, random);
      expect(new Block(encodeBlock(rows)).placeOf(id)).toBe(-1);
    }),
  );
});

it("a block that was cut short, or is of another version, is refused", () => {
  fc.assert(
    fc.property(blocks, fc.nat({ max: 999 }), (lists, share) => {
      const bytes = encodeBlock(rowsOf(lists));
      const cut = bytes.slice(0, Math.floor((share / 1000) * bytes.length));
      expect(() => new Block(cut)).toThrow(/expected a block of/);
      bytes[0]++;
      expect(() => new Block(bytes)).toThrow("expected a block of version 1, got 2");
    }),
  );
});
