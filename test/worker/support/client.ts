import { createExecutionContext, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect } from "vitest";
import { type App, app } from "../../../worker/edge/app.ts";
import type { Environment } from "../../../worker/environment.ts";
import type { Description } from "../../../worker/rpc/message.ts";

export const HOUR_MS = 3_600_000;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer, it also checks.
  readonly body: any;
}

export interface CallOptions {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bindings that replace the real ones. */
  readonly env?: Partial<Environment>;
  /** The isolate that answers. Default: one for all tests of a file. */
  readonly isolate?: Pick<App, "fetch">;
}

/** Calls the worker. Sends a string as it is, and anything else as JSON. */
export async function call(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Reply> {
  const { key = env.AFTERCLICK_SECRET_KEY, isolate = app } = options;
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }), ...options.headers };
  const request = new Request(`http://worker${path}`, {
    method,
    headers,
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  const context = createExecutionContext();
  const response = await isolate.fetch(request, { ...env, ...options.env }, context);
  await waitOnExecutionContext(context);
  const { status } = response;
  return { status, headers: response.headers, body: await contentOf(response) };
}

function contentOf(response: Response): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  if (/octet-stream/.test(type)) return response.arrayBuffer();
  return /[+/]json/.test(type) ? response.json() : response.text();
}

let models = 0;

/** Creates a model of three actions with a window of one hour, by default small and served by its learner. Returns its name. */
export async function createModel(body: object = {}): Promise<string> {
  const name = `model-${++models}`;
  // The default encoder has 64 times as many products of features.
  const size = ["policy", "options", "encoder"].some((option) => option in body) ? {} : { encoder: { dimension: 32 } };
  const created = await call("PUT", `/v1/models/${name}`, { window: { ms: HOUR_MS }, serving: "learner", ...size, ...body });
  expect(created).toMatchObject({ status: 201 });
  await call("PUT", `/v1/models/${name}/actions`, { actions: ["tent", "mug", "lamp"].map((id) => ({ id })) });
  return name;
}

/** Requests recommendations. Returns impression ids, best first. */
export async function recommend(model: string, body: object = {}, options: CallOptions = {}): Promise<string[]> {
  const reply = await call("POST", `/v1/models/${model}/recommendations`, body, options);
  expect(reply.status).toBe(201);
  return reply.body.actions.map(({ impressionId }: { impressionId: string }) => impressionId);
}

/** Registers impressions: by default a mug, in Portugal, now. Returns their ids. */
export async function show(model: string, ...items: object[]): Promise<string[]> {
  const shown = items.map((fields) => ({ action: "mug", context: { country: "PT" }, shownAt: Date.now(), ...fields }));
  const { status, body } = await call("POST", `/v1/models/${model}/impressions`, shown);
  expect(status).toBe(201);
  return body.impressions.map(({ impressionId }: { impressionId: string }) => impressionId);
}

/** Makes the model keep a snapshot, by putting its present catalogue again. Returns the version. */
export async function keep(model: string): Promise<number> {
  const actions = await runInDurableObject(learnerOf(model), (_, { storage }) =>
    Array.from(storage.sql.exec<{ content: string }>("SELECT content FROM actions ORDER BY place"), ({ content }) => JSON.parse(content)),
  );
  await call("PUT", `/v1/models/${model}/actions`, { actions });
  return (await describeModel(model)).kept[0].version;
}

let webhooks = 0;

export interface WebhookOptions {
  readonly type?: "conversion" | "conversion.updated" | "conversion.retracted";
  readonly id?: string;
  readonly timestamp?: number;
  readonly env?: Partial<Environment>;
}

/** Posts signed conversions, as a shop's backend does. */
export function convert(
  data: unknown,
  { type = "conversion", id = `msg_${++webhooks}`, timestamp = Date.now(), env: bindings }: WebhookOptions = {},
): Promise<Reply> {
  const body = JSON.stringify({ type, timestamp, data });
  return call("POST", "/v1/conversions", body, { key: null, headers: sign(id, body), env: bindings });
}

/** Posts conversions. Returns the status of each. */
export function statusesOf({ body }: Reply): string[] {
  return body.conversions.map(({ status }: { status: string }) => status);
}

/** Reads the status of an impression. */
export async function statusOf(impressionId: string): Promise<string> {
  return (await call("GET", `/v1/impressions/${impressionId}`)).body.status;
}

export function sign(id: string, body: string, now = Date.now()): Record<string, string> {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now / 1000)),
    "webhook-signature": new Webhook(env.AFTERCLICK_WEBHOOK_SECRET as string).sign(id, new Date(now), body),
  };
}

export async function describeModel(model: string): Promise<Description> {
  const { body } = await call("GET", `/v1/models/${model}`);
  return body;
}

/** Reads the model's description, with its counts and digest. */
export async function stateOf(model: string): Promise<Pick<Description, "digest" | "counts">> {
  const { digest, counts } = await describeModel(model);
  return { digest, counts };
}

export function learnerOf(model: string) {
  return env.LEARNER.get(env.LEARNER.idFromName(model));
}

/** Names of the model's events in KV. */
export async function journalOf(model: string): Promise<string[]> {
  const { keys } = await env.EVENTS.list({ prefix: `event/${model}/` });
  return keys.map(({ name }) => name);
}

/** All stored data of a model, in its tables and in KV, as one text. Bytes are Latin-1. */
export async function storedOf(model: string): Promise<string> {
  const rows = await runInDurableObject(learnerOf(model), (_, { storage: { sql } }) => {
    const tables = sql
      .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'")
      .toArray();
    return tables.flatMap(({ name }) => Array.from(sql.exec(`SELECT * FROM "${name}"`).raw(), (row) => row.map(textOf).join(" ")));
  });
  const { keys } = await env.EVENTS.list();
  const records = keys
    .filter(({ name }) => name.split("/")[1] === model)
    .map(async ({ name, metadata }) => `${name} ${JSON.stringify(metadata)} ${textOf(await env.EVENTS.get(name, "arrayBuffer"))}`);
  return [...rows, ...(await Promise.all(records))].join("\n");
}

function textOf(value: unknown): string {
  return value instanceof ArrayBuffer ? new TextDecoder("latin1").decode(value) : String(value);
}
