// npm run deploy, npx afterclick deploy: deploys the worker to the Cloudflare account of wrangler's login.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters as plain } from "node:util";
import { prepared, UsageError, type Values } from "./command/command.ts";
import { print } from "./command/terminal.ts";
import { type Cloudflare, DeployError, deploy, type Ran, rehearse } from "./deploy/deployment.ts";
import { type Environments, ofEnvironment } from "./deploy/environment.ts";
import { configFileIn, start } from "./deploy/starter.ts";
import { installedWrangler } from "./deploy/wrangler.ts";
import { urlOf } from "./worker/api.ts";

const ENVIRONMENTS = ["production", "staging"] as const;

const usage = (
  called: string,
): string => `Deploys the worker of wrangler.jsonc to Cloudflare. Creates the KV namespace and generates the secrets that are missing; overwrites
nothing but the worker's code. Run it again to update the code. In a folder without a configuration of wrangler, it first writes
wrangler.jsonc and worker.js.

Usage: ${called} [--dry-run] [--env ${ENVIRONMENTS.join("|")}] [--path PATH]

  --dry-run   bundle the worker and list the other steps; needs no account
  --env NAME  production is the worker of wrangler.jsonc, and the default; staging is a second worker, "NAME-staging", with a KV
              namespace and secrets of its own
  --path PATH where your own worker mounts it, such as /recommender; default: the root, or the path of the worker's route

Example: ${called} --dry-run

Log in first with \`npx wrangler login\`, or set CLOUDFLARE_API_TOKEN. If the login has several accounts, set CLOUDFLARE_ACCOUNT_ID.`;

const options = {
  "dry-run": { type: "boolean", default: false },
  env: { type: "string", default: "production" },
  path: { type: "string" },
} as const;

const HEALTH_TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Calls the real Cloudflare. Wrangler writes its results to a file of JSON lines in `folder`. */
function cloudflareWith(wrangler: string, folder: string): Cloudflare {
  const output = join(folder, "wrangler-output.ndjson");
  return {
    async wrangler(args) {
      const env = {
        ...process.env,
        WRANGLER_OUTPUT_FILE_PATH: output,
        WRANGLER_SEND_METRICS: "false",
        WRANGLER_HIDE_BANNER: "true",
        FORCE_COLOR: "0",
      };
      const command = [wrangler, ...args];
      const ran = await new Promise<Ran>((settle) => {
        execFile(process.execPath, command, { env, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) =>
          settle({ ok: !error, stdout: plain(stdout), stderr: plain(stderr) }),
        );
      });
      return { ...ran, deployed: await deployedBy(output) };
    },
    async isHealthy(address) {
      try {
        return (await fetch(urlOf(address, "/healthz"), { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) })).ok;
      } catch {
        return false;
      }
    },
  };
}

async function deployedBy(file: string): Promise<Ran["deployed"]> {
  const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line)).findLast(({ type }) => type === "deploy");
}

async function main({ "dry-run": dryRun, env, path }: Values<typeof options>): Promise<void> {
  const environment = ENVIRONMENTS.find((each) => each === env);
  if (!environment) throw new UsageError(`--env: expected one of ${ENVIRONMENTS.join(", ")}, got ${env}`);
  if (path !== undefined && !/^\/[^\s?#*]*$/.test(path)) throw new UsageError(`--path: expected a path that begins with /, got ${path}`);
  const file = configFileIn(".") ?? (await start(".", print));
  const wrangler = await installedWrangler(".");
  const config = ofEnvironment(wrangler.readConfig(file) as Environments, environment);
  const folder = await mkdtemp(join(tmpdir(), "afterclick-deploy-"));
  try {
    const accountId = process.env.CLOUDFLARE_ACCOUNT_ID;
    const deployment = { cloudflare: cloudflareWith(wrangler.path, folder), config, folder, print, accountId, path };
    await (dryRun ? rehearse(deployment) : deploy(deployment));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const run = prepared({ name: "deploy", usage, options, known: [DeployError], run: main });
