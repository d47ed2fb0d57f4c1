import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { call, open } from "../../../cli/api.ts";

let server: Server;
let base: URL;
let asked: string[];
let answer: RequestListener;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(() => server.close());
beforeEach(() => {
  asked = [];
  answer = (_, response) => response.end("{}");
});

it.each(["", "/", "/recommender", "/recommender/"])("asks a worker that is mounted at %j below its path", async (path) => {
  await call(new URL(path, base), "/v1/models?limit=1", { key: "sk" });
  expect(asked).toEqual([`GET ${path.replace(/\/$/, "")}/v1/models?limit=1`]);
});

it("says that an answer is no JSON, and does not ask again", async () => {
  answer = (_, response) => response.end("<!doctype html><title>Log in</title>");
  await expect(call(base, "/healthz")).rejects.toThrow("GET /healthz answered 200: expected JSON, got <!doctype html>");
  expect(asked.length).toBe(1);
});

it("asks again after an answer whose connection broke, and says so", async () => {
  answer = (_, response) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("{");
    response.destroy();
    answer = (_, next) => next.end('{"status":"ok"}');
  };
  expect(await call(base, "/healthz")).toEqual({ body: { status: "ok" }, resent: true });
});

it("says that the connection broke within a long answer", async () => {
  answer = (_, response) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("first", () => response.destroy());
  };
  const read = async () => {
    let bytes = 0;
    for await (const chunk of await open(base, "/v1/models/shop/events")) bytes += chunk.length;
    return bytes;
  };
  await expect(read()).rejects.toThrow(/^the connection to http:\/\/127\.0\.0\.1:\d+ broke: .*; run the command again$/);
});
