// The best candidates of each of many samples of a ridge posterior, without storing a score of every candidate.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "./abi";
import { splat } from "./linalg";
import { allocateDoubles, release } from "./memory";
import { estimate, Ridge } from "./ridge";
import { GROUP, GROUP_ROW, listFeatures } from "./ridge-draws";

// Two draws share a vector, and each draw is two samples, above and below the mean. So a pair of draws has two lists, one for each side.
// A list has `limit` levels of two scores and two indices: the best candidates of both samples, side by side.

/** Bytes of a level. */
const LEVEL: usize = 32;
/** Pairs of draws in a group. */
const PAIRS: usize = GROUP / 2;
/** Draws of a pair. */
const LANES: usize = 2;

/**
 * Lists the `limit` best of k candidates for each of m samples, which are those of `ridgeDrawScores`, plus `level`. Among equal scores the
 * first candidate ranks first.
 *
 * `ridgeDraw` must have kept at least m / 2 draws. `centre`: d, or 0 for theta; `xs`: k x d, row-major; 0 < `limit` <= k. Returns OK,
 * OUT_OF_MEMORY or NOT_FINITE. **Cost:** m / 2 for each feature that is not zero, and `limit` for each change of a list.
 */
export function ridgeDrawLists(model: Ridge, centre: usize, xs: usize, k: usize, scale: f64, level: f64, m: usize, limit: usize): i32 {
  const d = model.dimension;
  if (!centre) centre = estimate(model);
  const groups = (m + 2 * GROUP - 1) / (2 * GROUP);
  const bytes = limit * LEVEL;
  if (!emptyLists(model, groups * 2 * PAIRS, (m + 1) / 2, limit)) return OUT_OF_MEMORY;
  const features = model.panel;
  const row = d << 3;
  const scales = f64x2.splat(scale);
  const levels = f64x2.splat(level);
  // Not a number, or infinite, if any score is.
  let total = f64x2.splat(0);
  for (let c: usize = 0; c < k; c++, xs += row) {
    const last = listFeatures(xs, d, features);
    let mean: f64 = 0;
    for (let f = features; f < last; f += 16) mean += load<f64>(f) * load<f64>(centre + load<usize>(f, 8) / GROUP);
    const means = f64x2.splat(mean);
    let list = model.lists;
    for (let g: usize = 0; g < groups; g++) {
      const group = model.draws + g * d * GROUP_ROW;
      let sum0 = f64x2.splat(0);
      let sum1 = f64x2.splat(0);
      let sum2 = f64x2.splat(0);
      let sum3 = f64x2.splat(0);
      for (let f = features; f < last; f += 16) {
        const value = splat(f);
        const draws = group + load<usize>(f, 8);
        sum0 = f64x2.add(sum0, f64x2.mul(value, v128.load(draws)));
        sum1 = f64x2.add(sum1, f64x2.mul(value, v128.load(draws, 16)));
        sum2 = f64x2.add(sum2, f64x2.mul(value, v128.load(draws, 32)));
        sum3 = f64x2.add(sum3, f64x2.mul(value, v128.load(draws, 48)));
      }
      total = f64x2.add(total, offer(list, bytes, means, f64x2.mul(scales, sum0), levels, c));
      total = f64x2.add(total, offer(list + 2 * bytes, bytes, means, f64x2.mul(scales, sum1), levels, c));
      total = f64x2.add(total, offer(list + 4 * bytes, bytes, means, f64x2.mul(scales, sum2), levels, c));
      total = f64x2.add(total, offer(list + 6 * bytes, bytes, means, f64x2.mul(scales, sum3), levels, c));
      list += 8 * bytes;
    }
  }
  return isFinite(f64x2.extract_lane(total, 0) + f64x2.extract_lane(total, 1)) ? OK : NOT_FINITE;
}

/** Offers a candidate to the lists above and below the mean of a pair of draws. Returns the sum of both scores, of each draw. */
// @ts-ignore: decorator
@inline function offer(list: usize, bytes: usize, means: v128, bonus: v128, levels: v128, candidate: usize): v128 {
  const above = f64x2.add(levels, f64x2.add(means, bonus));
  const below = f64x2.add(levels, f64x2.sub(means, bonus));
  const last = list + bytes - LEVEL;
  if (v128.any_true(f64x2.gt(above, v128.load(last)))) insert(list, last, above, i64x2.splat(candidate));
  if (v128.any_true(f64x2.gt(below, v128.load(last + bytes)))) insert(list + bytes, last + bytes, below, i64x2.splat(candidate));
  return f64x2.add(above, below);
}

/**
 * Puts a score into each of two lists, if it is greater than their last one. Each level compares the new score itself, so that of equal
 * scores the earlier one stays ahead.
 */
function insert(list: usize, last: usize, score: v128, candidate: v128): void {
  let at = last;
  let own = v128.load(at);
  let isGreater = f64x2.gt(score, own);
  for (; at > list; at -= LEVEL) {
    const next = v128.load(at - LEVEL);
    const isGreaterNext = f64x2.gt(score, next);
    v128.store(at, v128.bitselect(v128.bitselect(next, score, isGreaterNext), own, isGreater));
    const candidates = v128.bitselect(v128.load(at - LEVEL, 16), candidate, isGreaterNext);
    v128.store(at, v128.bitselect(candidates, v128.load(at, 16), isGreater), 16);
    own = next;
    isGreater = isGreaterNext;
  }
  v128.store(at, v128.bitselect(score, own, isGreater));
  v128.store(at, v128.bitselect(candidate, v128.load(at, 16), isGreater), 16);
}

/** Makes room for lists and empties them. Lanes without a draw have scores that no candidate beats. Returns false without memory. */
function emptyLists(model: Ridge, count: usize, draws: usize, limit: usize): bool {
  const doubles = <u64>count * limit * (LEVEL / 8);
  if (doubles > <u64>model.listRoom) {
    const lists = allocateDoubles(doubles);
    if (!lists) return false;
    release(model.lists);
    model.lists = lists;
    model.listRoom = <usize>doubles;
  }
  model.listLimit = limit;
  for (let i: usize = 0, at = model.lists; i < count; i++) {
    for (let end = at + limit * LEVEL; at < end; at += LEVEL) {
      for (let lane: usize = 0; lane < LANES; lane++) {
        const isDraw = (i / 2) * LANES + lane < draws;
        store<f64>(at + (lane << 3), isDraw ? -Infinity : Infinity);
        store<i64>(at + (lane << 3), 0, 16);
      }
    }
  }
  return true;
}

/** The position in `model.lists` of the first level of a sample. */
// @ts-ignore: decorator
@inline function listOf(model: Ridge, sample: usize): usize {
  const draw = sample >> 1;
  return model.lists + (2 * (draw / LANES) + (sample & 1)) * model.listLimit * LEVEL + (draw % LANES << 3);
}

/** Writes the candidates of the last `ridgeDrawLists`, best first, as numbers: m x `limit`, row-major. */
export function ridgeListed(model: Ridge, m: usize, candidates: usize): void {
  for (let sample: usize = 0; sample < m; sample++) {
    let at = listOf(model, sample);
    for (let i: usize = 0; i < model.listLimit; i++, at += LEVEL, candidates += 8) store<f64>(candidates, <f64>load<i64>(at, 16));
  }
}

/** Writes the scores of a sample's candidates: `limit`. */
export function ridgeListedScores(model: Ridge, sample: usize, scores: usize): void {
  let at = listOf(model, sample);
  for (let i: usize = 0; i < model.listLimit; i++, at += LEVEL, scores += 8) store<f64>(scores, load<f64>(at));
}
