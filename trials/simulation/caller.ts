// Repeats a request until it is answered, as a shop's backend does.

import { bindings } from "./scene.ts";
import type { Clock, Dice, World } from "./world.ts";

const EDGES = 2;
const WEBHOOK_KEY = Uint8Array.from(atob(bindings.AFTERCLICK_WEBHOOK_SECRET.slice("whsec_".length)), (character) =>
  character.charCodeAt(0),
);

export interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what is read of an answer is also checked.
  readonly body: any;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Index of the isolate at the edge. Default: any. */
  readonly edge?: number;
}

/** Calls the worker for one model, and records all events. */
export class Caller {
  readonly model: string;
  /** Start of the model, as the answer to its creation states it. */
  generation = 0;
  readonly trace: string[] = [];
  readonly #world: World;
  readonly #dice: Dice;
  readonly #clock: Clock;

  constructor(model: string, world: World, dice: Dice, clock: Clock) {
    this.model = model;
    this.#world = world;
    this.#dice = dice;
    this.#clock = clock;
  }

  note(line: string): void {
    this.trace.push(`${this.#clock.time} ${line}`);
  }

  /** Chooses an isolate at the edge. */
  anyEdge(): number {
    return this.#dice.below(EDGES);
  }

  /** Returns undefined if no answer arrived. @param path relative to the model. */
  ofModel(method: string, path = "", body?: object, options?: CallOptions): Promise<Reply | undefined> {
    return this.call(method, `/v1/models/${this.model}${path}`, body && JSON.stringify(body), options);
  }

  /** Posts a signed webhook. */
  async webhook(id: string, body: object): Promise<Reply | undefined> {
    const text = JSON.stringify(body);
    const timestamp = String(Math.floor(this.#clock.time / 1000));
    const key = await crypto.subtle.importKey("raw", WEBHOOK_KEY, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const signature = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(`${id}.${timestamp}.${text}`));
    const base64 = btoa(String.fromCharCode(...new Uint8Array(signature)));
    const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${base64}` };
    return this.call("POST", "/v1/conversions", text, { headers });
  }

  async call(
    method: string,
    path: string,
    body?: string,
    { headers = {}, edge = this.anyEdge() }: CallOptions = {},
  ): Promise<Reply | undefined> {
    const authorization = `Bearer ${bindings.AFTERCLICK_SECRET_KEY}`;
    const length = String(new TextEncoder().encode(body).length);
    const all = { authorization, "content-type": "application/json", "content-length": length, ...headers };
    const name = `${method} ${path} at edge ${edge}`;
    try {
      const request = new Request(`http://worker${path}`, { method, headers: all, body });
      const { status, type, text } = await this.#world.edges.fetch(edge, request);
      this.note(`${name}: ${status}`);
      return { status, body: type.includes("ndjson") ? text : JSON.parse(text) };
    } catch (error) {
      this.note(`${name}: ${(error as Error).name}`);
      return undefined;
    }
  }
}
