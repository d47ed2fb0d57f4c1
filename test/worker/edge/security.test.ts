import { env as bindings } from "cloudflare:workers";
import { Hono } from "hono";
import { afterEach, describe, expect, it, vi } from "vitest";
import { remembered } from "../../../worker/domain/ids/secret.ts";
import { anyKey, type Keyed, type KeyName, plainKey, secretKey } from "../../../worker/edge/access/api-keys.ts";
import { crossOrigin } from "../../../worker/edge/access/origin.ts";
import { forgeryLimit, rateLimit } from "../../../worker/edge/access/rate-limit.ts";
import { app as worker } from "../../../worker/edge/app.ts";
import { type Environment, graceMs } from "../../../worker/environment.ts";
import { Problem, problemResponse } from "../../../worker/protocol/problem.ts";
import { complaints } from "../support/complaints.ts";

const SECRET = "sk_0123456789-of-the-tests";
const PUBLISHABLE = "pk_0123456789-of-the-tests";
const OLD = "pk_old-key-of-the-tests";
const URL_ = "https://worker.example/models/shop";
const SHOP = "https://shop.example";

const env = {
  AFTERCLICK_SECRET_KEY: SECRET,
  AFTERCLICK_PUBLISHABLE_KEY: PUBLISHABLE,
  AFTERCLICK_ALLOWED_ORIGINS: `${SHOP} http://localhost:3000`,
};

afterEach(() => {
  vi.restoreAllMocks();
});

// The routes with their required keys.
const app = new Hono<Keyed>();
app.onError(problemResponse);
app.use("/models/:model", crossOrigin);
app.post("/models/:model", anyKey, rateLimit, (c) => c.text(c.get("keyName")));
app.get("/admin", secretKey, (c) => c.text(c.get("keyName")));
app.post("/webhooks/:verdict", forgeryLimit, (c) => {
  const verdict = c.req.param("verdict");
  if (verdict === "forged") return c.text("", 401);
  c.set("verified", true);
  // A verified webhook may name a forged impression id.
  return c.text("", verdict === "genuine" ? 202 : 401);
});
app.get("/unavailable", () => Promise.reject(new Problem(503, "not now")));

type Fields = Readonly<Record<string, string>>;

/** Posts with a key to a route that accepts any key. */
async function post(key: string | null, variables: Partial<Environment> = {}, headers: Fields = {}): Promise<Response> {
  const fields = { ...(key !== null && { authorization: `Bearer ${key}` }), ...headers };
  return app.request(URL_, { method: "POST", headers: fields }, { ...env, ...variables });
}

async function getAdmin(key: string, variables: Partial<Environment> = {}): Promise<Response> {
  return app.request("https://worker.example/admin", { headers: { authorization: `Bearer ${key}` } }, { ...env, ...variables });
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const sharesWith = (response: Response) => response.headers.get("access-control-allow-origin");
const detailOf = async (response: Response) => (await response.json<{ detail: string }>()).detail;
const corsHeaders = (response: Response) => [...response.headers.keys()].filter((name) => name.startsWith("access-control"));

describe("keys", () => {
  it("tell which variable holds the request's key", async () => {
    expect(await (await post(SECRET)).text()).toBe("AFTERCLICK_SECRET_KEY");
    expect(await (await post(PUBLISHABLE)).text()).toBe("AFTERCLICK_PUBLISHABLE_KEY");
    expect(await (await getAdmin(SECRET)).text()).toBe("AFTERCLICK_SECRET_KEY");
    expect((await getAdmin(PUBLISHABLE)).status).toBe(403);
  });

  it("all pass while they are rotated, and one that was dropped no longer does", async () => {
    const rotated = { AFTERCLICK_PUBLISHABLE_KEY: ` ${PUBLISHABLE}\n${OLD} `, AFTERCLICK_SECRET_KEY: `${SECRET} sk_second-of-the-tests` };
    for (const key of [PUBLISHABLE, OLD, SECRET, "sk_second-of-the-tests"]) expect((await post(key, rotated)).status).toBe(200);
    for (const key of [OLD, "sk_second-of-the-tests"]) expect((await post(key)).status).toBe(401);
    expect((await getAdmin(OLD, rotated)).status).toBe(403);
    expect((await getAdmin("sk_second-of-the-tests", rotated)).status).toBe(200);
  });

  it("may be stored as hashes, which are no keys themselves", async () => {
    const hash = await sha256(SECRET);
    const hashed = {
      AFTERCLICK_SECRET_KEY: `sha256:${hash}`,
      AFTERCLICK_PUBLISHABLE_KEY: `sha256:${(await sha256(OLD)).toUpperCase()} ${PUBLISHABLE}`,
    };
    for (const key of [SECRET, OLD, PUBLISHABLE]) expect((await post(key, hashed)).status).toBe(200);
    for (const key of [hash, `sha256:${hash}`, await sha256(hash)]) expect((await post(key, hashed)).status).toBe(401);
  });

  it("refuse every unknown key with the same answer, however near it is", async () => {
    const unknown = [
      "wrong-key-of-the-tests",
      SECRET.slice(0, -1),
      `${SECRET}0`,
      SECRET.toUpperCase(),
      await sha256(SECRET),
      "constructor",
    ];
    for (const ask of [post, getAdmin]) {
      const refusals = await Promise.all(unknown.map((key) => ask(key)));
      const answers = await Promise.all(refusals.map(async (each) => [each.status, [...each.headers], await each.text()]));
      for (const answer of answers) expect(answer).toEqual(answers[0]);
      expect(answers[0][0]).toBe(401);
    }
  });

  it.each<[string, string | null, RegExp]>([
    ["no header", null, /^expected the header Authorization: Bearer KEY, got none$/],
    ["no key", "Bearer", /, got no key: is the variable empty that should hold it\?$/],
    ["an empty key", "Bearer  ", /, got no key/],
    ["another scheme", "Basic c2s6", /, got the scheme Basic$/],
    ["the key alone", SECRET, /, got a value without the word Bearer$/],
    ["a space", "Bearer a b", /a space, a quote or another character/],
    ["quotes", `Bearer "${SECRET}"`, /a space, a quote or another character/],
    ["two keys", `Bearer ${SECRET}%20${PUBLISHABLE}`, /a space, a quote or another character/],
    ["the hash as it is configured", `Bearer sha256:${"0".repeat(64)}`, /^expected a key, got the hash of one/],
    ["a webhook secret", "Bearer whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", /^expected the secret key, got a webhook secret/],
    [
      "a stranger's publishable key",
      "Bearer pk_0000000000000000",
      /got one that begins with pk_, as publishable keys do; it knows no such key/,
    ],
    [
      "a stranger's key",
      "Bearer wrong-key-of-the-tests",
      /^expected the secret key of this worker; it knows no such key\. Compare AFTERCLICK_SECRET_KEY$/,
    ],
  ])("name what the caller can see, and repeat no key: %s", async (_, authorization, detail) => {
    const refused = await app.request("https://worker.example/admin", { headers: authorization === null ? {} : { authorization } }, env);
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    const text = await detailOf(refused);
    expect(text).toMatch(detail);
    expect(text).not.toMatch(/of-the-tests|MfKQ|0000/);
  });

  it("that are valid and of another kind, or from another origin, get 403 and the remedy", async () => {
    const admin = await getAdmin(PUBLISHABLE);
    expect([admin.status, await detailOf(admin)]).toEqual([403, expect.stringContaining("takes the secret key, got a publishable key")]);
    const foreign = await post(PUBLISHABLE, {}, { origin: "https://other.example" });
    expect([foreign.status, await detailOf(foreign)]).toEqual([
      403,
      expect.stringMatching(/https:\/\/other\.example .*AFTERCLICK_ALLOWED_ORIGINS/),
    ]);
  });

  it("are all compared, in constant time, whichever fits", async () => {
    const rotated = { AFTERCLICK_PUBLISHABLE_KEY: `${PUBLISHABLE} ${OLD}` };
    await post(SECRET, rotated);
    const compare = vi.spyOn(crypto.subtle, "timingSafeEqual");
    for (const key of [PUBLISHABLE, OLD, SECRET, "wrong-key-of-the-tests"]) {
      compare.mockClear();
      await post(key, rotated);
      expect(compare).toHaveBeenCalledTimes(3);
    }
  });

  it("that passed before are not hashed again, others are each time", async () => {
    await post(PUBLISHABLE);
    await post("wrong-key-of-the-tests");
    const digest = vi.spyOn(crypto.subtle, "digest");
    expect((await post(PUBLISHABLE)).status).toBe(200);
    expect(digest).not.toHaveBeenCalled();
    expect((await post("wrong-key-of-the-tests")).status).toBe(401);
    expect(digest).toHaveBeenCalledTimes(1);
  });

  it.each<[string, Partial<Environment>, KeyName[]]>([
    ["a missing secret key", { AFTERCLICK_SECRET_KEY: undefined }, ["AFTERCLICK_SECRET_KEY"]],
    ["an empty publishable key", { AFTERCLICK_PUBLISHABLE_KEY: "" }, ["AFTERCLICK_PUBLISHABLE_KEY"]],
    ["nothing but whitespace", { AFTERCLICK_PUBLISHABLE_KEY: " \n" }, ["AFTERCLICK_PUBLISHABLE_KEY"]],
    ["a key of fifteen characters", { AFTERCLICK_SECRET_KEY: "fifteen-letters" }, ["AFTERCLICK_SECRET_KEY"]],
    ["a short one of several", { AFTERCLICK_PUBLISHABLE_KEY: `${PUBLISHABLE} short` }, ["AFTERCLICK_PUBLISHABLE_KEY"]],
    ["a key that no header can bear", { AFTERCLICK_SECRET_KEY: "a:key:with:colons" }, ["AFTERCLICK_SECRET_KEY"]],
    ["a hash that is none", { AFTERCLICK_SECRET_KEY: `sha256:${"0".repeat(63)}` }, ["AFTERCLICK_SECRET_KEY"]],
    ["one value for both", { AFTERCLICK_PUBLISHABLE_KEY: `${OLD} ${SECRET}` }, ["AFTERCLICK_SECRET_KEY", "AFTERCLICK_PUBLISHABLE_KEY"]],
  ])("are refused as a configuration error that names the variable: %s", async (_, variables, names) => {
    for (const key of [SECRET, PUBLISHABLE, "wrong-key-of-the-tests"]) {
      const response = await post(key, variables);
      expect(response.status).toBe(500);
      const { detail } = await response.json<{ detail: string }>();
      for (const name of names) expect(detail).toContain(name);
      expect(detail).not.toMatch(/of-the-tests|fifteen|colons|000/);
    }
  });

  it("may not be a secret one and, as a hash, a publishable one", async () => {
    const response = await getAdmin(SECRET, { AFTERCLICK_PUBLISHABLE_KEY: `sha256:${await sha256(SECRET)}` });
    expect(response.status).toBe(500);
    expect(await response.text()).toMatch(/AFTERCLICK_SECRET_KEY and AFTERCLICK_PUBLISHABLE_KEY/);
  });

  it("of an unused variable may be missing", async () => {
    expect((await getAdmin(SECRET, { AFTERCLICK_PUBLISHABLE_KEY: undefined })).status).toBe(200);
  });

  it("for a page are the first that is no hash", async () => {
    const hash = `sha256:${await sha256(SECRET)}`;
    const plain = (text?: string) => plainKey({ AFTERCLICK_PUBLISHABLE_KEY: text } as Environment, "AFTERCLICK_PUBLISHABLE_KEY");
    expect(plain(`${hash} ${PUBLISHABLE} ${OLD}`)).toBe(PUBLISHABLE);
    for (const text of [hash, undefined]) expect(() => plain(text)).toThrow("AFTERCLICK_PUBLISHABLE_KEY");
  });
});

describe("origins", () => {
  const preflight = (origin: string, variables: Partial<Environment> = {}) =>
    app.request(
      URL_,
      {
        method: "OPTIONS",
        headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" },
      },
      { ...env, ...variables },
    );

  it.each([SHOP, "http://localhost:3000"])("that are listed may call and read: %s", async (origin) => {
    const asked = await preflight(origin);
    expect(asked.status).toBe(204);
    expect(sharesWith(asked)).toBe(origin);
    expect(asked.headers.get("access-control-allow-methods")).toBe("POST");
    expect(asked.headers.get("access-control-allow-headers")?.toLowerCase().split(",").sort()).toEqual(["authorization", "content-type"]);
    expect(asked.headers.get("access-control-max-age")).toBe("7200");
    expect(asked.headers.get("vary")).toMatch(/origin/i);
    const answered = await post(PUBLISHABLE, {}, { origin });
    expect(answered.status).toBe(200);
    expect(sharesWith(answered)).toBe(origin);
    expect(answered.headers.get("vary")).toMatch(/origin/i);
    expect(answered.headers.get("access-control-allow-credentials")).toBeNull();
  });

  it("that are listed may read refusals, and when to come back", async () => {
    const refused = await post("wrong-key-of-the-tests", {}, { origin: SHOP });
    expect([refused.status, sharesWith(refused)]).toEqual([401, SHOP]);
    const over = await post(
      PUBLISHABLE,
      { RATE_LIMIT: { limit: async () => ({ success: false }) } },
      { origin: SHOP, "cf-connecting-ip": "::1" },
    );
    expect([over.status, sharesWith(over)]).toEqual([429, SHOP]);
    expect(over.headers.get("access-control-expose-headers")).toBe("Retry-After");
  });

  it.each([
    "https://other.example",
    "http://shop.example",
    "https://shop.example:8443",
    "https://shop.example.evil.example",
    "https://evilshop.example",
    "https://a.shop.example",
    "https://shop.example.",
    "https://shop.example/",
    "HTTPS://SHOP.EXAMPLE",
    `${SHOP} http://localhost:3000`,
    "http://worker.example",
    "null",
    "*",
    "",
  ])("that are not listed get 403 and no header: %j", async (origin) => {
    expect(corsHeaders(await preflight(origin))).toEqual([]);
    const response = await post(PUBLISHABLE, {}, { origin });
    expect(response.status).toBe(403);
    expect(corsHeaders(response)).toEqual([]);
    const unknown = await post("wrong-key-of-the-tests", {}, { origin });
    expect([unknown.status, await unknown.text()]).toEqual([401, await (await post("wrong-key-of-the-tests")).text()]);
  });

  it("do not matter to a secret key, nor does their absence to a publishable one", async () => {
    expect((await post(SECRET, {}, { origin: "https://other.example" })).status).toBe(200);
    expect((await post(PUBLISHABLE)).status).toBe(200);
    expect((await post(PUBLISHABLE, { AFTERCLICK_ALLOWED_ORIGINS: undefined }, { origin: SHOP })).status).toBe(403);
  });

  it("include the worker's own, which needs no header", async () => {
    for (const allowed of [undefined, "", env.AFTERCLICK_ALLOWED_ORIGINS]) {
      const response = await post(PUBLISHABLE, { AFTERCLICK_ALLOWED_ORIGINS: allowed }, { origin: "https://worker.example" });
      expect(response.status).toBe(200);
      expect(corsHeaders(response)).toEqual([]);
    }
  });

  it.each([
    "null",
    "chrome-extension://abcdefghijklmnop",
    "moz-extension://a1b2c3d4-0000-4000-8000-000000000000",
    "capacitor://localhost",
    "tauri://localhost:1420",
    "file://",
    "https://xn--mller-kva.example",
    "http://[2001:db8::1]:8080",
    "https://other.example",
  ])("get 403 with a remedy that works: %s", async (origin) => {
    const refused = await post(PUBLISHABLE, {}, { origin });
    expect(refused.status).toBe(403);
    expect(await detailOf(refused)).toMatch(/: add (it|null, the origin of sandboxed frames,) to AFTERCLICK_ALLOWED_ORIGINS$/);
    const followed = { AFTERCLICK_ALLOWED_ORIGINS: `${SHOP} ${origin}` };
    const response = await post(PUBLISHABLE, followed, { origin });
    expect([response.status, sharesWith(response)]).toEqual([200, origin]);
    expect(sharesWith(await preflight(origin, followed))).toBe(origin);
    expect((await post(PUBLISHABLE, followed, { origin: SHOP })).status).toBe(200);
    expect((await post(PUBLISHABLE, followed, { origin: "https://third.example" })).status).toBe(403);
  });

  it.each([`${SHOP}/`, "shop.example", "*", `${SHOP} null`])("that no browser states get no remedy that breaks: %s", async (origin) => {
    expect(await detailOf(await post(PUBLISHABLE, {}, { origin }))).toMatch(/: browsers state no such origin$/);
  });

  it.each([
    [`${SHOP}/`, `entry 1 is no origin: write ${SHOP}`],
    ["HTTPS://Shop.Example:443/path", `entry 1 is no origin: write ${SHOP}`],
    ["shop.example", `entry 1 is no origin: write ${SHOP}`],
    [`${SHOP} https://*.shop.example`, "entry 2 is no origin: separate origins by spaces, and name each subdomain"],
  ])("that are wrong in the list are named in the log with what to write: %s", async (text, detail) => {
    const response = await post(PUBLISHABLE, { AFTERCLICK_ALLOWED_ORIGINS: text }, { origin: SHOP });
    expect(response.status).toBe(500);
    expect(complaints()).toEqual([expect.stringContaining(`AFTERCLICK_ALLOWED_ORIGINS: ${detail}`)]);
  });

  it.each(["https://other.example", "null"])("are all allowed by a star: %s", async (origin) => {
    const any = { AFTERCLICK_ALLOWED_ORIGINS: " * " };
    expect(sharesWith(await preflight(origin, any))).toBe(origin);
    const response = await post(PUBLISHABLE, any, { origin });
    expect([response.status, sharesWith(response)]).toEqual([200, origin]);
  });

  it.each([
    "shop.example",
    "https://shop.example/",
    "https://shop.example/path",
    "https://Shop.example",
    "https://shop.example:443",
    "https://*.shop.example",
    "ftp://shop.example",
    "capacitor://localhost/",
    "NULL",
    `"${SHOP}"`,
    `${SHOP},https://other.example`,
    `* ${SHOP}`,
  ])("that are none are a configuration error that names the variable: %s", async (text) => {
    for (const origin of [undefined, SHOP]) {
      const response = await post(PUBLISHABLE, { AFTERCLICK_ALLOWED_ORIGINS: text }, origin ? { origin } : {});
      expect(response.status).toBe(500);
      expect(await response.text()).toContain("AFTERCLICK_ALLOWED_ORIGINS");
      complaints();
    }
  });
});

describe("pages of the developer's own machine", () => {
  const listed = { AFTERCLICK_ALLOWED_ORIGINS: "http://localhost:* http://127.0.0.1:* http://[::1]:*" };
  const local = ["http://localhost:5173", "http://localhost", "http://127.0.0.1:3000", "http://[::1]:8080"];
  const ask = (worker: string, origin: string, variables: object, method = "POST") =>
    app.request(
      `${worker}/models/shop`,
      { method, headers: { origin, authorization: `Bearer ${PUBLISHABLE}`, "access-control-request-method": "POST" } },
      { ...env, AFTERCLICK_ALLOWED_ORIGINS: undefined, ...variables },
    );

  it.each(["http://localhost:8787", "http://127.0.0.1:8787", "http://[::1]:8787"])(
    "may call a local worker from any port: %s",
    async (worker) => {
      for (const origin of local) {
        for (const response of [await ask(worker, origin, listed), await ask(worker, origin, listed, "OPTIONS")]) {
          expect([response.ok, sharesWith(response)]).toEqual([true, origin]);
        }
      }
    },
  );

  it.each(["https://worker.example", "https://afterclick.example.workers.dev", "http://localhost.example", "http://192.168.0.2:8787"])(
    "may not call a worker elsewhere, even if its variables are those of a local one: %s",
    async (worker) => {
      for (const origin of local) {
        const refused = await ask(worker, origin, listed);
        expect([refused.status, corsHeaders(refused)]).toEqual([403, []]);
        expect(corsHeaders(await ask(worker, origin, listed, "OPTIONS"))).toEqual([]);
      }
    },
  );

  it("may not call a local worker that does not list them", async () => {
    for (const origin of local) expect((await ask("http://localhost:8787", origin, {})).status).toBe(403);
  });

  it.each([
    "https://evil.example",
    "http://localhost.evil.example:80",
    "http://localhost:5173/",
    "https://localhost:5173",
    "http://127.0.0.2:80",
    "null",
  ])("are no others: %s", async (origin) => {
    expect((await ask("http://localhost:8787", origin, listed)).status).toBe(403);
  });
});

describe("the rate limit", () => {
  const from = (address: string) => ({ "cf-connecting-ip": address });

  it("is asked by address, whichever model a publishable key names", async () => {
    const limit = vi.fn(async () => ({ success: true }));
    expect((await post(PUBLISHABLE, { RATE_LIMIT: { limit } }, from("192.0.2.7"))).status).toBe(200);
    expect(limit.mock.calls).toEqual([[{ key: "192.0.2.7" }]]);
    await post(SECRET, { RATE_LIMIT: { limit } }, from("192.0.2.7"));
    await post("wrong-key-of-the-tests", { RATE_LIMIT: { limit } }, from("192.0.2.7"));
    expect(limit).toHaveBeenCalledTimes(1);
  });

  it("is asked by key and origin as well, and callers without an origin do not use up a page's", async () => {
    const limit = vi.fn(async ({ key }: { key: string }) => ({ success: key.startsWith("https://") }));
    const limiters = { ORIGIN_RATE_LIMIT: { limit }, AFTERCLICK_ALLOWED_ORIGINS: "https://shop.example" };
    expect((await post(PUBLISHABLE, limiters, { origin: "https://shop.example" })).status).toBe(200);
    const refused = await post(PUBLISHABLE, limiters);
    expect([refused.status, await refused.json()]).toMatchObject([429, { detail: expect.stringContaining("from this origin") }]);
    expect(limit.mock.calls).toEqual([[{ key: `https://shop.example ${PUBLISHABLE}` }], [{ key: `any origin ${PUBLISHABLE}` }]]);
    const otherwise = { origin: "https://shop.example", authorization: `bEARER \t ${PUBLISHABLE}` };
    expect((await post(PUBLISHABLE, limiters, otherwise)).status).toBe(200);
    expect(limit).toHaveBeenLastCalledWith({ key: `https://shop.example ${PUBLISHABLE}` });
    expect((await post(SECRET, limiters)).status).toBe(200);
    expect(limit).toHaveBeenCalledTimes(3);
  });

  it("counts webhooks of an address whose last one was forged, and no others", async () => {
    const limit = vi.fn(async () => ({ success: limit.mock.calls.length < 3 }));
    const deliver = async (verdict: string, address: string) => {
      const request = { method: "POST", headers: from(address) };
      return (await app.request(`https://worker.example/webhooks/${verdict}`, request, { ...env, RATE_LIMIT: { limit } })).status;
    };
    for (let n = 0; n < 5; n++) expect(await deliver("genuine", "192.0.2.20")).toBe(202);
    expect(limit).not.toHaveBeenCalled();
    const forged: number[] = [];
    for (let n = 0; n < 5; n++) forged.push(await deliver("forged", "192.0.2.21"));
    expect(forged).toEqual([401, 401, 401, 429, 429]);
    expect(await deliver("genuine", "192.0.2.20")).toBe(202);
  });

  it.each(["genuine", "refused"])("counts no more webhooks once one verifies: %s", async (verified) => {
    const limit = vi.fn(async () => ({ success: true }));
    for (const verdict of ["forged", verified, "genuine"]) {
      const request = { method: "POST", headers: from("192.0.2.22") };
      await app.request(`https://worker.example/webhooks/${verdict}`, request, { ...env, RATE_LIMIT: { limit } });
    }
    expect(limit).toHaveBeenCalledTimes(1);
  });

  it.each([
    [404, "/v1/hooks/nobody", {}],
    [404, "/v1/hooks/stripe", { AFTERCLICK_STRIPE_SECRET: "" }],
    [422, "/v1/hooks/nobody?goal=no+goal", {}],
    [500, "/v1/hooks/nobody", { AFTERCLICK_SENDERS: "[]" }],
    [500, "/v1/conversions", { AFTERCLICK_WEBHOOK_SECRET: "malformed" }],
  ])("counts forgeries until one webhook verifies, whatever other answers come between: %s of %s", async (status, path, variables) => {
    const limit = vi.fn(async () => ({ success: true }));
    const headers = from(`192.0.2.${status % 100}`);
    const deliver = async (at: string, given = {}) => {
      const request = { method: "POST", headers, body: "{}" };
      return (await worker.request(`https://worker.example${at}`, request, { ...bindings, ...given, RATE_LIMIT: { limit } })).status;
    };
    await deliver("/v1/conversions");
    limit.mockClear();
    for (let n = 0; n < 3; n++) {
      expect(await deliver(path, variables)).toBe(status);
      expect(await deliver("/v1/conversions")).toBe(401);
    }
    expect(limit).toHaveBeenCalledTimes(6);
    complaints();
  });

  it.each([
    ["2001:db8:0:7::1", "2001:DB8::7:a:b:c:d", "2001:db8:0:8::1"],
    ["::ffff:192.0.2.7", "192.0.2.7", "192.0.2.8"],
  ])("has one key for all addresses of a network: %s", async (one, same, other) => {
    const limit = vi.fn(async (_: { key: string }) => ({ success: true }));
    for (const address of [one, same, other]) await post(PUBLISHABLE, { RATE_LIMIT: { limit } }, from(address));
    const [[first], [second], [third]] = limit.mock.calls;
    expect(second).toEqual(first);
    expect(third).not.toEqual(first);
  });

  it("answers with when to come back", async () => {
    const RATE_LIMIT = { limit: async () => ({ success: false }) };
    const response = await post(PUBLISHABLE, { RATE_LIMIT }, from("192.0.2.7"));
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("10");
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({ status: 429, title: "Too many requests" });
    expect((await post(SECRET, { RATE_LIMIT }, from("192.0.2.7"))).status).toBe(200);
  });

  it("lets pass where there is no limiter, no address, or the limiter fails", async () => {
    const limiters = [undefined, { limit: () => Promise.reject(new Error("down")) }, {} as RateLimit];
    for (const RATE_LIMIT of limiters) expect((await post(PUBLISHABLE, { RATE_LIMIT }, from("192.0.2.7"))).status).toBe(200);
    expect(complaints()).toEqual(["rate limit Error", "rate limit TypeError"]);
    const never = { limit: async () => ({ success: false }) };
    expect((await post(PUBLISHABLE, { RATE_LIMIT: never })).status).toBe(200);
  });

  it("of the platform refuses one address and not another", async () => {
    const { RATE_LIMIT } = bindings;
    const statuses: number[] = [];
    // Three per period: of seven requests at least one is over the limit, even if a period ends between them.
    for (let i = 0; i < 7; i++) statuses.push((await post(PUBLISHABLE, { RATE_LIMIT }, from("192.0.2.8"))).status);
    expect(statuses.slice(0, 3)).toEqual([200, 200, 200]);
    expect(statuses).toContain(429);
    expect((await post(PUBLISHABLE, { RATE_LIMIT }, from("2001:db8::8"))).status).toBe(200);
  });
});

it("asks to come back after five seconds where nothing was stored", async () => {
  const response = await app.request("https://worker.example/unavailable", {}, env);
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
});

it("remembers what was made of the latest texts, not of all, and no failure", async () => {
  const make = vi.fn(async (text: string) => {
    if (text === "bad") throw new Error(text);
    return text.length;
  });
  const made = remembered(make, 2);
  for (const text of ["a", "b", "a", "b"]) await made(text);
  expect(make).toHaveBeenCalledTimes(2);
  // A third secret makes the cache forget the others.
  for (const text of ["c", "c", "a"]) await made(text);
  expect(make).toHaveBeenCalledTimes(4);
  for (let i = 0; i < 2; i++) await expect(made("bad")).rejects.toThrow("bad");
  expect(make).toHaveBeenCalledTimes(6);
});

describe("a variable", () => {
  const at = (path: string, variables: object) =>
    worker.request(`https://worker.example${path}`, {}, { ...bindings, ...env, ...variables });

  it.each([true, "true", " true\n"])("AFTERCLICK_DEMO turns the demonstration on: %j", async (AFTERCLICK_DEMO) => {
    expect(await (await at("/", { AFTERCLICK_DEMO })).text()).not.toBe(await (await at("/", { AFTERCLICK_DEMO: "false" })).text());
  });

  it.each(["1", "yes", "True", "on"])(
    "AFTERCLICK_DEMO is named by the first page if it is neither true nor false: %s",
    async (AFTERCLICK_DEMO) => {
      const response = await at("/", { AFTERCLICK_DEMO });
      expect([response.status, await detailOf(response)]).toEqual([500, "AFTERCLICK_DEMO: expected true or false"]);
    },
  );

  it.each([
    [undefined, 300_000],
    ["", 300_000],
    [" ", 300_000],
    ["0", 0],
    [60_000, 60_000],
    ["60000", 60_000],
  ])("AFTERCLICK_GRACE_MS of %j is %s ms without a sender", (AFTERCLICK_GRACE_MS, ms) => {
    expect(graceMs({ AFTERCLICK_GRACE_MS } as unknown as Environment)).toBe(ms);
  });

  it.each([
    [300_000, {}],
    [259_200_000, { AFTERCLICK_STRIPE_SECRET: "whsec_x", AFTERCLICK_SHOPIFY_SECRET: "x" }],
    [172_800_000, { AFTERCLICK_SHOPIFY_SECRET: "x", AFTERCLICK_WOOCOMMERCE_SECRET: "x" }],
    [86_400_000, { AFTERCLICK_WOOCOMMERCE_SECRET: "x" }],
    [259_200_000, { AFTERCLICK_SENDERS: "{}" }],
  ])("the default grace is as long as the senders in use repeat a message: %s ms", (ms, senders) => {
    expect(graceMs({ ...senders } as unknown as Environment)).toBe(ms);
  });

  it.each(["5m", "-1", "1.5", "1e400", "NaN"])("AFTERCLICK_GRACE_MS is named without the value: %s", (AFTERCLICK_GRACE_MS) => {
    expect(() => graceMs({ ...bindings, AFTERCLICK_GRACE_MS } as unknown as Environment)).toThrow(
      /^AFTERCLICK_GRACE_MS: expected a whole number of milliseconds, such as 300000$/,
    );
  });

  // A secret in a wrong place, as strangers find it.
  const PASTED = "s3cret-Value_of.a-shop";
  const sender = { header: "x-signature", secret: "secret-of-a-configured-sender", event: "id", impressionId: "seen", reward: "total" };
  const sent = { ...sender, timestamp: "at" };
  const senders = (erp: unknown, name = "erp") => ({ AFTERCLICK_SENDERS: JSON.stringify({ other: sent, [name]: erp }) });
  it.each<[string, Partial<Environment>, string?]>([
    ["a sender that is a secret", senders(PASTED), "AFTERCLICK_SENDERS: sender 2"],
    [
      "fields without a sender",
      { AFTERCLICK_SENDERS: JSON.stringify({ ...sent, secret: PASTED }) },
      "AFTERCLICK_SENDERS: header, secret, event",
    ],
    ["a secret that is a name", senders(sent, `${PASTED}+/=`), "AFTERCLICK_SENDERS: sender 2"],
    ["a secret that is a field", senders({ ...sent, [PASTED]: "secret" }), "AFTERCLICK_SENDERS: sender 2: field 7"],
    ["a secret for the encoding", senders({ ...sent, encoding: PASTED }), "AFTERCLICK_SENDERS: sender 2: encoding"],
    ["a secret for a path", senders({ ...sent, event: `${PASTED}+` }), "AFTERCLICK_SENDERS: sender 2: event"],
    ["a secret for a zone", senders({ ...sent, zone: PASTED }), "AFTERCLICK_SENDERS: sender 2: zone"],
    ["a short secret of a secret name", senders({ ...sent, secret: "short" }, PASTED), "AFTERCLICK_SENDERS: sender 2: secret"],
    ["a key without a model, of a secret name", senders({ ...sent, key: "id" }, PASTED), "AFTERCLICK_SENDERS: sender 2: expected both"],
    ["a secret beside the object", { AFTERCLICK_SENDERS: `${PASTED} {}` }, "AFTERCLICK_SENDERS: the whole text"],
    ["a secret for the header", senders({ ...sent, header: PASTED.replace(".", "") })],
    ["a secret for the prefix", senders({ ...sent, prefix: PASTED })],
    ["a secret among the origins", { AFTERCLICK_ALLOWED_ORIGINS: PASTED.replace(".", "") }, "AFTERCLICK_ALLOWED_ORIGINS: entry 1"],
    ["a secret for the grace", { AFTERCLICK_GRACE_MS: PASTED }],
    ["a secret for the demonstration", { AFTERCLICK_DEMO: PASTED }],
    ["keys with a quote", { AFTERCLICK_SECRET_KEY: `"${PASTED}"`, AFTERCLICK_PUBLISHABLE_KEY: `"${PASTED}"` }],
    [
      "a key with a quote, on the page of the demonstration",
      { AFTERCLICK_DEMO: "true", AFTERCLICK_PUBLISHABLE_KEY: `"${PASTED}"` },
      "AFTERCLICK_PUBLISHABLE_KEY: expected values of 16 or more",
    ],
    ["webhook secrets of another form", { AFTERCLICK_WEBHOOK_SECRET: `${PASTED}=${PASTED}` }],
    ["keys that are too short", { AFTERCLICK_TOKEN_KEY: "s3cret-Value", AFTERCLICK_JOIN_KEY: "s3cret-Value" }],
    [
      "short secrets of senders",
      { AFTERCLICK_STRIPE_SECRET: "s3cret-Value", AFTERCLICK_SHOPIFY_SECRET: "s3cret-Value" },
      "AFTERCLICK_STRIPE_SECRET: expected values of 16 or more characters; set the whole secret again",
    ],
  ])("is repeated neither to strangers nor in the log: %s", async (_, variables, place) => {
    const answers = [
      ["GET", "/"],
      ["GET", "/v1/models"],
      ["GET", "/v1/hooks/erp"],
      ...["erp", "stripe", "shopify", "nobody"].map((name) => ["POST", `/v1/hooks/${name}`]),
      ["POST", "/v1/conversions"],
      ["POST", "/v1/shown"],
      ["POST", "/v1/models/shop/recommendations"],
      ["OPTIONS", "/v1/models/shop/recommendations"],
      ["POST", "/demo/purchases"],
    ].map(async ([method, path]) => {
      const headers = { origin: SHOP, authorization: `Bearer ${PUBLISHABLE}`, "webhook-id": "1", "webhook-signature": "v1,x" };
      const body = method === "POST" ? "{}" : undefined;
      const response = await worker.request(`https://worker.example${path}`, { method, headers, body }, { ...bindings, ...variables });
      return `${JSON.stringify([...response.headers])} ${await response.text()}`;
    });
    const logged = (await Promise.all(answers)).concat(complaints()).join("\n");
    expect(logged).not.toMatch(/s3cret|of\.?a-shop/i);
    if (place) expect(logged).toContain(place);
  });
});
