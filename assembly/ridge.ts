// Ridge regression as its sums: gram = sum x x^T, moment = sum reward x, and L L^T = V = ridge I + gram.

import { NOT_FINITE, NOT_POSITIVE_DEFINITE, OK, OUT_OF_MEMORY } from "./abi";
import { factorise, invertDiagonal, update, ZERO_COLUMN } from "./factor";
import {
  allFinite,
  factorRow,
  LANES,
  packPanel,
  PANEL_ROW,
  solve,
  solvePanel,
  solveTransposed,
  triangle,
} from "./linalg";
import { allocate, allocateDoubles, release } from "./memory";

@unmanaged export class Ridge {
  ridge: f64;
  dimension: usize;
  /** Whether theta belongs to the present factor and moment. */
  fresh: bool;
  /** Owned: gram (packed), moment (d), factor (packed), then what is derived: reciprocals (d), theta (d), panel ((d + 4) x 4). */
  gram: usize;
  moment: usize;
  factor: usize;
  reciprocals: usize;
  theta: usize;
  panel: usize;
}

/** Starts with nothing seen: V = ridge I, ridge > 0. Returns a handle, which the caller owns until `ridgeRelease`, or 0. */
export function ridgeCreate(dimension: usize, ridge: f64): Ridge | null {
  const model = changetype<Ridge>(allocate(offsetof<Ridge>()));
  const gram = allocateDoubles(2 * triangle(dimension) + (3 + LANES) * <u64>dimension + LANES * LANES);
  if (!model || !gram) {
    release(gram);
    release(changetype<usize>(model));
    return null;
  }
  const vector = dimension << 3;
  model.ridge = ridge;
  model.dimension = dimension;
  model.gram = gram;
  model.moment = factorRow(gram, dimension);
  model.factor = model.moment + vector;
  model.reciprocals = factorRow(model.factor, dimension);
  model.theta = model.reciprocals + vector;
  model.panel = model.theta + vector;
  memory.fill(gram, 0, model.reciprocals - gram);
  for (let i: usize = 0; i < dimension; i++) store<f64>(factorRow(model.factor, i) + (i << 3), sqrt(ridge));
  ridgeTouch(model);
  return model;
}

export function ridgeRelease(model: Ridge): void {
  release(model.gram);
  release(changetype<usize>(model));
}

/** Where [gram packed | moment | factor packed] stands, to be read, or overwritten and followed by `ridgeTouch`. */
export function ridgeState(model: Ridge): usize {
  return model.gram;
}

/** Derives everything anew from the state that was written. */
export function ridgeTouch(model: Ridge): void {
  invertDiagonal(model.factor, model.dimension, model.reciprocals);
  model.fresh = false;
}

/**
 * Adds x x^T to V. Returns OK, or NOT_FINITE, nothing changed, if the sum would overflow. **Cost:** O(d^2).
 */
export function ridgeAppend(model: Ridge, x: usize): i32 {
  const d = model.dimension;
  // The diagonal bounds every entry of V and of L, and the squares under way; a quarter leaves room for rounding.
  for (let i: usize = 0; i < d; i++) {
    const at = i << 3;
    const value = load<f64>(x + at);
    const sum = model.ridge + load<f64>(factorRow(model.gram, i) + at) + value * value;
    if (!(sum < f64.MAX_VALUE / 4)) return NOT_FINITE;
  }
  for (let i: usize = 0; i < d; i++) {
    const row = factorRow(model.gram, i);
    const value = load<f64>(x + (i << 3));
    for (let j: usize = 0; j <= i << 3; j += 8) store<f64>(row + j, load<f64>(row + j) + value * load<f64>(x + j));
  }
  update(model.factor, model.reciprocals, d, x, model.panel);
  model.fresh = false;
  return OK;
}

/** Adds delta x to the moment. Returns OK, or NOT_FINITE, nothing changed. **Cost:** O(d). */
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

/** theta = L^-T L^-1 moment, once per change: from the state alone, so that a restored one gives the same bits. */
function estimate(model: Ridge): usize {
  if (!model.fresh) {
    const d = model.dimension;
    memory.copy(model.theta, model.moment, d << 3);
    solve(model.factor, model.reciprocals, d, model.theta, model.panel);
    solveTransposed(model.factor, model.reciprocals, d, model.theta);
    model.fresh = true;
  }
  return model.theta;
}

/**
 * means[c] = <x_c, theta>, widths[c] = |x_c| in the norm of V^-1, which is |L^-1 x_c|.
 *
 * `xs`: k x d, row-major; `means`, `widths`: k; none may overlap. Returns OK or NOT_FINITE. **Cost:** k d^2.
 */
export function ridgeScore(model: Ridge, xs: usize, k: usize, means: usize, widths: usize): i32 {
  const d = model.dimension;
  const theta = estimate(model);
  const lanes = model.panel;
  const panel = lanes + LANES * PANEL_ROW;
  const end = panel + d * PANEL_ROW;
  for (let start: usize = 0; start < k; start += LANES) {
    const count = min(LANES, k - start);
    packPanel(xs + (start * d << 3), count, d, panel);
    let lower = f64x2.splat(0);
    let upper = f64x2.splat(0);
    for (let p = panel, t = theta; p < end; p += PANEL_ROW, t += 8) {
      const entry = v128.load_splat<f64>(t);
      lower = f64x2.add(lower, f64x2.mul(entry, v128.load(p)));
      upper = f64x2.add(upper, f64x2.mul(entry, v128.load(p, 16)));
    }
    v128.store(lanes, lower);
    v128.store(lanes, upper, 16);
    memory.copy(means + (start << 3), lanes, count << 3);

    solvePanel(model.factor, model.reciprocals, 0, d, panel);
    lower = f64x2.splat(0);
    upper = f64x2.splat(0);
    for (let p = panel; p < end; p += PANEL_ROW) {
      lower = f64x2.add(lower, f64x2.mul(v128.load(p), v128.load(p)));
      upper = f64x2.add(upper, f64x2.mul(v128.load(p, 16), v128.load(p, 16)));
    }
    v128.store(lanes, f64x2.sqrt(lower));
    v128.store(lanes, f64x2.sqrt(upper), 16);
    memory.copy(widths + (start << 3), lanes, count << 3);
  }
  return allFinite(means, k) && allFinite(widths, k) ? OK : NOT_FINITE;
}

/** Writes theta (d). Returns OK or NOT_FINITE. */
export function ridgeEstimate(model: Ridge, out: usize): i32 {
  memory.copy(out, estimate(model), model.dimension << 3);
  return allFinite(out, model.dimension) ? OK : NOT_FINITE;
}

/** Writes theta + scale L^-T z, of covariance scale^2 V^-1; `normals` z: d. `out` may be `normals`. Returns OK or NOT_FINITE. */
export function ridgeSample(model: Ridge, normals: usize, scale: f64, out: usize): i32 {
  const d = model.dimension;
  const theta = estimate(model);
  memory.copy(out, normals, d << 3);
  solveTransposed(model.factor, model.reciprocals, d, out);
  for (let j: usize = 0; j < d << 3; j += 8) {
    store<f64>(out + j, load<f64>(theta + j) + scale * load<f64>(out + j));
  }
  return allFinite(out, d) ? OK : NOT_FINITE;
}

/** log det V, in nats. */
export function ridgeLogDeterminant(model: Ridge): f64 {
  let sum: f64 = 0;
  for (let i: usize = 0; i < model.dimension; i++) sum += Math.log(load<f64>(factorRow(model.factor, i) + (i << 3)));
  return 2 * sum;
}

/**
 * Rebuilds the factor from the gram matrix, whatever order it was summed in. **Cost:** d^3 / 3.
 * Returns OK, or, nothing changed, OUT_OF_MEMORY or NOT_POSITIVE_DEFINITE.
 */
export function ridgeRefactor(model: Ridge): i32 {
  const d = model.dimension;
  const factor = allocateDoubles(triangle(d) + 2 * d);
  if (!factor) return OUT_OF_MEMORY;
  const bytes = factorRow(0, d);
  const reciprocals = factor + bytes;
  const floors = reciprocals + (d << 3);
  memory.copy(factor, model.gram, bytes);
  memory.fill(floors, 0, d << 3);
  for (let i: usize = 0; i < d; i++) {
    const diagonal = factorRow(factor, i) + (i << 3);
    store<f64>(diagonal, model.ridge + load<f64>(diagonal));
  }
  const singular = factorise(factor, reciprocals, floors, ZERO_COLUMN, 0, d, model.panel);
  if (!singular) {
    memory.copy(model.factor, factor, bytes);
    ridgeTouch(model);
  }
  release(factor);
  return singular ? NOT_POSITIVE_DEFINITE : OK;
}
