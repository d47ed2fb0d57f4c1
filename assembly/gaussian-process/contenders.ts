// The candidates that may have one of the `limit` greatest scores, mean + multiplier deviation, and their moments with the bits of `gpScore`.
//
// Solving L v = k row by row, the variance k(x, x) - |v|^2 only falls, and so does its floating-point number. A few rows hence bound the
// deviation. The mean k^T A^-1 (s/c) is known before any row is solved, up to the error of `gpMeanError`. A candidate whose bound is below
// the `limit`-th greatest score so far cannot be chosen, and its other rows are not solved.

import { NOT_FINITE, OUT_OF_MEMORY } from "../abi";
import { GaussianProcess, weights, whitened } from "./gaussian-process";
import { kernelDiagonal, kernelPanel, kernelTrace } from "./kernels";
import { allFinite, solvePanel } from "../matrix/linalg";
import { allocateDoubles, release } from "../memory";
import { LANES, packPanel, PANEL_ROW } from "../matrix/panel";
import { products, reduceVariances, writeVariances } from "./posterior";

/** Candidates whose kernel values are kept at once: few, so that these numbers stay in the cache. */
const MOST: usize = 128;
const LEAST: usize = 16;
const KEPT: usize = 131072;
/** Share of the rows that are solved for all candidates: 1 / 8, at 1 / 64 of the cost. Further rows come in steps of this size at least. */
const STEPS: usize = 8;
const LEAST_STEP: usize = 64;
/** A score and its bound may be rounded in other ways. This share of their parts is far more. */
const SLACK: f64 = 1.0 / 1099511627776;
/** Twice what a bound of the errors needs. */
const SAFETY: f64 = 8;

/** Workspace of a call, and what it knows so far. */
@unmanaged class Search {
  gp: GaussianProcess;
  multiplier: f64;
  /** The greatest lower bounds and the greatest scores so far, each `limit` of them in descending order. */
  lower: usize;
  scores: usize;
  limit: usize;
  /** Candidates of a batch: their kernel values as panels of n x 4, whose first rows are solved, their means, and upper bounds of these. */
  panels: usize;
  means: usize;
  upper: usize;
  /** Their variances after the rows so far, and bounds of their scores. */
  rests: usize;
  bounds: usize;
  /** Their order, by descending bounds (usize each). */
  order: usize;
  /** Results, and their number. */
  count: usize;
  outMeans: usize;
  outVariances: usize;
  outPlaces: usize;
}

/**
 * How far a mean of `gpMean` is from that of `gpScore`, at most, in units of the prior deviation there. Infinite if the factor is too
 * inexact to tell.
 *
 * With w = L^-T L^-1 (s/c), rows v and w as computed satisfy (L + E) v = k and (L + F)^T w = z, where E and F are at most n eps |L|
 * (Higham 2002, theorem 8.5). So k^T w - v^T z = v^T (E - F)^T w, which is at most 2 n eps |v| |L| |w|. Further, |L|^2 is at most the
 * trace of A, and |v|^2 at most |k|^2 over the least eigenvalue of A, which is at least its least noise. **Cost:** O(n), after the weights.
 */
export function gpMeanError(gp: GaussianProcess): f64 {
  const n = gp.size;
  if (!n) return 0;
  const w = weights(gp);
  let squares: f64 = 0;
  for (let at: usize = 0; at < n << 3; at += 8) squares += load<f64>(w + at) * load<f64>(w + at);
  return relativeError(gp) * <f64>n * sqrt(squares);
}

/**
 * The part of `gpMeanError` beside n |w|. Infinite if rounding may have made an eigenvalue of L L^T much less than the least noise: rows of
 * V may then grow beyond all bounds.
 */
function relativeError(gp: GaussianProcess): f64 {
  let trace = kernelTrace(gp.kernel, gp.points, gp.size);
  let least = Infinity;
  let evaluations = <f64>gp.size;
  for (let at: usize = 0; at < gp.size << 3; at += 8) {
    const noise = load<f64>(gp.noises + at);
    trace += noise;
    least = min(least, noise);
    evaluations += load<f64>(gp.counts + at);
  }
  // Each change of the factor adds an error. A lifted pivot shows one that is as large as the noise.
  if (gp.clamped > 0 || !(SAFETY * f64.EPSILON * evaluations * trace <= least)) return Infinity;
  return SAFETY * f64.EPSILON * trace / sqrt(least);
}

/**
 * Finds candidates of `xs` (k x d), among them all that can have one of the `limit` greatest scores. Writes their places (f64) in any order,
 * means and variances, and returns their number, or OUT_OF_MEMORY or NOT_FINITE.
 *
 * `known`: the means of all candidates, within `error` prior deviations, from another process. The means of the result are then those.
 * Or 0: those of this process, and `error` that of `gpMeanError`. `multiplier` is at least 0. **Cost:** k n d, and k n^2 at most.
 */
export function gpContenders(
  gp: GaussianProcess,
  xs: usize,
  k: usize,
  limit: usize,
  multiplier: f64,
  known: usize,
  error: f64,
  means: usize,
  variances: usize,
  places: usize,
): i32 {
  const n = gp.size;
  const batch = min(min(MOST, max(LEAST, (KEPT / (n + 1)) & ~3)), (k + 3) & ~3);
  const work = allocateDoubles(2 * <u64>limit + <u64>batch * (n + 5) + (offsetof<Search>() + 7) / 8);
  if (!work) return OUT_OF_MEMORY;
  const search = changetype<Search>(work + (batch * (n + 5) << 3));
  search.gp = gp;
  search.multiplier = multiplier;
  search.limit = limit;
  search.panels = work;
  search.means = work + (batch * n << 3);
  search.upper = search.means + (batch << 3);
  search.rests = search.upper + (batch << 3);
  search.bounds = search.rests + (batch << 3);
  search.order = search.bounds + (batch << 3);
  search.lower = changetype<usize>(search) + ((offsetof<Search>() + 7) & ~7);
  search.scores = search.lower + (limit << 3);
  search.count = 0;
  search.outMeans = means;
  search.outVariances = variances;
  search.outPlaces = places;
  for (let at: usize = 0; at < limit << 4; at += 8) store<f64>(search.lower + at, -Infinity);
  if (relativeError(gp) == Infinity) error = Infinity;
  for (let start: usize = 0; start < k; start += batch) {
    const count = min(batch, k - start);
    describe(search, xs + (start * gp.dimension << 3), count, known ? known + (start << 3) : 0, error);
    startRows(search, count);
    const alive = sortByBound(search, count);
    for (let first: usize = 0; first < alive; first += LANES) finish(search, start, first, min(LANES, alive - first), !known);
  }
  const found = search.count;
  release(work);
  return allFinite(means, found) && allFinite(variances, found) ? <i32>found : NOT_FINITE;
}

// @ts-ignore: decorator
@inline function panelOf(search: Search, candidate: usize): usize {
  return search.panels + candidate / LANES * search.gp.size * PANEL_ROW + ((candidate % LANES) << 3);
}

/** The score so far that a candidate must reach. */
// @ts-ignore: decorator
@inline function threshold(search: Search): f64 {
  const last = (search.limit - 1) << 3;
  return max(load<f64>(search.lower + last), load<f64>(search.scores + last));
}

/** Enters a value into a list of the greatest ones. NaN enters none. */
function enterGreatest(list: usize, limit: usize, value: f64): void {
  let at = list + ((limit - 1) << 3);
  if (!(value > load<f64>(at))) return;
  for (; at > list && value > load<f64>(at - 8); at -= 8) store<f64>(at, load<f64>(at - 8));
  store<f64>(at, value);
}

/** Kernel values, prior variances and bounds of the means of a batch. */
function describe(search: Search, xs: usize, count: usize, known: usize, error: f64): void {
  const gp = search.gp;
  const n = gp.size;
  for (let start: usize = 0; start < count; start += LANES) {
    const own = min(LANES, count - start);
    const at = start << 3;
    const panel = panelOf(search, start);
    packPanel(xs + at * gp.dimension, own, gp.dimension, gp.panel);
    kernelPanel(gp.kernel, gp.points, n, gp.panel, panel);
    kernelDiagonal(gp.kernel, gp.panel, search.rests + at);
    if (!known) products(panel, weights(gp), n, gp.work, own, search.means + at);
    for (let lane = at; lane < at + (own << 3); lane += 8) {
      if (known) store<f64>(search.means + lane, load<f64>(known + lane));
      const mean = load<f64>(search.means + lane);
      const doubt = error * sqrt(load<f64>(search.rests + lane)) + SLACK * abs(mean);
      const isKnown = abs(mean) + doubt < Infinity;
      store<f64>(search.upper + lane, isKnown ? mean + doubt : Infinity);
      if (isKnown) enterGreatest(search.lower, search.limit, mean - doubt);
    }
  }
}

/** The greatest score that a candidate may have. Infinite or NaN if that is not known. */
function boundOf(search: Search, candidate: usize, rest: f64): f64 {
  const upper = load<f64>(search.upper + (candidate << 3));
  return upper + search.multiplier * sqrt(max(rest, 0)) * (1 + SLACK);
}

// @ts-ignore: decorator
@inline function firstRows(n: usize): usize {
  return n / STEPS & ~3;
}

/** Solves the first rows of the candidates of a batch. */
function startRows(search: Search, count: usize): void {
  const gp = search.gp;
  const rows = firstRows(gp.size);
  for (let start: usize = 0; start < count; start += LANES) {
    const panel = panelOf(search, start);
    solvePanel(gp.factor, gp.reciprocals, 0, rows, panel);
    reduceVariances(panel, rows, search.rests + (start << 3));
    for (let c = start; c < min(start + LANES, count); c++) {
      store<f64>(search.bounds + (c << 3), boundOf(search, c, load<f64>(search.rests + (c << 3))));
    }
  }
}

/** Orders the candidates that may be chosen, the greatest bound first. Returns their number. */
function sortByBound(search: Search, count: usize): usize {
  const least = threshold(search);
  let alive: usize = 0;
  for (let c: usize = 0; c < count; c++) {
    const bound = load<f64>(search.bounds + (c << 3));
    if (bound < least) continue;
    let at = search.order + (alive++ * sizeof<usize>());
    for (; at > search.order; at -= sizeof<usize>()) {
      const before = load<usize>(at - sizeof<usize>());
      if (load<f64>(search.bounds + (before << 3)) >= bound) break;
      store<usize>(at, before);
    }
    store<usize>(at, c);
  }
  return alive;
}

/**
 * Solves the other rows of up to four candidates, from a place of the order on, as long as one of them may be chosen. Then writes their
 * results.
 */
function finish(search: Search, start: usize, first: usize, count: usize, ownMeans: bool): void {
  const gp = search.gp;
  const n = gp.size;
  const lanes = gp.work;
  const order = search.order + first * sizeof<usize>();
  // Candidates that cannot be told apart stay in order, side by side.
  const own = load<usize>(order);
  const together = count == LANES && own % LANES == 0 && areSuccessive(order);
  const panel = together ? panelOf(search, own) : lanes + PANEL_ROW;
  for (let lane: usize = 0; lane < LANES; lane++) store<f64>(lanes + (lane << 3), load<f64>(search.rests + (inLane(order, count, lane) << 3)));
  let solved = firstRows(n);
  const step = max(solved, LEAST_STEP);
  if (!together) copyRows(search, order, count, 0, solved, panel);
  while (mayBeChosen(search, order, count, lanes)) {
    if (solved == n) {
      write(search, start, order, count, lanes, ownMeans ? panel : 0);
      return;
    }
    const end = min(solved + step, n);
    if (!together) copyRows(search, order, count, solved, end, panel);
    solvePanel(gp.factor, gp.reciprocals, solved, end, panel);
    reduceVariances(panel + solved * PANEL_ROW, end - solved, lanes);
    solved = end;
  }
}

/** Whether four candidates follow each other. */
function areSuccessive(order: usize): bool {
  for (let lane: usize = 1; lane < LANES; lane++) {
    if (load<usize>(order + lane * sizeof<usize>()) != load<usize>(order) + lane) return false;
  }
  return true;
}

/** The candidate in a lane. A lane without one repeats the last. */
// @ts-ignore: decorator
@inline function inLane(order: usize, count: usize, lane: usize): usize {
  return load<usize>(order + min(lane, count - 1) * sizeof<usize>());
}

/** Whether one of these candidates may be chosen, by their variances so far. */
function mayBeChosen(search: Search, order: usize, count: usize, variances: usize): bool {
  const least = threshold(search);
  for (let lane: usize = 0; lane < count; lane++) {
    if (!(boundOf(search, inLane(order, count, lane), load<f64>(variances + (lane << 3))) < least)) return true;
  }
  return false;
}

/** Copies rows [from, to) of four candidates to a panel. */
function copyRows(search: Search, order: usize, count: usize, from: usize, to: usize, panel: usize): void {
  const skipped = from * PANEL_ROW;
  let c0 = panelOf(search, inLane(order, count, 0)) + skipped;
  let c1 = panelOf(search, inLane(order, count, 1)) + skipped;
  let c2 = panelOf(search, inLane(order, count, 2)) + skipped;
  let c3 = panelOf(search, inLane(order, count, 3)) + skipped;
  for (let at = panel + skipped, end = panel + to * PANEL_ROW; at < end; at += PANEL_ROW) {
    store<f64>(at, load<f64>(c0));
    store<f64>(at, load<f64>(c1), 8);
    store<f64>(at, load<f64>(c2), 16);
    store<f64>(at, load<f64>(c3), 24);
    c0 += PANEL_ROW;
    c1 += PANEL_ROW;
    c2 += PANEL_ROW;
    c3 += PANEL_ROW;
  }
}

/** Writes the results of candidates of which all rows are solved, with means by their `panel`, or those that are known for 0. */
function write(search: Search, start: usize, order: usize, count: usize, lanes: usize, panel: usize): void {
  const gp = search.gp;
  const at = search.count << 3;
  writeVariances(lanes, count, search.outVariances + at);
  for (let lane: usize = 0; lane < count; lane++) {
    const c = inLane(order, count, lane);
    store<f64>(search.outPlaces + at + (lane << 3), <f64>(start + c));
    store<f64>(search.outMeans + at + (lane << 3), load<f64>(search.means + (c << 3)));
    const upper = load<f64>(search.upper + (c << 3));
    // The mean may be as far below what is known as the bound is above.
    const lower = load<f64>(search.means + (c << 3)) * 2 - upper;
    const width = search.multiplier * sqrt(load<f64>(search.outVariances + at + (lane << 3)));
    enterGreatest(search.scores, search.limit, lower + width * (1 - SLACK));
  }
  if (panel) products(panel, whitened(gp), gp.size, lanes, count, search.outMeans + at);
  search.count += count;
}
