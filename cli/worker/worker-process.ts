// A worker that a script starts on this machine and ends with itself, whatever ends the script.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { call, UnreachableError } from "./api.ts";

/** Local workers listen on the loopback interface, so that other machines cannot reach them. */
export const HOST = "127.0.0.1";

const READY_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 10_000;
const PARENT_EVERY_MS = 250;

export class StartError extends Error {}

export interface WorkerOptions {
  readonly port: number;
  /** Folder of the local KV and Durable Objects. */
  readonly state: string;
  /** File of secrets, instead of .dev.vars. */
  readonly secretsFile?: string;
  /** The module that wrangler runs, instead of the one of wrangler.jsonc. */
  readonly entry?: string;
  /** Level of wrangler's messages on this script's output, default "warn". */
  readonly logLevel?: "warn" | "error";
}

/** A worker on this machine: wrangler and its runtime, with local KV and Durable Objects. */
export class WorkerProcess {
  readonly base: URL;
  readonly #process: ChildProcess;
  /** Kills the worker when this script ends, however it ends. */
  readonly #killAtExit = () => this.#signal("SIGKILL");

  constructor({ port, state, secretsFile, entry, logLevel = "warn" }: WorkerOptions) {
    this.base = new URL(`http://${HOST}:${port}`);
    const address = ["--ip", HOST, "--port", String(port), "--inspector-port", "0"];
    const files = ["--persist-to", state, ...(secretsFile ? ["--env-file", secretsFile] : [])];
    const quiet = ["--log-level", logLevel, "--show-interactive-dev-session=false"];
    const program = [fileURLToPath(import.meta.resolve("wrangler")), "dev", ...(entry ? [entry] : [])];
    this.#process = spawn(process.execPath, [...program, ...files, ...address, ...quiet], {
      // Leads its own process group, so that Ctrl-C reaches only this script, which then ends the whole group.
      detached: true,
      stdio: ["ignore", "inherit", "inherit"],
      env: {
        ...process.env,
        // Without these variables wrangler asks Cloudflare for updates, sends metrics and fetches a sample request's properties.
        WRANGLER_HIDE_BANNER: "true",
        WRANGLER_SEND_METRICS: "false",
        CLOUDFLARE_CF_FETCH_ENABLED: "false",
      },
    });
    process.once("exit", this.#killAtExit);
    this.#process.once("exit", () => process.off("exit", this.#killAtExit));
  }

  /** The process group of wrangler and its runtime. */
  get group(): number | undefined {
    return this.#process.pid;
  }

  /** Resolves when the worker answers. @throws {StartError} if it does not within a minute. */
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
    throw new StartError(`The worker did not answer within ${READY_WITHIN_MS / 1000} seconds. Look at wrangler's messages above.`);
  }

  /** Never resolves. @throws {StartError} when wrangler ends. */
  async died(): Promise<never> {
    const [code, signal] = this.#running ? await once(this.#process, "exit") : [this.#process.exitCode, this.#process.signalCode];
    throw new StartError(`Wrangler ended unexpectedly with ${signal ?? `code ${code}`}. Look at its messages above.`);
  }

  /** Asks the worker to end, and kills it if it takes longer than STOPPED_WITHIN_MS. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** Kills the worker at once, like a crash: it finishes and writes nothing. */
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

  /** Sends a signal to wrangler and its runtime. */
  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process;
    if (pid !== undefined && this.#running) process.kill(-pid, signal);
  }

  get #running(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }
}

/** Whether no other process listens on a port of this machine. A browser may look for `localhost` at either address. */
export async function isFree(port: number): Promise<boolean> {
  for (const host of [HOST, "::1"]) {
    const server = createServer().listen(port, host);
    try {
      await once(server, "listening");
    } catch (error) {
      // Some machines have no IPv6.
      if (host === HOST || (error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    } finally {
      server.close();
    }
  }
  return true;
}

export async function anyFreePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves when this script is asked to end, by a signal or by the end of its parent. */
export async function askedToStop(): Promise<void> {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => once(process, signal));
  await Promise.race(process.env.npm_lifecycle_event ? [...signals, orphaned()] : signals);
}

/** Resolves when the parent process ends. npm signals the shell that runs the script, and the shell ends without passing the signal on. */
async function orphaned(): Promise<void> {
  const parent = process.ppid;
  while (process.ppid === parent) await sleep(PARENT_EVERY_MS, undefined, { ref: false });
}
