import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, type Call, call, open, shownUrl, UnreachableError } from "../../../cli/worker/api.ts";
import { AnsweringServer } from "../../support/answering-server.ts";
import { endPauses, notedPauses } from "../../support/pauses.ts";

// How a command asks a worker, and when it asks again.

const base = new URL("https://worker.example/");

let pauses: number[];
let requests: RequestInit[];
/** The answers in turn. The last one stands for all later ones. */
let answers: (() => Response)[];

const simulated = (): void => {
  pauses = notedPauses();
  requests = [];
  answers = [() => Response.json({})];
  vi.stubGlobal("fetch", async (_: URL, init: RequestInit) => {
    requests.push(init);
    return (answers.length > 1 ? answers.shift() : answers[0])?.();
  });
};

const refuse =
  (status: number, body = "{}", headers: Record<string, string> = {}) =>
  () =>
    new Response(body, { status, headers });
const broken =
  (options: ErrorOptions = {}) =>
  () => {
    throw new Error("the operation timed out", options);
  };
const refusal = async (options?: Call): Promise<ApiError> =>
  call(base, "/v1/models", options).then(
    () => expect.unreachable(),
    (error) => error,
  );

describe("a simulated worker", () => {
  beforeEach(simulated);
  afterEach(() => {
    vi.unstubAllGlobals();
    endPauses();
  });

  it("sends a key, and JSON by its type", async () => {
    await call(base, "/v1/models/shop", { method: "PUT", key: "sk", json: { window: { ms: 5 } }, headers: { "x-own": "1" } });
    await call(base, "/v1/models/shop");
    await call(base, "/v1/conversions", { method: "POST", body: "signed" });
    expect(requests).toMatchObject([
      {
        method: "PUT",
        body: '{"window":{"ms":5}}',
        headers: { "content-type": "application/json", authorization: "Bearer sk", "x-own": "1" },
      },
      { method: "GET", body: undefined },
      { method: "POST", body: "signed" },
    ]);
    expect(requests[1].headers).toEqual({});
    expect(requests[2].headers).toEqual({});
  });

  it("returns null for an answer without a body", async () => {
    answers = [() => new Response(null, { status: 204 })];
    expect(await call(base, "/v1/models/shop", { method: "DELETE" })).toEqual({ body: null, resent: false });
  });

  it.each([429, 503])("asks eight times while a worker answers %d, with pauses that double up to ten seconds", async (status) => {
    answers = [refuse(status, '{"detail":"too much"}')];
    const error = await refusal();
    expect(error).toBeInstanceOf(ApiError);
    expect([error.message, error.status, error.name]).toEqual([`GET /v1/models answered ${status}: too much`, status, "ApiError"]);
    expect(requests).toHaveLength(8);
    expect(pauses).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000]);
  });

  it("asks as often as it is to, and no more after an answer", async () => {
    answers = [refuse(503)];
    await refusal({ attempts: 3 });
    expect(requests).toHaveLength(3);
    answers = [refuse(503), () => Response.json({ status: "ok" })];
    expect(await call(base, "/healthz", { attempts: 3 })).toEqual({ body: { status: "ok" }, resent: false });
    expect(requests).toHaveLength(5);
  });

  it.each([
    ["3", 3000],
    ["60", 10_000],
    ["0", 200],
    ["soon", 200],
  ])("waits as a worker asks with retry-after %s, ten seconds at most", async (seconds, pause) => {
    answers = [refuse(429, "{}", { "retry-after": seconds }), () => Response.json({})];
    await call(base, "/v1/models");
    expect(pauses).toEqual([pause]);
  });

  it.each([
    [400, '{"title":"Bad Request","detail":"window: expected ms"}', "window: expected ms"],
    [404, '{"title":"Not Found"}', "Not Found"],
    [409, '{"other":1}', '{"other":1}'],
    [500, "x".repeat(300), "x".repeat(200)],
  ])("does not ask again after %d, and shows the worker's own words", async (status, body, detail) => {
    answers = [refuse(status, body)];
    const error = await refusal({ method: "PUT" });
    expect([error.message, error.status]).toEqual([`PUT /v1/models answered ${status}: ${detail}`, status]);
    expect(requests).toHaveLength(1);
  });

  it("shows the beginning of an answer that is no JSON", async () => {
    answers = [() => new Response("y".repeat(100))];
    expect((await refusal()).message).toBe(`GET /v1/models answered 200: expected JSON, got ${"y".repeat(80)}`);
  });

  it.each([
    [{ cause: Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" }) }, "ECONNREFUSED"],
    [{ cause: new Error("certificate has expired") }, "certificate has expired"],
    [{}, "the operation timed out"],
  ])("names the reason if no attempt was answered: %j", async (options, reason) => {
    answers = [broken(options)];
    const error = await refusal({ attempts: 2 });
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error.message).toBe(`no worker answers at https://worker.example: ${reason}`);
    expect(pauses).toEqual([200]);
  });

  it("says that a request was sent again after a lost answer, so that the worker may have taken it twice", async () => {
    answers = [broken(), () => Response.json({ status: "ok" })];
    expect(await call(base, "/healthz")).toEqual({ body: { status: "ok" }, resent: true });
  });

  it("limits the time of an answer, and none of a log", async () => {
    const timeout = vi.spyOn(AbortSignal, "timeout");
    await call(base, "/v1/models");
    expect(timeout.mock.calls).toEqual([[30_000]]);
    expect(requests[0].signal).toBeInstanceOf(AbortSignal);
    await open(base, "/v1/models/shop/events");
    expect(requests[1].signal).toBeUndefined();
  });
});

describe("a server", () => {
  const server = new AnsweringServer();
  beforeAll(() => server.listen());
  afterAll(() => server.close());
  beforeEach(() => {
    server.asked = [];
    server.answer = (_, response) => response.end("{}");
  });

  it.each(["", "/", "/recommender", "/recommender/"])("asks a worker that is mounted at %j below its path", async (path) => {
    await call(new URL(path, server.url), "/v1/models?limit=1", { key: "sk" });
    expect(server.asked).toEqual([`GET ${path.replace(/\/$/, "")}/v1/models?limit=1`]);
    expect(shownUrl(new URL(path, "https://a.example"))).toBe(`https://a.example${path.replace(/\/$/, "")}`);
  });

  it("asks again after an answer whose connection broke, and says so", async () => {
    server.answer = (_, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("{");
      response.destroy();
      server.answer = (_, next) => next.end('{"status":"ok"}');
    };
    expect(await call(server.url, "/healthz")).toEqual({ body: { status: "ok" }, resent: true });
  });

  it("says that the connection broke within a long answer", async () => {
    server.answer = (_, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("first", () => response.destroy());
    };
    const read = async () => {
      let bytes = 0;
      for await (const chunk of await open(server.url, "/v1/models/shop/events")) bytes += chunk.length;
      return bytes;
    };
    await expect(read()).rejects.toThrow(/^the connection to http:\/\/127\.0\.0\.1:\d+ broke: .*; run the command again$/);
  });

  it.each(["GET", "POST"] as const)("does not follow a redirection of %s, and says where it leads", async (method) => {
    server.answer = (_, response) => response.writeHead(301, { location: "https://learn.shop.example/" }).end();
    await expect(call(server.url, "/v1/models", { method, key: "sk" })).rejects.toThrow(
      `${method} /v1/models answered 301: a redirection to https://learn.shop.example/; give the worker's own address`,
    );
    expect(server.asked.length).toBe(1);
  });
});
