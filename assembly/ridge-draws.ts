// Many samples of a ridge posterior at once, and their rankings of k candidates with sparse features.

import { NOT_FINITE, OK, OUT_OF_MEMORY } from "./abi";
import { allFinite, splat } from "./linalg";
import { allocateDoubles, release } from "./memory";
import { copyVector } from "./panel";
import { estimate, Ridge, settle } from "./ridge";
import { solveTransposed } from "./vector";

/** Draws that are scored together: two for each of four sums, which run in parallel. */
const GROUP: usize = 8;
/** Bytes of one feature's row in a group. */
const GROUP_ROW: usize = GROUP << 3;
/** Bytes of the samples of a group: two for each draw. */
const SAMPLES: usize = 2 * GROUP_ROW;

// A stage is seven doubles: its ridge posterior; its centre (d), or 0 for theta; the scale of draws; the sample at a point without
// features; the weight of its own; the index of the stage before it, or -1; and 1 if its samples are probabilities, which stay within 0 to 1.
const STAGE: usize = 7 << 3;

// @ts-ignore: decorator
@inline function modelOf(stage: usize): Ridge {
  return changetype<Ridge>(<usize>load<f64>(stage));
}

// @ts-ignore: decorator
@inline function parentOf(stage: usize): i32 {
  return <i32>load<f64>(stage, 40);
}

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
 * Computes the scores of m samples for k candidates, and keeps them in the first stage: k rows. A stage samples in opposite pairs: sample
 * 2 s is level + (<x_c, centre> + scale <x_c, w_s>) for each w_s of `ridgeDraw`, and sample 2 s + 1 has a minus, at no extra cost. The value
 * of a stage is its sample times the sum of its weight and the values of the stages after it. A score is the sum of the values of the stages
 * that come after none.
 *
 * `ridgeDraw` must have kept at least m / 2 draws for each stage. `stages`: 7 x `count`, each after the one before it; `xs`: k x d,
 * row-major; `work`: m x `count`, with m rounded up to 16, for use meanwhile. Returns OK, OUT_OF_MEMORY or NOT_FINITE.
 * **Cost:** m / 2 for each feature that is not zero and each stage.
 */
export function ridgeDrawScores(stages: usize, count: usize, xs: usize, k: usize, m: usize, work: usize): i32 {
  const model = modelOf(stages);
  const groups = (m + 2 * GROUP - 1) / (2 * GROUP);
  const stride = groups * 2 * GROUP;
  if (!reserve(model, <u64>k * stride)) return OUT_OF_MEMORY;
  model.scoreStride = stride;
  const end = stages + count * STAGE;
  for (let stage = stages; stage < end; stage += STAGE) {
    if (load<f64>(stage, 8) == 0) store<f64>(stage, <f64>estimate(modelOf(stage)), 8);
  }
  // The samples of one stage with weight 1 are the scores.
  const isAlone = count == 1 && load<f64>(stages, 32) == 1 && load<f64>(stages, 48) == 0;
  const bytes = stride << 3;
  const features = model.panel;
  let out = model.scores;
  let areFinite = true;
  for (const row = model.dimension << 3, last = xs + k * row; xs < last; xs += row, out += bytes) {
    const end = listFeatures(xs, model.dimension, features);
    for (let s: usize = 0; s < count; s++) sampleStage(stages + s * STAGE, features, end, groups, isAlone ? out : work + s * bytes);
    if (isAlone) continue;
    areFinite = areFinite && allFinite(work, stride * count);
    fold(stages, count, work, bytes);
    memory.copy(out, work, bytes);
  }
  return areFinite && allFinite(model.scores, k * stride) ? OK : NOT_FINITE;
}

/** Writes all samples of a stage for one candidate. */
function sampleStage(stage: usize, features: usize, last: usize, groups: usize, out: usize): void {
  const model = modelOf(stage);
  const centre = <usize>load<f64>(stage, 8);
  const scale = load<f64>(stage, 16);
  const level = load<f64>(stage, 24);
  let mean: f64 = 0;
  for (let f = features; f < last; f += 16) mean += load<f64>(f) * load<f64>(centre + load<usize>(f, 8) / GROUP);
  const bytes = model.dimension * GROUP_ROW;
  let group = model.draws;
  for (const end = group + groups * bytes; group < end; group += bytes, out += SAMPLES) {
    scoreGroup(features, last, group, mean, scale, out);
    if (level != 0) addLevel(out, level);
  }
}

function addLevel(samples: usize, level: f64): void {
  const levels = f64x2.splat(level);
  for (let v: usize = 0; v < SAMPLES; v += 16) v128.store(samples + v, f64x2.add(levels, v128.load(samples + v)));
}

/** Turns the samples of all stages, `bytes` each, into scores, which replace those of the first stage. Later stages first. */
function fold(stages: usize, count: usize, samples: usize, bytes: usize): void {
  for (let s = count; s-- > 0; ) {
    const stage = stages + s * STAGE;
    const own = samples + s * bytes;
    const weight = splat(stage + 32);
    const isProbability = load<f64>(stage, 48) != 0;
    for (let v: usize = 0; v < bytes; v += 16) {
      let worth = weight;
      for (let t = s + 1; t < count; t++) {
        if (parentOf(stages + t * STAGE) == <i32>s) worth = f64x2.add(worth, v128.load(samples + t * bytes + v));
      }
      let sample = v128.load(own + v);
      if (isProbability) sample = f64x2.min(f64x2.max(sample, f64x2.splat(0)), f64x2.splat(1));
      v128.store(own + v, f64x2.mul(sample, worth));
    }
  }
  for (let t: usize = 1; t < count; t++) {
    if (parentOf(stages + t * STAGE) >= 0) continue;
    for (let v: usize = 0; v < bytes; v += 16) {
      v128.store(samples + v, f64x2.add(v128.load(samples + v), v128.load(samples + t * bytes + v)));
    }
  }
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

/**
 * The number of samples of the last `ridgeDrawScores` (m samples, k candidates) that rank a candidate at a place, from 0. Among equal
 * scores the first candidate ranks first. **Cost:** m k.
 */
export function ridgeDrawHits(model: Ridge, k: usize, m: usize, candidate: usize, place: usize): i32 {
  const row = model.scoreStride << 3;
  const wanted = i64x2.splat(place);
  let hits = 0;
  for (let s: usize = 0; s < m; s += 4) {
    const column = model.scores + (s << 3);
    const own = column + candidate * row;
    const lower = v128.load(own);
    const upper = v128.load(own, 16);
    let before0 = i64x2.splat(0);
    let before1 = i64x2.splat(0);
    let other = column;
    // A true comparison is -1.
    for (; other < own; other += row) {
      before0 = i64x2.sub(before0, f64x2.ge(v128.load(other), lower));
      before1 = i64x2.sub(before1, f64x2.ge(v128.load(other, 16), upper));
    }
    for (const end = column + k * row; other < end; other += row) {
      before0 = i64x2.sub(before0, f64x2.gt(v128.load(other), lower));
      before1 = i64x2.sub(before1, f64x2.gt(v128.load(other, 16), upper));
    }
    const here = i64x2.bitmask(i64x2.eq(before0, wanted)) | (i64x2.bitmask(i64x2.eq(before1, wanted)) << 2);
    hits += popcnt(m - s < 4 ? here & ((1 << <i32>(m - s)) - 1) : here);
  }
  return hits;
}

/** Lists the features that are not zero, 16 bytes each: the value, and the offset of its row in a group. Returns the end of the list. */
function listFeatures(x: usize, d: usize, list: usize): usize {
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
