// Ridge regression as its sums: gram = sum x x^T, moment = sum reward x, and L L^T = V = P + gram with the prior's precision P.

import { NOT_FINITE, NOT_POSITIVE_DEFINITE, OK, OUT_OF_MEMORY } from "../abi";
import { factorise, invertDiagonal, LIFT } from "../matrix/factor";
import { allFinite, factorRow, triangle } from "../matrix/linalg";
import { allocate, allocateDoubles, release } from "../memory";
import { copyVector, LANES } from "../matrix/panel";
import {
  addSparseSquare,
  applyUpdates,
  commitUpdate,
  createUpdates,
  dropUpdates,
  releaseUpdates,
  reserveUpdate,
  staysBelow,
  Updates,
  writeUpdate,
} from "./updates";
import { solve, solveTransposed } from "../matrix/vector";

@unmanaged export class Ridge {
  /** No eigenvalue of P is below it. */
  ridge: f64;
  /** The greatest entry of P's diagonal. */
  most: f64;
  dimension: usize;
  /** Whether theta is up to date. */
  fresh: bool;
  /** Owned block: gram (packed), moment (d), factor (packed), and derived values: reciprocals (d), theta (d), panel ((d + 8) x 4). */
  gram: usize;
  moment: usize;
  factor: usize;
  reciprocals: usize;
  theta: usize;
  panel: usize;
  /** Owned: impressions in gram that the factor does not contain yet. `settle` adds them in their order, so no bit depends on when. */
  updates: Updates;
  /** Owned: P, packed. 0 while it is ridge I. */
  prior: usize;
  /** Owned: the draws of `ridgeDraw` (m x d). */
  draws: usize;
  /** Owned: the rows of `ridgeRows`, and how many a group has. */
  rows: usize;
  rowsOfGroup: usize;
}

/** Creates a posterior with V = ridge I, ridge > 0. Returns a handle, which the caller owns until `ridgeRelease`, or 0 without memory. */
export function ridgeCreate(dimension: usize, ridge: f64): Ridge | null {
  const model = changetype<Ridge>(allocate(offsetof<Ridge>()));
  const gram = allocateDoubles(2 * triangle(dimension) + (3 + LANES) * <u64>dimension + 2 * LANES * LANES);
  const updates = createUpdates(dimension);
  if (!model || !gram || !updates) {
    releaseUpdates(updates);
    release(gram);
    release(changetype<usize>(model));
    return null;
  }
  const vector = dimension << 3;
  model.ridge = ridge;
  model.most = ridge;
  model.prior = 0;
  model.dimension = dimension;
  model.gram = gram;
  model.moment = factorRow(gram, dimension);
  model.factor = model.moment + vector;
  model.reciprocals = factorRow(model.factor, dimension);
  model.theta = model.reciprocals + vector;
  model.panel = model.theta + vector;
  model.updates = updates;
  model.draws = 0;
  model.rows = 0;
  memory.fill(gram, 0, model.reciprocals - gram);
  for (let i: usize = 0; i < dimension; i++) store<f64>(factorRow(model.factor, i) + (i << 3), sqrt(ridge));
  ridgeTouch(model);
  return model;
}

export function ridgeRelease(model: Ridge): void {
  release(model.prior);
  release(model.draws);
  release(model.rows);
  releaseUpdates(model.updates);
  release(model.gram);
  release(changetype<usize>(model));
}

/** Adds to the factor what gram has and the factor has not. Whoever reads the factor calls it first. **Cost:** O(d^2) per impression. */
export function settle(model: Ridge): void {
  if (model.updates.count > 0) applyUpdates(model.updates, model.factor, model.reciprocals, model.panel);
}

/** Pointer to [gram packed | moment | factor packed]. A caller that writes there must call `ridgeTouch`. */
export function ridgeState(model: Ridge): usize {
  settle(model);
  return model.gram;
}

/**
 * Replaces P by `prior` (packed), none of whose eigenvalues is below the ridge. The factor does not change before `ridgeRefactor`. Returns
 * OK, or OUT_OF_MEMORY with nothing changed.
 */
export function ridgeSetPrior(model: Ridge, prior: usize): i32 {
  if (!model.prior) model.prior = allocateDoubles(triangle(model.dimension));
  if (!model.prior) return OUT_OF_MEMORY;
  memory.copy(model.prior, prior, factorRow(0, model.dimension));
  model.most = model.ridge;
  for (let i: usize = 0; i < model.dimension; i++) model.most = max(model.most, load<f64>(factorRow(prior, i) + (i << 3)));
  return OK;
}

/** `ridgeState` for a caller that does not read the factor, which may lack the last impressions. */
export function ridgeSums(model: Ridge): usize {
  return model.gram;
}

/** Derives all other values after the caller has written the state. */
export function ridgeTouch(model: Ridge): void {
  dropUpdates(model.updates);
  invertDiagonal(model.factor, model.dimension, model.reciprocals);
  model.fresh = false;
}

/**
 * Adds x x^T to V. Returns OK, or NOT_FINITE with nothing changed if the sum would overflow. **Cost:** the square of the number of entries
 * that are not 0, and O(d^2) once the factor is read.
 */
export function ridgeAppend(model: Ridge, x: usize): i32 {
  const updates = model.updates;
  if (!reserveUpdate(updates)) settle(model);
  const vector = writeUpdate(updates, x);
  // The diagonal bounds every entry of V and of L, and every intermediate square. A quarter leaves room for rounding.
  if (!staysBelow(f64.MAX_VALUE / 4, model.gram, model.most, vector)) return NOT_FINITE;
  addSparseSquare(model.gram, vector, x);
  commitUpdate(updates);
  model.fresh = false;
  return OK;
}

/** Adds delta x to the moment. Returns OK, or NOT_FINITE with nothing changed. **Cost:** O(d). */
export function ridgeReward(model: Ridge, x: usize, delta: f64): i32 {
  const end = model.dimension << 3;
  for (let j: usize = 0; j < end; j += 8) {
    const sum = load<f64>(model.moment + j) + delta * load<f64>(x + j);
    if (!(abs(sum) < Infinity)) return NOT_FINITE;
  }
  for (let j: usize = 0; j < end; j += 8) {
    store<f64>(model.moment + j, load<f64>(model.moment + j) + delta * load<f64>(x + j));
  }
  model.fresh = false;
  return OK;
}

/** theta = L^-T L^-1 moment, solved once per change. It depends on the state alone, so a restored state gives the same bits. */
export function estimate(model: Ridge): usize {
  if (!model.fresh) {
    settle(model);
    const d = model.dimension;
    copyVector(model.theta, model.moment, d);
    solve(model.factor, model.reciprocals, d, model.theta);
    solveTransposed(model.factor, model.reciprocals, d, model.theta);
    model.fresh = true;
  }
  return model.theta;
}

/** Writes theta (d). Returns OK or NOT_FINITE. */
export function ridgeEstimate(model: Ridge, out: usize): i32 {
  memory.copy(out, estimate(model), model.dimension << 3);
  return allFinite(out, model.dimension) ? OK : NOT_FINITE;
}

/**
 * Rebuilds the factor from the gram matrix. The order of impressions plays no part. **Cost:** d^3 / 3.
 *
 * No exact squared pivot of P + sum x x^T is below the ridge. A pivot that rounding pushes below half the ridge is lifted there.
 * Returns OK. With nothing changed it returns OUT_OF_MEMORY, or NOT_POSITIVE_DEFINITE if a pivot is not finite.
 */
export function ridgeRefactor(model: Ridge): i32 {
  const d = model.dimension;
  const factor = allocateDoubles(triangle(d) + 2 * d);
  if (!factor) return OUT_OF_MEMORY;
  const bytes = factorRow(0, d);
  const reciprocals = factor + bytes;
  const floors = reciprocals + (d << 3);
  memory.copy(factor, model.gram, bytes);
  if (model.prior) {
    for (let at: usize = 0; at < bytes; at += 8) store<f64>(factor + at, load<f64>(model.prior + at) + load<f64>(factor + at));
  }
  for (let i: usize = 0; i < d; i++) {
    const diagonal = factorRow(factor, i) + (i << 3);
    if (!model.prior) store<f64>(diagonal, model.ridge + load<f64>(diagonal));
    store<f64>(floors + (i << 3), model.ridge / 2);
  }
  const finite = factorise(factor, reciprocals, floors, LIFT, 0, d, model.panel) >= 0;
  if (finite) {
    memory.copy(model.factor, factor, bytes);
    ridgeTouch(model);
  }
  release(factor);
  return finite ? OK : NOT_POSITIVE_DEFINITE;
}
