// Randomness that can be addressed: element i of a sequence is a function of (seed, id, stream, i) and of nothing else.

/** Words that tell the streams apart, so that uniforms and normals of the same id are independent. */
const UNIFORMS: u32 = 0;
const NORMALS: u32 = 1;

// The four words of the last block. Globals, because a function returns one value.
let word0: u32 = 0;
let word1: u32 = 0;
let word2: u32 = 0;
let word3: u32 = 0;

/**
 * Philox4x32-10: a bijection of 128-bit counters for every 64-bit key; leaves its result in word0..word3.
 *
 * **Source:** Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3 (SC 2011), section 3.3.
 */
function philox(counter0: u32, counter1: u32, counter2: u32, counter3: u32, key0: u32, key1: u32): void {
  for (let round = 0; round < 10; round++) {
    const product0 = <u64>counter0 * 0xd2511f53;
    const product1 = <u64>counter2 * 0xcd9e8d57;
    counter0 = <u32>(product1 >> 32) ^ counter1 ^ key0;
    counter1 = <u32>product1;
    counter2 = <u32>(product0 >> 32) ^ counter3 ^ key1;
    counter3 = <u32>product0;
    // Weyl sequences: the fractional digits of the golden ratio and of the square root of 3.
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  word0 = counter0;
  word1 = counter1;
  word2 = counter2;
  word3 = counter3;
}

/** Writes one block, for comparison with published vectors: `counter` 4 words, `key` 2 words, `out` 4 words. */
export function philoxBlock(counter: usize, key: usize, out: usize): void {
  philox(load<u32>(counter), load<u32>(counter, 4), load<u32>(counter, 8), load<u32>(counter, 12), load<u32>(key), load<u32>(key, 4));
  store<u32>(out, word0, 0);
  store<u32>(out, word1, 4);
  store<u32>(out, word2, 8);
  store<u32>(out, word3, 12);
}

/** An odd multiple of 2^-53: never 0 or 1, symmetric about 1/2, and 1 minus it is exact. */
// @ts-ignore: decorator
@inline function unit(high: u32, low: u32): f64 {
  const bits = ((<u64>high << 32) | low) >> 11;
  return <f64>(bits | 1) * (1.0 / 9007199254740992.0);
}

/**
 * Writes elements [first, first + count) of the uniform sequence of (seed, id) to `out`; indices are taken modulo 2^32.
 */
export function uniforms(seedLow: u32, seedHigh: u32, idLow: u32, idHigh: u32, first: u32, count: u32, out: usize): void {
  fill(seedLow, seedHigh, idLow, idHigh, UNIFORMS, first, count, out);
}

/** Like `uniforms`, of the standard normal distribution, by inversion: one uniform each, so none depends on another. */
export function normals(seedLow: u32, seedHigh: u32, idLow: u32, idHigh: u32, first: u32, count: u32, out: usize): void {
  fill(seedLow, seedHigh, idLow, idHigh, NORMALS, first, count, out);
  for (let i: usize = 0; i < <usize>count << 3; i += 8) store<f64>(out + i, quantile(load<f64>(out + i)));
}

function fill(
  seedLow: u32,
  seedHigh: u32,
  idLow: u32,
  idHigh: u32,
  stream: u32,
  first: u32,
  count: u32,
  out: usize,
): void {
  for (let i: u32 = 0; i < count; i++, out += 8) {
    philox(first + i, stream, idLow, idHigh, seedLow, seedHigh);
    store<f64>(out, unit(word1, word0));
  }
}

// Coefficients of a numerator, highest power first, then of a denominator: eight and eight for each region.
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

/**
 * The standard normal quantile of p in (0, 1), to about 1e-16 relative.
 *
 * **Source:** Wichura, Algorithm AS 241: the percentage points of the normal distribution, Applied Statistics 37 (1988),
 * PPND16: a rational function in each of three regions.
 */
function quantile(p: f64): f64 {
  const q = p - 0.5;
  if (abs(q) <= 0.425) return q * ratio(CENTRE, 0.180625 - q * q);
  // The distance to the nearer end, exact on either side.
  const r = sqrt(-Math.log(min(p, 1 - p)));
  return copysign(r <= 5 ? ratio(TAIL, r - 1.6) : ratio(FAR_TAIL, r - 5), q);
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
