// The worker under attack. All calls of the attacks go through it.

import { Webhook } from "standardwebhooks";
import type { freshSecrets } from "../../cli/worker/dev-vars.ts";
import type { Answer } from "./judge.ts";

const TIMEOUT_MS = 30_000;
export const HOUR_MS = 3_600_000;

export interface Request {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  /** Sent as it is, instead of `json`. */
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

export type Secrets = ReturnType<typeof freshSecrets>;

/** The worker under attack, its keys, and the ways in which its users call it. */
export class Target {
  readonly base: URL;
  readonly secrets: Secrets;
  readonly #webhook: Webhook;
  #addresses = 0;
  #webhooks = 0;

  constructor(base: URL, secrets: Secrets) {
    this.base = base;
    this.secrets = secrets;
    this.#webhook = new Webhook(secrets.AFTERCLICK_WEBHOOK_SECRET);
  }

  get secretKey(): string {
    return this.secrets.AFTERCLICK_SECRET_KEY;
  }

  get publishableKey(): string {
    return this.secrets.AFTERCLICK_PUBLISHABLE_KEY;
  }

  /** Sends one request, once. A request without an answer has status 0. */
  async send(method: string, path: string, { key, headers, json, body }: Request = {}): Promise<Answer> {
    const request: RequestInit = {
      method,
      headers: {
        "content-type": "application/json",
        // Each request has an address of its own, or else the rate limit would hide other answers. Only a local worker believes this.
        "cf-connecting-ip": this.address(),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...headers,
      },
      body: body ?? (json === undefined ? undefined : JSON.stringify(json)),
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    };
    try {
      const response = await fetch(new URL(path, this.base), request);
      const { status } = response;
      return { status, type: response.headers.get("content-type") ?? "", text: await response.text(), headers: response.headers };
    } catch (error) {
      const { message, cause } = error as Error;
      return { status: 0, type: "", text: `no answer: ${(cause as Error | undefined)?.message ?? message}` };
    }
  }

  /** An address that no earlier request had. */
  address(): string {
    const n = this.#addresses++;
    return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
  }

  /** The headers of a signed webhook. */
  signature(id: string, body: string, at = new Date(), webhook = this.#webhook): Record<string, string> {
    return {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": webhook.sign(id, at, body),
    };
  }

  /** Sends conversions with a valid signature. */
  convert(data: unknown, { id = this.webhookId(), type = "conversion" } = {}): Promise<Answer> {
    const body = JSON.stringify({ type, timestamp: Date.now(), data });
    return this.send("POST", "/v1/conversions", { body, headers: this.signature(id, body) });
  }

  /** An id that no earlier webhook had. */
  webhookId(): string {
    return `attack_${this.#webhooks++}`;
  }

  /** Creates a model with three actions in its catalogue. @throws {Error} */
  async createModel(name: string, config: object = {}): Promise<string> {
    const json = { window: { ms: HOUR_MS }, serving: "learner", ...config };
    await this.#ask("PUT", `/v1/models/${name}`, json);
    await this.#ask(
      "PUT",
      `/v1/models/${name}/actions`,
      ["tent", "mug", "lamp"].map((id) => ({ id })),
    );
    return name;
  }

  /** Impression ids of one recommendation. @throws {Error} */
  async recommend(model: string, json: object = {}, key = this.secretKey): Promise<string[]> {
    const { actions } = await this.#ask("POST", `/v1/models/${model}/recommendations`, json, key);
    return (actions as { impressionId: string }[]).map(({ impressionId }) => impressionId);
  }

  /** The learnt state of a model. @throws {Error} if it cannot be read. */
  async stateOf(model: string) {
    const { digest, counts, incidents } = await this.#ask("GET", `/v1/models/${model}`);
    return { digest, counts, incidents } as { digest: string; counts: Record<string, number>; incidents: Record<string, number> };
  }

  /** The lines of a model's log. @throws {Error} */
  async logOf<Line>(model: string): Promise<Line[]> {
    const { status, text } = await this.send("GET", `/v1/models/${model}/events`, { key: this.secretKey });
    if (status !== 200) throw new Error(`GET /v1/models/${model}/events answered ${status}: ${text}`);
    return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Line]));
  }

  async #ask(method: string, path: string, json?: object, key = this.secretKey): Promise<Record<string, unknown>> {
    const { status, text } = await this.send(method, path, { key, json });
    if (status < 200 || status > 299) throw new Error(`${method} ${path} answered ${status}: ${text}`);
    return JSON.parse(text);
  }
}
