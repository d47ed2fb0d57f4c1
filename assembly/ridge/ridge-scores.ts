// Means, widths and samples of a ridge posterior at k candidates, four at a time.

import { NOT_FINITE, OK } from "../abi";
import { addProducts, allFinite, solvePanel } from "../matrix/linalg";
import { clearRows, copyLanes, copyVector, LANES, packPanel, PANEL_ROW } from "../matrix/panel";
import { estimate, Ridge } from "./ridge";
import { solve, solveTransposed } from "../matrix/vector";

/** lanes[c] = <x_c, parameter> for the four candidates of a panel (d x 4). */
function products(panel: usize, d: usize, parameter: usize, lanes: usize): void {
  clearRows(lanes, 1);
  addProducts(panel, parameter, d, lanes);
}

/** lanes[c] = |y_c| for the four columns of a panel (d x 4). */
function panelNorms(panel: usize, d: usize, lanes: usize): void {
  let lower = f64x2.splat(0);
  let upper = f64x2.splat(0);
  for (const end = panel + d * PANEL_ROW; panel < end; panel += PANEL_ROW) {
    lower = f64x2.add(lower, f64x2.mul(v128.load(panel), v128.load(panel)));
    upper = f64x2.add(upper, f64x2.mul(v128.load(panel, 16), v128.load(panel, 16)));
  }
  v128.store(lanes, f64x2.sqrt(lower));
  v128.store(lanes, f64x2.sqrt(upper), 16);
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
  for (let start: usize = 0; start < k; start += LANES) {
    const count = min(LANES, k - start);
    const at = start << 3;
    if (count == 1) {
      scoreOne(model, xs + at * d, means + at, widths + at);
      break;
    }
    packPanel(xs + at * d, count, d, panel);
    products(panel, d, theta, lanes);
    copyLanes(means + at, lanes, count);
    solvePanel(model.factor, model.reciprocals, 0, d, panel);
    panelNorms(panel, d, lanes);
    copyLanes(widths + at, lanes, count);
  }
  return allFinite(means, k) && allFinite(widths, k) ? OK : NOT_FINITE;
}

/** Scores one candidate with the bits of a panel, without its three empty lanes. */
function scoreOne(model: Ridge, x: usize, mean: usize, width: usize): void {
  const bytes = model.dimension << 3;
  const y = model.panel;
  copyVector(y, x, model.dimension);
  solve(model.factor, model.reciprocals, model.dimension, y);
  let sum: f64 = 0;
  let square: f64 = 0;
  for (let j: usize = 0; j < bytes; j += 8) {
    sum += load<f64>(model.theta + j) * load<f64>(x + j);
    square += load<f64>(y + j) * load<f64>(y + j);
  }
  store<f64>(mean, sum);
  store<f64>(width, sqrt(square));
}

/** Writes theta + scale L^-T z, of covariance scale^2 V^-1; `normals` z: d. `out` may be `normals`. Returns OK or NOT_FINITE. */
export function ridgeSample(model: Ridge, normals: usize, scale: f64, out: usize): i32 {
  const d = model.dimension;
  const theta = estimate(model);
  copyVector(out, normals, d);
  solveTransposed(model.factor, model.reciprocals, d, out);
  for (let j: usize = 0; j < d << 3; j += 8) {
    store<f64>(out + j, load<f64>(theta + j) + scale * load<f64>(out + j));
  }
  return allFinite(out, d) ? OK : NOT_FINITE;
}

/**
 * scores[c] = <x_c, parameter>. For theta the bits are those of the means of `ridgeScore`.
 *
 * `xs`: k x d, row-major; `parameter`: d; `scores`: k; none may overlap. Returns OK or NOT_FINITE. **Cost:** k d.
 */
export function ridgeProducts(model: Ridge, xs: usize, k: usize, parameter: usize, scores: usize): i32 {
  const bytes = model.dimension << 3;
  let c: usize = 0;
  for (; c + LANES <= k; c += LANES, xs += LANES * bytes) fourProducts(xs, parameter, bytes, scores + (c << 3));
  for (; c < k; c++, xs += bytes) {
    let sum: f64 = 0;
    for (let j: usize = 0; j < bytes; j += 8) sum += load<f64>(parameter + j) * load<f64>(xs + j);
    store<f64>(scores + (c << 3), sum);
  }
  return allFinite(scores, k) ? OK : NOT_FINITE;
}

/** Four rows in parallel, because a single row waits for its own last addition at every step. */
function fourProducts(xs: usize, parameter: usize, bytes: usize, out: usize): void {
  let sum0: f64 = 0;
  let sum1: f64 = 0;
  let sum2: f64 = 0;
  let sum3: f64 = 0;
  for (const end = parameter + bytes; parameter < end; parameter += 8, xs += 8) {
    const entry = load<f64>(parameter);
    sum0 += entry * load<f64>(xs);
    sum1 += entry * load<f64>(xs + bytes);
    sum2 += entry * load<f64>(xs + 2 * bytes);
    sum3 += entry * load<f64>(xs + 3 * bytes);
  }
  store<f64>(out, sum0);
  store<f64>(out, sum1, 8);
  store<f64>(out, sum2, 16);
  store<f64>(out, sum3, 24);
}
