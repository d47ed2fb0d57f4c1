// The natural logarithm, with the bits of musl's and AssemblyScript's `log`. Their tables take 4 kB. Of these only 512 bytes were chosen
// by a search, and the rest follows from them.
// Source: Arm Optimized Routines, math/log.c and math/log_data.c (MIT).

const BITS: u64 = 7;
const COUNT: u64 = 1 << BITS;
/** The bits of 0.6875. The intervals divide the doubles from there to twice as much, by their first seven bits. */
const FIRST: u64 = 0x3fe6000000000000;
const STEP: u64 = 52 - BITS;

/**
 * How many doubles 1 / c is above 1 / the centre of its interval. c was chosen near the centre so that log(c) is within 2^-66 of a multiple
 * of 2^-43.
 */
const CHOSEN = memory.data<i32>([
  -23142382, -57643754, -234334839, -124664804, 19045012, -123323398, -501163255, 342479926,
  -234593306, 57421184, 513617488, -240891478, 85169741, 28659150, 284053799, 342563057,
  -68420459, -346144712, -90113766, -464022980, 285342708, -489548825, 376054848, 47397812,
  -423637851, -260988534, 336107021, 448241578, 154177355, 447893384, 241227555, -420636714,
  -218426730, -96876684, -205835218, -368178198, -345128710, -510284502, 481763731, 209336112,
  429336310, 15489329, 442353177, -417834330, 73183371, 515232680, 507984536, 83787275,
  330409952, 151596684, 377744204, 198302857, 214798271, -345957716, 356163107, 215510022,
  -229897960, -131709726, 215213618, -464519207, -332821996, 385780520, -400344786, 256208139,
  478356527, 345720337, 128466877, 217515751, -162048343, 295127580, -235892775, -69369347,
  93666841, -272860130, 91915174, 29018059, 258893229, 386009280, -241633007, 68399381,
  386341370, 408940642, 65060217, -120872168, 189498853, -32395328, -49955913, 154042178,
  -346113480, 148348366, -396488327, -427431396, 107119491, -500798201, 212184347, 305888811,
  -330297730, -91422864, 6707636, 273897542, -512931067, -500150233, 485589437, -280752730,
  106848032, 30953893, -291342514, -408884927, 149302919, -107851081, 225432558, 460497078,
  -452391632, -490679353, 508304210, 493208081, 336502878, 526975298, -457361038, -312310462,
  -365194252, -421357131, 362015322, 310793228, -441535439, -69145545, -528727990, 433364383,
]);

/** Bytes of a row, and the places of c, log(c) and 1 / c in it. c has two parts. */
const ROW: usize = 32;
const INVERSE: usize = 0;
const LOG: usize = 8;
const UPPER: usize = 16;
const LOWER: usize = 24;
const ROWS = memory.data(4096, 8);

/** 2^27 + 1. */
const SPLITTER: f64 = 134217729;
/** 1.5 2^9: the sum with a number below 1 has a multiple of 2^-43. */
const ROUNDING: f64 = 768;

for (let i: u64 = 0; i < COUNT; i++) {
  const row = ROWS + <usize>i * ROW;
  const centre = 0.5 * (reinterpret<f64>(FIRST + (i << STEP)) + reinterpret<f64>(FIRST + ((i + 1) << STEP)));
  const inverse = reinterpret<f64>(reinterpret<u64>(1 / centre) + <u64><i64>load<i32>(CHOSEN + (<usize>i << 2)));
  const c = 1 / inverse;
  store<f64>(row, inverse, INVERSE);
  store<f64>(row, c, UPPER);
  store<f64>(row, (1 - c * inverse - lost(c, inverse)) / inverse, LOWER);

  // log(c) = 2 artanh(s), whose series needs 16 terms for |s| < 0.19.
  const s = (c - 1) / (c + 1);
  const square = s * s;
  let sum: f64 = 0;
  for (let n: f64 = 31; n > 0; n -= 2) sum = sum * square + 1 / n;
  store<f64>(row, 2 * s * sum + ROUNDING - ROUNDING, LOG);
}

/** The part of a b that is lost when the product is rounded (Dekker). */
function lost(a: f64, b: f64): f64 {
  const upperA = upper(a);
  const upperB = upper(b);
  const lowerA = a - upperA;
  const lowerB = b - upperB;
  return upperA * upperB - a * b + upperA * lowerB + lowerA * upperB + lowerA * lowerB;
}

/** The first 26 bits of a number. */
function upper(a: f64): f64 {
  const product = SPLITTER * a;
  return product - (product - a);
}

const NEAR: u64 = 0x3fee000000000000;
const NEAR_END: u64 = 0x3ff1090000000000;

/** The natural logarithm, within 0.52 units in the last place. */
export function logarithm(x: f64): f64 {
  let bits = reinterpret<u64>(x);
  if (bits - NEAR < NEAR_END - NEAR) return nearOne(x - 1);
  // Below the normal numbers, or infinite, or none.
  if (!(x >= 2.2250738585072014e-308 && x < Infinity)) {
    if (x == 0) return -Infinity;
    if (!(x > 0)) return NaN;
    if (x == Infinity) return x;
    bits = reinterpret<u64>(x * 4503599627370496) - (<u64>52 << 52);
  }
  // x = 2^k z with z in [0.6875, 1.375), and log(x) = k log(2) + log(c) + log(1 + r).
  const above = bits - FIRST;
  const row = ROWS + <usize>((above >> STEP) & (COUNT - 1)) * ROW;
  const k = <f64>(<i64>above >> 52);
  const z = reinterpret<f64>(bits - (above & 0xfff0000000000000));
  const r = (z - load<f64>(row, UPPER) - load<f64>(row, LOWER)) * load<f64>(row, INVERSE);
  // log(2) has two parts, the upper one with so few bits that its product with k is exact.
  const whole = k * 0.6931471805598903 + load<f64>(row, LOG);
  const high = whole + r;
  const low = whole - high + r + k * 5.497923018708371e-14;
  const r2 = r * r;
  const cubic = 0.33333333331825593 + r * -0.2499999999622955 + r2 * (0.20000304511814496 + r * -0.16667054827627667);
  return low + r2 * -0.5000000000000001 + r * r2 * cubic + high;
}

/** log(1 + r) for 1 + r from 0.9375 to about 1.0647. The square has twice the bits of a double. */
function nearOne(r: f64): f64 {
  const r2 = r * r;
  const r3 = r2 * r;
  const tenth = 0.11110712032936046 + r * -0.10000486757818193 + r2 * 0.09181994006195467 + r3 * -0.08328363062289341;
  const seventh = -0.16666666669929706 + r * 0.14285715076560868 + r2 * -0.12499997863982555 + r3 * tenth;
  const y = r3 * (0.3333333333333352 + r * -0.24999999999998432 + r2 * 0.19999999999320328 + r3 * seventh);
  const shift = r * 134217728;
  const first = r + shift - shift;
  const square = first * first * -0.5;
  const high = r + square;
  const low = r - high + square + -0.5 * (r - first) * (first + r);
  return y + low + high;
}
