import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { call, UnreachableError } from "./api.ts";

/** Local workers listen here, so that nobody else reaches them. */
export const HOST = "127.0.0.1";

const READY_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 10_000;
const PARENT_EVERY_MS = 250;

export class StartError extends Error {}

export interface WorkerOptions {
  readonly port: number;
  /** Folder of its KV and Durable Objects. */
  readonly state: string;
  /** File of its secrets in place of .dev.vars. */
  readonly secretsFile?: string;
  /** What it says on this script's output; default "warn". */
  readonly logLevel?: "warn" | "error";
}

/** A worker on this machine: wrangler and the runtime it starts, with local KV and Durable Objects. */
export class WorkerProcess {
  readonly base: URL;
  readonly #process: ChildProcess;
  /** However this script ends, nothing that it started stays behind. */
  readonly #killAtExit = () => this.#signal("SIGKILL");

  constructor({ port, state, secretsFile, logLevel = "warn" }: WorkerOptions) {
    this.base = new URL(`http://${HOST}:${port}`);
    const address = ["--ip", HOST, "--port", String(port), "--inspector-port", "0"];
    const files = ["--persist-to", state, ...(secretsFile ? ["--env-file", secretsFile] : [])];
    const quiet = ["--log-level", logLevel, "--show-interactive-dev-session=false"];
    this.#process = spawn(process.execPath, [fileURLToPath(import.meta.resolve("wrangler")), "dev", ...files, ...address, ...quiet], {
      // Its own process group: Ctrl-C reaches it through us alone, and everything it started ends with it.
      detached: true,
      stdio: ["ignore", "inherit", "inherit"],
      env: {
        ...process.env,
        // Without these it asks Cloudflare for updates, sends metrics and fetches a sample request's properties.
        WRANGLER_HIDE_BANNER: "true",
        WRANGLER_SEND_METRICS: "false",
        CLOUDFLARE_CF_FETCH_ENABLED: "false",
      },
    });
    process.once("exit", this.#killAtExit);
    this.#process.once("exit", () => process.off("exit", this.#killAtExit));
  }

  /** Resolves when it answers. @throws {StartError} if it does not within a minute. */
  async healthy(): Promise<void> {
    const deadline = Date.now() + READY_WITHIN_MS;
    while (Date.now() < deadline) {
      try {
        await call(this.base, "/healthz", { attempts: 1 });
        return;
      } catch (error) {
        if (!(error instanceof UnreachableError)) throw error;
      }
      await sleep(100);
    }
    throw new StartError(`the worker did not answer within ${READY_WITHIN_MS / 1000} seconds`);
  }

  /** Never resolves. @throws {StartError} when wrangler ends. */
  async died(): Promise<never> {
    const [code, signal] = this.#running ? await once(this.#process, "exit") : [this.#process.exitCode, this.#process.signalCode];
    throw new StartError(`wrangler ended unexpectedly, by ${signal ?? `code ${code}`}`);
  }

  /** Ends it in good order or, if that takes long, at once. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** Ends it at once, as a crash does: nothing is finished or written any more. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (!this.#running) return;
    const ended = once(this.#process, "exit");
    this.#signal(signal);
    const timer = setTimeout(() => this.#signal("SIGKILL"), STOPPED_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  }

  /** To wrangler and to the runtime that it started. */
  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid !== undefined && this.#running) process.kill(-pid, signal);
  }

  get #running(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, HOST);
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

export async function anyFreePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves when whoever started this script wants it to end. */
export async function askedToStop(): Promise<void> {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => once(process, signal));
  await Promise.race(process.env.npm_lifecycle_event ? [...signals, orphaned()] : signals);
}

/** npm passes a signal on to the shell that runs a script, and that shell ends without passing it on. */
async function orphaned(): Promise<void> {
  const parent = process.ppid;
  while (process.ppid === parent) await sleep(PARENT_EVERY_MS, undefined, { ref: false });
}
