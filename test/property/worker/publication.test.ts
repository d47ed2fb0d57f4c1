import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPublication } from "../../../src/local/publication.ts";
import { decodePublication, encodePublication, isNewer } from "../../../worker/domain/model/publication.ts";

// Tests publications against the stated format: SHA-256 of the rest, length of the header as 32 bits big-endian, the header as
// JSON, the parts. For unusable bytes the worker's reader returns undefined and the page's reader throws.

type Bytes = Uint8Array<ArrayBuffer>;

const publication = fc.record({
  model: fc.stringMatching(/^[a-z]{1,10}$/),
  generation: fc.nat(),
  version: fc.nat(),
  catalogue: fc.nat(),
  publishedAt: fc.nat({ max: 2 ** 47 }),
  config: fc.record({ policy: fc.string({ unit: "binary" }), window: fc.record({ ms: fc.nat() }), draws: fc.nat() }),
  actions: fc.array(fc.record({ id: fc.string({ unit: "grapheme", minLength: 1 }), features: fc.array(fc.integer()) }), { maxLength: 3 }),
  parts: fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 3 }),
});
const settings = { numRuns: 100 };

/** The bytes of a header and its parts. */
function written(header: object, parts: readonly Uint8Array[]): Bytes {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  const rest = Buffer.concat([length, text, ...parts]);
  return new Uint8Array(Buffer.concat([createHash("sha256").update(rest).digest(), rest]));
}

/** The same bytes inside a larger buffer. */
function amidst(bytes: Bytes): Bytes {
  const buffer = new Uint8Array(bytes.length + 24).fill(9);
  buffer.set(bytes, 8);
  return buffer.subarray(8, 8 + bytes.length);
}

const failureOf = (bytes: Bytes): Promise<string> =>
  readPublication(bytes).then(
    () => "read",
    (error) => error.code,
  );

describe("a publication", () => {
  it("is told back by both readers, wherever its bytes stand", async () => {
    await fc.assert(
      fc.asyncProperty(publication, async ({ parts, ...header }) => {
        const bytes = await encodePublication({ parts, ...header } as never);
        for (const each of [bytes, amidst(bytes)]) {
          expect(await decodePublication(each)).toEqual({ ...header, parts });
          expect(await readPublication(each)).toEqual({ ...header, part: parts[0] });
        }
      }),
      settings,
    );
  });

  it("has the bytes of the stated format", async () => {
    await fc.assert(
      fc.asyncProperty(publication, async ({ parts, ...header }) => {
        const bytes = await encodePublication({ parts, ...header } as never);
        const length = Buffer.from(bytes).readUInt32BE(32);
        const content = JSON.parse(Buffer.from(bytes).toString("utf8", 36, 36 + length));
        expect(content).toEqual({ format: 1, schema: 3, lengths: parts.map((part) => part.length), ...JSON.parse(JSON.stringify(header)) });
        expect(bytes).toEqual(written(content, parts));
      }),
      settings,
    );
  });

  it("is refused with any bit flipped or cut short anywhere", async () => {
    await fc.assert(
      fc.asyncProperty(publication, fc.nat(), async (given, place) => {
        const bytes = await encodePublication(given as never);
        const flipped = bytes.slice();
        flipped[(place >> 3) % bytes.length] ^= 1 << (place & 7);
        expect(await decodePublication(flipped)).toBeUndefined();
        expect(await failureOf(flipped)).toBe("checksum");
        const cut = bytes.slice(0, place % bytes.length);
        expect(await decodePublication(cut)).toBeUndefined();
        expect(await failureOf(cut)).toBe(cut.length < 36 ? "truncated" : "checksum");
      }),
      settings,
    );
  });

  it("of another format or of other features is not for this code", async () => {
    const fields = { lengths: [0], model: "shop" };
    for (const [format, schema] of [
      [1, 3],
      [2, 3],
      [1, 4],
      [1, 2],
      [0, 3],
    ]) {
      const bytes = written({ format, schema, ...fields }, []);
      const ours = format === 1 && schema === 3;
      expect((await decodePublication(bytes)) !== undefined).toBe(ours);
      expect(await failureOf(bytes)).toBe(ours ? "read" : "version");
    }
  });

  it("lets go of the bytes that it was read from", async () => {
    const bytes = written({ format: 1, schema: 3, lengths: [2, 1], model: "shop" }, [Uint8Array.of(1, 2), Uint8Array.of(3)]);
    const [ours, theirs] = [await decodePublication(bytes), await readPublication(bytes)];
    bytes.fill(0);
    expect(ours?.parts).toEqual([Uint8Array.of(1, 2), Uint8Array.of(3)]);
    expect(theirs.part).toEqual(Uint8Array.of(1, 2));
  });
});

it("of two publications that with the greater (generation, version) is newer", () => {
  const mark = fc.record({ generation: fc.integer({ min: 0, max: 2 }), version: fc.integer({ min: 0, max: 2 }) });
  fc.assert(
    fc.property(mark, mark, (a, b) => {
      expect(isNewer(a, b)).toBe(10 * a.generation + a.version > 10 * b.generation + b.version);
    }),
    settings,
  );
});
