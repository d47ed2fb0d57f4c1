import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBlob, toBlob } from "../../../worker/domain/impression/feature-blob.ts";

describe("a blob of features", () => {
  it("is read as the same numbers, to the bit", () => {
    const unit = fc.oneof(fc.constant(0), fc.integer({ min: -40_000, max: 40_000 })).map((each) => each / 4096);
    const any = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 30, arbitrary: unit }, any), { maxLength: 60 }), (numbers) => {
        const features = Float64Array.from(numbers);
        const read = fromBlob(toBlob(features));
        expect(read.length).toBe(features.length);
        read.forEach((each, i) => void expect(Object.is(each, features[i])).toBe(true));
      }),
    );
  });

  it.each([
    ["a multiple of 2^-12 takes a bit if it is 0", [...Array(60).fill(0), 1, 2], 2 + 8 + 2 * 2 + 1],
    ["multiples of 2^-12 below 8 take two bytes each, and one more in all", [0, 1, -1, 1 / 4096, -8, 32_767 / 4096], 13],
    ["a multiple of 2^-12 from 8 on takes eight", [8, 0], 16],
    ["any other number takes eight", [0.1, 0], 16],
    ["so does a negative zero", [-0, 0], 16],
    ["no features take one byte", [], 1],
  ])("%s", (_, numbers, bytes) => {
    expect(toBlob(Float64Array.from(numbers)).byteLength).toBe(bytes);
  });

  it("of an erased impression is empty", () => expect(fromBlob(new ArrayBuffer(0))).toEqual(new Float64Array(0)));
});
