import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freshSecrets } from "../dev-vars.ts";

/** Marks the KV namespace of local runs; a deployed worker has one of its account. */
export const LOCAL_NAMESPACE = "events";

const HEALTHY_WITHIN_MS = 120_000;
const RETRY_MS = 2000;

/** What prevents a deployment, and what to do about it. */
export class DeployError extends Error {
  override readonly name = "DeployError";
}

/** What a run of wrangler came to. */
export interface Ran {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Of a deployment: where it is now, and how large. */
  readonly deployed?: { readonly targets?: readonly string[]; readonly bundle_size?: { readonly gzip_bytes: number } };
}

/** All that a deployment does outside this machine. */
export interface Cloudflare {
  wrangler(args: readonly string[]): Promise<Ran>;
  /** Whether a worker answers at an address. */
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
  /** That of wrangler.jsonc. */
  readonly config: WranglerConfig;
  /** A folder for nobody else's eyes; whoever made it removes it. */
  readonly folder: string;
  readonly print: (line: string) => void;
  /** Chosen among several accounts. */
  readonly accountId?: string;
  /** How long a new address may take to answer, in ms. */
  readonly healthyWithinMs?: number;
}

/**
 * Deploys the worker: makes what it misses in the account, and changes nothing that is there but the worker's code.
 *
 * @throws {DeployError} saying what to do: not logged in, several accounts, wrangler's refusal, or no answer from the worker.
 */
export async function deploy({
  cloudflare,
  config,
  folder,
  print,
  accountId,
  healthyWithinMs = HEALTHY_WITHIN_MS,
}: DeploymentOptions): Promise<void> {
  print(`Account: ${await account(cloudflare, accountId ?? config.account_id)}`);
  const file = await writeConfig(folder, await withNamespaces(cloudflare, config, print));
  const secrets = await missingSecrets(cloudflare, config.name);
  const secretsFile = join(folder, "secrets.json");
  await writeFile(secretsFile, JSON.stringify(secrets), { mode: 0o600 });

  print(`Deploying ${config.name}.`);
  const { deployed } = await run(cloudflare, ["deploy", "--config", file, "--keep-vars", "--secrets-file", secretsFile]);
  // At once: whatever goes wrong from here on, nobody can read them again.
  if (Object.keys(secrets).length > 0) print(shownOnce(secrets));
  const address = addressOf(deployed?.targets ?? []);
  if (!address)
    throw new DeployError("The worker is deployed, but has no address: add a route or a workers.dev subdomain, then deploy again.");
  if (!(await healthy(cloudflare, address, healthyWithinMs))) {
    throw new DeployError(`The worker is deployed, but ${address}healthz does not answer yet; a new subdomain can take some minutes.`);
  }
  print(farewell(address));
}

/** Does all of it that needs no account, and says what the rest would be. */
export async function rehearse({ cloudflare, config, folder, print }: DeploymentOptions): Promise<void> {
  const file = await writeConfig(folder, config);
  const { deployed } = await run(cloudflare, ["deploy", "--config", file, "--dry-run", "--outdir", join(folder, "bundle")]);
  const kilobytes = Math.round((deployed?.bundle_size?.gzip_bytes ?? Number.NaN) / 1000);
  const made = config.kv_namespaces.filter(({ id }) => id === LOCAL_NAMESPACE).map(() => titleOf(config));
  print(`Bundled ${config.name}: ${kilobytes} kB gzipped.

With an account, a deployment
  - looks for the KV namespace${made.length > 0 ? ` ${made.join(", ")}, and creates it if there is none` : "s that wrangler.jsonc names"};
  - generates those of the four secrets that the worker does not have, and shows them once;
  - uploads the bundle, and asks the worker how it is.

Nothing was deployed.`);
}

async function account(cloudflare: Cloudflare, chosen: string | undefined): Promise<string> {
  const ran = await cloudflare.wrangler(["whoami", "--json"]);
  if (!ran.ok && !ran.stdout.includes('"loggedIn":false')) throw refused("whoami", ran);
  if (!ran.ok) {
    throw new DeployError(
      "Not logged in to Cloudflare. Run `npx wrangler login`; where there is no browser, set CLOUDFLARE_API_TOKEN to a token made\n" +
        'from the template "Edit Cloudflare Workers".',
    );
  }
  const { accounts } = JSON.parse(ran.stdout) as { accounts: { id: string; name: string }[] };
  const [only, ...others] = chosen ? accounts.filter(({ id }) => id === chosen) : accounts;
  const list = accounts.map(({ id, name }) => `\n  ${id}  ${name}`).join("");
  if (!only) throw new DeployError(chosen ? `The login has no account ${chosen}; it has:${list}` : "The login has no account.");
  if (others.length > 0) throw new DeployError(`Several accounts: set CLOUDFLARE_ACCOUNT_ID to one of${list}`);
  return `${only.name} (${only.id})`;
}

/** The configuration with a namespace of the account in each place of a local one: found by its title, or created. */
async function withNamespaces(cloudflare: Cloudflare, config: WranglerConfig, print: (line: string) => void): Promise<WranglerConfig> {
  if (config.kv_namespaces.every(({ id }) => id !== LOCAL_NAMESPACE)) return config;
  const title = titleOf(config);
  const found = await namespaceId(cloudflare, title);
  if (found === undefined) await run(cloudflare, ["kv", "namespace", "create", title]);
  const id = found ?? (await namespaceId(cloudflare, title));
  if (id === undefined) throw new DeployError(`The KV namespace ${title} was created, but is not listed yet: try again.`);
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

/** Fresh values of those that the worker does not have; all of them, if there is no such worker yet. */
async function missingSecrets(cloudflare: Cloudflare, name: string): Promise<Record<string, string>> {
  const listed = await cloudflare.wrangler(["secret", "list", "--name", name]);
  if (!listed.ok && !/Worker "[^"]*" not found/.test(listed.stderr)) throw refused("secret list", listed);
  const existing = new Set((listed.ok ? (JSON.parse(listed.stdout) as { name: string }[]) : []).map((secret) => secret.name));
  return Object.fromEntries(Object.entries(freshSecrets()).filter(([secret]) => !existing.has(secret)));
}

async function writeConfig(folder: string, config: WranglerConfig): Promise<string> {
  const file = join(folder, "wrangler.json");
  // The file lies elsewhere than the one it comes from.
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

/** The first target that is a host: a workers.dev address comes with its protocol, a custom domain without. */
function addressOf(targets: readonly string[]): URL | null {
  const domain = targets.find((target) => target.includes("(custom domain"))?.split(" ")[0];
  return URL.parse(targets.find((target) => target.startsWith("https://")) ?? `https://${domain ?? ""}`);
}

async function healthy(cloudflare: Cloudflare, address: URL, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (!(await cloudflare.isHealthy(address))) {
    if (Date.now() >= deadline) return false;
    await sleep(Math.min(RETRY_MS, withinMs));
  }
  return true;
}

function shownOnce(secrets: Readonly<Record<string, string>>): string {
  const lines = Object.entries(secrets).map(([name, value]) => `  ${name}='${value}'`);
  return `\nSecrets made for it. Keep them: they are not shown again, and Cloudflare does not tell them.\n\n${lines.join("\n")}\n`;
}

function farewell(address: URL): string {
  return `It answers. The dashboard, for who has the secret key:

  ${address}

A first model:

  curl -X PUT ${address}v1/models/shop -H "Authorization: Bearer $AFTERCLICK_SECRET_KEY" \\
    -H 'Content-Type: application/json' -d '{ "window": { "ms": 604800000 } }'
`;
}
