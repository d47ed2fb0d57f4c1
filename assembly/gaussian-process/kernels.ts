// Covariance functions: k(x, x') = variance c(r) with r = |(x - x') / lengthscale|, the linear kernel, and the additive kernel.

import { ADDITIVE_MATERN32, KERNEL_IDS, LINEAR, MATERN12, MATERN32, OK, OUT_OF_MEMORY, SQUARED_EXPONENTIAL } from "../abi";
import { exponentials } from "../numbers/exponential";
import { splat } from "../matrix/linalg";
import { allocate, allocateDoubles, release } from "../memory";
import { copyLanes, LANES, packPanel, PANEL_ROW, storeRow } from "../matrix/panel";

/** A kernel with its parameters. The reciprocals of its `dimension` lengthscales follow it in memory. */
@unmanaged export class Kernel {
  variance: f64;
  bias: f64;
  id: i32;
  /** For an additive kernel: the number of context features. */
  context: usize;
  dimension: usize;

  @inline get reciprocals(): usize {
    return changetype<usize>(this) + offsetof<Kernel>();
  }
}

/**
 * Creates a kernel, which the caller owns until `release`. Returns null without memory.
 * `params`: variance, bias, then `dimension` lengthscales, in units of the features.
 */
export function createKernel(id: i32, params: usize, dimension: usize): Kernel | null {
  const kernel = changetype<Kernel>(allocate(offsetof<Kernel>() + (dimension << 3)));
  if (!kernel) return null;
  kernel.variance = load<f64>(params);
  kernel.bias = load<f64>(params, 8);
  kernel.id = id % KERNEL_IDS;
  kernel.context = id / KERNEL_IDS;
  kernel.dimension = dimension;
  for (let j: usize = 0; j < dimension << 3; j += 8) {
    // A subnormal lengthscale has no finite reciprocal, and 0 times infinity would give a point a distance from itself.
    store<f64>(kernel.reciprocals + j, min(1 / load<f64>(params + j, 16), f64.MAX_VALUE));
  }
  return kernel;
}

// @ts-ignore: decorator
@inline const SQRT3: f64 = 1.7320508075688772;
// @ts-ignore: decorator
@inline const SQRT5: f64 = 2.23606797749979;

/** The correlations at two squared scaled distances. After an overflow the result is 0, not NaN. */
function correlations(id: i32, squares: v128): v128 {
  const distance = f64x2.sqrt(squares);
  if (id == MATERN12) return exponentials(f64x2.neg(distance));
  const scaled = f64x2.mul(f64x2.splat(id == MATERN32 ? SQRT3 : SQRT5), distance);
  const decay = exponentials(f64x2.neg(scaled));
  let growth = f64x2.add(f64x2.splat(1), scaled);
  if (id != MATERN32) growth = f64x2.add(growth, f64x2.mul(f64x2.splat(5.0 / 3.0), squares));
  const zero = f64x2.eq(decay, f64x2.splat(0));
  return v128.andnot(f64x2.mul(decay, growth), zero);
}

/**
 * out[i][lane] = k(points[i], candidate in that lane).
 * `points`: n x d, row-major; `candidates`: panel, d x 4; `out`: panel, n x 4.
 */
export function kernelPanel(kernel: Kernel, points: usize, n: usize, candidates: usize, out: usize): void {
  distancePanel(kernel, points, n, candidates, out);
  applyKernel(kernel, out, out + n * PANEL_ROW);
}

/**
 * The first part of `kernelPanel`: squared scaled distances for a kernel of distances, final values for others. `applyKernel` follows, at
 * once for several panels. Features are subtracted before they are scaled, so that neighbours far from the origin keep their distance.
 */
export function distancePanel(kernel: Kernel, points: usize, n: usize, candidates: usize, out: usize): void {
  if (kernel.id == LINEAR) {
    linearPanel(kernel, points, n, candidates, out);
    return;
  }
  if (kernel.id == ADDITIVE_MATERN32) {
    additivePanel(kernel, points, n, candidates, out);
    return;
  }
  const reciprocals = kernel.reciprocals;
  const end = reciprocals + (kernel.dimension << 3);
  for (const last = out + n * PANEL_ROW; out < last; out += PANEL_ROW) {
    let lower = f64x2.splat(0);
    let upper = f64x2.splat(0);
    let candidate = candidates;
    for (let scale = reciprocals; scale < end; scale += 8, points += 8, candidate += PANEL_ROW) {
      const reciprocal = splat(scale);
      const coordinate = splat(points);
      lower = addSquare(lower, v128.load(candidate), coordinate, reciprocal);
      upper = addSquare(upper, v128.load(candidate, 16), coordinate, reciprocal);
    }
    v128.store(out, lower);
    v128.store(out, upper, 16);
  }
}

/** `distancePanel` for one point and the candidates of four panels, which follow each other. `out`: the four results side by side. */
export function distancePanels(kernel: Kernel, point: usize, candidates: usize, out: usize): void {
  const panel = kernel.dimension * PANEL_ROW;
  if (!isStationary(kernel.id)) {
    for (let p: usize = 0; p < 4; p++) distancePanel(kernel, point, 1, candidates + p * panel, out + p * PANEL_ROW);
    return;
  }
  let sum0 = f64x2.splat(0);
  let sum1 = f64x2.splat(0);
  let sum2 = f64x2.splat(0);
  let sum3 = f64x2.splat(0);
  let sum4 = f64x2.splat(0);
  let sum5 = f64x2.splat(0);
  let sum6 = f64x2.splat(0);
  let sum7 = f64x2.splat(0);
  const end = candidates + panel;
  for (let scale = kernel.reciprocals; candidates < end; scale += 8, point += 8, candidates += PANEL_ROW) {
    const reciprocal = splat(scale);
    const coordinate = splat(point);
    const second = candidates + panel;
    const third = second + panel;
    const fourth = third + panel;
    sum0 = addSquare(sum0, v128.load(candidates), coordinate, reciprocal);
    sum1 = addSquare(sum1, v128.load(candidates, 16), coordinate, reciprocal);
    sum2 = addSquare(sum2, v128.load(second), coordinate, reciprocal);
    sum3 = addSquare(sum3, v128.load(second, 16), coordinate, reciprocal);
    sum4 = addSquare(sum4, v128.load(third), coordinate, reciprocal);
    sum5 = addSquare(sum5, v128.load(third, 16), coordinate, reciprocal);
    sum6 = addSquare(sum6, v128.load(fourth), coordinate, reciprocal);
    sum7 = addSquare(sum7, v128.load(fourth, 16), coordinate, reciprocal);
  }
  storeRow(out, sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7);
}

/** sum + ((candidate - coordinate) reciprocal)^2 */
// @ts-ignore: decorator
@inline function addSquare(sum: v128, candidate: v128, coordinate: v128, reciprocal: v128): v128 {
  const scaled = f64x2.mul(f64x2.sub(candidate, coordinate), reciprocal);
  return f64x2.add(sum, f64x2.mul(scaled, scaled));
}

/** Whether a kernel depends on the distance alone. */
// @ts-ignore: decorator
@inline function isStationary(id: i32): bool {
  return id != LINEAR && id != ADDITIVE_MATERN32;
}

/** The second part of `kernelPanel`, in place, for the results from `values` to `end`: an even number of them. */
export function applyKernel(kernel: Kernel, values: usize, end: usize): void {
  const id = kernel.id;
  if (!isStationary(id)) return;
  const variance = f64x2.splat(kernel.variance);
  if (id == SQUARED_EXPONENTIAL) {
    const half = f64x2.splat(-0.5);
    for (; values < end; values += 16) v128.store(values, f64x2.mul(variance, exponentials(f64x2.mul(half, v128.load(values)))));
  }
  for (; values < end; values += 16) v128.store(values, f64x2.mul(variance, correlations(id, v128.load(values))));
}

/**
 * `kernelPanel` for the additive kernel: variance (bias + c + a + c a), where c is the Matern 3/2 correlation of the first `context`
 * features, and a that of the other features. Without features a correlation is 1.
 */
function additivePanel(kernel: Kernel, points: usize, n: usize, candidates: usize, out: usize): void {
  const variance = f64x2.splat(kernel.variance);
  const bias = f64x2.splat(kernel.bias);
  const stride = kernel.dimension << 3;
  for (const last = out + n * PANEL_ROW; out < last; out += PANEL_ROW, points += stride) {
    for (let lanes: usize = 0; lanes < PANEL_ROW; lanes += 16) {
      const context = correlations(MATERN32, squares(kernel, points, candidates + lanes, 0, kernel.context));
      const action = correlations(MATERN32, squares(kernel, points, candidates + lanes, kernel.context, kernel.dimension));
      const sum = f64x2.add(f64x2.add(bias, f64x2.add(context, action)), f64x2.mul(context, action));
      v128.store(out + lanes, f64x2.mul(variance, sum));
    }
  }
}

/** Squared scaled distances of a point to two lanes of candidates, over the features [from, to). */
function squares(kernel: Kernel, point: usize, candidates: usize, from: usize, to: usize): v128 {
  let sum = f64x2.splat(0);
  for (let j = from; j < to; j++) {
    const difference = f64x2.sub(v128.load(candidates + j * PANEL_ROW), splat(point + (j << 3)));
    const scaled = f64x2.mul(difference, splat(kernel.reciprocals + (j << 3)));
    sum = f64x2.add(sum, f64x2.mul(scaled, scaled));
  }
  return sum;
}

/** `kernelPanel` for the linear kernel. */
function linearPanel(kernel: Kernel, points: usize, n: usize, candidates: usize, out: usize): void {
  const reciprocals = kernel.reciprocals;
  const end = reciprocals + (kernel.dimension << 3);
  const variance = f64x2.splat(kernel.variance);
  const bias = f64x2.splat(kernel.bias);
  for (const last = out + n * PANEL_ROW; out < last; out += PANEL_ROW) {
    let lower = f64x2.splat(0);
    let upper = f64x2.splat(0);
    let candidate = candidates;
    for (let scale = reciprocals; scale < end; scale += 8, points += 8, candidate += PANEL_ROW) {
      const reciprocal = splat(scale);
      const coordinate = f64x2.mul(splat(points), reciprocal);
      lower = f64x2.add(lower, f64x2.mul(coordinate, f64x2.mul(v128.load(candidate), reciprocal)));
      upper = f64x2.add(upper, f64x2.mul(coordinate, f64x2.mul(v128.load(candidate, 16), reciprocal)));
    }
    v128.store(out, f64x2.add(f64x2.mul(variance, lower), bias));
    v128.store(out, f64x2.add(f64x2.mul(variance, upper), bias), 16);
  }
}

/** out[lane] = k(x, x) for the candidates of a panel (d x 4): the prior variance. */
export function kernelDiagonal(kernel: Kernel, candidates: usize, out: usize): void {
  const reciprocals = kernel.reciprocals;
  for (let lane: usize = 0; lane < LANES; lane++, candidates += 8, out += 8) {
    let value = kernel.variance;
    if (kernel.id == LINEAR) {
      let square: f64 = 0;
      for (let j: usize = 0; j < kernel.dimension; j++) {
        const scaled = load<f64>(candidates + j * PANEL_ROW) * load<f64>(reciprocals + (j << 3));
        square += scaled * scaled;
      }
      value = value * square + kernel.bias;
    }
    if (kernel.id == ADDITIVE_MATERN32) value *= kernel.bias + 3;
    store<f64>(out, value);
  }
}

/** The sum of k(x, x) over `points` (n x d, row-major). **Cost:** O(1), for the linear kernel O(n d). */
export function kernelTrace(kernel: Kernel, points: usize, n: usize): f64 {
  if (kernel.id == ADDITIVE_MATERN32) return kernel.variance * (kernel.bias + 3) * <f64>n;
  if (kernel.id != LINEAR) return kernel.variance * <f64>n;
  let squares: f64 = 0;
  const bytes = kernel.dimension << 3;
  for (let i: usize = 0; i < n; i++, points += bytes) {
    for (let j: usize = 0; j < bytes; j += 8) {
      const scaled = load<f64>(points + j) * load<f64>(kernel.reciprocals + j);
      squares += scaled * scaled;
    }
  }
  return kernel.variance * squares + kernel.bias * <f64>n;
}

/**
 * Writes the kernel matrix of xs (n x d) and ys (k x d) to `out` (n x k, row-major; must not overlap the inputs).
 * `params`: variance, bias, then d lengthscales. Returns OK or OUT_OF_MEMORY. **Cost:** O(n k d).
 */
export function kernelMatrix(id: i32, params: usize, d: usize, xs: usize, n: usize, ys: usize, k: usize, out: usize): i32 {
  const kernel = createKernel(id, params, d);
  if (!kernel) return OUT_OF_MEMORY;
  const candidates = allocateDoubles(<u64>(d + n) * LANES);
  const panel = candidates + d * PANEL_ROW;
  if (candidates) {
    for (let start: usize = 0; start < k; start += LANES) {
      const count = min(LANES, k - start);
      packPanel(ys + (start * d << 3), count, d, candidates);
      kernelPanel(kernel, xs, n, candidates, panel);
      for (let i: usize = 0; i < n; i++) copyLanes(out + ((i * k + start) << 3), panel + i * PANEL_ROW, count);
    }
  }
  release(candidates);
  release(changetype<usize>(kernel));
  return candidates ? OK : OUT_OF_MEMORY;
}
