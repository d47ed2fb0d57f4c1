import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Hono, type HonoRequest } from "hono";
import { describe, expect, it } from "vitest";
import { app } from "../../../worker/edge/app.ts";
import type { Environment } from "../../../worker/environment.ts";
import { createModel, recommend, sign } from "../support/client.ts";

// The app mounted in another one, behind a middleware that reads bodies.

type Read = (request: HonoRequest) => unknown;

/** Calls the app of a host whose middleware reads the body first. The body is sent with its length, or in chunks. */
async function sent(read: Read, path: string, body: string, { chunked, headers = {} }: { chunked: boolean; headers?: object }) {
  const host = new Hono<{ Bindings: Environment }>();
  host.use(async (c, next) => {
    await read(c.req);
    await next();
  });
  host.route("/recommender", app);
  const bytes = new TextEncoder().encode(body);
  const fields = new Headers({ authorization: `Bearer ${env.AFTERCLICK_SECRET_KEY}`, ...headers });
  if (!chunked) fields.set("content-length", String(bytes.length));
  const stream = new ReadableStream({
    start(controller) {
      for (const part of [bytes.slice(0, 5), bytes.slice(5)]) controller.enqueue(part);
      controller.close();
    },
  });
  const context = createExecutionContext();
  const request = new Request(`http://worker/recommender${path}`, { method: "POST", headers: fields, body: chunked ? stream : bytes });
  const response = await host.fetch(request, env as Environment, context);
  const answer = { status: response.status, text: await response.text() };
  await waitOnExecutionContext(context);
  return answer;
}

const kept: readonly [string, Read][] = [
  ["nothing", () => {}],
  ["json()", (request) => request.json()],
  ["text()", (request) => request.text()],
  ["arrayBuffer()", (request) => request.arrayBuffer()],
  ["blob()", (request) => request.blob()],
  ["raw.clone().text()", (request) => request.raw.clone().text()],
];
const taken: readonly [string, Read][] = [
  ["raw.text()", (request) => request.raw.text()],
  ["raw.json()", (request) => request.raw.json()],
  ["raw.body.getReader()", (request) => request.raw.body?.getReader()],
  ["raw.body.cancel()", (request) => request.raw.body?.cancel()],
];
const ways = (readers: readonly [string, Read][]) =>
  readers.flatMap(([name, read]) =>
    [true, false].map((chunked) => [name, chunked ? "in chunks" : "with its length", read, chunked] as const),
  );

describe("behind a middleware that reads the body by", () => {
  it.each(ways(kept))("%s, sent %s, each route works", async (_, __, read, chunked) => {
    const model = await createModel({ goals: { click: { weight: 1, public: true } } });
    const [impressionId] = await recommend(model);
    expect(await sent(read, `/v1/models/${model}/recommendations`, '{ "limit": 2 }', { chunked })).toMatchObject({ status: 201 });
    const conversion = JSON.stringify({ type: "conversion", timestamp: Date.now(), data: { impressionId, goal: "click", reward: 0.5 } });
    const headers = sign(`msg_${crypto.randomUUID()}`, conversion);
    const converted = await sent(read, "/v1/conversions", conversion, { chunked, headers });
    expect([converted.status, JSON.parse(converted.text).conversions[0].status]).toEqual([202, "applied"]);
    const report = JSON.stringify({ key: env.AFTERCLICK_PUBLISHABLE_KEY, seen: [impressionId] });
    expect(await sent(read, "/v1/shown", report, { chunked })).toMatchObject({ status: 202 });
  });

  it.each(ways(kept))("%s, sent %s, a body over the limit gets 413", async (_, __, read, chunked) => {
    const model = await createModel();
    const large = JSON.stringify({ context: { a: "x".repeat(1024 * 1024) } });
    expect(await sent(read, `/v1/models/${model}/recommendations`, large, { chunked })).toMatchObject({ status: 413 });
  });

  it.each(ways(taken))("%s, sent %s, the answer names the remedy", async (_, __, read, chunked) => {
    const model = await createModel();
    const { status, text } = await sent(read, `/v1/models/${model}/recommendations`, '{ "limit": 2 }', { chunked });
    expect([status, JSON.parse(text).detail]).toEqual([
      500,
      expect.stringMatching(/middleware .* took the body: read it by c\.req\.json\(\)/),
    ]);
  });
});

it("takes large bodies where it is mounted too", async () => {
  const model = await createModel();
  const line = `${"".padEnd(2 * 1024 * 1024)}\n`;
  const { status } = await sent(() => {}, `/v1/models/${model}/events`, line, { chunked: true });
  expect(status).not.toBe(413);
});
