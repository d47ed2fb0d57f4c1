import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { call, open } from "../../../cli/api.ts";
import { AnsweringServer } from "../../support/answering-server.ts";

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
});

it("says that an answer is no JSON, and does not ask again", async () => {
  server.answer = (_, response) => response.end("<!doctype html><title>Log in</title>");
  await expect(call(server.url, "/healthz")).rejects.toThrow("GET /healthz answered 200: expected JSON, got <!doctype html>");
  expect(server.asked.length).toBe(1);
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
