// Panels of four right-hand sides: n x 4, row-major. The four lanes are four candidates (or four rows of a matrix).
// Missing lanes hold zeros, so there is no scalar tail: every lane runs the same operations in the same order, whatever the other
// lanes hold.
//
// Vector instructions copy rows, because `memory.copy` and `memory.fill` call the host, which takes as long as a hundred of them.

/** Lanes of a panel: two f64x2. With four rows of the factor they fill eight of the sixteen vector registers. */
export const LANES: usize = 4;
/** Bytes of a panel's row. */
export const PANEL_ROW: usize = 32;

/** Fills n rows with zeros. */
// @ts-ignore: decorator
@inline export function clearRows(panel: usize, n: usize): void {
  const zero = f64x2.splat(0);
  for (const end = panel + n * PANEL_ROW; panel < end; panel += PANEL_ROW) {
    v128.store(panel, zero);
    v128.store(panel, zero, 16);
  }
}

/** Copies one row. */
// @ts-ignore: decorator
@inline function copyRow(target: usize, row: usize): void {
  v128.store(target, v128.load(row));
  v128.store(target, v128.load(row, 16), 16);
}

/** Copies the first `count` <= 4 lanes of a row. */
// @ts-ignore: decorator
@inline export function copyLanes(target: usize, row: usize, count: usize): void {
  if (count == LANES) copyRow(target, row);
  else for (let at: usize = 0; at < count << 3; at += 8) store<f64>(target + at, load<f64>(row + at));
}

/** Writes eight vectors, which are one row of four panels side by side. */
// @ts-ignore: decorator
@inline export function storeRow(out: usize, v0: v128, v1: v128, v2: v128, v3: v128, v4: v128, v5: v128, v6: v128, v7: v128): void {
  v128.store(out, v0);
  v128.store(out, v1, 16);
  v128.store(out, v2, 32);
  v128.store(out, v3, 48);
  v128.store(out, v4, 64);
  v128.store(out, v5, 80);
  v128.store(out, v6, 96);
  v128.store(out, v7, 112);
}

/** Copies a vector of n entries. */
// @ts-ignore: decorator
@inline export function copyVector(target: usize, vector: usize, n: usize): void {
  const end = vector + (n << 3);
  for (; vector + 16 <= end; vector += 16, target += 16) v128.store(target, v128.load(vector));
  if (vector < end) store<f64>(target, load<f64>(vector));
}

/** Copies a vector of n entries into one lane of a panel (n x 4). */
export function packLane(vector: usize, n: usize, panel: usize, lane: usize): void {
  const end = vector + (n << 3);
  for (let p = panel + (lane << 3); vector < end; vector += 8, p += PANEL_ROW) store<f64>(p, load<f64>(vector));
}

/** Copies one lane of a panel (n x 4) into a vector of n entries. */
export function unpackLane(panel: usize, lane: usize, n: usize, vector: usize): void {
  const end = vector + (n << 3);
  for (let p = panel + (lane << 3); vector < end; vector += 8, p += PANEL_ROW) store<f64>(vector, load<f64>(p));
}

/** Transposes `count` <= 4 rows of n entries (row-major) into a panel (n x 4), and fills the other lanes with zeros. */
export function packPanel(rows: usize, count: usize, n: usize, panel: usize): void {
  if (count < LANES) clearRows(panel, n);
  let lane: usize = 0;
  for (; lane + 2 <= count; lane += 2) packLanes(rows + (lane * n << 3), n, panel + (lane << 3));
  if (lane < count) packLane(rows + (lane * n << 3), n, panel, lane);
}

/** Transposes two rows of n entries into two lanes of a panel, from `panel` on. */
function packLanes(rows: usize, n: usize, panel: usize): void {
  const stride = n << 3;
  let row = rows;
  for (const end = rows + (n >> 1 << 4); row < end; row += 16, panel += 2 * PANEL_ROW) {
    const first = v128.load(row);
    const second = v128.load(row + stride);
    v128.store(panel, v128.shuffle<f64>(first, second, 0, 2));
    v128.store(panel, v128.shuffle<f64>(first, second, 1, 3), PANEL_ROW);
  }
  if (n & 1) {
    store<f64>(panel, load<f64>(row));
    store<f64>(panel, load<f64>(row + stride), 8);
  }
}
