// The best candidates of each sample of a group, kept while candidates come one after another. Four samples are the lanes of a vector.
//
// A list has `limit` levels, best first. A level has, for each vector of samples, four scores (f32) and four indices (i32). Among equal scores
// the first candidate comes first.

import { DRAWS, VECTORS } from "./rows";

/** Vectors of samples of a group: two for each vector of a row. */
export const SAMPLE_VECTORS: usize = 2 * VECTORS;
/** Bytes of a level of one vector, and of all. */
const PLACE: usize = 32;
const LEVEL: usize = SAMPLE_VECTORS * PLACE;

/** Score of an empty place. */
const LEAST: f32 = -f32.MAX_VALUE;

/** Bytes of the lists of a group. */
export function listBytes(limit: usize): usize {
  return limit * LEVEL;
}

/** Empties the lists of a group of `pairs` draws. No candidate enters the list of a lane without a draw. */
export function clearLists(lists: usize, limit: usize, pairs: usize): void {
  for (let place = lists, end = lists + limit * LEVEL; place < end; place += PLACE) {
    const vector = (place - lists) / PLACE % VECTORS;
    for (let lane: usize = 0; lane < 4; lane++) {
      const draw = vector * 4 + lane;
      store<f32>(place + (lane << 2), draw > 0 && draw <= pairs ? LEAST : f32.MAX_VALUE);
      store<i32>(place + (lane << 2), -1, 16);
    }
  }
}

/** Whether a candidate enters any list. Most do not, so a single branch decides for all samples. */
// @ts-ignore: decorator
@inline function entersAny(last: usize, samples: usize, vectors: usize): bool {
  let any = f32x4.splat(0);
  for (let vector: usize = 0; vector < vectors; vector++) {
    const above = f32x4.gt(v128.load(samples + (vector << 4)), v128.load(last + vector * PLACE));
    const below = f32x4.gt(v128.load(samples + (vector << 4), VECTORS << 4), v128.load(last + vector * PLACE, VECTORS * PLACE));
    any = v128.or(any, v128.or(above, below));
  }
  return v128.any_true(any);
}

/** The vectors of samples of which the first `vectors` above the mean, and those below it, are in use. */
// @ts-ignore: decorator
@inline function following(vector: usize, vectors: usize): usize {
  return vector + 1 == vectors ? VECTORS : vector + 1;
}

/**
 * Enters a candidate into the lists of all samples in which its score is great enough. `vectors`: those of a row that have draws. The others
 * are not read.
 */
export function enter(lists: usize, limit: usize, samples: usize, index: i32, vectors: usize): void {
  const last = lists + (limit - 1) * LEVEL;
  // With a constant number the compiler makes a faster loop.
  if (vectors == VECTORS ? !entersAny(last, samples, VECTORS) : !entersAny(last, samples, vectors)) return;
  for (let vector: usize = 0; vector < VECTORS + vectors; vector = following(vector, vectors)) {
    const scores = v128.load(samples + (vector << 4));
    const place = last + vector * PLACE;
    if (v128.any_true(f32x4.gt(scores, v128.load(place)))) insert(lists, place, scores, i32x4.splat(index));
  }
}

/** Inserts scores into four lists, from the last place up. A place takes the score above it, or the new one, or keeps its own. */
function insert(lists: usize, place: usize, scores: v128, indices: v128): void {
  let own = v128.load(place);
  let exceeds = f32x4.gt(scores, own);
  for (; place >= lists + LEVEL; place -= LEVEL) {
    const upper = v128.load(place - LEVEL);
    const exceedsUpper = f32x4.gt(scores, upper);
    const moved = v128.bitselect(v128.load(place - LEVEL, 16), indices, exceedsUpper);
    v128.store(place, v128.bitselect(v128.bitselect(upper, scores, exceedsUpper), own, exceeds));
    v128.store(place, v128.bitselect(moved, v128.load(place, 16), exceeds), 16);
    if (!v128.any_true(exceedsUpper)) return;
    own = upper;
    exceeds = exceedsUpper;
  }
  v128.store(place, v128.bitselect(scores, own, exceeds));
  v128.store(place, v128.bitselect(indices, v128.load(place, 16), exceeds), 16);
}

/**
 * As `enter`, where a list takes at most `room` candidates of a family. `families`: the family of each candidate (i32), or -1 without one;
 * `room`: that of each family (i32).
 */
export function enterWithin(lists: usize, limit: usize, samples: usize, index: i32, vectors: usize, families: usize, room: usize): void {
  const family = load<i32>(families + (<usize>index << 2));
  const most = family < 0 ? <i32>limit : load<i32>(room + (<usize>family << 2));
  const last = (limit - 1) * LEVEL;
  for (let vector: usize = 0; vector < VECTORS + vectors; vector = following(vector, vectors)) {
    const first = lists + vector * PLACE;
    const exceeds = f32x4.gt(v128.load(samples + (vector << 4)), v128.load(first + last));
    for (let mask = i32x4.bitmask(exceeds); mask != 0; mask &= mask - 1) {
      const lane = <usize>ctz(mask) << 2;
      insertWithin(first + lane, limit, load<f32>(samples + (vector << 4) + lane), index, families, family, most);
    }
  }
}

/** Inserts a score into one list: in place of the last candidate if it is full, or of the last one of the family if that has no room. */
function insertWithin(list: usize, limit: usize, score: f32, index: i32, families: usize, family: i32, most: i32): void {
  let used: usize = 0;
  let members = 0;
  let lastMember: usize = 0;
  for (; used < limit; used++) {
    const other = load<i32>(list + used * LEVEL, 16);
    if (other < 0) break;
    if (family < 0 || load<i32>(families + (<usize>other << 2)) != family) continue;
    members++;
    lastMember = used;
  }
  const isFull = members == most;
  let place = list + (isFull ? lastMember : min(used, limit - 1)) * LEVEL;
  if (isFull && score <= load<f32>(place)) return;
  for (; place > list && score > load<f32>(place - LEVEL); place -= LEVEL) {
    store<f32>(place, load<f32>(place - LEVEL));
    store<i32>(place, load<i32>(place - LEVEL, 16), 16);
  }
  store<f32>(place, score);
  store<i32>(place, index, 16);
}

/** The distance of a sample from the first of its group. Sample 2 s is above the mean of draw s, 2 s + 1 below it. */
export function sampleAt(sample: usize): usize {
  return (sample & 1) * (VECTORS << 4) + (((sample >> 1) % DRAWS + 1) << 2);
}

/** Writes the list of a sample of this group: i32 each, with -1 behind its last candidate. */
export function readList(lists: usize, limit: usize, sample: usize, out: usize): void {
  const at = sampleAt(sample);
  const list = lists + (at >> 4) * PLACE + (at & 15);
  for (let level: usize = 0; level < limit; level++) store<i32>(out + (level << 2), load<i32>(list + level * LEVEL, 16));
}
