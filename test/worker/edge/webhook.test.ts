import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { signed, verifyWebhook } from "../../../worker/edge/webhook.ts";
import type { Environment } from "../../../worker/environment.ts";

// The test vector of the Standard Webhooks reference implementations.
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const sentAt = 1614265330_000;
const payload = '{"test": 2432232314}';
const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

const another = `whsec_${btoa("another secret of the tests")}`;
const bytes = (text: string) => async (): Promise<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text)).buffer;
const headersOf = (fields: object = {}) =>
  new Headers({ "webhook-id": id, "webhook-timestamp": String(sentAt / 1000), "webhook-signature": signature, ...fields });
const signedBy = (key: string, name = id) =>
  headersOf({ "webhook-id": name, "webhook-signature": new Webhook(key).sign(name, new Date(sentAt), payload) });
const verify = (secrets: string, headers = headersOf()) => verifyWebhook(secrets, headers, bytes(payload), sentAt);

const refused = { name: "Problem", status: 401 };
const misconfigured = { name: "Problem", status: 500, message: expect.stringContaining("AFTERCLICK_WEBHOOK_SECRET") };

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it("accepts the published vector, five minutes either way", async () => {
  for (const now of [sentAt, sentAt - 300_000, sentAt + 300_000]) {
    expect(await verifyWebhook(secret, headersOf(), bytes(payload), now)).toBe(id);
  }
  for (const now of [sentAt - 300_001, sentAt + 300_001]) {
    await expect(verifyWebhook(secret, headersOf(), bytes(payload), now)).rejects.toMatchObject(refused);
  }
});

it.each<[string, object, RegExp]>([
  ["no id", { "webhook-id": "" }, /got no webhook-id$/],
  [
    "an API key instead",
    { "webhook-id": "", "webhook-signature": "", authorization: "Bearer x" },
    /got no webhook-id and no webhook-signature; this call takes a signature, not an API key$/,
  ],
  ["a space in the id", { "webhook-id": "order 1" }, /^webhook-id: expected 1 to 128 printable ASCII characters/],
  [
    "milliseconds",
    { "webhook-timestamp": "1614265330000" },
    /^webhook-timestamp: expected whole seconds since 1970, such as 1614265330, got milliseconds$/,
  ],
  ["a date", { "webhook-timestamp": "2021-02-25" }, /^webhook-timestamp: expected whole seconds since 1970, such as 1614265330$/],
  [
    "an old time",
    { "webhook-timestamp": "1614265000" },
    /at most 300 seconds .*got 1614265000 \(2021-02-25T14:56:40\.000Z\).*clock says 1614265330 \(2021-02-25T15:02:10\.000Z\)/,
  ],
  ["half a signature", { "webhook-signature": "v1,AAAA" }, /^webhook-signature: expected v1, and the base64 of 32 bytes/],
  [
    "another secret",
    { "webhook-signature": signature.replace("g0", "00") },
    /^webhook-signature: no secret of this worker made it\. The sender is unknown/,
  ],
])("says what the sender can see: %s", async (_, fields, message) => {
  await expect(verify(secret, headersOf(fields))).rejects.toMatchObject({ ...refused, message: expect.stringMatching(message) });
});

it("reads no body whose headers are wrong already", async () => {
  const body = vi.fn(bytes(payload));
  for (const headers of [headersOf({ "webhook-signature": "v1,short" }), headersOf({ "webhook-timestamp": "1" }), new Headers()]) {
    await expect(verifyWebhook(secret, headers, body, sentAt)).rejects.toMatchObject(refused);
  }
  expect(body).not.toHaveBeenCalled();
});

it("does nothing with a body that comes without a signature", async () => {
  const sign = vi.spyOn(crypto.subtle, "sign");
  for (const none of ["", "v1,", "v1,AAAA v1a,AAAA", signature.slice(0, -1)]) {
    await expect(verify(secret, headersOf({ "webhook-signature": none }))).rejects.toMatchObject(refused);
  }
  expect(sign).not.toHaveBeenCalled();
});

describe("signed by hand", () => {
  const base64 = (buffer: ArrayBuffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));
  const raw = new Uint8Array(24).fill(7);

  /** Verifies a body whose signature covers the timestamp as written. */
  async function verifyByHand(timestamp: string, body: Uint8Array): Promise<string> {
    const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const signed = new Uint8Array([...new TextEncoder().encode(`${id}.${timestamp}.`), ...body]);
    const mac = base64(await crypto.subtle.sign("HMAC", key, signed));
    const headers = headersOf({ "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` });
    return verifyWebhook(`whsec_${base64(raw.buffer)}`, headers, async () => new Uint8Array(body).buffer, sentAt);
  }

  it("raw bytes are verified, also those that are no text", async () => {
    const verified = fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (body) => {
      expect(await verifyByHand("1614265330", body)).toBe(id);
    });
    await fc.assert(verified, { numRuns: 200 });
  });

  it.each(["01614265330", "1614265330.0", "+1614265330", "1614265330e0"])("a time spelt otherwise is refused: %s", async (timestamp) => {
    await expect(verifyByHand(timestamp, new Uint8Array([1]))).rejects.toMatchObject(refused);
  });
});

describe("several secrets", () => {
  it("all verify, and one that was dropped no longer does", async () => {
    for (const secrets of [`${secret} ${another}`, `${another}\n\t${secret}`]) {
      expect(await verify(secrets)).toBe(id);
      expect(await verify(secrets, signedBy(another))).toBe(id);
    }
    await expect(verify(another, signedBy(secret))).rejects.toMatchObject(refused);
  });

  it("name events by their senders, whose ids do not meet", async () => {
    const third = `whsec_${btoa("a third secret of the tests")}`;
    const secrets = `shop=${secret} shop=${another} till.2=${third}`;
    expect(await verify(secrets)).toBe(`shop/${id}`);
    expect(await verify(secrets, signedBy(another))).toBe(`shop/${id}`);
    expect(await verify(secrets, signedBy(third))).toBe(`till.2/${id}`);
  });

  it("let nobody without a name speak in the name of a sender", async () => {
    const secrets = `${secret} shop=${another}`;
    expect(await verify(secrets, signedBy(secret, "other/msg_1"))).toBe("other/msg_1");
    expect(await verify(secrets, signedBy(another, "msg_1"))).toBe("shop/msg_1");
    await expect(verify(secrets, signedBy(secret, "shop/msg_1"))).rejects.toMatchObject({ ...refused, status: 403 });
  });

  it("are all tried, whichever fits", async () => {
    const sign = vi.spyOn(crypto.subtle, "sign");
    await verify(`${secret} ${another}`);
    await verify(`${secret} ${another}`, signedBy(another));
    expect(sign).toHaveBeenCalledTimes(4);
  });

  it("are imported once", async () => {
    const secrets = `once=${secret} once=${another}`;
    const importKey = vi.spyOn(crypto.subtle, "importKey");
    await verify(secrets);
    await verify(secrets);
    expect(importKey).toHaveBeenCalledTimes(2);
  });
});

it.each([
  ["no prefix", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
  ["another prefix", "sk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
  ["no base64", "whsec_not*base64"],
  ["fifteen bytes", `whsec_${btoa("fifteen bytes..")}`],
  ["a sender with a slash", `a/b=${secret}`],
  ["a sender without a name", `=${secret}`],
  ["two secrets without a space between", `whsec_${btoa("seventeen bytes..")}${secret}`],
  ["one value of several", `${secret} whsec_`],
])("names the variable of a secret that is none: %s", async (_, wrong) => {
  await expect(verify(wrong)).rejects.toMatchObject(misconfigured);
});

it("signs with the first secret, without its sender", async () => {
  const now = 1_795_262_400_999;
  const signing = async (text?: string) => signed({ AFTERCLICK_WEBHOOK_SECRET: text } as Environment, "msg_1", "{}", now);
  const headers = (secret: string) => ({
    ...{ "webhook-id": "msg_1", "webhook-timestamp": "1795262400" },
    "webhook-signature": new Webhook(secret).sign("msg_1", new Date(now), "{}"),
  });
  expect(await signing(`demo=${secret} ${another}`)).toEqual(headers(secret));
  expect(await signing(` ${another} ${secret}`)).toEqual(headers(another));
  for (const text of ["plain", " ", undefined]) await expect(signing(text)).rejects.toThrow("AFTERCLICK_WEBHOOK_SECRET");
});

describe("beside the standardwebhooks package", () => {
  // The package captures a stack for each refusal, which takes longer than everything else here.
  const errors = Error as { stackTraceLimit?: number };
  const { stackTraceLimit } = errors;
  beforeEach(() => {
    errors.stackTraceLimit = 0;
  });
  afterEach(() => {
    errors.stackTraceLimit = stackTraceLimit;
  });

  // Offsets in ms at and around both ends of the tolerance.
  const offset = fc.oneof(
    fc.constantFrom(...[-1, 1].flatMap((side) => [299_999, 300_000, 300_001, 300_999, 301_000, 301_001].map((ms) => side * ms))),
    fc.integer({ min: -303_000, max: 303_000 }),
    fc.constant(0),
  );
  const body = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.json(), fc.constant(""));
  const messageId = fc.oneof(
    { weight: 8, arbitrary: fc.stringMatching(/^msg_[A-Za-z0-9]{1,20}$/) },
    { weight: 4, arbitrary: fc.string({ unit: fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code)), minLength: 1 }) },
    { weight: 1, arbitrary: fc.constantFrom("", "two words", "x".repeat(128), "x".repeat(129)) },
  );
  const secretBytes = fc.uint8Array({ minLength: 16, maxLength: 64 }).map((key) => `whsec_${btoa(String.fromCharCode(...key))}`);

  /** Changes of a valid signature in transit. */
  const forms: Record<string, (good: string) => string> = {
    whole: (good) => good,
    "of another version": (good) => good.replace("v1", "v1a"),
    "of no version": (good) => good.slice(3),
    "with another comma": (good) => `${good},`,
    unpadded: (good) => good.replaceAll("=", ""),
    "padded twice": (good) => `${good}=`,
    // The base64 of 32 bytes ends with a character with two spare bits and a padding.
    "with spare bits": (good) => good.replace(/(.)=$/, (_, last) => `${String.fromCharCode(last.charCodeAt(0) + 1)}=`),
    "in the other alphabet": (good) => good.replaceAll("+", "-").replaceAll("/", "_"),
    "in lower case": (good) => good.toLowerCase(),
    truncated: (good) => good.slice(0, -5),
    doubled: (good) => `${good}${good}`,
    "after two spaces": (good) => `  ${good}`,
    "after a tab": (good) => `v1,\t${good}`,
    empty: () => "v1,",
  };
  const form = fc.oneof({ weight: 1, arbitrary: fc.constant("whole") }, { weight: 1, arbitrary: fc.constantFrom(...Object.keys(forms)) });
  const signatures = fc.array(fc.record({ form, bySecret: fc.boolean() }), { minLength: 1, maxLength: 10 });

  const timestampForms = ["1.0", "1 ", "+1", "01", "1e0", "1abc", "-1", "0x1"];
  const change = fc.oneof(
    { weight: 6, arbitrary: fc.constant({ kind: "none" as const }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("missing" as const), field: fc.constantFrom("id", "timestamp", "signature") }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("timestamp" as const), form: fc.constantFrom("2", ...timestampForms) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("body" as const), added: fc.string({ minLength: 1, maxLength: 3 }) }) },
    { weight: 1, arbitrary: fc.constant({ kind: "id" as const }) },
  );

  const message = fc.record({ offset, body, messageId, secret: secretBytes, other: secretBytes, signatures, change });
  type Message = typeof message extends fc.Arbitrary<infer Of> ? Of : never;

  /** Headers and body on arrival. */
  function arriving({ body, messageId, secret, other, signatures, change }: Message, at: number) {
    const sent = String(at / 1000);
    const [good, bad] = [secret, other].map((key) => new Webhook(key).sign(messageId, new Date(at), body));
    const fields = {
      id: change.kind === "id" ? `${messageId}x` : messageId,
      timestamp: change.kind === "timestamp" ? change.form.replace("1", sent).replace("2", String(Number(sent) + 1)) : sent,
      signature: signatures.map(({ form, bySecret }) => forms[form](bySecret ? good : bad)).join(" "),
    };
    const kept = Object.entries(fields).filter(([name]) => change.kind !== "missing" || name !== change.field);
    const headers = new Headers(kept.map(([name, value]) => [`webhook-${name}`, value]));
    return { headers, body: change.kind === "body" ? body + change.added : body };
  }

  /** Input that the worker refuses and the package may accept: other ids, other spellings of a time, the last part of a second. */
  function isStricter(headers: Headers, age: number): boolean {
    const id = headers.get("webhook-id") ?? "";
    const timestamp = headers.get("webhook-timestamp") ?? "";
    return !/^[!-~]{1,128}$/.test(id) || !/^[1-9][0-9]*$/.test(timestamp) || (age > 300_000 && age < 301_000);
  }

  function packageAccepts(secret: string, headers: Headers, body: string): boolean {
    const fields = Object.fromEntries(headers);
    // The worker takes the first eight signatures only, and none after another comma.
    const taken = (fields["webhook-signature"] ?? "").split(" ").slice(0, 8);
    fields["webhook-signature"] = taken.filter((each) => each.split(",").length <= 2).join(" ");
    try {
      new Webhook(secret).verify(body, fields, { jsonParse: false });
      return true;
    } catch {
      return false;
    }
  }

  async function weAccept(secret: string, headers: Headers, body: string): Promise<boolean> {
    try {
      await verifyWebhook(secret, headers, bytes(body), Date.now());
      return true;
    } catch (error) {
      expect(error).toMatchObject(refused);
      return false;
    }
  }

  it("accepts and refuses the same messages, but for what it knowingly refuses", { timeout: 30_000 }, async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const tally = { accepted: 0, refused: 0, stricter: 0 };
    const agrees = fc.asyncProperty(message, async (given) => {
      vi.setSystemTime(sentAt + given.offset);
      const { headers, body } = arriving(given, sentAt);
      const age = Date.now() - 1000 * Number(headers.get("webhook-timestamp"));
      const accepted = await weAccept(given.secret, headers, body);
      if (isStricter(headers, age)) {
        tally.stricter++;
        expect(accepted).toBe(false);
      } else {
        tally[accepted ? "accepted" : "refused"]++;
        expect(accepted).toBe(packageAccepts(given.secret, headers, body));
      }
    });
    await fc.assert(agrees, { numRuns: 2500 });
    expect(Math.min(tally.accepted, tally.refused)).toBeGreaterThan(500);
    expect(tally.stricter).toBeGreaterThan(100);
  });

  it("takes the same secrets, but for base64 that is none and values that are short", async () => {
    const at = Math.floor(Date.now() / 1000) * 1000;
    const mutated = fc
      .record({ secret: secretBytes, place: fc.nat({ max: 90 }), put: fc.constantFrom("", "A", "=", "-", "_", "*", "é", "whsec_") })
      .map(({ secret, place, put }) => secret.slice(0, place) + put + secret.slice(place + 1));
    const tally = { accepted: 0, refused: 0, misconfigured: 0 };
    const agrees = fc.asyncProperty(secretBytes, mutated, async (secret, other) => {
      const headers = headersOf({
        "webhook-timestamp": String(at / 1000),
        "webhook-signature": new Webhook(secret).sign(id, new Date(at), payload),
      });
      const verdict = await verifyWebhook(other, headers, bytes(payload), at).then(
        () => "accepted" as const,
        ({ status }) => (status === 401 ? ("refused" as const) : ("misconfigured" as const)),
      );
      tally[verdict]++;
      if (verdict === "misconfigured") expect(isSecret(other)).toBe(false);
      else expect([isSecret(other), verdict === "accepted"]).toEqual([true, packageAccepts(other, headers, payload)]);
    });
    await fc.assert(agrees, { numRuns: 500 });
    expect(tally.misconfigured).toBeGreaterThan(50);
    expect(tally.refused).toBeGreaterThan(50);
  });

  function isSecret(text: string): boolean {
    try {
      return text.startsWith("whsec_") && atob(text.slice("whsec_".length)).length >= 16;
    } catch {
      return false;
    }
  }
});
