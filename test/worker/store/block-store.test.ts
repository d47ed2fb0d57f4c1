import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { shownAtOf, uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { type BlockRow, MOST_ROWS } from "../../../worker/domain/impression/block.ts";
import { bucketAt, bucketMs } from "../../../worker/domain/impression/bucket.ts";
import type { Marks } from "../../../worker/domain/impression/impression.ts";
import { type BlockStore, type Found, foundIn, type StoredBlock } from "../../../worker/learner/store/impressions/block-store.ts";
import { LearnerStore } from "../../../worker/learner/store/learner-store.ts";
import { stream } from "../../support/scenario.ts";
import { createModel, HOUR_MS, learnerOf } from "../support/client.ts";
import { START, useClock } from "../support/clock.ts";

// The blocks of a model against a list of all its impressions.

useClock();

const WINDOW_MS = 8 * HOUR_MS;
const DAY_MS = 24 * HOUR_MS;
/** Most milliseconds between the impressions of a batch. */
const REACHES = [0, 1, 1000, 1001, 60_000, 60_001, HOUR_MS - 1, 3 * HOUR_MS];
const random = stream(11);
const one = (of: number) => Math.floor(random() * of);

function rowAt(shownAt: number, context: BlockRow["context"] = null): BlockRow {
  const bytes = Uint8Array.from({ length: 10 }, () => one(256));
  const features = Float64Array.of(one(4096) / 4096, 0);
  const decided = { arm: "policy" as const, version: 1, decision: null, byPage: false, sampling: 0 };
  return { id: uuidAt(shownAt, bytes), name: null, action: `action ${one(9)}`, features, context, ...decided };
}

const rowsBetween = (count: number, from: number, reach: number): BlockRow[] =>
  Array.from({ length: count }, () => rowAt(from + one(reach + 1)));

async function inBlocks(work: (blocks: BlockStore, store: LearnerStore) => void): Promise<void> {
  const model = await createModel();
  await runInDurableObject(learnerOf(model), (_, { storage }) => {
    const store = new LearnerStore(storage);
    store.transact(() => work(store.impressions.blocks, store));
  });
}

/** All impressions that were added, in order. */
class Listed {
  all: Found[] = [];
  seq = 5;

  add(blocks: BlockStore, rows: readonly BlockRow[], marks: readonly Marks[]): void {
    blocks.insert(rows, marks, WINDOW_MS, this.seq);
    rows.forEach((row, i) => {
      this.all.push({ seq: this.seq + i, state: marks.length > 0 ? "live" : "void", row, marks: marks[i] ?? null });
    });
    // Rows of other tables come between.
    this.seq += rows.length + one(3);
  }
}

const rowsIn = (blocks: Iterable<StoredBlock>): Found[] =>
  Array.from(blocks).flatMap((stored) => stored.block.map((i) => foundIn(stored, i)));
const idsOf = (all: readonly Found[]): string[] => all.map(({ row }) => row.id);
const sorted = (ids: readonly string[]): string[] => ids.toSorted();
const timeOf = ({ row }: Found): number => shownAtOf(row.id);

/** A day of batches. Every fourth is void. Of two policies, one gives each impression a slot of its own. */
function filled(blocks: BlockStore): Listed {
  const listed = new Listed();
  for (let batch = 0, round = 1; batch < 80; batch++) {
    const rows = rowsBetween(1 + one(12), START + one(DAY_MS), REACHES[batch % REACHES.length]);
    const marks = batch % 4 === 3 ? [] : rows.map((_, i) => ({ slots: [7, one(50)], round: round + i }));
    listed.add(blocks, rows, marks);
    round += marks.length;
  }
  return listed;
}

/** Compares every read with the list. */
function expectSame(blocks: BlockStore, { all, seq: end }: Listed): void {
  expect(rowsIn(blocks.after(0))).toEqual(all);
  expect(all.map(({ row }) => blocks.find(row.id))).toEqual(all);
  expect(blocks.find(rowAt(START + one(DAY_MS)).id)).toBeUndefined();
  const seqs = [0, ...all.flatMap(({ seq }) => [seq - 1, seq, seq + 1]), end].filter((_, i) => i % 41 === 0);
  for (const seq of seqs) {
    const later = all.filter((each) => each.seq > seq);
    expect(rowsIn(blocks.after(seq)).filter((each) => each.seq > seq)).toEqual(later);
    expect(blocks.countAfter(seq)).toBe(later.length);
  }
  const bound = bucketMs(WINDOW_MS);
  for (let time = bucketAt(START, WINDOW_MS) - bound; time < START + DAY_MS + 4 * HOUR_MS; time += 2 * bound) {
    const since = all.filter((each) => timeOf(each) >= time);
    expect(blocks.oldestSince(time)).toBe(since.length > 0 ? Math.min(...since.map(timeOf)) : undefined);
    const seq = one(end);
    const before = rowsIn(blocks.before(time, seq));
    expect(before.filter((each) => each.seq > seq)).toEqual(all.filter((each) => timeOf(each) < time && each.seq > seq));
    // A block that begins at or before the row may still reach over it.
    expect(before.every((each) => timeOf(each) < time)).toBe(true);
  }
  for (const each of all.filter((_, i) => i % 9 === 0)) {
    const [from, to] = [timeOf(each), timeOf(each) + one(3) * 1000];
    const shown = all.filter((other) => timeOf(other) >= from && timeOf(other) <= to);
    const isIn = (other: Found) => timeOf(other) >= from && timeOf(other) <= to;
    expect(sorted(idsOf(rowsIn(blocks.around(from, to)).filter(isIn)))).toEqual(sorted(idsOf(shown)));
    expect(sorted(idsOf(rowsIn(blocks.overlapping(from, to + 1)).filter(isIn)))).toEqual(sorted(idsOf(shown)));
    // No block is read that ends before or begins after.
    for (const { block } of [...blocks.around(from, to), ...blocks.overlapping(from, to + 1)]) {
      const times = block.map((i) => block.shownAt(i));
      expect(Math.min(...times) <= to && Math.max(...times) >= from).toBe(true);
    }
  }
  const limit = 10;
  const newest = sorted(idsOf(all)).slice(-limit);
  expect(idsOf(rowsIn(Array.from(blocks.newest(limit), ({ stored }) => stored)))).toEqual(expect.arrayContaining(newest));
}

it("every read finds the impressions that a list has, whatever their times", async () => {
  await inBlocks((blocks) => expectSame(blocks, filled(blocks)));
});

it("a block has impressions of one bucket, and no more than fit", async () => {
  await inBlocks((blocks) => {
    const hour = bucketAt(START, WINDOW_MS) + HOUR_MS;
    const long = (i: number) => ({ text: `${i}`.repeat(100_000) });
    const same = long(0);
    const counted = (rows: readonly BlockRow[]) => {
      blocks.deleteAfter(-1);
      blocks.insert(rows, [], WINDOW_MS, 1);
      return Array.from(blocks.after(0), ({ block }) => block.count);
    };
    expect(counted([hour - 2, hour - 1, hour, hour + HOUR_MS - 1, hour + HOUR_MS].map((at) => rowAt(at)))).toEqual([2, 2, 1]);
    expect(counted(rowsBetween(2 * MOST_ROWS + 1, hour, 1000))).toEqual([MOST_ROWS, MOST_ROWS, 1]);
    expect(counted([0, 1, 2, 3, 4].map((i) => rowAt(hour, long(i))))).toEqual([2, 2, 1]);
    expect(counted([0, 1, 2, 3, 4].map(() => rowAt(hour, same)))).toEqual([5]);
    // One impression is stored whatever its length.
    expect(counted([rowAt(hour, { text: "a".repeat(300_000) }), rowAt(hour)])).toEqual([1, 1]);
  });
});

it("a slot that all impressions of a block share is stored once", async () => {
  await inBlocks((blocks) => {
    filled(blocks);
    for (const { state, slots, block } of blocks.after(0)) {
      const isOneOf = (slot: unknown) => typeof slot === "number" || (slot as number[]).length === block.count;
      expect(state === "void" ? slots : [slots[0], slots.length, isOneOf(slots[1])]).toEqual(state === "void" ? [] : [7, 2, true]);
    }
  });
});

it("an erased impression leaves its id, and all others as they are", async () => {
  await inBlocks((blocks) => {
    const listed = filled(blocks);
    const erased = listed.all.filter((_, i) => i % 11 === 4);
    for (const { row } of erased) blocks.erase(row.id);
    blocks.erase(rowAt(START).id);
    const nothing = { name: null, action: "", features: new Float64Array(0), context: null, decision: null, arm: "", version: 0 };
    const left = listed.all.map((each) => (erased.includes(each) ? { ...each, row: { ...each.row, ...nothing } as BlockRow } : each));
    expectSame(blocks, Object.assign(new Listed(), { all: left, seq: listed.seq }));
  });
});

it("blocks after a row become void or go, and blocks before a bucket go", async () => {
  await inBlocks((blocks) => {
    const listed = filled(blocks);
    // A block begins with the first row of a batch.
    const starts = Array.from(blocks.after(0), ({ seq }) => seq);
    const [voidFrom, deletedFrom] = [starts[Math.floor(starts.length / 2)], starts[Math.floor(starts.length * 0.9)]];
    const live = listed.all.filter(({ seq, state }) => seq >= voidFrom && state === "live");
    const voided = blocks.voidAfter(voidFrom - 1);
    expect(sorted(idsOf(rowsIn(voided)))).toEqual(sorted(idsOf(live)));
    blocks.deleteAfter(deletedFrom - 1);
    const bound = bucketAt(START + 6 * HOUR_MS, WINDOW_MS);
    blocks.deleteBefore(bound);
    const left = listed.all.filter((each) => each.seq < deletedFrom && timeOf(each) >= bound);
    const all = left.map((each) => (each.seq >= voidFrom ? { ...each, state: "void" as const } : each));
    expectSame(blocks, Object.assign(new Listed(), { all, seq: listed.seq }));
  });
});
