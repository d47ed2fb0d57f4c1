// The best candidates of each of many samples, without storing a score of every candidate. A score is a sample of one ridge posterior, or
// follows from samples of several: a sum of products, in which each stage of a funnel multiplies the value of the stages after it.

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
/** Lists of a group: two for each pair. */
const LISTS: usize = 2 * PAIRS;
/** Bytes of a stage's samples of a group: a vector for each list. */
const SAMPLES: usize = LISTS << 4;

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
 * Lists the `limit` best of k candidates for each of m samples. Among equal scores the first candidate ranks first. The samples of a stage
 * are those of `ridgeDrawScores`, plus those of a point without features. The value of a stage is its sample times the sum of its weight
 * and the values of the stages after it. A score is the sum of the values of the stages that come after none.
 *
 * `ridgeDraw` must have kept at least m / 2 draws for each stage. `stages`: 7 x `count`, each after the one before it; `xs`: k x d,
 * row-major; 0 < `limit` <= k. The first stage keeps the lists. Returns OK, OUT_OF_MEMORY or NOT_FINITE.
 * **Cost:** m / 2 for each feature that is not zero and each stage, and `limit` for each change of a list.
 */
export function ridgeDrawLists(stages: usize, count: usize, xs: usize, k: usize, m: usize, limit: usize): i32 {
  const model = modelOf(stages);
  const groups = (m + 2 * GROUP - 1) / (2 * GROUP);
  const bytes = limit * LEVEL;
  if (!emptyLists(model, groups * LISTS, (m + 1) / 2, limit, count)) return OUT_OF_MEMORY;
  const thresholds = model.lists + groups * LISTS * bytes;
  const values = thresholds + groups * SAMPLES;
  const means = values + count * SAMPLES;
  const endOfStages = stages + count * STAGE;
  for (let stage = stages; stage < endOfStages; stage += STAGE) {
    if (load<f64>(stage, 8) == 0) store<f64>(stage, <f64>estimate(modelOf(stage)), 8);
  }
  // The samples of one stage with weight 1 are the scores.
  const isAlone = count == 1 && load<f64>(stages, 32) == 1 && load<f64>(stages, 48) == 0;
  const row = model.dimension << 3;
  // Not a number, or infinite, if any sample or score is.
  let total = f64x2.splat(0);
  for (let c: usize = 0; c < k; c++, xs += row) {
    const features = model.panel;
    const last = listFeatures(xs, model.dimension, features);
    for (let s: usize = 0; s < count; s++) {
      const centre = <usize>load<f64>(stages + s * STAGE, 8);
      let mean: f64 = 0;
      for (let f = features; f < last; f += 16) mean += load<f64>(f) * load<f64>(centre + load<usize>(f, 8) / GROUP);
      store<f64>(means + (s << 3), mean);
    }
    let list = model.lists;
    let least = thresholds;
    for (let g: usize = 0; g < groups; g++) {
      for (let s: usize = 0; s < count; s++) {
        total = f64x2.add(total, sampleGroup(stages + s * STAGE, features, last, g * row * GROUP, load<f64>(means + (s << 3)), values + s * SAMPLES));
      }
      if (!isAlone) fold(stages, count, values);
      // One branch for all: few candidates enter any list.
      let isBetter = f64x2.gt(v128.load(values), v128.load(least));
      for (let v: usize = 16; v < SAMPLES; v += 16) {
        isBetter = v128.or(isBetter, f64x2.gt(v128.load(values + v), v128.load(least + v)));
      }
      if (v128.any_true(isBetter)) insertAll(list, bytes, least, values, i64x2.splat(c));
      list += LISTS * bytes;
      least += SAMPLES;
    }
  }
  return isFinite(f64x2.extract_lane(total, 0) + f64x2.extract_lane(total, 1)) ? OK : NOT_FINITE;
}

/** Writes the samples of a stage for a group of draws: for each pair those above the mean, then those below. Returns their sum. */
// @ts-ignore: decorator
@inline function sampleGroup(stage: usize, feature: usize, last: usize, at: usize, mean: f64, out: usize): v128 {
  const group = modelOf(stage).draws + at;
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
  const scale = splat(stage + 16);
  const level = splat(stage + 24);
  const means = f64x2.splat(mean);
  writeSides(f64x2.mul(scale, sum0), means, level, out);
  writeSides(f64x2.mul(scale, sum1), means, level, out + 32);
  writeSides(f64x2.mul(scale, sum2), means, level, out + 64);
  writeSides(f64x2.mul(scale, sum3), means, level, out + 96);
  return f64x2.add(means, f64x2.mul(scale, f64x2.add(f64x2.add(sum0, sum1), f64x2.add(sum2, sum3))));
}

// @ts-ignore: decorator
@inline function writeSides(bonus: v128, means: v128, level: v128, out: usize): void {
  v128.store(out, f64x2.add(level, f64x2.add(means, bonus)));
  v128.store(out, f64x2.add(level, f64x2.sub(means, bonus)), 16);
}

/** Turns the samples of all stages into scores, which replace those of the first stage. Later stages first. */
function fold(stages: usize, count: usize, values: usize): void {
  for (let s = <i32>count - 1; s >= 0; s--) {
    const stage = stages + s * STAGE;
    const own = values + s * SAMPLES;
    const weight = splat(stage + 32);
    const isProbability = load<f64>(stage, 48) != 0;
    for (let v: usize = 0; v < SAMPLES; v += 16) {
      let worth = weight;
      for (let t = s + 1; t < <i32>count; t++) {
        if (parentOf(stages + t * STAGE) == s) worth = f64x2.add(worth, v128.load(values + t * SAMPLES + v));
      }
      let sample = v128.load(own + v);
      if (isProbability) sample = f64x2.min(f64x2.max(sample, f64x2.splat(0)), f64x2.splat(1));
      v128.store(own + v, f64x2.mul(sample, worth));
    }
  }
  for (let t: usize = 1; t < count; t++) {
    if (parentOf(stages + t * STAGE) >= 0) continue;
    for (let v: usize = 0; v < SAMPLES; v += 16) {
      v128.store(values + v, f64x2.add(v128.load(values + v), v128.load(values + t * SAMPLES + v)));
    }
  }
}

/** Puts the scores of a candidate into the lists of a group, and renews their thresholds. */
function insertAll(list: usize, bytes: usize, least: usize, values: usize, candidate: v128): void {
  for (let v: usize = 0; v < SAMPLES; v += 16, list += bytes) {
    const score = v128.load(values + v);
    if (!v128.any_true(f64x2.gt(score, v128.load(least + v)))) continue;
    const last = list + bytes - LEVEL;
    insert(list, last, score, candidate);
    v128.store(least + v, v128.load(last));
  }
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
    if (!v128.any_true(isGreaterNext)) break;
    v128.store(at, v128.bitselect(v128.bitselect(next, score, isGreaterNext), own, isGreater));
    const candidates = v128.bitselect(v128.load(at - LEVEL, 16), candidate, isGreaterNext);
    v128.store(at, v128.bitselect(candidates, v128.load(at, 16), isGreater), 16);
    own = next;
    isGreater = isGreaterNext;
  }
  v128.store(at, v128.bitselect(score, own, isGreater));
  v128.store(at, v128.bitselect(candidate, v128.load(at, 16), isGreater), 16);
}

/**
 * Makes room for lists, for their thresholds, which are the last scores in them, and for the samples of stages. Empties the lists. Lanes
 * without a draw have scores that no candidate beats. Returns false without memory.
 */
function emptyLists(model: Ridge, count: usize, draws: usize, limit: usize, stages: usize): bool {
  const doubles = <u64>count * limit * (LEVEL / 8) + <u64>count * LANES + stages * (SAMPLES / 8 + 1);
  if (doubles > <u64>model.listRoom) {
    const lists = allocateDoubles(doubles);
    if (!lists) return false;
    release(model.lists);
    model.lists = lists;
    model.listRoom = <usize>doubles;
  }
  model.listLimit = limit;
  let threshold = model.lists + count * limit * LEVEL;
  for (let i: usize = 0, at = model.lists; i < count; i++, threshold += 16) {
    for (let end = at + limit * LEVEL; at < end; at += LEVEL) {
      for (let lane: usize = 0; lane < LANES; lane++) {
        const isDraw = (i / 2) * LANES + lane < draws;
        store<f64>(at + (lane << 3), isDraw ? -Infinity : Infinity);
        store<i64>(at + (lane << 3), 0, 16);
      }
    }
    v128.store(threshold, v128.load(at - LEVEL));
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
