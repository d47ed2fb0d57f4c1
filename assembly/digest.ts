// Odd multipliers, hence invertible modulo 2^64: fractional digits of the golden ratio and of sqrt(2), sqrt(3).
const PHI: u64 = 0x9e3779b97f4a7c15;
const ROOT2: u64 = 0x6a09e667f3bcc909;
const ROOT3: u64 = 0xbb67ae8584caa73b;

/** Mixes one word into the state. It is a bijection of the state for a given word, and of the word for a given state. */
// @ts-ignore: decorator
@inline function step(state: u64, word: u64): u64 {
  return rotl(state ^ (word * PHI), 29) * ROOT2;
}

/**
 * Writes the 64-bit digest of `bytes` bytes to `out`, little-endian. It detects damage, not forgery.
 *
 * Every step is a bijection, so two inputs of one length that differ in a single 8-byte word never share a digest.
 */
export function digest(pointer: usize, bytes: u32, out: usize): void {
  let state = ROOT3 ^ (<u64>bytes * ROOT2);
  const words = pointer + (bytes & ~7);
  for (; pointer < words; pointer += 8) state = step(state, load<u64>(pointer));
  const rest = bytes & 7;
  if (rest) {
    // Zeros pad the last word. The initial state depends on the length, so padding differs from zeros in the input.
    let word: u64 = 0;
    for (let i: u32 = 0; i < rest; i++) word |= <u64>load<u8>(pointer + i) << (i << 3);
    state = step(state, word);
  }
  // Two rounds of xor-shift and multiply, so that each bit of the state reaches each bit of the digest.
  state = (state ^ (state >> 32)) * ROOT3;
  state = (state ^ (state >> 29)) * PHI;
  store<u64>(out, state ^ (state >> 32));
}

/**
 * Mixes `bytes` bytes, a multiple of 8, into four states (u64 each): word i into state i modulo 4. The pieces of a long input are
 * multiples of 32 bytes, except the last one. Each step depends on the step before, so four states run in parallel. `digest` of the
 * states detects the same damage as `digest` of the words.
 */
export function absorb(pointer: usize, bytes: u32, states: usize): void {
  let state0 = load<u64>(states);
  let state1 = load<u64>(states, 8);
  let state2 = load<u64>(states, 16);
  let state3 = load<u64>(states, 24);
  for (const end = pointer + (bytes & ~31); pointer < end; pointer += 32) {
    state0 = step(state0, load<u64>(pointer));
    state1 = step(state1, load<u64>(pointer, 8));
    state2 = step(state2, load<u64>(pointer, 16));
    state3 = step(state3, load<u64>(pointer, 24));
  }
  const rest = bytes & 31;
  if (rest >= 8) state0 = step(state0, load<u64>(pointer));
  if (rest >= 16) state1 = step(state1, load<u64>(pointer, 8));
  if (rest >= 24) state2 = step(state2, load<u64>(pointer, 16));
  store<u64>(states, state0);
  store<u64>(states, state1, 8);
  store<u64>(states, state2, 16);
  store<u64>(states, state3, 24);
}
