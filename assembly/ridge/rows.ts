// Weighted sums of rows. A row has one number for each lane of a group: lane 0 is for a mean, and each other one for a draw.

/** Vectors of a row: they fit the registers of a processor, so that a sum never leaves them. */
export const VECTORS: usize = 13;
/** Bytes of a row. */
export const ROW: usize = VECTORS << 4;
/** Draws of a group: 51. */
export const DRAWS: usize = (VECTORS << 2) - 1;
/** Vectors that are summed at once where draws are few. */
const FEW: usize = 4;

/** The vectors of a row that a group uses, if `pairs` draws are left for it and those after it: 4, 8 or all. */
export function vectorsFor(pairs: usize): usize {
  const vectors = (pairs / (FEW << 2) + 1) * FEW;
  return vectors <= 2 * FEW ? vectors : VECTORS;
}

/** Bytes of an entry of a list: the index of a row (u32), and its weight (f32). */
export const ENTRY: usize = 8;

/** Adds an entry to a list. Returns the new end of the list. */
// @ts-ignore: decorator
@inline export function addEntry(end: usize, row: usize, weight: f32): usize {
  store<u32>(end, <u32>row);
  store<f32>(end, weight, 4);
  return end + ENTRY;
}

/** Writes the weighted sum of the listed rows to `out`, one row of `vectors`. It adds up in the order of the list. */
export function sumRows(list: usize, end: usize, rows: usize, out: usize, vectors: usize): void {
  if (vectors < VECTORS) {
    for (let at: usize = 0; at < vectors << 4; at += FEW << 4) sumFour(list, end, rows + at, out + at);
    return;
  }
  let s0 = f32x4.splat(0);
  let s1 = f32x4.splat(0);
  let s2 = f32x4.splat(0);
  let s3 = f32x4.splat(0);
  let s4 = f32x4.splat(0);
  let s5 = f32x4.splat(0);
  let s6 = f32x4.splat(0);
  let s7 = f32x4.splat(0);
  let s8 = f32x4.splat(0);
  let s9 = f32x4.splat(0);
  let s10 = f32x4.splat(0);
  let s11 = f32x4.splat(0);
  let s12 = f32x4.splat(0);
  for (; list < end; list += ENTRY) {
    const row = rows + <usize>load<u32>(list) * ROW;
    const weight = v128.load_splat<f32>(list, 4);
    s0 = f32x4.add(s0, f32x4.mul(weight, v128.load(row)));
    s1 = f32x4.add(s1, f32x4.mul(weight, v128.load(row, 16)));
    s2 = f32x4.add(s2, f32x4.mul(weight, v128.load(row, 32)));
    s3 = f32x4.add(s3, f32x4.mul(weight, v128.load(row, 48)));
    s4 = f32x4.add(s4, f32x4.mul(weight, v128.load(row, 64)));
    s5 = f32x4.add(s5, f32x4.mul(weight, v128.load(row, 80)));
    s6 = f32x4.add(s6, f32x4.mul(weight, v128.load(row, 96)));
    s7 = f32x4.add(s7, f32x4.mul(weight, v128.load(row, 112)));
    s8 = f32x4.add(s8, f32x4.mul(weight, v128.load(row, 128)));
    s9 = f32x4.add(s9, f32x4.mul(weight, v128.load(row, 144)));
    s10 = f32x4.add(s10, f32x4.mul(weight, v128.load(row, 160)));
    s11 = f32x4.add(s11, f32x4.mul(weight, v128.load(row, 176)));
    s12 = f32x4.add(s12, f32x4.mul(weight, v128.load(row, 192)));
  }
  v128.store(out, s0);
  v128.store(out, s1, 16);
  v128.store(out, s2, 32);
  v128.store(out, s3, 48);
  v128.store(out, s4, 64);
  v128.store(out, s5, 80);
  v128.store(out, s6, 96);
  v128.store(out, s7, 112);
  v128.store(out, s8, 128);
  v128.store(out, s9, 144);
  v128.store(out, s10, 160);
  v128.store(out, s11, 176);
  v128.store(out, s12, 192);
}

/** `sumRows` for four vectors. */
function sumFour(list: usize, end: usize, rows: usize, out: usize): void {
  let s0 = f32x4.splat(0);
  let s1 = f32x4.splat(0);
  let s2 = f32x4.splat(0);
  let s3 = f32x4.splat(0);
  for (; list < end; list += ENTRY) {
    const row = rows + <usize>load<u32>(list) * ROW;
    const weight = v128.load_splat<f32>(list, 4);
    s0 = f32x4.add(s0, f32x4.mul(weight, v128.load(row)));
    s1 = f32x4.add(s1, f32x4.mul(weight, v128.load(row, 16)));
    s2 = f32x4.add(s2, f32x4.mul(weight, v128.load(row, 32)));
    s3 = f32x4.add(s3, f32x4.mul(weight, v128.load(row, 48)));
  }
  v128.store(out, s0);
  v128.store(out, s1, 16);
  v128.store(out, s2, 32);
  v128.store(out, s3, 48);
}

/** The weighted sum of listed numbers, one double per row. */
export function sumNumbers(list: usize, end: usize, numbers: usize): f64 {
  let sum: f64 = 0;
  for (; list < end; list += ENTRY) sum += <f64>load<f32>(list, 4) * load<f64>(numbers + (<usize>load<u32>(list) << 3));
  return sum;
}
