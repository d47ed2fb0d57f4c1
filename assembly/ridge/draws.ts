// Many samples of ridge posteriors at once, and the best candidates of each.

import { NOT_FINITE, OK, OUT_OF_MEMORY, OUT_OF_RANGE } from "../abi";
import { areInColumns, CatalogueHeader, Context, listCandidate, listTableRow, scaleOf, tableRows } from "./catalogue";
import { clearLists, enter, enterWithin, listBytes, readList, SAMPLE_VECTORS, sampleAt } from "./draw-lists";
import { allocateDoubles, release } from "../memory";
import { estimate, Ridge, settle } from "./ridge";
import { addEntry, DRAWS, ROW, sumRows, VECTORS, vectorsFor } from "./rows";
import { solveTransposed } from "../matrix/vector";

/** Greatest coefficient (2^60), and greatest feature and weight (2^24). No sum of their products overflows. */
const MOST_COEFFICIENT: f64 = 1152921504606846976;
const MOST_FACTOR: f64 = 16777216;

/** Bytes of the samples of a group: a vector above the mean and one below it for each vector of a row. */
const SAMPLES: usize = SAMPLE_VECTORS << 4;

/** A regression whose samples are one factor of a score. */
@unmanaged class Stage {
  model: Ridge;
  /** Index of the stage before it, or -1. */
  parent: i32;
  /** The sample at a point without features. */
  level: f32;
  /** Value of this stage by itself, beside those of the stages after it. */
  weight: f32;
  /** 1 if its samples are probabilities, which stay within 0 to 1. */
  isProbability: u32;
}

/** A request for samples. Pointers are 0 where there is nothing. */
@unmanaged class Request {
  stages: usize;
  stageCount: usize;
  /** Number of samples: two for each draw. */
  samples: usize;
  /** Number of candidates (k). */
  count: usize;
  /** Features of the candidates (k x d doubles), or a catalogue in a context with the indices of the candidates in it (u32), or 0 for all. */
  points: usize;
  catalogue: usize;
  context: usize;
  contextBytes: usize;
  picks: usize;
  /** Room for the longest list of rows, for a row, and for the samples of each stage (416 bytes each). */
  list: usize;
  row: usize;
  work: usize;
}

// @ts-ignore: decorator
@inline function stageAt(request: Request, i: usize): Stage {
  return changetype<Stage>(request.stages + i * offsetof<Stage>());
}

// @ts-ignore: decorator
@inline function groupsOf(samples: usize): usize {
  return ((samples + 1) / 2 + DRAWS - 1) / DRAWS;
}

/**
 * Keeps w = L^-T z for each of m rows z of `normals` (m x d) for `ridgeRows`, instead of earlier draws. The draws belong to the present
 * factor. After a change of the factor the caller must draw again. Returns OK, or OUT_OF_MEMORY with nothing changed. **Cost:** m d^2 / 2.
 */
export function ridgeDraw(model: Ridge, normals: usize, m: usize): i32 {
  const d = model.dimension;
  const draws = allocateDoubles(<u64>m * d);
  if (!draws) return OUT_OF_MEMORY;
  settle(model);
  memory.copy(draws, normals, (m * d) << 3);
  for (let s: usize = 0; s < m; s++) solveTransposed(model.factor, model.reciprocals, d, draws + ((s * d) << 3));
  release(model.draws);
  model.draws = draws;
  return OK;
}

/**
 * Makes the rows of the components from the first m draws of `ridgeDraw`: lane 0 of row j is component j of `centre` (d), or of theta for 0,
 * and lane 1 + s that of scale w_s. `extra`: rows to leave free behind them, for a table. Returns OK, OUT_OF_MEMORY, or NOT_FINITE for a
 * number beyond 2^60, with nothing changed. **Cost:** m d.
 */
export function ridgeRows(model: Ridge, m: usize, centre: usize, scale: f64, extra: usize): i32 {
  const d = model.dimension;
  const groups = groupsOf(2 * m);
  const rows = allocateDoubles((<u64>groups * (d + extra) * ROW) >> 3);
  if (!rows) return OUT_OF_MEMORY;
  if (!centre) centre = estimate(model);
  let isFinite = true;
  for (let group: usize = 0; group < groups; group++) {
    const first = rows + group * (d + extra) * ROW;
    for (let j: usize = 0; j < d; j++) {
      const mean = load<f64>(centre + (j << 3));
      isFinite = isFinite && abs(mean) <= MOST_COEFFICIENT;
      store<f32>(first + j * ROW, <f32>mean);
    }
    const lanes = (vectorsFor(m - group * DRAWS) << 2) - 1;
    for (let lane: usize = 0; lane < lanes; lane++) {
      const draw = group * DRAWS + lane;
      let at = first + ((lane + 1) << 2);
      for (let j: usize = 0; j < d; j++, at += ROW) {
        const value = draw < m ? scale * load<f64>(model.draws + ((draw * d + j) << 3)) : 0;
        isFinite = isFinite && abs(value) <= MOST_COEFFICIENT;
        store<f32>(at, <f32>value);
      }
    }
  }
  if (!isFinite) {
    release(rows);
    return NOT_FINITE;
  }
  release(model.rows);
  model.rows = rows;
  model.rowsOfGroup = d + extra;
  return OK;
}

/**
 * Writes the best candidates of each sample to `out`: samples x limit indices (i32), with -1 where there is none. `lists`: room for the lists
 * of all groups. `families` and `room`: as `enterWithin`, or 0 for no families. `boosts`: added to the scores of each candidate (k x f32), or 0.
 *
 * Sample 2 s of a stage is level + scale_c <x_c, centre + w_s> for draw s of `ridgeRows`, and 2 s + 1 has a minus. The value of a stage is its
 * sample times the sum of its weight and the values of the stages after it. A score is the sum of the values of stages that come after none.
 * Numbers are f32. Returns OK, NOT_FINITE, or OUT_OF_RANGE as `prepare`. **Cost:** the features of a candidate that are not zero, or the terms of its own, times m.
 */
export function drawLists(request: Request, limit: usize, lists: usize, families: usize, room: usize, boosts: usize, out: usize): i32 {
  const groups = groupsOf(request.samples);
  const pairs = (request.samples + 1) / 2;
  const bytes = listBytes(limit);
  for (let g: usize = 0; g < groups; g++) clearLists(lists + g * bytes, limit, pairs - g * DRAWS);
  const status = prepare(request, groups);
  if (status != OK) return status;
  for (let c: usize = 0; c < request.count; c++) {
    const end = listOf(request, c);
    if (!end) return NOT_FINITE;
    const scale = scaleAt(request, c);
    for (let g: usize = 0; g < groups; g++) {
      const vectors = vectorsFor(pairs - g * DRAWS);
      score(request, end, scale, g, vectors);
      if (boosts) boost(request.work, load<f32>(boosts + (c << 2)), vectors);
      if (families) enterWithin(lists + g * bytes, limit, request.work, <i32>c, vectors, families, room);
      else enter(lists + g * bytes, limit, request.work, <i32>c, vectors);
    }
  }
  for (let sample: usize = 0; sample < request.samples; sample++) {
    readList(lists + (sample >> 1) / DRAWS * bytes, limit, sample, out + ((sample * limit) << 2));
  }
  return OK;
}

/** Writes the scores of `drawLists` to `out`: samples x k doubles. Returns its status. */
export function drawScores(request: Request, out: usize): i32 {
  const groups = groupsOf(request.samples);
  const k = request.count;
  const status = prepare(request, groups);
  if (status != OK) return status;
  for (let c: usize = 0; c < k; c++) {
    const end = listOf(request, c);
    if (!end) return NOT_FINITE;
    const scale = scaleAt(request, c);
    for (let g: usize = 0; g < groups; g++) {
      score(request, end, scale, g, vectorsFor((request.samples + 1) / 2 - g * DRAWS));
      const last = min(request.samples, (g + 1) * 2 * DRAWS);
      for (let sample = g * 2 * DRAWS; sample < last; sample++) {
        store<f64>(out + ((sample * k + c) << 3), <f64>load<f32>(request.work + sampleAt(sample)));
      }
    }
  }
  return OK;
}

/**
 * Fills the tables of a catalogue, of all stages and groups. Returns OK, NOT_FINITE for a weight that is too great, or OUT_OF_RANGE for a
 * context or picks beyond the columns, or a posterior without room for the tables.
 */
function prepare(request: Request, groups: usize): i32 {
  for (let s: usize = 0; s < request.stageCount; s++) {
    const stage = stageAt(request, s);
    if (!(abs(stage.weight) <= <f32>MOST_FACTOR && abs(stage.level) <= <f32>MOST_COEFFICIENT)) return NOT_FINITE;
  }
  if (!request.catalogue) return OK;
  const catalogue = changetype<CatalogueHeader>(request.catalogue);
  const context = changetype<Context>(request.context);
  if (!areInColumns(catalogue, context, request.contextBytes, request.picks, request.count)) return OUT_OF_RANGE;
  const rows = tableRows(catalogue);
  for (let s: usize = 0; s < request.stageCount; s++) {
    const model = stageAt(request, s).model;
    if (model.dimension != catalogue.dimension || model.rowsOfGroup < model.dimension + rows) return OUT_OF_RANGE;
  }
  for (let row: usize = 0; row < rows; row++) {
    const end = listTableRow(catalogue, context, row, request.list);
    for (let s: usize = 0; s < request.stageCount; s++) {
      for (let g: usize = 0; g < groups; g++) {
        const own = rowsOf(stageAt(request, s), g);
        sumRows(request.list, end, own, own + (<usize>catalogue.dimension + row) * ROW, vectorsFor((request.samples + 1) / 2 - g * DRAWS));
      }
    }
  }
  return OK;
}

// @ts-ignore: decorator
@inline function rowsOf(stage: Stage, group: usize): usize {
  return stage.model.rows + group * stage.model.rowsOfGroup * ROW;
}

/** Lists the rows of a candidate. Returns the end of the list, or 0 for a feature that is too great. */
function listOf(request: Request, c: usize): usize {
  if (request.catalogue) {
    return listCandidate(changetype<CatalogueHeader>(request.catalogue), changetype<Context>(request.context), pick(request, c), request.list);
  }
  const d = stageAt(request, 0).model.dimension;
  const features = request.points + ((c * d) << 3);
  let list = request.list;
  for (let first: usize = 0; first < d; first += 64) {
    // A mask finds the features first. A branch for each feature would be unpredictable.
    for (let mask = maskOf(features + (first << 3), min(64, d - first)); mask != 0; mask &= mask - 1) {
      const j = first + <usize>ctz(mask);
      const feature = load<f64>(features + (j << 3));
      if (!(abs(feature) <= MOST_FACTOR)) return 0;
      list = addEntry(list, j, <f32>feature);
    }
  }
  return list;
}

// @ts-ignore: decorator
@inline function pick(request: Request, c: usize): usize {
  return request.picks ? <usize>load<u32>(request.picks + (c << 2)) : c;
}

function scaleAt(request: Request, c: usize): f32 {
  if (!request.catalogue) return 1;
  return scaleOf(changetype<CatalogueHeader>(request.catalogue), changetype<Context>(request.context), pick(request, c));
}

/** A mask with one bit for each of n <= 64 values, set if the value is not zero. */
function maskOf(values: usize, n: usize): u64 {
  let mask: u64 = 0;
  let i: usize = 0;
  for (; i + 2 <= n; i += 2) mask |= <u64>i64x2.bitmask(f64x2.ne(v128.load(values + (i << 3)), f64x2.splat(0))) << i;
  return i < n ? mask | (<u64>(load<f64>(values + (i << 3)) != 0) << i) : mask;
}

/** Writes the scores of a candidate in all samples of a group to the start of the workspace. `vectors`: those of a row that have draws. */
function score(request: Request, end: usize, scale: f32, group: usize, vectors: usize): void {
  const count = request.stageCount;
  for (let s: usize = 0; s < count; s++) {
    const stage = stageAt(request, s);
    sumRows(request.list, end, rowsOf(stage, group), request.row, vectors);
    // With a constant number the compiler makes a faster loop.
    if (vectors == VECTORS) writePairs(request.row, scale, stage.level, request.work + s * SAMPLES, VECTORS);
    else writePairs(request.row, scale, stage.level, request.work + s * SAMPLES, vectors);
  }
  const first = stageAt(request, 0);
  if (count > 1 || first.weight != 1 || first.isProbability) {
    if (vectors == VECTORS) fold(request, ROW);
    else fold(request, vectors << 4);
  }
}

/** Writes the samples above the mean, then those below it. */
// @ts-ignore: decorator
@inline function writePairs(row: usize, scale: f32, level: f32, out: usize, vectors: usize): void {
  const mean = f32x4.splat(scale * load<f32>(row) + level);
  const scales = f32x4.splat(scale);
  for (let v: usize = 0; v < vectors << 4; v += 16) {
    const bonus = f32x4.mul(scales, v128.load(row + v));
    v128.store(out + v, f32x4.add(mean, bonus));
    v128.store(out + v, f32x4.sub(mean, bonus), ROW);
  }
}

/** The vector after one of samples, of which the first `used` bytes above the mean, and as many below it, have draws. */
// @ts-ignore: decorator
@inline function following(vector: usize, used: usize): usize {
  return used != ROW && vector + 16 == used ? ROW : vector + 16;
}

/** Adds a boost to the scores of a candidate in all samples of a group. */
function boost(samples: usize, by: f32, vectors: usize): void {
  const added = f32x4.splat(by);
  for (let v: usize = 0; v < ROW + (vectors << 4); v = following(v, vectors << 4)) {
    v128.store(samples + v, f32x4.add(v128.load(samples + v), added));
  }
}

/** Turns the samples of all stages into scores, which replace those of the first stage. Later stages first. */
// @ts-ignore: decorator
@inline function fold(request: Request, used: usize): void {
  const count = request.stageCount;
  const samples = request.work;
  for (let s = count; s-- > 0; ) {
    const stage = stageAt(request, s);
    const own = samples + s * SAMPLES;
    for (let v: usize = 0; v < ROW + used; v = following(v, used)) {
      let worth = f32x4.splat(stage.weight);
      for (let t = s + 1; t < count; t++) {
        if (stageAt(request, t).parent == <i32>s) worth = f32x4.add(worth, v128.load(samples + t * SAMPLES + v));
      }
      let sample = v128.load(own + v);
      if (stage.isProbability) sample = f32x4.min(f32x4.max(sample, f32x4.splat(0)), f32x4.splat(1));
      v128.store(own + v, f32x4.mul(sample, worth));
    }
  }
  for (let t: usize = 1; t < count; t++) {
    if (stageAt(request, t).parent >= 0) continue;
    for (let v: usize = 0; v < ROW + used; v = following(v, used)) {
      v128.store(samples + v, f32x4.add(v128.load(samples + v), v128.load(samples + t * SAMPLES + v)));
    }
  }
}
