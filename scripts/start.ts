// Starts the worker on this machine, with local KV and Durable Objects, and sets up the demonstration shop.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { SHOP_MODEL, shopActions, shopModel } from "../worker/page/shop.ts";
import { ApiError, call, UnreachableError } from "./api.ts";
import { DEV_VARS, readDevVars, writeDevVars } from "./dev-vars.ts";

const DEFAULT_PORT = 8787;
const HOST = "127.0.0.1";
const STATE = ".wrangler/state";
const READY_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 10_000;
const PARENT_EVERY_MS = 250;

const USAGE = `Usage: npm start [-- --port N]

Starts the worker locally and prints the address of its page. Ctrl-C stops it.

  --port N   default PORT, then ${DEFAULT_PORT} or, if that is taken, a free one

Secrets are kept in ${DEV_VARS} and made on the first run; those in the environment win.
What the worker learns is kept in ${STATE}; remove it to start from nothing.`;

class StartError extends Error {}

const secrets: Record<string, () => string> = {
  AFTERCLICK_SECRET_KEY: () => `sk_${randomBytes(24).toString("base64url")}`,
  AFTERCLICK_PUBLISHABLE_KEY: () => `pk_${randomBytes(24).toString("base64url")}`,
  AFTERCLICK_WEBHOOK_SECRET: () => `whsec_${randomBytes(32).toString("base64")}`,
  AFTERCLICK_TOKEN_KEY: () => randomBytes(32).toString("base64url"),
  AFTERCLICK_DEMO: () => "true",
};

/** The environment's values first, then those of the last run, then fresh ones. */
async function prepareSecrets(): Promise<Record<string, string>> {
  const stored = await readDevVars();
  const fresh = Object.entries(secrets).map(([name, make]) => [name, process.env[name] || stored[name] || make()]);
  const vars = { ...stored, ...Object.fromEntries(fresh) };
  await writeDevVars(vars);
  return vars;
}

async function isFree(port: number): Promise<boolean> {
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

async function anyFreePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : DEFAULT_PORT;
}

/** A port that somebody asked for is taken as it is, or refused; the default one gives way. */
async function choosePort(asked: string | undefined): Promise<number> {
  if (asked === undefined) {
    if (await isFree(DEFAULT_PORT)) return DEFAULT_PORT;
    const port = await anyFreePort();
    console.log(`Port ${DEFAULT_PORT} is taken; using ${port} instead.`);
    return port;
  }
  const port = Number(asked);
  if (!/^\d+$/.test(asked) || port < 1 || port > 65_535) throw new StartError(`port: expected a number from 1 to 65535, got ${asked}`);
  if (!(await isFree(port))) throw new StartError(`port ${port} is taken; stop what listens there, or choose another with --port`);
  return port;
}

function startWorker(port: number): ChildProcess {
  const address = ["--ip", HOST, "--port", String(port), "--inspector-port", "0"];
  const quiet = ["--log-level", "warn", "--show-interactive-dev-session=false"];
  return spawn(process.execPath, [fileURLToPath(import.meta.resolve("wrangler")), "dev", "--persist-to", STATE, ...address, ...quiet], {
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
}

async function untilHealthy(base: URL): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS;
  while (Date.now() < deadline) {
    try {
      await call(base, "/healthz", { attempts: 1 });
      return;
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
    }
    await sleep(100);
  }
  throw new StartError(`the worker did not answer within ${READY_WITHIN_MS / 1000} seconds`);
}

async function setUpShop(base: URL, key: string): Promise<void> {
  try {
    await call(base, `/v1/models/${SHOP_MODEL}`, { method: "PUT", key, json: shopModel });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    throw new StartError(
      `the demonstration model in ${STATE} has another configuration: ${error.message}\nRemove ${STATE} to start from nothing.`,
    );
  }
  await call(base, `/v1/models/${SHOP_MODEL}/actions`, { method: "PUT", key, json: { actions: shopActions } });
}

/** Resolves when the worker shall stop. */
async function askedToStop(): Promise<void> {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => once(process, signal));
  await Promise.race(process.env.npm_lifecycle_event ? [...signals, orphaned()] : signals);
}

/** npm passes a signal on to the shell that runs a script, and that shell ends without passing it on. */
async function orphaned(): Promise<void> {
  const parent = process.ppid;
  while (process.ppid === parent) await sleep(PARENT_EVERY_MS);
}

/** Ends wrangler and the runtime it started. */
async function stop(worker: ChildProcess): Promise<void> {
  if (worker.pid === undefined || worker.exitCode !== null || worker.signalCode !== null) return;
  const ended = once(worker, "exit");
  process.kill(-worker.pid, "SIGTERM");
  const timer = setTimeout(() => process.kill(-(worker.pid as number), "SIGKILL"), STOPPED_WITHIN_MS);
  await ended;
  clearTimeout(timer);
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { port: { type: "string" }, help: { type: "boolean", short: "h", default: false } } });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const port = await choosePort(values.port ?? process.env.PORT);
  const vars = await prepareSecrets();
  const base = new URL(`http://${HOST}:${port}`);
  const worker = startWorker(port);
  const asked = askedToStop();
  const died = once(worker, "exit").then(([code, signal]) => {
    throw new StartError(`wrangler ended unexpectedly, by ${signal ?? `code ${code}`}`);
  });
  try {
    await Promise.race([
      untilHealthy(base)
        .then(() => setUpShop(base, vars.AFTERCLICK_SECRET_KEY))
        .then(() => announce(base)),
      asked,
      died,
    ]);
    await Promise.race([asked, died]);
  } finally {
    await stop(worker);
  }
}

function announce(base: URL): void {
  console.log(`
  The shop       ${base.origin}/
  Its keys       ${DEV_VARS}
  Its state      ${STATE}

  Ctrl-C stops the worker; what it has learnt stays.
`);
}

try {
  await main();
  process.exit(0);
} catch (error) {
  const { message, stack, code } = error as NodeJS.ErrnoException;
  const known = error instanceof StartError || error instanceof ApiError || error instanceof UnreachableError;
  console.error(known ? message : code?.startsWith("ERR_PARSE_ARGS") ? `${message}\n\n${USAGE}` : stack);
  process.exit(1);
}
