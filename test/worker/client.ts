import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect } from "vitest";
import { app } from "../../worker/app.ts";
import type { Environment } from "../../worker/environment.ts";
import type { Description } from "../../worker/message.ts";

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
  /** Bindings in place of the real ones. */
  readonly env?: Partial<Environment>;
}

/** Calls the worker. A string is sent as it is, anything else as JSON. */
export async function call(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Reply> {
  const { key = env.AFTERCLICK_SECRET_KEY } = options;
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }), ...options.headers };
  const request = new Request(`http://worker${path}`, {
    method,
    headers,
    body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
  });
  const context = createExecutionContext();
  const response = await app.fetch(request, { ...env, ...options.env }, context);
  await waitOnExecutionContext(context);
  const json = /json/.test(response.headers.get("content-type") ?? "");
  return { status: response.status, headers: response.headers, body: json ? await response.json() : await response.text() };
}

let models = 0;

/** A new model of three actions with a window of an hour. Returns its name. */
export async function createModel(body: object = {}): Promise<string> {
  const name = `model-${++models}`;
  const created = await call("PUT", `/v1/models/${name}`, { window: { ms: HOUR_MS }, ...body });
  expect(created).toMatchObject({ status: 201 });
  await call("PUT", `/v1/models/${name}/actions`, { actions: ["tent", "mug", "lamp"].map((id) => ({ id })) });
  return name;
}

/** Recommends; the ids of the impressions, best first. */
export async function recommend(model: string, body: object = {}): Promise<string[]> {
  const reply = await call("POST", `/v1/models/${model}/recommendations`, body);
  expect(reply.status).toBe(201);
  return reply.body.actions.map(({ impressionId }: { impressionId: string }) => impressionId);
}

let webhooks = 0;

export interface WebhookOptions {
  readonly id?: string;
  readonly timestamp?: number;
  readonly env?: Partial<Environment>;
}

/** Posts conversions as a shop's backend would, signed. */
export function convert(
  data: unknown,
  { id = `msg_${++webhooks}`, timestamp = Date.now(), env: bindings }: WebhookOptions = {},
): Promise<Reply> {
  const body = JSON.stringify({ type: "conversion", timestamp, data });
  return call("POST", "/v1/conversions", body, { key: null, headers: sign(id, body), env: bindings });
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

export function learnerOf(model: string) {
  return env.LEARNER.get(env.LEARNER.idFromName(model));
}

/** Names of the events that KV holds of a model. */
export async function journalOf(model: string): Promise<string[]> {
  const { keys } = await env.EVENTS.list({ prefix: `event/${model}/` });
  return keys.map(({ name }) => name);
}
