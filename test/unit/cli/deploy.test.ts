import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
import { run } from "../../../cli/deploy.ts";
import { endPauses, notedPauses } from "../../support/pauses.ts";
import { ran } from "../../support/ran.ts";

// Deploys to a simulated Cloudflare account.

const SECRETS = [
  "AFTERCLICK_JOIN_KEY",
  "AFTERCLICK_PUBLISHABLE_KEY",
  "AFTERCLICK_SECRET_KEY",
  "AFTERCLICK_TOKEN_KEY",
  "AFTERCLICK_WEBHOOK_SECRET",
];
const EVENTS = { binding: "EVENTS", id: LOCAL_NAMESPACE };
const config: WranglerConfig = { name: "shop", main: "worker.js", kv_namespaces: [EVENTS] };
const said = (value: unknown): Ran => ({ ok: true, stdout: JSON.stringify(value), stderr: "" });
const failed = (stderr: string, stdout = ""): Ran => ({ ok: false, stdout, stderr });

/** A simulated Cloudflare account that records the calls of a deployment. */
class Account implements Cloudflare {
  accounts = [{ id: "a1", name: "Shop" }];
  namespaces = [{ id: "kv-0", title: "other-events" }];
  secrets = new Map<string, string>();
  deployments: WranglerConfig[] = [];
  targets: string[] | undefined = ["https://shop.a.workers.dev", "schedule: */15 * * * *"];
  /** Answers by the beginning of a command, in place of the account's own. */
  answers: Record<string, Ran> = {};
  isHealthy = async (address: URL): Promise<boolean> => {
    this.calls.push(`health of ${address}`);
    return true;
  };
  calls: string[] = [];

  async wrangler(args: readonly string[]): Promise<Ran> {
    const command = args.join(" ");
    this.calls.push(command.replaceAll(folder, "FOLDER"));
    const answer = Object.entries(this.answers).find(([name]) => command.startsWith(name))?.[1];
    // A deployment that fails late has stored the worker and its secrets.
    if (answer && !answer.deployed) return answer;
    if (args[0] === "whoami") return said({ loggedIn: true, accounts: this.accounts });
    if (args[2] === "list") return said(this.namespaces);
    if (args[0] === "kv") return said(this.namespaces.push({ id: `kv-${this.namespaces.length}`, title: args[3] }));
    if (args[0] === "secret" && this.deployments.length === 0) return failed(`ERROR Worker "shop" not found.`);
    if (args[0] === "secret") return said(Array.from(this.secrets.keys(), (name) => ({ name })));
    this.deployments.push(JSON.parse(await readFile(join(folder, "wrangler.json"), "utf8")));
    const fresh: Record<string, string> = JSON.parse(await readFile(join(folder, "secrets.json"), "utf8"));
    for (const [name, value] of Object.entries(fresh)) this.secrets.set(name, value);
    return answer ?? { ...said(""), deployed: { targets: this.targets } };
  }
}

let folder: string;
let cloudflare: Account;
let printed: string;
let pauses: number[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-test-"));
  [cloudflare, printed, pauses] = [new Account(), "", notedPauses()];
});
afterEach(async () => {
  endPauses();
  await rm(folder, { recursive: true });
});

function options(changed: Partial<DeploymentOptions> = {}): DeploymentOptions {
  const print = (line: string): void => {
    printed += `${line}\n`;
  };
  return { cloudflare, config, folder, print, ...changed };
}
const deployed = (changed?: Partial<DeploymentOptions>) => deploy(options(changed));
const refusal = async (changed?: Partial<DeploymentOptions>): Promise<string> => {
  const error = await deployed(changed).catch((caught) => caught);
  expect(error).toBeInstanceOf(DeployError);
  return error.message;
};
const secretLines = () => Array.from(cloudflare.secrets, ([name, value]) => `  ${name}='${value}'\n`).join("");

it("makes what an empty account misses, and shows its secrets once", async () => {
  await deployed();
  expect(cloudflare.calls).toEqual([
    "whoami --json",
    "kv namespace list",
    "kv namespace create shop-events",
    "kv namespace list",
    "secret list --name shop",
    "deploy --config FOLDER/wrangler.json --keep-vars --secrets-file FOLDER/secrets.json",
    "health of https://shop.a.workers.dev/",
  ]);
  expect(Array.from(cloudflare.secrets.keys()).sort()).toEqual(SECRETS);
  expect((await stat(join(folder, "secrets.json"))).mode & 0o777).toBe(0o600);
  expect(printed).toContain(
    "Account: Shop (a1)\nKV namespace: shop-events (kv-1), created\nDeploying shop.\n\n" +
      `New secrets. Save them now: neither this command nor Cloudflare shows them again.\n\n${secretLines()}\n` +
      "The worker answers. Its dashboard asks for the secret key:\n\n  https://shop.a.workers.dev/\n",
  );
  expect(printed).toContain("curl -X PUT https://shop.a.workers.dev/v1/models/shop");
});

it("changes nothing but the code when it is run again, and adds only secrets that are missing", async () => {
  await deployed();
  const before = new Map(cloudflare.secrets);
  printed = "";
  await deployed();
  expect([cloudflare.namespaces.length, cloudflare.secrets]).toEqual([2, before]);
  expect(cloudflare.deployments[1]).toEqual(cloudflare.deployments[0]);
  expect(printed).toMatch(/^Account: Shop \(a1\)\nKV namespace: shop-events \(kv-1\)\nDeploying shop\.\nThe worker answers\./);
  cloudflare.secrets.delete("AFTERCLICK_TOKEN_KEY");
  await deployed();
  const fresh = cloudflare.secrets.get("AFTERCLICK_TOKEN_KEY");
  expect(fresh).toMatch(/^[\w-]{43}$/);
  expect(cloudflare.secrets).toEqual(new Map([...before, ["AFTERCLICK_TOKEN_KEY", fresh]]));
});

describe("the configuration", () => {
  it("has absolute paths, no schema, and the account's namespace in place of a local one", async () => {
    const more = { $schema: "schema.json", assets: { directory: "public", binding: "ASSETS" } };
    await deployed({ config: { ...config, ...more, kv_namespaces: [EVENTS, { binding: "CACHE", id: "k9" }] } });
    expect(cloudflare.deployments).toEqual([
      {
        ...{ name: "shop", main: resolve("worker.js"), assets: { directory: resolve("public"), binding: "ASSETS" } },
        kv_namespaces: [
          { binding: "EVENTS", id: "kv-1" },
          { binding: "CACHE", id: "k9" },
        ],
      },
    ]);
  });

  it("uploads no variable of a local worker", async () => {
    const { rawConfig } = experimental_readRawConfig({ config: "wrangler.jsonc" });
    await deployed({ config: rawConfig as unknown as WranglerConfig });
    expect(JSON.stringify(cloudflare.deployments)).toContain("ORIGIN_RATE_LIMIT");
    expect(JSON.stringify(cloudflare.deployments)).not.toMatch(/localhost|127\.0\.0\.1|\[::1\]/);
    expect(Array.from(cloudflare.secrets.keys()).sort()).toEqual(SECRETS);
  });

  it("takes a namespace that it names as it is", async () => {
    await deployed({ config: { ...config, kv_namespaces: [{ binding: "EVENTS", id: "0123" }] } });
    expect(cloudflare.namespaces).toHaveLength(1);
    expect(cloudflare.deployments[0].kv_namespaces).toEqual([{ binding: "EVENTS", id: "0123" }]);
  });

  it("of staging has nothing of production, and each environment the fields under its name", async () => {
    const env = { production: { account_id: "a1" }, staging: { account_id: "a2" } };
    const own = { ...config, kv_namespaces: [{ binding: "EVENTS", id: "0123" }], routes: ["a.example/*"], r2_buckets: [{}], env };
    const limited = { ...own, ratelimits: [{ namespace_id: "2", name: "R" }] };
    const { env: _, ...all } = limited;
    expect(ofEnvironment(limited, "production")).toEqual({ ...all, account_id: "a1" });
    expect(ofEnvironment(limited, "staging")).toEqual({
      ...{ name: "shop-staging", main: "worker.js", account_id: "a2", kv_namespaces: [EVENTS], routes: undefined, r2_buckets: undefined },
      ratelimits: [{ namespace_id: "1002", name: "R" }],
    });
    expect(ofEnvironment(own, "staging")).not.toHaveProperty("ratelimits");
    await deployed({ config: ofEnvironment(config, "staging") });
    expect(cloudflare.namespaces[1]).toEqual({ id: "kv-1", title: "shop-staging-events" });
  });
});

describe("the account", () => {
  it("is that of the configuration, unless another is chosen", async () => {
    cloudflare.accounts.push({ id: "a2", name: "Other" });
    await deployed({ config: { ...config, account_id: "a2" } });
    await deployed({ config: { ...config, account_id: "a2" }, accountId: "a1" });
    expect(printed.match(/^Account: .*/gm)).toEqual(["Account: Other (a2)", "Account: Shop (a1)"]);
  });

  it("has to be chosen from several", async () => {
    cloudflare.accounts.push({ id: "a2", name: "Other" });
    const list = "Set CLOUDFLARE_ACCOUNT_ID to one of\n  a1  Shop\n  a2  Other";
    expect(await refusal()).toBe(`The login has several accounts. ${list}`);
    expect(await refusal({ accountId: "a3" })).toBe(`The login has no account a3. ${list}`);
    expect(cloudflare.calls).toEqual(["whoami --json", "whoami --json"]);
  });
});

it.each<[command: string, answer: Ran, message: string]>([
  ["whoami", failed("", '{"loggedIn":false}'), "Not logged in to Cloudflare. Run `npx wrangler login`."],
  ["whoami", failed(" no network \n", "ignored"), "wrangler whoami failed:\nno network"],
  ["whoami", failed(" ", " no network\n"), "wrangler whoami failed:\nno network"],
  ["whoami", said({ accounts: [] }), "The login has no account. Create one at dash.cloudflare.com."],
  ["kv namespace list", failed("not today"), "wrangler kv namespace list failed:\nnot today"],
  ["kv namespace list", said([]), "The KV namespace shop-events was created, but is not listed yet. Run the command again."],
  ["kv namespace create", failed("limit reached"), "wrangler kv namespace create failed:\nlimit reached"],
  ["secret list", failed("Authentication error"), "wrangler secret list failed:\nAuthentication error"],
  ["deploy", failed("ERROR not today"), "wrangler deploy failed:\nERROR not today"],
])("ends at %s with the answer %j, and deploys nothing", async (command, answer, message) => {
  cloudflare.answers[command] = answer;
  expect((await refusal()).startsWith(message)).toBe(true);
  expect([cloudflare.secrets.size, cloudflare.calls.at(-1)]).toEqual([0, expect.stringMatching(`^${command}|^kv namespace list`)]);
});

it("shows the secrets of a deployment that stored them and failed at a later step", async () => {
  cloudflare.answers.deploy = { ...failed("no route"), deployed: {} };
  expect(await refusal()).toBe("wrangler deploy failed:\nno route");
  expect(cloudflare.secrets.size).toBe(5);
  expect(printed).toContain(`New secrets, which the failed deployment may have stored. Save them now`);
  expect(printed).toContain(secretLines());
});

describe("the address", () => {
  it.each([
    [["schedule: */15 * * * *", "learn.shop.example (custom domain)"], undefined, "https://learn.shop.example/"],
    [["shop.example/*"], undefined, "https://shop.example/"],
    [["shop.example/learn/* (zone name: shop.example)"], undefined, "https://shop.example/learn/"],
    [["*.shop.example/*", "https://a.shop.workers.dev"], undefined, "https://a.shop.workers.dev/"],
    [["shop.example/*"], "/recommender", "https://shop.example/recommender/"],
    [["https://a.shop.workers.dev"], "/recommender/", "https://a.shop.workers.dev/recommender/"],
  ])("of %j, mounted at %s, is %s", async (targets, path, address) => {
    cloudflare.targets = targets;
    await deployed({ path });
    expect(cloudflare.calls.at(-1)).toBe(`health of ${address}`);
    expect(printed).toContain(`curl -X PUT ${address}v1/models/shop`);
  });

  it("may be missing, or have a wildcard in its host", async () => {
    for (const none of [["schedule: */15 * * * *"], undefined]) {
      cloudflare.targets = none;
      expect(await refusal()).toMatch(/^The worker is deployed, but has no address\. Add a route or a workers\.dev subdomain/);
    }
    cloudflare.targets = ["*.shop.example/*"];
    await deployed();
    expect(printed).toContain("The worker is deployed at *.shop.example/*. Check it with: npx afterclick doctor --url URL");
    expect(cloudflare.calls.at(-1)).toMatch(/^deploy /);
  });

  it("is asked every two seconds until it answers, for two minutes or as long as a caller gives it", async () => {
    let asks = 0;
    cloudflare.isHealthy = async () => ++asks > 3;
    await deployed();
    expect(pauses.splice(0)).toEqual([2000, 2000, 2000]);
    cloudflare.isHealthy = async () => false;
    cloudflare.secrets.clear();
    expect(await refusal()).toBe(
      "The worker is deployed, but https://shop.a.workers.dev/healthz does not answer yet. A new subdomain can take some minutes: open it later.",
    );
    expect(pauses.splice(0)).toEqual(Array(60).fill(2000));
    expect(printed).toContain(secretLines());
    await refusal({ healthyWithinMs: 300 });
    expect(pauses).toEqual([300]);
  });
});

describe("a rehearsal", () => {
  it.each([
    [123_499, LOCAL_NAMESPACE, "Bundled shop: 123 kB gzipped.\n", " shop-events, and creates it if there is none;"],
    [undefined, "k1", "Bundled shop.\n", "s that wrangler.jsonc names;"],
  ])("of %s bytes with the namespace %s deploys nothing", async (bytes, id, bundled, namespace) => {
    cloudflare.answers.deploy = said("");
    const wrangler: Cloudflare["wrangler"] = async (args) => {
      return { ...(await cloudflare.wrangler(args)), deployed: bytes ? { bundle_size: { gzip_bytes: bytes } } : {} };
    };
    const named = { ...config, kv_namespaces: [{ binding: "EVENTS", id }] };
    await rehearse(options({ config: named, cloudflare: { ...cloudflare, wrangler } }));
    expect(cloudflare.calls).toEqual(["deploy --config FOLDER/wrangler.json --dry-run --outdir FOLDER/bundle"]);
    expect(printed.startsWith(bundled)).toBe(true);
    expect(printed).toContain(`looks for the KV namespace${namespace}`);
    expect(JSON.parse(await readFile(join(folder, "wrangler.json"), "utf8")).kv_namespaces).toEqual(named.kv_namespaces);
  });

  it("shows why wrangler cannot bundle", async () => {
    cloudflare.answers.deploy = failed("Could not resolve worker.js");
    await expect(rehearse(options())).rejects.toThrow("wrangler deploy failed:\nCould not resolve worker.js");
    expect(printed).toBe("");
  });

  it("needs no account, and states the size that the document states", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["cli/afterclick.ts", "deploy", "--dry-run"]);
    const [, kilobytes] = /^Bundled afterclick: (\d+) kB gzipped\./.exec(stdout) as RegExpExecArray;
    // The free plan allows 3 MB.
    expect(Number(kilobytes)).toBeLessThanOrEqual(270);
    const [, stated] = /bundle takes (\d+) kB gzipped/.exec(await readFile("docs/deploy.md", "utf8")) as RegExpExecArray;
    expect(Math.abs(Number(stated) - Number(kilobytes))).toBeLessThanOrEqual(2);
    expect(stdout).toMatch(/Nothing was deployed\.\n$/);
  });
});

describe("the command", () => {
  const own = process.cwd();
  beforeEach(() => process.chdir(folder));
  afterEach(() => process.chdir(own));

  it.each([
    ["--env", "test", "expected one of production, staging"],
    ...["recommender", "/a?b", "/a#b", "/a b", "/a*"].map((path) => ["--path", path, "expected a path that begins with /"]),
  ])("refuses %s %j, and writes nothing", async (option, value, expected) => {
    const { code, stdout, stderr } = await ran(run, option, value);
    expect([code, stdout, stderr.split("\n")[0]]).toEqual([1, "", `${option}: ${expected}, got ${value}`]);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([[[]], [["--env", "staging", "--path", "/recommender"]], [["--dry-run", "--path", "/"]]])(
    "%j begins with a configuration, and names the packages that are missing",
    async (args) => {
      const { code, stdout, stderr } = await ran(run, ...args);
      expect([code, stdout]).toEqual([1, expect.stringMatching(/^Wrote two files, which are yours to change:/)]);
      expect(stderr).toMatch(/^This folder lacks packages: afterclick, hono, valibot, wrangler\. /);
      expect((await readdir(folder)).toSorted()).toEqual(["worker.js", "wrangler.jsonc"]);
    },
  );

  it("keeps a configuration that is there", async () => {
    await writeFile("wrangler.toml", "");
    expect((await ran(run)).stdout).toBe("");
    expect(await readdir(folder)).toEqual(["wrangler.toml"]);
  });
});
