import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { TokenSigner } from "../../../worker/domain/ids/token.ts";
import { uuidAt } from "../../../worker/domain/ids/uuid.ts";
import { convert, createModel, describeModel, HOUR_MS, journalOf, recommend, statusesOf } from "../support/client.ts";
import { closing, ring, useClock } from "../support/clock.ts";
import { failing, kv } from "../support/fault.ts";

useClock();

it("does not store what the learner refuses or does not know", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  expect((await convert({ impressionId, reward: 2 })).status).toBe(422);
  expect(await journalOf(model)).toEqual([]);
  const signer = await TokenSigner.create(env.AFTERCLICK_TOKEN_KEY as string);
  const gone = {
    id: uuidAt(Date.now(), new Uint8Array(10)),
    model: "gone",
    action: "a",
    generation: 1,
    modelVersion: 0,
    sampling: 0,
    windowEndsAt: Date.now() + HOUR_MS,
  };
  expect(statusesOf(await convert({ impressionId: await signer.sign(gone), reward: 1 }))).toEqual(["unknown"]);
  expect(await journalOf("gone")).toEqual([]);
});

it("answers what the learner says when KV fails to forget it, and closing passes it over", async () => {
  const model = await createModel();
  const [impressionId] = await recommend(model);
  const { digest } = await describeModel(model);
  const shownAt = Date.now();
  expect((await convert({ impressionId, reward: 2 }, { env: { EVENTS: kv(failing("delete")) } })).status).toBe(422);
  expect(await journalOf(model)).toHaveLength(1);
  await ring(model, closing(shownAt));
  expect(await describeModel(model)).toMatchObject({ digest, counts: { converted: 0, applied: 0 }, incidents: { missed: 0, refused: 0 } });
});
