import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { describe, expect, it } from "vitest";
import { hash32, type Impression, TokenSigner } from "../../../worker/domain/ids/token.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";

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

it("tells what was signed", () => {
  const signer = TokenSigner.create(ours);
  const token = signer.sign(impression);
  expect(token).toMatch(/^[A-Za-z0-9_-]{1,100}$/);
  const { action, ...rest } = impression;
  expect(signer.verify(token, shownAt)).toEqual({ ...rest, actionHash: hash32(action) });
  const { probability: _, ...unknown } = impression;
  expect(signer.verify(signer.sign(unknown), shownAt)).not.toHaveProperty("probability");
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
