import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { experimental_readRawConfig } from "wrangler";
import {
  type Cloudflare,
  DeployError,
  type DeploymentOptions,
  deploy,
  LOCAL_NAMESPACE,
  type Ran,
  rehearse,
  type WranglerConfig,
} from "../../../cli/deploy/deployment.ts";
import { ofEnvironment } from "../../../cli/deploy/environment.ts";

const SECRETS = [
  "AFTERCLICK_JOIN_KEY",
  "AFTERCLICK_PUBLISHABLE_KEY",
  "AFTERCLICK_SECRET_KEY",
  "AFTERCLICK_TOKEN_KEY",
  "AFTERCLICK_WEBHOOK_SECRET",
];
const config: WranglerConfig = { name: "afterclick", main: "worker/index.ts", kv_namespaces: [{ binding: "EVENTS", id: LOCAL_NAMESPACE }] };

/** A simulated Cloudflare account that records the calls of a deployment. */
class Account implements Cloudflare {
  accounts = [{ id: "a1", name: "Shop" }];
  namespaces: { id: string; title: string }[] = [];
  secrets = new Map<string, string>();
  deployments: WranglerConfig[] = [];
  targets = ["https://afterclick.shop.workers.dev", "schedule: */15 * * * *"];
  refusal = "";
  /** Whether the deployment stores the worker with its secrets, and then fails. */
  failsLate = false;
  healthy = true;
  calls: string[] = [];

  async wrangler(args: readonly string[]): Promise<Ran> {
    const command = args.filter((arg) => /^[a-z]+$/.test(arg)).join(" ");
    this.calls.push(command);
    if (command === this.refusal) return { ok: false, stdout: "", stderr: "ERROR not today" };
    if (command === "whoami")
      return this.accounts.length > 0
        ? succeeded({ loggedIn: true, accounts: this.accounts })
        : { ...succeeded({ loggedIn: false }), ok: false };
    if (command === "kv namespace list") return succeeded(this.namespaces);
    if (args[1] === "namespace") return succeeded(this.namespaces.push({ id: `kv-${this.namespaces.length}`, title: args[3] }));
    if (args[0] === "secret" && this.deployments.length === 0)
      return { ok: false, stdout: "", stderr: 'ERROR Worker "afterclick" not found.' };
    if (args[0] === "secret") return succeeded(Array.from(this.secrets.keys(), (name) => ({ name, type: "secret_text" })));
    expect(args).toContain("--keep-vars");
    const [file, secretsFile] = ["--config", "--secrets-file"].map((option) => args[args.indexOf(option) + 1]);
    this.deployments.push(JSON.parse(await readFile(file, "utf8")));
    for (const [name, value] of Object.entries<string>(JSON.parse(await readFile(secretsFile, "utf8")))) this.secrets.set(name, value);
    return { ...succeeded(""), ok: !this.failsLate, deployed: { targets: this.targets } };
  }

  async isHealthy(address: URL): Promise<boolean> {
    this.calls.push(`health of ${address}`);
    return this.healthy;
  }
}

const succeeded = (value: unknown): Ran => ({ ok: true, stdout: JSON.stringify(value), stderr: "" });

let folder: string;
let cloudflare: Account;
let printed: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-test-"));
  cloudflare = new Account();
  printed = "";
});

afterEach(() => rm(folder, { recursive: true }));

function deployed(options: Partial<DeploymentOptions> = {}): Promise<void> {
  const print = (line: string): void => {
    printed += `${line}\n`;
  };
  return deploy({ cloudflare, config, folder, print, healthyWithinMs: 20, ...options });
}

it("makes what an empty account misses, and shows its secrets", async () => {
  await deployed();
  expect(cloudflare.namespaces).toEqual([{ id: "kv-0", title: "afterclick-events" }]);
  expect(cloudflare.deployments).toMatchObject([{ name: "afterclick", kv_namespaces: [{ binding: "EVENTS", id: "kv-0" }] }]);
  expect(isAbsolute(cloudflare.deployments[0].main)).toBe(true);
  expect(Array.from(cloudflare.secrets.keys()).sort()).toEqual(SECRETS);
  for (const [name, value] of cloudflare.secrets) expect(printed).toContain(`${name}='${value}'`);
  expect(cloudflare.calls.at(-1)).toBe("health of https://afterclick.shop.workers.dev/");
  expect(printed).toContain("curl -X PUT https://afterclick.shop.workers.dev/v1/models/shop");
});

it("changes nothing but the code when it is run again", async () => {
  await deployed();
  const before = new Map(cloudflare.secrets);
  printed = "";
  await deployed();
  expect(cloudflare.namespaces).toHaveLength(1);
  expect(cloudflare.secrets).toEqual(before);
  expect(cloudflare.deployments[1]).toEqual(cloudflare.deployments[0]);
  for (const value of before.values()) expect(printed).not.toContain(value);
});

it("uploads no variable of a local worker", async () => {
  const { rawConfig } = experimental_readRawConfig({ config: "wrangler.jsonc" });
  await deployed({ config: rawConfig as unknown as WranglerConfig });
  expect(JSON.stringify(cloudflare.deployments)).toContain("ORIGIN_RATE_LIMIT");
  expect(JSON.stringify(cloudflare.deployments)).not.toMatch(/localhost|127\.0\.0\.1|\[::1\]/);
  expect(Array.from(cloudflare.secrets.keys()).sort()).toEqual(SECRETS);
});

it("generates only the secrets that are missing", async () => {
  await deployed();
  const kept = cloudflare.secrets.get("AFTERCLICK_SECRET_KEY");
  cloudflare.secrets.delete("AFTERCLICK_TOKEN_KEY");
  await deployed();
  expect(cloudflare.secrets.get("AFTERCLICK_SECRET_KEY")).toBe(kept);
  expect(cloudflare.secrets.get("AFTERCLICK_TOKEN_KEY")).toMatch(/^[\w-]{43}$/);
});

it("takes a namespace that the configuration names as it is", async () => {
  const own = { ...config, kv_namespaces: [{ binding: "EVENTS", id: "0123" }] };
  await deployed({ config: own });
  expect(cloudflare.namespaces).toEqual([]);
  expect(cloudflare.deployments[0].kv_namespaces).toEqual(own.kv_namespaces);
});

it("deploys to the chosen one of several accounts, and to none if none is chosen", async () => {
  cloudflare.accounts.push({ id: "a2", name: "Other" });
  await expect(deployed()).rejects.toThrow(/CLOUDFLARE_ACCOUNT_ID to one of\n {2}a1 {2}Shop\n {2}a2 {2}Other/);
  await expect(deployed({ accountId: "a3" })).rejects.toThrow("The login has no account a3");
  expect(cloudflare.deployments).toEqual([]);
  await deployed({ accountId: "a2" });
  expect(printed).toContain("Account: Other (a2)");
});

it("deploys staging beside production, with nothing of production", async () => {
  const own = {
    ...config,
    kv_namespaces: [{ binding: "EVENTS", id: "0123" }],
    routes: ["shop.example/*"],
    r2_buckets: [{ bucket_name: "log" }],
  };
  await deployed({ config: ofEnvironment(own, "production") });
  await deployed({ config: ofEnvironment({ ...own, ratelimits: [{ namespace_id: "2" }] }, "staging") });
  expect(cloudflare.deployments[0]).toMatchObject({ name: "afterclick", routes: own.routes, kv_namespaces: own.kv_namespaces });
  const staging = {
    name: "afterclick-staging",
    kv_namespaces: [{ binding: "EVENTS", id: "kv-0" }],
    ratelimits: [{ namespace_id: "1002" }],
  };
  expect(cloudflare.deployments[1]).toMatchObject(staging);
  expect(cloudflare.namespaces).toEqual([{ id: "kv-0", title: "afterclick-staging-events" }]);
  expect(Object.keys(cloudflare.deployments[1])).not.toContain("routes");
  expect(Object.keys(cloudflare.deployments[1])).not.toContain("r2_buckets");
});

it("gives an environment the fields under its name in the configuration", () => {
  const all = { ...config, env: { production: { account_id: "a1" }, staging: { account_id: "a2" } } };
  expect(ofEnvironment(all, "production")).toEqual({ ...config, account_id: "a1" });
  expect(ofEnvironment(all, "staging")).toMatchObject({ name: "afterclick-staging", account_id: "a2" });
});

it("says how to log in", async () => {
  cloudflare.accounts = [];
  await expect(deployed()).rejects.toThrow(DeployError);
  await expect(deployed()).rejects.toThrow(/Not logged in to Cloudflare. Run `npx wrangler login`/);
  expect(cloudflare.calls).toEqual(["whoami", "whoami"]);
});

it.each(["whoami", "kv namespace list", "secret list", "deploy"])("passes on that wrangler refused %s", async (command) => {
  cloudflare.refusal = command === "secret list" ? "secret list afterclick" : command;
  await expect(deployed()).rejects.toThrow(`wrangler ${command} failed:\nERROR not today`);
  expect(cloudflare.secrets.size).toBe(0);
});

it("shows the secrets of a deployment that stored them and failed at a later step", async () => {
  cloudflare.failsLate = true;
  await expect(deployed()).rejects.toThrow("wrangler deploy failed");
  expect(printed).toContain("New secrets, which the failed deployment may have stored. Save them now");
  expect(cloudflare.secrets.size).toBe(5);
  for (const [name, value] of cloudflare.secrets) expect(printed).toContain(`${name}='${value}'`);
});

it("shows the secrets of a worker that does not answer yet", async () => {
  cloudflare.healthy = false;
  await expect(deployed()).rejects.toThrow("does not answer yet");
  for (const value of cloudflare.secrets.values()) expect(printed).toContain(value);
});

it("finds the address of a custom domain, and says if there is none", async () => {
  cloudflare.targets = ["schedule: */15 * * * *", "learn.shop.example (custom domain)"];
  await deployed();
  expect(cloudflare.calls.at(-1)).toBe("health of https://learn.shop.example/");
  cloudflare.targets = ["schedule: */15 * * * *"];
  await expect(deployed()).rejects.toThrow("has no address");
});

it.each([
  [["shop.example/*"], undefined, "https://shop.example/"],
  [["shop.example/learn/* (zone name: shop.example)"], undefined, "https://shop.example/learn/"],
  [["*.shop.example/*", "https://a.shop.workers.dev"], undefined, "https://a.shop.workers.dev/"],
  [["shop.example/*"], "/recommender", "https://shop.example/recommender/"],
  [["https://a.shop.workers.dev"], "/recommender/", "https://a.shop.workers.dev/recommender/"],
])("looks for the worker of %j, mounted at %s, at %s", async (targets, path, address) => {
  cloudflare.targets = [...targets];
  await deployed({ path });
  expect(cloudflare.calls.at(-1)).toBe(`health of ${address}`);
  expect(printed).toContain(`curl -X PUT ${address}v1/models/shop`);
});

it("leaves the check of a route with a wildcard in its host to the doctor", async () => {
  cloudflare.targets = ["*.shop.example/*"];
  await deployed();
  expect(printed).toContain("The worker is deployed at *.shop.example/*. Check it with: npx afterclick doctor --url URL");
  expect(cloudflare.calls.at(-1)).toBe("deploy");
});

it("rehearses without an account: it bundles, tells the size, and deploys nothing", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["cli/afterclick.ts", "deploy", "--dry-run"]);
  const [, kilobytes] = /^Bundled afterclick: (\d+) kB gzipped\./.exec(stdout) as RegExpExecArray;
  // The free plan allows 3 MB.
  expect(Number(kilobytes)).toBeLessThanOrEqual(235);
  const [, stated] = /bundle takes (\d+) kB gzipped/.exec(await readFile("docs/deploy.md", "utf8")) as RegExpExecArray;
  expect(Math.abs(Number(stated) - Number(kilobytes))).toBeLessThanOrEqual(2);
  expect(stdout).toContain("looks for the KV namespace afterclick-events, and creates it");
  expect(stdout).toMatch(/Nothing was deployed\.\n$/);
});

it("rehearses with a wrangler that does not state the size of the bundle", async () => {
  const printed: string[] = [];
  const cloudflare = {
    wrangler: async () => ({ ok: true, stdout: "", stderr: "", deployed: {} }),
    isHealthy: async () => true,
  } as unknown as Cloudflare;
  await rehearse({ cloudflare, config, folder, print: (text) => void printed.push(text) });
  expect(printed.join("\n")).toMatch(/^Bundled afterclick\.\n/);
  expect(printed.join("\n")).not.toContain("NaN");
});
