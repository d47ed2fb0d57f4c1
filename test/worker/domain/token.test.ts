import fc from "fast-check";
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { describe, expect, it } from "vitest";
import { hash32, type Impression, TokenSigner } from "../../../worker/domain/ids/token.ts";
import { firstIdAt, shownAtOf, uuidAt } from "../../../worker/domain/ids/uuid.ts";

const ours = "our-key-of-the-tests";
const theirs = "their-key-of-the-tests";
const shownAt = 1_795_262_400_123;
const random = new Uint8Array([0, 255, 1, 254, 2, 253, 3, 252, 4, 251]);
const impression: Impression = {
  id: uuidAt(shownAt, random),
  model: "shop",
  action: "mug",
  probability: 0.25,
  generation: shownAt - 1,
  modelVersion: 2 ** 40 + 7,
  sampling: 3,
  windowEndsAt: shownAt + 86_400_000,
};

const textOf = (bytes: Uint8Array<ArrayBuffer>) => encodeBase64Url(bytes.buffer).replaceAll("=", "");

it("tells what was signed", () => {
  const signer = TokenSigner.create(ours);
  const token = signer.sign(impression);
  expect(token).toMatch(/^[A-Za-z0-9_-]{1,100}$/);
  const { action, ...rest } = impression;
  expect(signer.verify(token, shownAt)).toEqual({ ...rest, actionHash: hash32(action) });
  const { probability: _, ...unknown } = impression;
  expect(signer.verify(signer.sign(unknown), shownAt)).not.toHaveProperty("probability");
});

it("tells any impression back", async () => {
  const signer = TokenSigner.create(ours);
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 2 ** 47 }),
      fc.uint8Array({ minLength: 10, maxLength: 10 }),
      fc.stringMatching(/^[a-z]{1,64}$/),
      fc.nat({ max: 2 ** 31 }),
      async (time, bytes, model, modelVersion) => {
        const given = { id: uuidAt(time, bytes), model, action: "a", generation: time, modelVersion, sampling: 0, windowEndsAt: time + 5 };
        expect(shownAtOf(given.id)).toBe(time);
        expect(given.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(given.id >= firstIdAt(time) && given.id < firstIdAt(time + 1)).toBe(true);
        expect(signer.verify(signer.sign(given), time)).toMatchObject({
          id: given.id,
          model,
          modelVersion,
          windowEndsAt: time + 5,
        });
      },
    ),
    { numRuns: 100 },
  );
});

it("refuses a token with any bit flipped, any length but its own, any other character", () => {
  const signer = TokenSigner.create(ours);
  const token = signer.sign(impression);
  const bytes = decodeBase64Url(token);
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const forged = bytes.slice();
    forged[bit >> 3] ^= 1 << (bit & 7);
    expect(signer.verify(textOf(forged), shownAt)).toBeUndefined();
  }
  for (let length = 0; length < token.length; length++) expect(signer.verify(token.slice(0, length), shownAt)).toBeUndefined();
  for (const other of [`${token}A`, `${token}=`, ` ${token}`, `${token}\n`, token.replace(/.$/, "!"), token.repeat(2)]) {
    expect(signer.verify(other, shownAt)).toBeUndefined();
  }
});

it("refuses another text of the same bytes", async () => {
  const signer = TokenSigner.create(ours);
  // One of these lengths leaves no spare bits in the last character. The others do.
  for (const model of ["a", "ab", "abc"]) {
    const token = signer.sign({ ...impression, model });
    const bytes = encodeBase64Url(decodeBase64Url(token).buffer);
    for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
      const other = token.slice(0, -1) + character;
      if (other === token) continue;
      expect(signer.verify(other, shownAt)).toBeUndefined();
    }
    if (bytes !== token) expect(signer.verify(bytes, shownAt)).toBeUndefined();
  }
});

it("refuses other spellings of the same bytes", async () => {
  const signer = TokenSigner.create(ours);
  const withDash = await signed((token) => /-/.test(token) && /_/.test(token));
  const spellings = [
    withDash.replaceAll("-", "+"),
    withDash.replaceAll("_", "/"),
    `${withDash.slice(0, 40)} ${withDash.slice(40)}`,
    `${withDash}\t`,
    `\uFEFF${withDash}`,
    withDash.toLowerCase(),
    withDash.toUpperCase(),
    encodeURIComponent(`${withDash}=`),
  ];
  expect(signer.verify(withDash, shownAt)).toBeDefined();
  for (const spelling of spellings) expect(signer.verify(spelling, shownAt), spelling).toBeUndefined();

  /** A valid token with the fields that a test needs. */
  async function signed(suits: (token: string) => boolean): Promise<string> {
    for (let version = 0; ; version++) {
      const token = signer.sign({ ...impression, modelVersion: version });
      if (suits(token)) return token;
    }
  }
});

it("refuses random bytes and random texts", async () => {
  const signer = TokenSigner.create(ours);
  const head = decodeBase64Url(signer.sign(impression)).slice(0, 3);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.string(), async (random, text) => {
      expect(signer.verify(textOf(new Uint8Array(random)), shownAt)).toBeUndefined();
      // Has the valid version and key id, so that only the MAC is wrong.
      expect(signer.verify(textOf(new Uint8Array([...head, ...random])), shownAt)).toBeUndefined();
      expect(signer.verify(text, shownAt)).toBeUndefined();
    }),
    { numRuns: 500 },
  );
});

describe("forged with another key under our key id", () => {
  /** Changes the token's bytes and computes the MAC anew. */
  async function resigned(token: string, secret: string, change: (bytes: Uint8Array) => void): Promise<string> {
    const bytes = decodeBase64Url(token);
    change(bytes);
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["sign"]);
    const mac = await crypto.subtle.sign("HMAC", key, bytes.subarray(0, -16));
    bytes.set(new Uint8Array(mac, 0, 16), bytes.length - 16);
    return textOf(bytes);
  }

  it.each([
    ["version", 0],
    ["key id", 2],
    ["impression", 18],
    ["end of the window", 24],
    ["action", 28],
    ["probability", 32],
    ["model version", 38],
    ["generation", 44],
    ["sampling", 45],
    ["model", 46],
  ])("a changed %s is refused", async (_, offset) => {
    const signer = TokenSigner.create(ours);
    const change = (bytes: Uint8Array) => {
      bytes[offset] ^= 1;
    };
    expect(signer.verify(await resigned(signer.sign(impression), theirs, change), shownAt)).toBeUndefined();
  });

  it("an unchanged token is refused, and our own key's is not", async () => {
    const signer = TokenSigner.create(ours);
    const token = signer.sign(impression);
    expect(await resigned(token, ours, () => {})).toBe(token);
    expect(signer.verify(await resigned(token, theirs, () => {}), shownAt)).toBeUndefined();
  });

  it("our own key does not make another version ours", async () => {
    const signer = TokenSigner.create(ours);
    const forged = await resigned(signer.sign(impression), ours, (bytes) => {
      bytes[0] = 1;
    });
    expect(signer.verify(forged, shownAt)).toBeUndefined();
  });
});

it("tells another model's token as that model's", () => {
  const signer = TokenSigner.create(ours);
  for (const model of ["shop", "shop2", "s"]) {
    expect(signer.verify(signer.sign({ ...impression, model }), shownAt)).toMatchObject({ model });
  }
});

it("refuses the token of another key", () => {
  const [signer, other] = [TokenSigner.create(ours), TokenSigner.create(theirs)];
  expect(signer.verify(other.sign(impression), shownAt)).toBeUndefined();
});

it("refuses a time more than five minutes ahead", () => {
  const signer = TokenSigner.create(ours);
  const token = signer.sign(impression);
  expect(signer.verify(token, shownAt - 300_000)).toBeDefined();
  expect(signer.verify(token, shownAt - 300_001)).toBeUndefined();
});

describe("several keys", () => {
  it("let the first sign and all verify", () => {
    const before = TokenSigner.create(theirs);
    const rotated = TokenSigner.create(` ${ours}\n${theirs} `);
    const after = TokenSigner.create(ours);
    const old = before.sign(impression);
    const fresh = rotated.sign(impression);
    expect(rotated.verify(old, shownAt)).toEqual(rotated.verify(fresh, shownAt));
    expect(after.verify(fresh, shownAt)).toBeDefined();
    expect(after.verify(old, shownAt)).toBeUndefined();
    expect(before.verify(fresh, shownAt)).toBeUndefined();
  });

  it("may have the same key id", async () => {
    const [one, other] = await colliding();
    const both = TokenSigner.create(`${one} ${other}`);
    const onlyOne = TokenSigner.create(one);
    const theirsToo = await TokenSigner.create(other).sign(impression);
    expect(decodeBase64Url(theirsToo).slice(1, 3)).toEqual(decodeBase64Url(both.sign(impression)).slice(1, 3));
    expect(both.verify(both.sign(impression), shownAt)).toBeDefined();
    expect(both.verify(theirsToo, shownAt)).toBeDefined();
    expect(onlyOne.verify(theirsToo, shownAt)).toBeUndefined();
  });

  /** Two keys whose hashes begin with the same 16 bits. */
  async function colliding(): Promise<[string, string]> {
    const seen = new Map<number, string>();
    for (let number = 0; ; number++) {
      const key = `key-of-the-tests-${number}`;
      const id = hash32(key) >>> 16;
      const other = seen.get(id);
      if (other) return [other, key];
      seen.set(id, key);
    }
  }

  it("are taken in once", () => {
    const keys = "a-key-taken-in-once another-taken-in-once";
    expect(TokenSigner.create(keys)).toBe(TokenSigner.create(keys));
  });

  it("are refused, naming the variable, if there is none or one is short", () => {
    for (const keys of ["", " ", "fifteen-letters", `${ours} short`]) {
      expect(() => TokenSigner.create(keys)).toThrow(
        expect.objectContaining({ status: 500, message: expect.stringContaining("AFTERCLICK_TOKEN_KEY") }),
      );
    }
  });
});
