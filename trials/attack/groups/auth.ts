import { createHash, randomBytes } from "node:crypto";
import { type Description, filled, routesOf } from "../description.ts";
import { type Answer, refusal, sameness, success } from "../judge.ts";
import type { Attempt, Group } from "../stage.ts";

/** Missing, wrong and odd credentials on every route that needs a key. */
export const auth: Group = {
  name: "auth",
  async prepare(stage) {
    const { target } = stage;
    const { secretKey, publishableKey } = target;
    const model = await target.createModel("auth");
    const [id] = await target.recommend(model, { keys: ["visitor-7"] });
    const before = await target.stateOf(model);
    const description: Description = JSON.parse((await target.send("GET", "/openapi.json")).text);
    const nearly = keysBeside(secretKey);
    const attempts = routesOf(description).flatMap(({ method, path, keys, examples }): Attempt[] => {
      if (!keys.includes("secretKey")) return [];
      const to = filled(path, { model, id, key: "visitor-7" });
      const body = method === "GET" ? undefined : JSON.stringify(examples[0] ?? {});
      const send = (headers: Headers) => target.send(method, to, { headers, body });
      const publishable = { authorization: `Bearer ${publishableKey}` };
      const [what, forbidden] = keys.includes("publishableKey")
        ? ["a publishable key from another origin", { ...publishable, origin: "https://evil.example" }]
        : ["a publishable key", publishable];
      let first: Answer | undefined;
      return [
        ...Object.entries(nearly).map(([what, key]) => async () => {
          const answer = await send({ authorization: `Bearer ${key}` });
          first ??= answer;
          stage.check(`${method} ${path} with ${what}`, refusal(answer, 401) ?? sameness(answer, first));
        }),
        ...Object.entries(credentialsBeside(secretKey)).map(([what, headers]) =>
          stage.refused(`${method} ${path} with ${what}`, () => send(headers), 401),
        ),
        stage.refused(`${method} ${path} with ${what}`, () => send(forbidden), 403),
      ];
    });
    return [
      ...attempts,
      stage.refused("GET /v1/models?key=", () => target.send("GET", `/v1/models?key=${secretKey}`), 401),
      // Shows that the refusals were about the keys.
      async () => stage.check("GET /v1/models with the key", success(await target.send("GET", "/v1/models", { key: secretKey }), 200)),
      stage.unchanged(before, () => target.stateOf(model)),
    ];
  },
};

type Headers = Readonly<Record<string, string>>;

/** Keys that are nearly the worker's. Their refusals must not differ. */
function keysBeside(key: string): Readonly<Record<string, string>> {
  return {
    "another key": `sk_${randomBytes(24).toString("base64url")}`,
    "the key without its end": key.slice(0, -1),
    "the key and a character": `${key}a`,
    "the key in capitals": key.toUpperCase(),
    "the key's hash": createHash("sha256").update(key).digest("hex"),
    "a name of every object": "constructor",
    "8 kB of key": "k".repeat(8000),
  };
}

/** Headers without a key. */
function credentialsBeside(key: string): Readonly<Record<string, Headers>> {
  const texts: Record<string, string> = {
    "no key after the scheme": "Bearer",
    "an empty key": "Bearer ",
    "the key twice": `Bearer ${key} ${key}`,
    "two headers' values": `Bearer wrong, Bearer ${key}`,
    "the key's hash as it is configured": `Bearer sha256:${createHash("sha256").update(key).digest("hex")}`,
    "the key without its scheme": key,
    "another scheme": `Basic ${Buffer.from(`${key}:`).toString("base64")}`,
    "characters that no key has": "Bearer \u00ff\u00fe\u00fd\u00fc",
  };
  return {
    "no credentials": {},
    "the key in a cookie": { cookie: `authorization=Bearer ${key}; key=${key}` },
    "the key in another header": { "x-authorization": `Bearer ${key}`, "x-api-key": key, "proxy-authorization": `Bearer ${key}` },
    ...Object.fromEntries(Object.entries(texts).map(([what, authorization]) => [what, { authorization }])),
  };
}
