// Counter-based random numbers: element i of a sequence is a function of (seed, id, stream, i) alone.

import { logarithm } from "./logarithm";

/** The stream numbers, so that uniforms and normals of the same id are independent. */
const UNIFORMS: u32 = 0;
const NORMALS: u32 = 1;

/**
 * The two multipliers of Philox, and its two Weyl increments: fractional digits of the golden ratio and of the square root of 3.
 * Each constant four times, because loading a vector is faster than building one.
 */
const CONSTANTS = memory.data<u32>([
  0xd2511f53, 0xd2511f53, 0xd2511f53, 0xd2511f53,
  0xcd9e8d57, 0xcd9e8d57, 0xcd9e8d57, 0xcd9e8d57,
  0x9e3779b9, 0x9e3779b9, 0x9e3779b9, 0x9e3779b9,
  0xbb67ae85, 0xbb67ae85, 0xbb67ae85, 0xbb67ae85,
], 16);

/** The words of the last four blocks: all first words, then all second words, and so on. */
const WORDS = memory.data(64, 16);

/**
 * Philox4x32-10: a bijection of 128-bit counters for every 64-bit key. It takes four counters, word by word in vectors, and writes
 * the results to WORDS.
 *
 * **Source:** Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011), section 3.3.
 */
function philox(counter0: v128, counter1: v128, counter2: v128, counter3: v128, key0: u32, key1: u32): void {
  const multiplier0 = v128.load(CONSTANTS);
  const multiplier1 = v128.load(CONSTANTS, 16);
  const weyl0 = v128.load(CONSTANTS, 32);
  const weyl1 = v128.load(CONSTANTS, 48);
  let keys0 = i32x4.splat(key0);
  let keys1 = i32x4.splat(key1);
  for (let round = 0; round < 10; round++) {
    const lower0 = i64x2.extmul_low_i32x4_u(counter0, multiplier0);
    const upper0 = i64x2.extmul_high_i32x4_u(counter0, multiplier0);
    const lower1 = i64x2.extmul_low_i32x4_u(counter2, multiplier1);
    const upper1 = i64x2.extmul_high_i32x4_u(counter2, multiplier1);
    // The high halves of the products, then the low ones.
    counter0 = v128.xor(v128.xor(v128.shuffle<i32>(lower1, upper1, 1, 3, 5, 7), counter1), keys0);
    counter1 = v128.shuffle<i32>(lower1, upper1, 0, 2, 4, 6);
    counter2 = v128.xor(v128.xor(v128.shuffle<i32>(lower0, upper0, 1, 3, 5, 7), counter3), keys1);
    counter3 = v128.shuffle<i32>(lower0, upper0, 0, 2, 4, 6);
    keys0 = i32x4.add(keys0, weyl0);
    keys1 = i32x4.add(keys1, weyl1);
  }
  v128.store(WORDS, counter0);
  v128.store(WORDS, counter1, 16);
  v128.store(WORDS, counter2, 32);
  v128.store(WORDS, counter3, 48);
}

/** Writes one block, for comparison with published vectors: `counter` 4 words, `key` 2 words, `out` 4 words. */
export function philoxBlock(counter: usize, key: usize, out: usize): void {
  philox(
    v128.load_splat<i32>(counter),
    v128.load_splat<i32>(counter + 4),
    v128.load_splat<i32>(counter + 8),
    v128.load_splat<i32>(counter + 12),
    load<u32>(key),
    load<u32>(key, 4),
  );
  for (let word: usize = 0; word < 4; word++) store<u32>(out + (word << 2), load<u32>(WORDS + (word << 4)));
}

/** A uniform number: an odd multiple of 2^-53, never 0 or 1, symmetric around 1/2. 1 minus it is exact. */
// @ts-ignore: decorator
@inline function unit(high: u32, low: u32): f64 {
  const bits = ((<u64>high << 32) | low) >> 11;
  // 53 bits fit into a signed integer, and its conversion is one instruction.
  return <f64>(<i64>(bits | 1)) * (1.0 / 9007199254740992.0);
}

/** Writes elements [first, first + count) of the uniform sequence of (seed, id) to `out`. Indices are modulo 2^32. */
export function uniforms(seedLow: u32, seedHigh: u32, idLow: u32, idHigh: u32, first: u32, count: u32, out: usize): void {
  fill(seedLow, seedHigh, idLow, idHigh, UNIFORMS, first, count, out);
}

/** `uniforms` for the standard normal distribution, by inversion: one uniform for each, so elements do not depend on each other. */
export function normals(seedLow: u32, seedHigh: u32, idLow: u32, idHigh: u32, first: u32, count: u32, out: usize): void {
  fill(seedLow, seedHigh, idLow, idHigh, NORMALS, first, count, out);
  const end = out + (<usize>count << 3);
  for (; out < end; out += 16) {
    const first = load<f64>(out);
    const second = out + 8 < end ? load<f64>(out, 8) : 0.5;
    const values = central(f64x2(first, second));
    store<f64>(out, isCentral(first) ? f64x2.extract_lane(values, 0) : tail(first));
    if (out + 8 < end) store<f64>(out, isCentral(second) ? f64x2.extract_lane(values, 1) : tail(second), 8);
  }
}

function fill(seedLow: u32, seedHigh: u32, idLow: u32, idHigh: u32, stream: u32, first: u32, count: u32, out: usize): void {
  const places = i32x4(0, 1, 2, 3);
  for (let i: u32 = 0; i < count; i += 4, out += 32) {
    const counters = i32x4.add(i32x4.splat(first + i), places);
    philox(counters, i32x4.splat(stream), i32x4.splat(idLow), i32x4.splat(idHigh), seedLow, seedHigh);
    const lanes: usize = min(4, count - i);
    for (let lane: usize = 0; lane < lanes; lane++) {
      const words = WORDS + (lane << 2);
      store<f64>(out + (lane << 3), unit(load<u32>(words, 16), load<u32>(words)));
    }
  }
}

// For each region eight coefficients of a numerator, highest power first, then eight of a denominator.
const CENTRE = memory.data<f64>([
  2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987,
  13731.69376550946, 1971.5909503065513, 133.14166789178438, 3.3871328727963665,
  5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597,
  5394.196021424751, 687.1870074920579, 42.31333070160091, 1.0,
]);
const TAIL = memory.data<f64>([
  0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684,
  3.6478483247632045, 5.769497221460691, 4.630337846156546, 1.4234371107496835,
  1.0507500716444169e-09, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008,
  0.6897673349851, 1.6763848301838038, 2.053191626637759, 1.0,
]);
const FAR_TAIL = memory.data<f64>([
  2.0103343992922881e-07, 2.7115555687434876e-05, 0.0012426609473880784, 0.026532189526576124,
  0.29656057182850487, 1.7848265399172913, 5.463784911164114, 6.657904643501103,
  2.0442631033899397e-15, 1.421511758316446e-07, 1.8463183175100548e-05, 0.0007868691311456133,
  0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0,
]);

// The standard normal quantile of p in (0, 1), to about 1e-16 relative, is a rational function in each of three regions.
// Source: Wichura, Algorithm AS 241: the percentage points of the normal distribution, Applied Statistics 37 (1988), PPND16.

// @ts-ignore: decorator
@inline function isCentral(p: f64): bool {
  return abs(p - 0.5) <= 0.425;
}

/** The quantiles of two p in the central region. Results for other p are meaningless. */
function central(p: v128): v128 {
  const q = f64x2.sub(p, f64x2.splat(0.5));
  const r = f64x2.sub(f64x2.splat(0.180625), f64x2.mul(q, q));
  let numerator = f64x2.splat(0);
  let denominator = f64x2.splat(0);
  for (let i: usize = 0; i < 64; i += 8) {
    numerator = f64x2.add(f64x2.mul(numerator, r), v128.load_splat<f64>(CENTRE + i));
    denominator = f64x2.add(f64x2.mul(denominator, r), v128.load_splat<f64>(CENTRE + i, 64));
  }
  return f64x2.mul(q, f64x2.div(numerator, denominator));
}

function tail(p: f64): f64 {
  // min(p, 1 - p) is the exact distance to the nearer end.
  const r = sqrt(-logarithm(min(p, 1 - p)));
  return copysign(r <= 5 ? ratio(TAIL, r - 1.6) : ratio(FAR_TAIL, r - 5), p - 0.5);
}

function ratio(coefficients: usize, r: f64): f64 {
  let numerator: f64 = 0;
  let denominator: f64 = 0;
  for (let i: usize = 0; i < 64; i += 8) {
    numerator = numerator * r + load<f64>(coefficients + i);
    denominator = denominator * r + load<f64>(coefficients + i, 64);
  }
  return numerator / denominator;
}
