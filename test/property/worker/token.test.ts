import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hash32, type Impression, TokenSigner } from "../../../worker/domain/ids/token.ts";
import { firstIdAt, shownAtOf, uuidAt } from "../../../worker/domain/ids/uuid.ts";

// Compares impression ids with a second implementation, on Node's buffers and cryptography: version, key id, UUID, end of the window,
// hash of the action, probability, version of the model, its generation, sampling, the shard if it is not the first, the model's name; then 128 bits of an HMAC-SHA256. Numbers are big-endian.

// Replaces a function that only workerd has.
Object.defineProperty(crypto.subtle, "timingSafeEqual", { value: timingSafeEqual, configurable: true });

const KEYS = ["first-key-of-the-tests", "second-key-of-the-tests", "third-key-of-the-tests"];
const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

function packed(impression: Impression, key: string): Buffer {
  const fixed = Buffer.alloc(46);
  const { shard = 0 } = impression;
  fixed.writeUInt8(shard > 0 ? 3 : 2, 0);
  sha256(key).copy(fixed, 1, 0, 2);
  Buffer.from(impression.id.replaceAll("-", ""), "hex").copy(fixed, 3);
  fixed.writeUIntBE(impression.windowEndsAt, 19, 6);
  sha256(impression.action).copy(fixed, 25, 0, 4);
  fixed.writeFloatBE(impression.probability ?? Number.NaN, 29);
  fixed.writeUIntBE(impression.modelVersion, 33, 6);
  fixed.writeUIntBE(impression.generation, 39, 6);
  fixed.writeUInt8(impression.sampling, 45);
  return Buffer.concat([fixed, Buffer.from(shard > 0 ? [shard] : []), Buffer.from(impression.model)]);
}

function token(bytes: Buffer, key: string): string {
  const mac = createHmac("sha256", key).update(bytes).digest().subarray(0, 16);
  return Buffer.concat([bytes, mac]).toString("base64url");
}

const time = fc.oneof(fc.constantFrom(0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 47), fc.nat({ max: 2 ** 47 }));
const version = fc.oneof(
  fc.constantFrom(0, 255, 2 ** 32 - 1, 2 ** 32, 2 ** 48 - 1),
  fc.maxSafeNat().map((value) => value % 2 ** 48),
);
const impression = fc.record({
  id: fc.tuple(time, fc.uint8Array({ minLength: 10, maxLength: 10 })).map(([at, random]) => uuidAt(at, random)),
  model: fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
  action: fc.string({ unit: "binary", minLength: 1, maxLength: 20 }),
  probability: fc.option(fc.constantFrom(1, 0.5, 0.1, 1e-30, 2 ** -24), { nil: undefined }),
  generation: version,
  modelVersion: version,
  sampling: fc.integer({ min: 0, max: 255 }),
  windowEndsAt: version,
  shard: fc.option(fc.integer({ min: 1, max: 31 }), { nil: undefined }),
});
const key = fc.constantFrom(...KEYS);
const settings = { numRuns: 150 };
const NOW = 2 ** 47;

describe("an impression id", () => {
  it("has the documented bytes, whatever it says", () => {
    fc.assert(
      fc.property(impression, key, (given, secret) => {
        expect(TokenSigner.create(secret).sign(given)).toBe(token(packed(given, secret), secret));
      }),
      settings,
    );
  });

  it("is read as what it says, the probability to 24 bits", () => {
    fc.assert(
      fc.property(impression, key, ({ probability, ...given }, secret) => {
        const { action, shard, ...others } = given;
        const rest = { ...others, ...(shard !== undefined && { shard }) };
        const read = TokenSigner.create(secret).verify(token(packed({ probability, ...given }, secret), secret), NOW);
        const chance = probability !== undefined && { probability: Math.fround(probability) };
        expect(read).toEqual({ ...rest, ...chance, actionHash: sha256(action).readUInt32BE(0) });
      }),
      settings,
    );
  });

  it("is refused with any of its bits flipped, cut short, or with more at its end", () => {
    fc.assert(
      fc.property(impression, key, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 }), (given, secret, place, more) => {
        const signer = TokenSigner.create(secret);
        const bytes = Buffer.from(signer.sign(given), "base64url");
        const flipped = Buffer.from(bytes);
        flipped[(place >> 3) % bytes.length] ^= 1 << (place & 7);
        for (const forged of [flipped, bytes.subarray(0, place % bytes.length), Buffer.concat([bytes, more])]) {
          expect(signer.verify(forged.toString("base64url"), NOW)).toBeUndefined();
        }
      }),
      settings,
    );
  });

  it("is refused if any field comes from another id of the same key", () => {
    const fields = [
      [3, 19],
      [19, 25],
      [25, 29],
      [29, 33],
      [33, 39],
      [39, 45],
      [45, 46],
      [46, -16],
      [-16, undefined],
    ] as const;
    fc.assert(
      fc.property(impression, impression, fc.constantFrom(...fields), (one, other, [from, to]) => {
        const signer = TokenSigner.create(KEYS[0]);
        const [a, b] = [one, other].map((each) => Buffer.from(signer.sign(each), "base64url"));
        const end = to === undefined ? a.length : to;
        const mixed = Buffer.concat([a.subarray(0, from), b.subarray(from, to), a.subarray(end)]);
        fc.pre(!mixed.equals(a) && !mixed.equals(b));
        expect(signer.verify(mixed.toString("base64url"), NOW)).toBeUndefined();
      }),
      settings,
    );
  });

  it("holds for as long as its key is among the keys, in whatever place, and no longer", () => {
    fc.assert(
      fc.property(impression, key, fc.shuffledSubarray(KEYS, { minLength: 1 }), (given, secret, keys) => {
        const read = TokenSigner.create(keys.join("\n")).verify(token(packed(given, secret), secret), NOW);
        expect(read !== undefined).toBe(keys.includes(secret));
      }),
      settings,
    );
  });

  it("is of our version: one of another is refused though our key signs it", () => {
    fc.assert(
      fc.property(impression, fc.integer({ min: 0, max: 255 }), (given, first) => {
        // Version 3 states a shard before the model's name.
        const bytes = packed(given, KEYS[0]);
        bytes[0] = first;
        expect(TokenSigner.create(KEYS[0]).verify(token(bytes, KEYS[0]), NOW) !== undefined).toBe(first === 2 || first === 3);
      }),
      settings,
    );
  });

  it("needs the name of a model", () => {
    const named = {
      id: uuidAt(5, new Uint8Array(10)),
      model: "m",
      action: "a",
      generation: 3,
      modelVersion: 1,
      sampling: 0,
      windowEndsAt: 9,
    };
    const bytes = packed(named, KEYS[0]);
    const signer = TokenSigner.create(KEYS[0]);
    expect(signer.verify(token(bytes, KEYS[0]), NOW)).toMatchObject({ model: "m" });
    expect(signer.verify(token(bytes.subarray(0, 46), KEYS[0]), NOW)).toBeUndefined();
  });

  it("holds up to five minutes before the time it says, by a clock that may be behind", () => {
    fc.assert(
      fc.property(impression, fc.integer({ min: -2, max: 2 }), (given, off) => {
        const now = shownAtOf(given.id) - 300_000 + off;
        expect(TokenSigner.create(KEYS[0]).verify(TokenSigner.create(KEYS[0]).sign(given), now) !== undefined).toBe(off >= 0);
      }),
      settings,
    );
  });
});

describe("a time's ids", () => {
  const random = fc.uint8Array({ minLength: 10, maxLength: 16 });

  it("are UUIDs of version 7 that tell the time and keep the random bits that a UUID leaves free", () => {
    fc.assert(
      fc.property(time, random, (at, bytes) => {
        const id = uuidAt(at, bytes);
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(shownAtOf(id)).toBe(at);
        const tail = Buffer.from(id.replaceAll("-", ""), "hex").subarray(6);
        const given = Buffer.from(bytes.subarray(0, 10));
        expect([tail[0] & 15, tail[1], tail[2] & 63, ...tail.subarray(3)]).toEqual([
          given[0] & 15,
          given[1],
          given[2] & 63,
          ...given.subarray(3),
        ]);
      }),
      settings,
    );
  });

  it("sort as their times do, and the first id of a time before all of them", () => {
    fc.assert(
      fc.property(time, time, random, random, (one, other, a, b) => {
        if (one < other) expect(uuidAt(one, a) < uuidAt(other, b)).toBe(true);
        expect(firstIdAt(one) < uuidAt(other, b)).toBe(one <= other);
      }),
      settings,
    );
    expect(firstIdAt(-1)).toBe(firstIdAt(0));
  });
});

it("the hash of a text is the first 32 bits of its SHA-256, asked once or again", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      for (let asked = 0; asked < 2; asked++) expect(hash32(text)).toBe(sha256(text).readUInt32BE(0));
    }),
    settings,
  );
});
