import { normals, philoxBlock, uniforms } from "../numbers/random";
import { distance, get, sameBits, zeros } from "./vectors";

function block(c0: u32, c1: u32, c2: u32, c3: u32, k0: u32, k1: u32): u32[] {
  const words = zeros(5);
  store<u32>(words, c0, 0);
  store<u32>(words, c1, 4);
  store<u32>(words, c2, 8);
  store<u32>(words, c3, 12);
  store<u32>(words, k0, 16);
  store<u32>(words, k1, 20);
  philoxBlock(words, words + 16, words + 24);
  return [load<u32>(words, 24), load<u32>(words, 28), load<u32>(words, 32), load<u32>(words, 36)];
}

describe("philox4x32-10", () => {
  it("gives the known answers that Random123 publishes (kat_vectors)", () => {
    expect<u32[]>(block(0, 0, 0, 0, 0, 0)).toStrictEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    const ones: u32 = 0xffffffff;
    expect<u32[]>(block(ones, ones, ones, ones, ones, ones)).toStrictEqual([0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
    expect<u32[]>(block(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0)).toStrictEqual([
      0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1,
    ]);
  });
});

const COUNT = 100_000;

describe("uniforms", () => {
  it("do not depend on where reading begins", () => {
    const whole = zeros(20);
    const part = zeros(5);
    uniforms(1, 2, 3, 4, 0, 20, whole);
    uniforms(1, 2, 3, 4, 7, 5, part);
    expect<bool>(sameBits(whole + 56, part, 5)).toBe(true);
  });

  it("stay inside (0, 1), with the mean and variance of their law", () => {
    const values = zeros(COUNT);
    uniforms(5, 0, 0, 0, 0, COUNT, values);
    let mean: f64 = 0;
    let square: f64 = 0;
    for (let i = 0; i < COUNT; i++) {
      const value = get(values, i);
      assert(value > 0 && value < 1);
      mean += value / COUNT;
      square += (value * value) / COUNT;
    }
    // Four standard errors.
    expect<f64>(abs(mean - 0.5)).toBeLessThan(4 * sqrt(1.0 / 12 / COUNT));
    expect<f64>(abs(square - 1.0 / 3)).toBeLessThan(4 * sqrt(4.0 / 45 / COUNT));
  });

  it("change with every word of seed and id", () => {
    const base = zeros(4);
    const other = zeros(4);
    uniforms(0, 0, 0, 0, 0, 4, base);
    for (let word = 0; word < 4; word++) {
      uniforms(u32(word == 0), u32(word == 1), u32(word == 2), u32(word == 3), 0, 4, other);
      expect<f64>(distance(base, other, 4)).toBeGreaterThan(0.01);
    }
  });
});

describe("normals", () => {
  it("have the moments and the tails of their law", () => {
    const values = zeros(COUNT);
    normals(6, 0, 0, 0, 0, COUNT, values);
    let mean: f64 = 0;
    let square: f64 = 0;
    let cube: f64 = 0;
    let fourth: f64 = 0;
    let beyond2: f64 = 0;
    for (let i = 0; i < COUNT; i++) {
      const z = get(values, i);
      mean += z / COUNT;
      square += (z * z) / COUNT;
      cube += (z * z * z) / COUNT;
      fourth += (z * z * z * z) / COUNT;
      if (abs(z) > 2) beyond2 += 1.0 / COUNT;
    }
    // Four standard errors: the variances of z, z^2, z^3, z^4 are 1, 2, 15, 96.
    expect<f64>(abs(mean)).toBeLessThan(4 * sqrt(1.0 / COUNT));
    expect<f64>(abs(square - 1)).toBeLessThan(4 * sqrt(2.0 / COUNT));
    expect<f64>(abs(cube)).toBeLessThan(4 * sqrt(15.0 / COUNT));
    expect<f64>(abs(fourth - 3)).toBeLessThan(4 * sqrt(96.0 / COUNT));
    expect<f64>(abs(beyond2 - 0.0455)).toBeLessThan(4 * sqrt(0.0455 / COUNT));
  });

  it("do not follow the uniforms of the same id", () => {
    const u = zeros(1000);
    const z = zeros(1000);
    uniforms(7, 0, 1, 1, 0, 1000, u);
    normals(7, 0, 1, 1, 0, 1000, z);
    let correlation: f64 = 0;
    for (let i = 0; i < 1000; i++) correlation += ((get(u, i) - 0.5) * sqrt(12.0) * get(z, i)) / 1000;
    expect<f64>(abs(correlation)).toBeLessThan(0.13);
  });
});
