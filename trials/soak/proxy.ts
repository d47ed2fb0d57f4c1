// The bad network between a soak's clients and its worker.

import { once } from "node:events";
import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { HOST } from "../../cli/worker/worker-process.ts";
import { UNREACHABLE_LEARNER } from "./outage.ts";
import { faultOf } from "./plan.ts";

interface Message {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The header that names a request without webhook-id. The name decides its faults. */
export const REQUEST_NAME = "x-request-name";

/** A proxy that simulates a bad network: it cuts connections, delays requests, sends webhooks twice and cuts a learner off. */
export class ChaosProxy {
  readonly counts = { cutBefore: 0, cutAfter: 0, delayed: 0, echoed: 0, unreachable: 0 };
  readonly #seed: number;
  readonly #target: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 256 });
  #cutOff: string | null = null;
  readonly #attempts = new Map<string, number>();
  readonly #echoes = new Set<Promise<unknown>>();
  readonly #server = createServer((message, response) => {
    this.#pass(message, response).catch(() => {
      // The worker is down. The client sees a cut connection.
      this.counts.unreachable++;
      response.destroy();
    });
  });

  constructor({ seed, target }: { readonly seed: number; readonly target: URL }) {
    this.#seed = seed;
    this.#target = target;
  }

  async listen(): Promise<URL> {
    this.#server.listen(0, HOST);
    await once(this.#server, "listening");
    return new URL(`http://${HOST}:${(this.#server.address() as { port: number }).port}`);
  }

  /** From now on no request reaches the learner of a model. Null ends this. */
  cutOff(model: string | null): void {
    this.#cutOff = model;
  }

  /** Resolves when all repeated webhooks have been sent. */
  async echoed(): Promise<void> {
    await Promise.all(this.#echoes);
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #pass(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url: path = "/", headers } = incoming;
    const message = { method, path, headers, body: await bodyOf(incoming) };
    const webhook = headers["webhook-id"];
    const name = String(webhook ?? headers[REQUEST_NAME] ?? path);
    const attempt = this.#attempts.get(name) ?? 0;
    this.#attempts.set(name, attempt + 1);
    const { cut, delayMs, echoMs } = faultOf(this.#seed, name, attempt);

    if (cut === "before") {
      this.counts.cutBefore++;
      response.destroy();
      return;
    }
    if (delayMs > 0) {
      this.counts.delayed++;
      await sleep(delayMs);
    }
    if (webhook !== undefined && echoMs !== null) this.#echo(message, echoMs);
    const answer = await this.#forward(message);
    if (cut === "after") {
      this.counts.cutAfter++;
      response.destroy();
      return;
    }
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  #echo(message: Message, afterMs: number): void {
    this.counts.echoed++;
    const echo = sleep(afterMs)
      .then(() => this.#forward(message))
      // A repeated webhook has no client that waits for the answer.
      .catch(() => {})
      .finally(() => this.#echoes.delete(echo));
    this.#echoes.add(echo);
  }

  #forward({ method, path, headers, body }: Message): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#target;
      const passed = { ...headers, connection: "keep-alive", ...(this.#cutOff !== null && { [UNREACHABLE_LEARNER]: this.#cutOff }) };
      const outgoing = request({ hostname, port, method, path, headers: passed, agent: this.#agent });
      outgoing.on("error", reject);
      outgoing.on("response", (incoming) => {
        const { statusCode: status = 502, headers: answered } = incoming;
        const { "transfer-encoding": _, connection: __, ...kept } = answered;
        bodyOf(incoming).then((content) => resolve({ status, headers: kept, body: content }), reject);
      });
      outgoing.end(body);
    });
  }
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}
