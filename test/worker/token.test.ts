import fc from "fast-check";
import { decodeBase64Url, encodeBase64Url } from "hono/utils/encode";
import { expect, it } from "vitest";
import { firstIdAt, hash32, type Impression, shownAtOf, TokenSigner, uuidAt } from "../../worker/token.ts";

const shownAt = 1_795_262_400_123;
const random = new Uint8Array([0, 255, 1, 254, 2, 253, 3, 252, 4, 251]);
const impression: Impression = {
  id: uuidAt(shownAt, random),
  model: "shop",
  action: "mug",
  probability: 0.25,
  modelVersion: 2 ** 40 + 7,
  windowEndsAt: shownAt + 86_400_000,
};

it("tells what was signed", async () => {
  const signer = await TokenSigner.create("key");
  const token = await signer.sign(impression);
  expect(token).toMatch(/^[A-Za-z0-9_-]{1,100}$/);
  const { action, ...rest } = impression;
  expect(await signer.verify(token, shownAt)).toEqual({ ...rest, actionHash: await hash32(action) });
  const { probability: _, ...unknown } = impression;
  expect(await signer.verify(await signer.sign(unknown), shownAt)).not.toHaveProperty("probability");
});

it("tells any impression back", async () => {
  const signer = await TokenSigner.create("key");
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 2 ** 47 }),
      fc.uint8Array({ minLength: 10, maxLength: 10 }),
      fc.stringMatching(/^[a-z]{1,64}$/),
      fc.nat({ max: 2 ** 31 }),
      async (time, bytes, model, modelVersion) => {
        const given = { id: uuidAt(time, bytes), model, action: "a", modelVersion, windowEndsAt: time + 5 };
        expect(shownAtOf(given.id)).toBe(time);
        expect(given.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(given.id >= firstIdAt(time) && given.id < firstIdAt(time + 1)).toBe(true);
        expect(await signer.verify(await signer.sign(given), time)).toMatchObject({
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

it("refuses a token with any bit flipped, any length but its own, any other character", async () => {
  const signer = await TokenSigner.create("key");
  const token = await signer.sign(impression);
  const bytes = decodeBase64Url(token);
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const forged = bytes.slice();
    forged[bit >> 3] ^= 1 << (bit & 7);
    expect(await signer.verify(encodeBase64Url(forged.buffer).replaceAll("=", ""), shownAt)).toBeUndefined();
  }
  for (let length = 0; length < token.length; length++) expect(await signer.verify(token.slice(0, length), shownAt)).toBeUndefined();
  for (const other of [`${token}A`, `${token}=`, ` ${token}`, `${token}\n`, token.replace(/.$/, "!"), token.repeat(2)]) {
    expect(await signer.verify(other, shownAt)).toBeUndefined();
  }
});

it("refuses another text of the same bytes", async () => {
  const signer = await TokenSigner.create("key");
  // Of these lengths, one leaves no spare bits in the last character, the others do.
  for (const model of ["a", "ab", "abc"]) {
    const token = await signer.sign({ ...impression, model });
    const bytes = encodeBase64Url(decodeBase64Url(token).buffer);
    for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
      const other = token.slice(0, -1) + character;
      if (other === token) continue;
      expect(await signer.verify(other, shownAt)).toBeUndefined();
    }
    if (bytes !== token) expect(await signer.verify(bytes, shownAt)).toBeUndefined();
  }
});

it("refuses the token of another key", async () => {
  const [ours, theirs] = [await TokenSigner.create("key"), await TokenSigner.create("another key")];
  expect(await ours.verify(await theirs.sign(impression), shownAt)).toBeUndefined();
});

it("refuses a time more than five minutes ahead", async () => {
  const signer = await TokenSigner.create("key");
  const token = await signer.sign(impression);
  expect(await signer.verify(token, shownAt - 300_000)).toBeDefined();
  expect(await signer.verify(token, shownAt - 300_001)).toBeUndefined();
});
