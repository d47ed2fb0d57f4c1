import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { Webhook } from "standardwebhooks";
import { createTestHarness, type TestHarness } from "wrangler";
import { secrets } from "./worker.ts";

const ENTRY = `
  import * as local from "afterclick/local";
  import * as sdk from "afterclick";
  globalThis.afterclick = { ...sdk, ...local };`;

/** A shop with a strict content security policy, a server that checks conversions and forwards them, and a worker. */
export interface LocalShop {
  readonly url: string;
  readonly worker: string;
  /** Ids of received conversions in order, repetitions included. */
  readonly received: string[];
  call<Answer = Counted>(method: string, path: string, body?: unknown): Promise<Answer>;
  convert(impressionId: string): Promise<void>;
  close(): Promise<void>;
}

export interface Counted {
  readonly counts: Readonly<Record<string, number>>;
  readonly modelVersion: number;
  readonly published: { readonly version: number };
}

export async function startLocalShop(): Promise<LocalShop> {
  const harness = createTestHarness({
    workers: [{ configPath: "wrangler.jsonc", secrets: { ...secrets, AFTERCLICK_ALLOWED_ORIGINS: "*" } }],
  });
  const worker = (await harness.listen()).url.href.replace(/\/$/, "");
  const received: string[] = [];
  const pages = await filesOf(worker);
  const server = createServer(async (request, response) => {
    if (request.method === "POST") {
      const chunks: Uint8Array[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const items = JSON.parse(Buffer.concat(chunks).toString()) as readonly { id: string; body: object }[];
      received.push(...items.map(({ id }) => id));
      await Promise.all(items.map((item) => sendOn(worker, item)));
      response.writeHead(204).end();
      return;
    }
    const [headers, body] = pages[request.url ?? "/"] ?? [{}, ""];
    response.writeHead(body ? 200 : 404, headers).end(body);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const shop: LocalShop = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    worker,
    received,
    call: (method, path, body) => call(worker, method, path, body),
    convert: (impressionId) =>
      sendOn(worker, {
        id: `msg_${received.length}`,
        body: { type: "conversion", timestamp: Date.now(), data: { impressionId, reward: 1 } },
      }),
    close: () => closed(harness, () => server.close()),
  };
  return shop;
}

async function closed(harness: TestHarness, stop: () => void): Promise<void> {
  stop();
  await harness.close();
}

async function filesOf(worker: string): Promise<Record<string, [Record<string, string>, Uint8Array | string]>> {
  const { outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: "." },
    bundle: true,
    format: "esm",
    conditions: ["browser"],
    write: false,
    external: ["*.wasm"],
  });
  const policy = `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ${worker}; img-src data:`;
  const page = '<!doctype html><title>shop</title><link rel="icon" href="data:,"><script type="module" src="/bundle.js"></script>';
  return {
    "/": [{ "content-type": "text/html", "content-security-policy": policy }, page],
    "/bundle.js": [{ "content-type": "text/javascript" }, outputFiles[0].contents],
    "/core.wasm": [{ "content-type": "application/wasm" }, await readFile("dist/core.wasm")],
  };
}

/** Forwards a conversion of the shop's page to the worker, as the shop's server does after its check. */
async function sendOn(worker: string, { id, body }: { readonly id: string; readonly body: object }): Promise<void> {
  const now = new Date();
  const text = JSON.stringify(body);
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(secrets.AFTERCLICK_WEBHOOK_SECRET.slice("whsec_".length)).sign(id, now, text),
  };
  const response = await fetch(`${worker}/v1/conversions`, { method: "POST", headers, body: text });
  if (!response.ok) throw new Error(await response.text());
}

async function call<Answer>(worker: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${secrets.AFTERCLICK_SECRET_KEY}`, "content-type": "application/json" };
  const response = await fetch(`${worker}/v1/${path}`, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.json() as Promise<Answer>;
}
