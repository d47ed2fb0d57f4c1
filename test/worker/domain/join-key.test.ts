import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { KeyHasher } from "../../../worker/domain/ids/key-hasher.ts";
import { call, convert, createModel, recommend, statusesOf, statusOf } from "../support/client.ts";

const OLD = env.AFTERCLICK_JOIN_KEY as string;
const rotated = { env: { AFTERCLICK_JOIN_KEY: `a-newer-join-key-of-the-tests ${OLD}` } };
const without = { env: { AFTERCLICK_JOIN_KEY: "a-newer-join-key-of-the-tests" } };

it("is an HMAC-SHA256 of giver, model and key, cut to 128 bits", () => {
  // By Python's hmac.
  expect(KeyHasher.create("a-secret-of-16-characters").hash("shop", "order 7", "backend")).toEqual(["HzxV_Z8IPojybEaKJh_Jdw"]);
});

it("differs by model, giver and secret", () => {
  const hasher = KeyHasher.create("a-secret-of-16-characters another-of-16-characters");
  const hashes = [hasher.hash("shop", "7", "backend"), hasher.hash("shop", "7", "page"), hasher.hash("store", "7", "backend")].flat();
  expect(new Set(hashes).size).toBe(6);
});

it("needs a secret of 16 characters, where there are keys", async () => {
  const model = await createModel();
  for (const AFTERCLICK_JOIN_KEY of [undefined, " ", "too-short", `${OLD} too-short`]) {
    await recommend(model, {}, { env: { AFTERCLICK_JOIN_KEY } });
    const reply = await call("POST", `/v1/models/${model}/recommendations`, { keys: ["7"] }, { env: { AFTERCLICK_JOIN_KEY } });
    expect(reply).toMatchObject({ status: 500, body: { detail: expect.stringContaining("AFTERCLICK_JOIN_KEY") } });
  }
});

it("finds impressions across a rotation of the secret", async () => {
  const model = await createModel();
  await recommend(model, { keys: ["before"] });
  expect(statusesOf(await convert({ model, key: "before", reward: 1 }, rotated))).toEqual(["applied"]);
  await recommend(model, { keys: ["after"] }, rotated);
  expect(statusesOf(await convert({ model, key: "after", reward: 1 }, without))).toEqual(["applied"]);
});

it("joins conversions that came before a rotation to impressions that come after it", async () => {
  const model = await createModel();
  expect(statusesOf(await convert({ model, key: "early", reward: 1 }))).toEqual(["orphan"]);
  const item = { action: "mug", keys: ["early"], shownAt: Date.now() - 1000 };
  const [{ impressionId }] = (await call("POST", `/v1/models/${model}/impressions`, [item], rotated)).body.impressions;
  expect(await statusOf(impressionId)).toBe("converted");
});

it("knows a repetition across a rotation", async () => {
  const model = await createModel();
  await recommend(model, { keys: ["7"] });
  const webhook = { id: "msg_7", timestamp: Date.now() };
  expect(statusesOf(await convert({ model, key: "7", reward: 1 }, webhook))).toEqual(["applied"]);
  expect(statusesOf(await convert({ model, key: "7", reward: 1 }, { ...webhook, ...rotated }))).toEqual(["duplicate"]);
});

it("erases what was stored before a rotation, given by a backend or by a page", async () => {
  const model = await createModel();
  await recommend(model, { keys: ["ana"] });
  await recommend(model, { keys: ["ana"] }, { key: env.AFTERCLICK_PUBLISHABLE_KEY });
  await recommend(model, { keys: ["bea"] });
  expect((await call("DELETE", `/v1/models/${model}/keys/ana`, undefined, rotated)).body).toEqual({ erased: 2 });
});
