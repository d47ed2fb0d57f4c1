// npm start: starts the worker on this machine, with local KV and Durable Objects, and sets up the demonstration shop.

import { command } from "../cli/command/command.ts";
import { print } from "../cli/command/terminal.ts";
import { ApiError, call, UnreachableError } from "../cli/worker/api.ts";
import { callersKeys } from "../cli/worker/callers-keys.ts";
import { DEV_VARS, freshSecrets, readDevVars, writeDevVars } from "../cli/worker/dev-vars.ts";
import { anyFreePort, askedToStop, isFree, StartError, WorkerProcess } from "../cli/worker/worker-process.ts";
import { SHOP_MODEL, shopActions, shopModel } from "../src/simulation/assortment.ts";

const DEFAULT_PORT = 8787;
const STATE = ".wrangler/state";
/** A worker that is not on this machine ignores these entries. */
const LOCAL_ORIGINS = "http://localhost:* http://127.0.0.1:* http://[::1]:*";

const USAGE = `Starts the worker on this machine with a demonstration shop, and prints the URLs of its pages. Ctrl-C stops it.

Usage: npm start [-- --port N]

  --port N   port; default: the variable PORT, then ${DEFAULT_PORT}, or a free port if ${DEFAULT_PORT} is in use

Example: npm start -- --port 8788

The first run writes secrets to ${DEV_VARS}. Values in the environment take precedence.
The worker keeps its state in ${STATE}. Remove this folder to start from nothing.`;

/** Takes secrets from the environment, then from the last run, and generates the rest. */
async function prepareSecrets(): Promise<void> {
  const stored = await readDevVars();
  const fresh: Record<string, string> = { ...freshSecrets(), AFTERCLICK_DEMO: "true", AFTERCLICK_ALLOWED_ORIGINS: LOCAL_ORIGINS };
  const needed = Object.entries(fresh).map(([name, value]) => [name, process.env[name] || stored[name] || value]);
  await writeDevVars({ ...stored, ...Object.fromEntries(needed) });
}

/** Chooses the port. A requested port must be free. If the default port is in use, a free one replaces it. */
async function choosePort(asked: string | undefined): Promise<number> {
  if (asked === undefined) {
    if (await isFree(DEFAULT_PORT)) return DEFAULT_PORT;
    const port = await anyFreePort();
    print(`Port ${DEFAULT_PORT} is in use; using ${port} instead.`);
    return port;
  }
  const port = Number(asked);
  if (!/^\d+$/.test(asked) || port < 1 || port > 65_535) throw new StartError(`--port: expected a number from 1 to 65535, got ${asked}`);
  if (!(await isFree(port)))
    throw new StartError(
      `--port: expected a free port, but ${port} is in use; stop the process that listens there, or choose another port`,
    );
  return port;
}

async function setUpShop(base: URL, key: string): Promise<void> {
  try {
    await call(base, `/v1/models/${SHOP_MODEL}`, { method: "PUT", key, json: shopModel });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    // An earlier version of the shop had another configuration. Its model is for show, so it begins anew.
    await call(base, `/v1/models/${SHOP_MODEL}/reset`, { method: "POST", key, json: shopModel });
  }
  await call(base, `/v1/models/${SHOP_MODEL}/actions`, { method: "PUT", key, json: { actions: shopActions } });
}

async function main({ port: asked }: { readonly port?: string }): Promise<void> {
  const port = await choosePort(asked ?? process.env.PORT);
  await prepareSecrets();
  const worker = new WorkerProcess({ port, state: STATE, logLevel: "error" });
  const ended = Promise.race([askedToStop(), worker.died()]);
  const open = async () => {
    await worker.healthy();
    await setUpShop(worker.base, (await callersKeys()).get("AFTERCLICK_SECRET_KEY"));
    // The name that the documents use. Pages of one name do not see what those of another keep.
    announce(`http://localhost:${port}`);
  };
  try {
    await Promise.race([open(), ended]);
    await ended;
  } finally {
    await worker.stop();
  }
}

function announce(origin: string): void {
  print(`
  Shop         ${origin}/
  Dashboard    ${origin}/#dashboard
  Playground   ${origin}/playground/
  Keys         ${DEV_VARS}
  State        ${STATE}

  Ctrl-C stops the worker. Its state stays.
`);
}

await command({ usage: USAGE, options: { port: { type: "string" } }, known: [StartError, ApiError, UnreachableError], run: main });
process.exit();
