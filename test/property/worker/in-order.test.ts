import fc from "fast-check";
import { expect, it } from "vitest";
import { inOrder } from "../../../worker/learner/store/in-order.ts";

/** Numbers, each with the source that has it. */
const placed = fc.uniqueArray(fc.record({ seq: fc.nat({ max: 60 }), source: fc.nat({ max: 3 }) }), { selector: ({ seq }) => seq });
type Placed = { readonly seq: number; readonly source: number };

const sourcesOf = (rows: readonly Placed[]): Placed[][] => [0, 1, 2, 3].map((n) => rows.filter(({ source }) => source === n));

it("rows of several sources come in the order of their numbers", () => {
  fc.assert(
    fc.property(placed, (rows) => {
      const sorted = rows.toSorted((a, b) => a.seq - b.seq);
      expect(Array.from(inOrder(...sourcesOf(sorted)))).toEqual(sorted);
    }),
  );
});

it("a source is read one row ahead, and no further", () => {
  const read: number[] = [];
  function* counted(...seqs: number[]) {
    for (const seq of seqs) {
      read.push(seq);
      yield { seq };
    }
  }
  for (const { seq } of inOrder(counted(1, 2, 3), counted(10, 20))) if (seq === 2) break;
  expect(read).toEqual([1, 10, 2]);
});
