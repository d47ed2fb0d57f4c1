// A queue of vectors whose squares a triangular factor does not contain yet. Vectors are sparse: only entries that are not 0 are kept.

import { update } from "../matrix/factor";
import { addMultiple, factorRow } from "../matrix/linalg";
import { allocate, release } from "../memory";

/** Most bytes of a queue. */
const MOST_BYTES: usize = 1 << 20;
/** Most entries of all squares together, so that adding them to the factor takes some 25 ms. */
const MOST_ENTRIES: u64 = 40_000_000;
/** Bytes of the number of a vector's entries, and of an entry: the value, and its place (u32). */
const HEAD: usize = 8;
const ENTRY: usize = 12;

@unmanaged export class Updates {
  dimension: usize;
  /** The number of vectors. */
  count: u64;
  /** Owned: `room` bytes, of which `used` are in use. */
  block: usize;
  used: usize;
  room: usize;
}

/** Creates an empty queue of vectors with `dimension` entries. The caller owns it until `releaseUpdates`. Returns null without memory. */
export function createUpdates(dimension: usize): Updates | null {
  const updates = changetype<Updates>(allocate(offsetof<Updates>()));
  // One vector always fits.
  const room = HEAD + dimension * ENTRY;
  const block = allocate(room);
  if (!updates || !block) {
    release(block);
    release(changetype<usize>(updates));
    return null;
  }
  updates.dimension = dimension;
  updates.block = block;
  updates.room = room;
  dropUpdates(updates);
  return updates;
}

export function releaseUpdates(updates: Updates | null): void {
  if (updates) release(updates.block);
  release(changetype<usize>(updates));
}

export function dropUpdates(updates: Updates): void {
  updates.count = 0;
  updates.used = 0;
}

/** Makes room for one more vector. Returns false if the queue is full, or if memory cannot grow. */
export function reserveUpdate(updates: Updates): bool {
  const d = updates.dimension;
  if (updates.count > 0 && (updates.count + 1) * d * d > MOST_ENTRIES) return false;
  const needed = updates.used + HEAD + d * ENTRY;
  if (needed <= updates.room) return true;
  if (needed > MOST_BYTES) return false;
  const room = max<usize>(needed, min<usize>(2 * updates.room, MOST_BYTES));
  const block = allocate(room);
  if (!block) return false;
  memory.copy(block, updates.block, updates.used);
  release(updates.block);
  updates.block = block;
  updates.room = room;
  return true;
}

/** Writes a vector behind the queue, which `reserveUpdate` made room for, and returns a pointer to it. `commitUpdate` adds it. */
export function writeUpdate(updates: Updates, x: usize): usize {
  const vector = updates.block + updates.used;
  let end = vector + HEAD;
  for (let i: usize = 0; i < updates.dimension; i++) {
    const value = load<f64>(x + (i << 3));
    store<f64>(end, value);
    store<u32>(end, <u32>i, 8);
    // A branch would be unpredictable.
    end += value != 0 ? ENTRY : 0;
  }
  store<usize>(vector, end - vector - HEAD);
  return vector;
}

export function commitUpdate(updates: Updates): void {
  updates.used += HEAD + load<usize>(updates.block + updates.used);
  updates.count++;
}

/** Whether all diagonal entries of gram + ridge I + x x^T stay below a bound. `vector`: x, as `writeUpdate` wrote it. */
export function staysBelow(bound: f64, gram: usize, ridge: f64, vector: usize): bool {
  let at = vector + HEAD;
  for (const end = at + load<usize>(vector); at < end; at += ENTRY) {
    const i = <usize>load<u32>(at, 8);
    const value = load<f64>(at);
    if (!(ridge + load<f64>(factorRow(gram, i) + (i << 3)) + value * value < bound)) return false;
  }
  return true;
}

/** Adds x x^T to a packed triangle. `vector`: x, as `writeUpdate` wrote it. **Cost:** half the square of the entries that are not 0. */
export function addSparseSquare(gram: usize, vector: usize, x: usize): void {
  const start = vector + HEAD;
  const end = start + load<usize>(vector);
  for (let at = start; at < end; at += ENTRY) {
    const i = <usize>load<u32>(at, 8);
    const row = factorRow(gram, i);
    const value = load<f64>(at);
    // Where half of the entries are not 0, adding all of them in pairs is faster. A term of 0 changes no sum.
    if ((at - start) << 1 > i * ENTRY) {
      addMultiple(row, x, i + 1, value);
      continue;
    }
    for (let other = start; other <= at; other += ENTRY) {
      const entry = row + (<usize>load<u32>(other, 8) << 3);
      store<f64>(entry, load<f64>(entry) + value * load<f64>(other));
    }
  }
}

/**
 * Adds the squares to a factor, in the order of the queue, and empties the queue. The bits are those of one `update` per vector.
 * `workspace`: 3 d doubles.
 */
export function applyUpdates(updates: Updates, factor: usize, reciprocals: usize, workspace: usize): void {
  const d = updates.dimension;
  const rotations = workspace + (d << 3);
  for (let vector = updates.block, end = vector + updates.used; vector < end; ) {
    memory.fill(workspace, 0, d << 3);
    let at = vector + HEAD;
    vector = at + load<usize>(vector);
    for (; at < vector; at += ENTRY) store<f64>(workspace + (<usize>load<u32>(at, 8) << 3), load<f64>(at));
    update(factor, reciprocals, d, workspace, rotations);
  }
  dropUpdates(updates);
}
