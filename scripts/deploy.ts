// npm run deploy: deploys the worker to the Cloudflare account of wrangler's login. npm builds the worker first.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters as plain } from "node:util";
import { experimental_readRawConfig as readConfig } from "wrangler";
import { command } from "./command.ts";
import { type Cloudflare, DeployError, deploy, type Ran, rehearse, type WranglerConfig } from "./deploy/deployment.ts";

const USAGE = `Deploys the worker of wrangler.jsonc to Cloudflare. Creates the KV namespace and generates the secrets that are missing; overwrites
nothing but the worker's code. Run it again to update the code.

Usage: npm run deploy [-- --dry-run]

  --dry-run   bundle the worker and list the other steps; needs no account

Example: npm run deploy -- --dry-run

Log in first with \`npx wrangler login\`, or set CLOUDFLARE_API_TOKEN. If the login has several accounts, set CLOUDFLARE_ACCOUNT_ID.`;

const HEALTH_TIMEOUT_MS = 10_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Calls the real Cloudflare. Wrangler writes its results to a file of JSON lines in `folder`. */
function cloudflareWith(folder: string): Cloudflare {
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
      const command = [fileURLToPath(import.meta.resolve("wrangler")), ...args];
      const ran = await new Promise<Ran>((settle) => {
        execFile(process.execPath, command, { env, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) =>
          settle({ ok: !error, stdout: plain(stdout), stderr: plain(stderr) }),
        );
      });
      return { ...ran, deployed: await deployedBy(output) };
    },
    async isHealthy(address) {
      try {
        return (await fetch(new URL("/healthz", address), { signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS) })).ok;
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

async function main(values: { readonly "dry-run": boolean }): Promise<void> {
  const config = readConfig({ config: "wrangler.jsonc" }).rawConfig as unknown as WranglerConfig;
  const folder = await mkdtemp(join(tmpdir(), "afterclick-deploy-"));
  try {
    const accountId = process.env.CLOUDFLARE_ACCOUNT_ID;
    const options = { cloudflare: cloudflareWith(folder), config, folder, print: console.log, accountId };
    await (values["dry-run"] ? rehearse(options) : deploy(options));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

await command({ usage: USAGE, options: { "dry-run": { type: "boolean", default: false } }, known: [DeployError], run: main });
