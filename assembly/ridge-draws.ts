// Many samples of a ridge posterior at once, for k candidates with sparse features.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "./abi";
import { allFinite, splat } from "./linalg";
import { allocateDoubles, release } from "./memory";
import { copyVector } from "./panel";
import { estimate, Ridge, settle } from "./ridge";
import { solveTransposed } from "./vector";

/** Draws that are scored together: two for each of four sums, which run in parallel. */
export const GROUP: usize = 8;
/** Bytes of one feature's row in a group. */
export const GROUP_ROW: usize = GROUP << 3;

/**
 * Keeps w = L^-T z for each of m rows z of `normals` (m x d) for `ridgeDrawScores`, instead of earlier draws. The draws belong to
 * the present factor. After a change of the factor the caller must draw again. Returns OK, or OUT_OF_MEMORY with nothing changed.
 * **Cost:** m d^2 / 2.
 */
export function ridgeDraw(model: Ridge, normals: usize, m: usize): i32 {
  const d = model.dimension;
  const groups = (m + GROUP - 1) / GROUP;
  const draws = allocateDoubles(<u64>groups * d * GROUP);
  if (!draws) return OUT_OF_MEMORY;
  settle(model);
  memory.fill(draws, 0, groups * d * GROUP_ROW);
  const vector = model.panel;
  for (let s: usize = 0; s < m; s++) {
    copyVector(vector, normals + (s * d << 3), d);
    solveTransposed(model.factor, model.reciprocals, d, vector);
    let out = draws + s / GROUP * d * GROUP_ROW + (s % GROUP << 3);
    for (let j: usize = 0; j < d; j++, out += GROUP_ROW) store<f64>(out, load<f64>(vector + (j << 3)));
  }
  release(model.draws);
  model.draws = draws;
  return OK;
}

/**
 * Computes the scores of m samples in opposite pairs, and keeps them in `model.scores`: k rows. In row c, entry 2 s is
 * <x_c, centre> + scale <x_c, w_s> for each w_s of `ridgeDraw`, and entry 2 s + 1 has a minus, at no extra cost.
 *
 * `ridgeDraw` must have kept at least m / 2 draws. `centre`: d, or 0 for theta; `xs`: k x d, row-major. Returns OK, OUT_OF_MEMORY or
 * NOT_FINITE. **Cost:** m / 2 for each feature that is not zero.
 */
export function ridgeDrawScores(model: Ridge, centre: usize, xs: usize, k: usize, scale: f64, m: usize): i32 {
  const d = model.dimension;
  if (!centre) centre = estimate(model);
  const groups = (m + 2 * GROUP - 1) / (2 * GROUP);
  const stride = groups * 2 * GROUP;
  if (!reserve(model, <u64>k * stride)) return OUT_OF_MEMORY;
  model.scoreStride = stride;
  const features = model.panel;
  const row = d << 3;
  let out = model.scores;
  for (const end = xs + k * row; xs < end; xs += row) {
    const last = listFeatures(xs, d, features);
    let mean: f64 = 0;
    for (let f = features; f < last; f += 16) mean += load<f64>(f) * load<f64>(centre + load<usize>(f, 8) / GROUP);
    for (let g: usize = 0; g < groups; g++, out += 2 * GROUP_ROW) {
      scoreGroup(features, last, model.draws + g * d * GROUP_ROW, mean, scale, out);
    }
  }
  return allFinite(model.scores, k * stride) ? OK : NOT_FINITE;
}

/** Makes room for `count` scores. Returns false without memory. */
function reserve(model: Ridge, count: u64): bool {
  if (count <= <u64>model.scoreRoom) return true;
  const scores = allocateDoubles(count);
  if (!scores) return false;
  release(model.scores);
  model.scores = scores;
  model.scoreRoom = <usize>count;
  return true;
}

/** Writes the scores of k candidates for `count` samples of the last `ridgeDrawScores`, from one on: count x k, row-major. */
export function ridgeDrawn(model: Ridge, k: usize, first: usize, count: usize, out: usize): void {
  const stride = model.scoreStride << 3;
  for (let sample = first; sample < first + count; sample++) {
    let score = model.scores + (sample << 3);
    for (const end = out + (k << 3); out < end; out += 8, score += stride) store<f64>(out, load<f64>(score));
  }
}

/** Lists the features that are not zero, 16 bytes each: the value, and the offset of its row in a group. Returns the end of the list. */
export function listFeatures(x: usize, d: usize, list: usize): usize {
  for (let first: usize = 0; first < d; first += 64) {
    // A mask finds the features first. A branch for each feature would be unpredictable.
    for (let mask = maskOf(x + (first << 3), min(64, d - first)); mask != 0; mask &= mask - 1, list += 16) {
      const j = first + <usize>ctz(mask);
      store<f64>(list, load<f64>(x + (j << 3)));
      store<usize>(list, j * GROUP_ROW, 8);
    }
  }
  return list;
}

/** A mask with one bit for each of n <= 64 values, set if the value is not zero. */
function maskOf(values: usize, n: usize): u64 {
  let mask: u64 = 0;
  let i: usize = 0;
  for (; i + 2 <= n; i += 2) mask |= <u64>i64x2.bitmask(f64x2.ne(v128.load(values + (i << 3)), f64x2.splat(0))) << i;
  return i < n ? mask | (<u64>(load<f64>(values + (i << 3)) != 0) << i) : mask;
}

/** Writes mean + scale <x, w> and mean - scale <x, w> in turn, for each draw w of a group. */
function scoreGroup(feature: usize, last: usize, group: usize, mean: f64, scale: f64, out: usize): void {
  let sum0 = f64x2.splat(0);
  let sum1 = f64x2.splat(0);
  let sum2 = f64x2.splat(0);
  let sum3 = f64x2.splat(0);
  for (; feature < last; feature += 16) {
    const value = splat(feature);
    const draws = group + load<usize>(feature, 8);
    sum0 = f64x2.add(sum0, f64x2.mul(value, v128.load(draws)));
    sum1 = f64x2.add(sum1, f64x2.mul(value, v128.load(draws, 16)));
    sum2 = f64x2.add(sum2, f64x2.mul(value, v128.load(draws, 32)));
    sum3 = f64x2.add(sum3, f64x2.mul(value, v128.load(draws, 48)));
  }
  writePairs(sum0, mean, scale, out);
  writePairs(sum1, mean, scale, out + 32);
  writePairs(sum2, mean, scale, out + 64);
  writePairs(sum3, mean, scale, out + 96);
}

// @ts-ignore: decorator
@inline function writePairs(products: v128, mean: f64, scale: f64, out: usize): void {
  const means = f64x2.splat(mean);
  const bonus = f64x2.mul(f64x2.splat(scale), products);
  const above = f64x2.add(means, bonus);
  const below = f64x2.sub(means, bonus);
  v128.store(out, v128.shuffle<f64>(above, below, 0, 2));
  v128.store(out, v128.shuffle<f64>(above, below, 1, 3), 16);
}
