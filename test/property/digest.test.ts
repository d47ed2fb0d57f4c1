import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { freshCore } from "../support/core.ts";

// Impression ids, randomness and snapshots depend on these digests, so a released digest never changes.
// A Python implementation computed the literals.

const { core } = freshCore();
const { memory, exports } = core;
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const bytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, (_, i) => 7 * i + 3);

it.each([
  [0, "b7abbc0beaab7694"],
  [1, "e5f9003fb072b679"],
  [2, "abbde26a54670850"],
  [7, "4cc851fc614fbabe"],
  [8, "b5d92078bc27e797"],
  [9, "bf4e7340e00a7f00"],
  [15, "0b0b444ce39b4551"],
  [16, "0bad598c1c0ac623"],
  [17, "e96c9711d7ced043"],
  [31, "9c3e67802d3d2f38"],
  [32, "cf16f2aa9b9ae918"],
  [64, "b91a036e0df41b42"],
  [200, "9d9a05c6c3d33467"],
])("the digest of %d bytes is as published", (count, digest) => {
  expect(core.digest(bytes(count))).toBe(digest);
});

it.each([
  ["order 17", "74216313e8ab6090"],
  ["ü👟", "bd8e7b53035b314c"],
])("the digest of the text %s is that of its UTF-8 bytes", (text, digest) => {
  expect(core.digest(utf8(text))).toBe(digest);
  const out = memory.put(new Float64Array(3));
  exports.digest(out + 8, memory.writeText(out + 8, text), out);
  expect(memory.hexadecimal(out)).toBe(digest);
});

it("the digest of three numbers is that of their text", () => {
  const whole = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(0, 9, 10, 99, 100, Number.MAX_SAFE_INTEGER));
  const seed = fc.oneof(whole, fc.maxSafeInteger(), fc.constantFrom(-1, -10, Number.MIN_SAFE_INTEGER));
  fc.assert(
    fc.property(seed, whole, whole, (first, second, third) => {
      expect(core.digestNumbers(first, second, third)).toBe(core.digest(utf8(`${first} ${second} ${third}`)));
    }),
  );
});

it.each([
  [0, "9595059d2b67aa6f"],
  [8, "fe3ccde7ca73fc21"],
  [16, "8f33417cf83b0aaf"],
  [24, "1b4c7bb7779ffcd5"],
  [32, "dcd7d6ae2d7e9f5b"],
  [40, "ea905385f0e000a2"],
  [56, "5138ef51f5066d62"],
  [64, "8c6b452a1498895a"],
  [72, "fc57e23d699b51cd"],
  [200, "e95cf7abf1f40e74"],
  [32_808, "ecd3660a841829d6"],
])("the checksum of %d bytes is as published", (count, checksum) => {
  expect(core.checksum(bytes(count))).toBe(checksum);
});

describe("a checksum", () => {
  it("of parts of 32 bytes each is that of the whole, however many parts there are", () => {
    const whole = bytes(32 * 40 + 24);
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 5 }), (cuts) => {
        const ends = [...cuts.sort((a, b) => a - b).map((cut) => 32 * cut), whole.length];
        const parts = ends.map((end, i) => whole.subarray(ends[i - 1] ?? 0, end));
        expect(core.checksum(...parts)).toBe(core.checksum(whole));
      }),
      { numRuns: 50 },
    );
  });

  it("changes with every bit", () => {
    const whole = bytes(72);
    const seen = new Set([core.checksum(whole)]);
    for (let bit = 0; bit < 8 * whole.length; bit++) {
      whole[bit >> 3] ^= 1 << (bit & 7);
      seen.add(core.checksum(whole));
      whole[bit >> 3] ^= 1 << (bit & 7);
    }
    expect(seen.size).toBe(8 * whole.length + 1);
  });
});
