import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import { verifyWebhook } from "../../worker/webhook.ts";

// The vector of the Standard Webhooks specification's reference implementations.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const sentAt = 1614265330_000;
const payload = '{"test": 2432232314}';
const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

const bytes = (text: string): ArrayBuffer => new Uint8Array(new TextEncoder().encode(text)).buffer;
const headersOf = (fields: object = {}) =>
  new Headers({ "webhook-id": id, "webhook-timestamp": String(sentAt / 1000), "webhook-signature": signature, ...fields });

const refused = { name: "Problem", status: 401 };

it("accepts the published vector, five minutes either way", async () => {
  for (const now of [sentAt, sentAt - 300_000, sentAt + 300_000]) {
    expect(await verifyWebhook(secret, headersOf(), bytes(payload), now)).toBe(id);
  }
  for (const now of [sentAt - 300_001, sentAt + 300_001]) {
    await expect(verifyWebhook(secret, headersOf(), bytes(payload), now)).rejects.toMatchObject(refused);
  }
});

it("accepts one good signature among several, as while secrets are rotated", async () => {
  const several = headersOf({ "webhook-signature": `v1,AAAA v1a,${signature.slice(3)} ${signature}` });
  expect(await verifyWebhook(secret, several, bytes(payload), sentAt)).toBe(id);
});

it.each([
  ["webhook-id", "msg_another"],
  ["webhook-id", ""],
  ["webhook-timestamp", "1614265331"],
  ["webhook-timestamp", "1614265330.0"],
  ["webhook-timestamp", ""],
  ["webhook-signature", signature.replace("v1", "v2")],
  ["webhook-signature", signature.slice(3)],
  ["webhook-signature", "v1,"],
  ["webhook-signature", "v1,%%%"],
  ["webhook-signature", ""],
])("refuses %s: %s", async (name, value) => {
  await expect(verifyWebhook(secret, headersOf({ [name]: value }), bytes(payload), sentAt)).rejects.toMatchObject(refused);
});

it("refuses another secret and another body", async () => {
  const other = `whsec_${btoa("another secret")}`;
  await expect(verifyWebhook(other, headersOf(), bytes(payload), sentAt)).rejects.toMatchObject(refused);
  await expect(verifyWebhook(secret, headersOf(), bytes(`${payload}\n`), sentAt)).rejects.toMatchObject(refused);
});

it("agrees with the standardwebhooks package on any body", async () => {
  const webhook = new Webhook(secret);
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), fc.stringMatching(/^msg_[A-Za-z0-9]{1,20}$/), async (body, name) => {
      fc.pre(body.isWellFormed());
      const headers = headersOf({ "webhook-id": name, "webhook-signature": webhook.sign(name, new Date(sentAt), body) });
      expect(await verifyWebhook(secret, headers, bytes(body), sentAt)).toBe(name);
    }),
    { numRuns: 50 },
  );
});
