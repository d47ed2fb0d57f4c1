import { createHash, randomBytes } from "node:crypto";
import { type Description, filled, routesOf } from "./description.ts";
import { type Answer, refusal, sameness, success, unchanged } from "./judge.ts";
import type { Attempt, Group } from "./stage.ts";

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
    let first: Answer | undefined;

    const wrong = credentialsBeside(secretKey);
    const attempts = routesOf(description).flatMap(({ method, path, keys, examples }): Attempt[] => {
      if (!keys.includes("secretKey")) return [];
      const to = filled(path, { model, id, key: "visitor-7" });
      const pages = keys.includes("publishableKey");
      const credentials = {
        ...wrong,
        ...(pages
          ? { "a publishable key from another origin": { authorization: `Bearer ${publishableKey}`, origin: "https://evil.example" } }
          : { "a publishable key": { authorization: `Bearer ${publishableKey}` } }),
      };
      return Object.entries(credentials).map(([what, headers]) => async () => {
        const body = method === "GET" ? undefined : JSON.stringify(examples[0] ?? {});
        const answer = await target.send(method, to, { headers, body });
        first ??= answer;
        stage.check(`${method} ${path} with ${what}`, refusal(answer, 401) ?? sameness(answer, first));
      });
    });
    return [
      ...attempts,
      async () => stage.check(`GET /v1/models?key=`, refusal(await target.send("GET", `/v1/models?key=${secretKey}`), 401)),
      // Shows that the refusals were about the keys.
      async () => stage.check("GET /v1/models with the key", success(await target.send("GET", "/v1/models", { key: secretKey }), 200)),
      async () => stage.check("all of these", unchanged(before, await target.stateOf(model))),
    ];
  },
};

/** Headers that are nearly the key's. */
function credentialsBeside(key: string): Record<string, Record<string, string>> {
  const sha256 = createHash("sha256").update(key).digest("hex");
  const texts: Record<string, string> = {
    "no key after the scheme": "Bearer",
    "an empty key": "Bearer ",
    "another key": `Bearer sk_${randomBytes(24).toString("base64url")}`,
    "the key without its end": `Bearer ${key.slice(0, -1)}`,
    "the key and a character": `Bearer ${key}a`,
    "the key in capitals": `Bearer ${key.toUpperCase()}`,
    "the key twice": `Bearer ${key} ${key}`,
    "two headers' values": `Bearer wrong, Bearer ${key}`,
    "the key's hash": `Bearer ${sha256}`,
    "the key's hash as it is configured": `Bearer sha256:${sha256}`,
    "the key without its scheme": key,
    "another scheme": `Basic ${Buffer.from(`${key}:`).toString("base64")}`,
    "a name of every object": "Bearer constructor",
    "8 kB of key": `Bearer ${"k".repeat(8000)}`,
    "characters that no key has": "Bearer \u00ff\u00fe\u00fd\u00fc",
  };
  return {
    "no credentials": {},
    "the key in a cookie": { cookie: `authorization=Bearer ${key}; key=${key}` },
    "the key in another header": { "x-authorization": `Bearer ${key}`, "x-api-key": key, "proxy-authorization": `Bearer ${key}` },
    ...Object.fromEntries(Object.entries(texts).map(([what, authorization]) => [what, { authorization }])),
  };
}
