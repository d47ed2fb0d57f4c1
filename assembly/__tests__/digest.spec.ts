import { absorb, digest } from "../digest";
import { exp, log } from "../index";
import { sameBits, zeros } from "./vectors";

const out = zeros(1);

function hash(pointer: usize, bytes: u32): u64 {
  digest(pointer, bytes, out);
  return load<u64>(out);
}

describe("digest", () => {
  it("changes with every bit of the input", () => {
    const bytes = zeros(3);
    const seen = new Set<u64>();
    seen.add(hash(bytes, 21));
    for (let bit = 0; bit < 168; bit++) {
      const at = bytes + (bit >> 3);
      store<u8>(at, <u8>1 << <u8>(bit & 7));
      seen.add(hash(bytes, 21));
      store<u8>(at, 0);
    }
    expect<i32>(seen.size).toBe(169);
  });

  it("tells lengths of zeros apart", () => {
    const bytes = zeros(4);
    const seen = new Set<u64>();
    for (let length = 0; length <= 32; length++) seen.add(hash(bytes, length));
    expect<i32>(seen.size).toBe(33);
  });

  it("spreads one changed bit over half of its own", () => {
    const bytes = zeros(2);
    let changed: u64 = 0;
    for (let bit = 0; bit < 128; bit++) {
      store<u8>(bytes + (bit >> 3), <u8>1 << <u8>(bit & 7));
      const flipped = hash(bytes, 16);
      store<u8>(bytes + (bit >> 3), 0);
      changed += popcnt(flipped ^ hash(bytes, 16));
    }
    expect<f64>(abs(f64(changed) / 128 - 32)).toBeLessThan(2);
  });
});

describe("what is absorbed", () => {
  it("is the same in pieces, and another with any word changed", () => {
    const words = zeros(15);
    const states = zeros(4);
    const pieces = zeros(4);
    absorb(words, 120, states);
    absorb(words, 64, pieces);
    absorb(words + 64, 56, pieces);
    expect<bool>(sameBits(states, pieces, 4)).toBe(true);
    const seen = new Set<u64>();
    seen.add(hash(states, 32));
    for (let word: usize = 0; word < 120; word += 8) {
      store<u64>(words + word, 1);
      memory.fill(states, 0, 32);
      absorb(words, 120, states);
      seen.add(hash(states, 32));
      store<u64>(words + word, 0);
    }
    expect<i32>(seen.size).toBe(16);
  });
});

describe("exp and log", () => {
  it("have known values", () => {
    expect<f64>(exp(0)).toBe(1);
    expect<f64>(log(1)).toBe(0);
    expect<f64>(exp(-Infinity)).toBe(0);
    expect<f64>(abs(exp(1) - 2.718281828459045)).toBeLessThanOrEqual(2 * f64.EPSILON);
    expect<f64>(log(2)).toBe(0.6931471805599453);
    expect<f64>(log(10)).toBe(2.302585092994046);
  });

  it("undo each other", () => {
    for (let x: f64 = -700; x < 700; x += 3.7) expect<f64>(abs(log(exp(x)) - x)).toBeLessThan(2e-16 * max(abs(x), 1));
  });
});
