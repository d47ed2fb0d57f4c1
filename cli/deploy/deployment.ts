// The steps of a deployment. They reach the account through `Cloudflare` alone, so that their tests need none.

import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freshSecrets } from "../worker/dev-vars.ts";

/** Id of the KV namespace in local runs. A deployment replaces it with a namespace of the account. */
export const LOCAL_NAMESPACE = "events";

const HEALTHY_WITHIN_MS = 120_000;
const RETRY_MS = 2000;

/** A failed deployment. The message says what to do. */
export class DeployError extends Error {
  override readonly name = "DeployError";
}

/** The result of a wrangler command. */
export interface Ran {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Addresses and size of the worker, after a deployment. */
  readonly deployed?: { readonly targets?: readonly string[]; readonly bundle_size?: { readonly gzip_bytes: number } };
}

/** The remote operations of a deployment. */
export interface Cloudflare {
  wrangler(args: readonly string[]): Promise<Ran>;
  /** Whether a worker answers at the address. */
  isHealthy(address: URL): Promise<boolean>;
}

export interface WranglerConfig {
  readonly name: string;
  readonly main: string;
  readonly account_id?: string;
  readonly kv_namespaces: readonly { readonly binding: string; readonly id: string }[];
  readonly assets?: { readonly directory: string };
}

export interface DeploymentOptions {
  readonly cloudflare: Cloudflare;
  /** The configuration in wrangler.jsonc. */
  readonly config: WranglerConfig;
  /** A private folder, which holds secrets. The caller removes it. */
  readonly folder: string;
  readonly print: (line: string) => void;
  /** The account to use, if the login has several. */
  readonly accountId?: string;
  /** The path of the worker in one that mounts it. Default: the root, or the path of its route. */
  readonly path?: string;
  /** Time that a new address has to answer, in ms. */
  readonly healthyWithinMs?: number;
}

/**
 * Deploys the worker. Creates missing resources in the account, and overwrites nothing but the worker's code.
 *
 * @throws {DeployError} if there is no login or no single account, if wrangler fails, or if the worker has no address or does not answer.
 */
export async function deploy(options: DeploymentOptions): Promise<void> {
  const { cloudflare, config, folder, print, accountId, path, healthyWithinMs = HEALTHY_WITHIN_MS } = options;
  print(`Account: ${await account(cloudflare, accountId ?? config.account_id)}`);
  const file = await writeConfig(folder, await withNamespaces(cloudflare, config, print));
  const secrets = await missingSecrets(cloudflare, config.name);
  const secretsFile = join(folder, "secrets.json");
  await writeFile(secretsFile, JSON.stringify(secrets), { mode: 0o600 });

  print(`Deploying ${config.name}.`);
  const ran = await cloudflare.wrangler(["deploy", "--config", file, "--keep-vars", "--secrets-file", secretsFile]);
  // Nobody can read the secrets later. A deployment may store them and fail at a following step, such as a route.
  if (Object.keys(secrets).length > 0) print(shownOnce(secrets, ran.ok));
  if (!ran.ok) throw refused("deploy", ran);
  const targets = ran.deployed?.targets?.filter((target) => !target.startsWith("schedule:")) ?? [];
  if (targets.length === 0)
    throw new DeployError("The worker is deployed, but has no address. Add a route or a workers.dev subdomain, then deploy again.");
  const address = addressOf(targets, path);
  if (!address) {
    print(`The worker is deployed at ${targets.join(", ")}. Check it with: npx afterclick doctor --url URL`);
    return;
  }
  if (!(await healthy(cloudflare, address, healthyWithinMs))) {
    throw new DeployError(
      `The worker is deployed, but ${address}healthz does not answer yet. A new subdomain can take some minutes: open it later.`,
    );
  }
  print(farewell(address));
}

/** Bundles the worker and lists the steps that need an account. */
export async function rehearse({ cloudflare, config, folder, print }: DeploymentOptions): Promise<void> {
  const file = await writeConfig(folder, config);
  const { deployed } = await run(cloudflare, ["deploy", "--config", file, "--dry-run", "--outdir", join(folder, "bundle")]);
  // An older wrangler does not state the size.
  const bytes = deployed?.bundle_size?.gzip_bytes;
  const size = bytes === undefined ? "" : `: ${Math.round(bytes / 1000)} kB gzipped`;
  const made = config.kv_namespaces.filter(({ id }) => id === LOCAL_NAMESPACE).map(() => titleOf(config));
  print(`Bundled ${config.name}${size}.

With an account, a deployment
  - looks for the KV namespace${made.length > 0 ? ` ${made.join(", ")}, and creates it if there is none` : "s that wrangler.jsonc names"};
  - generates the secrets that the worker lacks (of five), and shows them once;
  - uploads the bundle, and checks that the worker answers.

Nothing was deployed.`);
}

async function account(cloudflare: Cloudflare, chosen: string | undefined): Promise<string> {
  const ran = await cloudflare.wrangler(["whoami", "--json"]);
  if (!ran.ok && !ran.stdout.includes('"loggedIn":false')) throw refused("whoami", ran);
  if (!ran.ok) {
    throw new DeployError(
      "Not logged in to Cloudflare. Run `npx wrangler login`. Without a browser, set CLOUDFLARE_API_TOKEN to a token made from\n" +
        'the template "Edit Cloudflare Workers".',
    );
  }
  const { accounts } = JSON.parse(ran.stdout) as { accounts: { id: string; name: string }[] };
  const [only, ...others] = chosen ? accounts.filter(({ id }) => id === chosen) : accounts;
  const list = accounts.map(({ id, name }) => `\n  ${id}  ${name}`).join("");
  if (!only)
    throw new DeployError(
      chosen
        ? `The login has no account ${chosen}. Set CLOUDFLARE_ACCOUNT_ID to one of${list}`
        : "The login has no account. Create one at dash.cloudflare.com.",
    );
  if (others.length > 0) throw new DeployError(`The login has several accounts. Set CLOUDFLARE_ACCOUNT_ID to one of${list}`);
  return `${only.name} (${only.id})`;
}

/** Replaces local namespaces in the configuration by one of the account, found by its title or created. */
async function withNamespaces(cloudflare: Cloudflare, config: WranglerConfig, print: (line: string) => void): Promise<WranglerConfig> {
  if (config.kv_namespaces.every(({ id }) => id !== LOCAL_NAMESPACE)) return config;
  const title = titleOf(config);
  const found = await namespaceId(cloudflare, title);
  if (found === undefined) await run(cloudflare, ["kv", "namespace", "create", title]);
  const id = found ?? (await namespaceId(cloudflare, title));
  if (id === undefined) throw new DeployError(`The KV namespace ${title} was created, but is not listed yet. Run the command again.`);
  print(`KV namespace: ${title} (${id})${found === undefined ? ", created" : ""}`);
  return {
    ...config,
    kv_namespaces: config.kv_namespaces.map((namespace) => (namespace.id === LOCAL_NAMESPACE ? { ...namespace, id } : namespace)),
  };
}

function titleOf({ name }: WranglerConfig): string {
  return `${name}-events`;
}

async function namespaceId(cloudflare: Cloudflare, title: string): Promise<string | undefined> {
  const { stdout } = await run(cloudflare, ["kv", "namespace", "list"]);
  return (JSON.parse(stdout) as { id: string; title: string }[]).find((namespace) => namespace.title === title)?.id;
}

/** New values for the secrets that the worker lacks. A worker that does not exist yet lacks all. */
async function missingSecrets(cloudflare: Cloudflare, name: string): Promise<Record<string, string>> {
  const listed = await cloudflare.wrangler(["secret", "list", "--name", name]);
  if (!listed.ok && !/Worker "[^"]*" not found/.test(listed.stderr)) throw refused("secret list", listed);
  const existing = new Set((listed.ok ? (JSON.parse(listed.stdout) as { name: string }[]) : []).map((secret) => secret.name));
  return Object.fromEntries(Object.entries(freshSecrets()).filter(([secret]) => !existing.has(secret)));
}

async function writeConfig(folder: string, config: WranglerConfig): Promise<string> {
  const file = join(folder, "wrangler.json");
  // Paths become absolute, because the file is in another folder than wrangler.jsonc.
  const assets = config.assets && { ...config.assets, directory: resolve(config.assets.directory) };
  await writeFile(file, JSON.stringify({ ...config, $schema: undefined, main: resolve(config.main), assets }));
  return file;
}

async function run(cloudflare: Cloudflare, args: readonly string[]): Promise<Ran> {
  const ran = await cloudflare.wrangler(args);
  if (!ran.ok) throw refused(args.filter((arg) => /^[a-z]+$/.test(arg)).join(" "), ran);
  return ran;
}

function refused(command: string, { stdout, stderr }: Ran): DeployError {
  return new DeployError(`wrangler ${command} failed:\n${(stderr.trim() || stdout).trim()}`);
}

/**
 * The address of the worker, with a slash at its end. Wrangler states workers.dev addresses with a protocol, and custom domains and routes
 * without. A route with a wildcard in its host has none.
 */
function addressOf(targets: readonly string[], path?: string): URL | undefined {
  const withProtocol = targets.filter((target) => target.startsWith("https://"));
  const hosts = [...withProtocol, ...targets].map((target) => target.split(" ")[0].replace(/^https:\/\/|\*$/g, ""));
  const found = URL.parse(`https://${hosts.find((host) => !host.includes("*")) ?? ""}`);
  return found ? new URL(`${path ?? found.pathname}/`.replace(/\/+$/, "/"), found) : undefined;
}

async function healthy(cloudflare: Cloudflare, address: URL, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (!(await cloudflare.isHealthy(address))) {
    if (Date.now() >= deadline) return false;
    await sleep(Math.min(RETRY_MS, withinMs));
  }
  return true;
}

function shownOnce(secrets: Readonly<Record<string, string>>, areStored: boolean): string {
  const lines = Object.entries(secrets).map(([name, value]) => `  ${name}='${value}'`);
  const head = areStored ? "New secrets." : "New secrets, which the failed deployment may have stored.";
  return `\n${head} Save them now: neither this command nor Cloudflare shows them again.\n\n${lines.join("\n")}\n`;
}

function farewell(address: URL): string {
  return `The worker answers. Its dashboard asks for the secret key:

  ${address}

Create a first model:

  curl -X PUT ${address}v1/models/shop -H "Authorization: Bearer $AFTERCLICK_SECRET_KEY" \\
    -H 'Content-Type: application/json' -d '{ "window": { "ms": 604800000 } }'
`;
}
