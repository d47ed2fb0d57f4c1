import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  DeployError,
  type DeploymentOptions,
  deploy,
  LOCAL_NAMESPACE,
  type Ran,
  rehearse,
  type WranglerConfig,
} from "../../../../cli/deploy/deployment.ts";
import { ofEnvironment } from "../../../../cli/deploy/environment.ts";
import { endPauses, notedPauses } from "../../../support/pauses.ts";

// The single steps of a deployment: what wrangler is asked, and what its answers mean.

const config: WranglerConfig = { name: "shop", main: "worker.js", kv_namespaces: [{ binding: "EVENTS", id: LOCAL_NAMESPACE }] };
const SECRETS = [
  "AFTERCLICK_SECRET_KEY",
  "AFTERCLICK_PUBLISHABLE_KEY",
  "AFTERCLICK_WEBHOOK_SECRET",
  "AFTERCLICK_TOKEN_KEY",
  "AFTERCLICK_JOIN_KEY",
];
const said = (value: unknown, more: Partial<Ran> = {}): Ran => ({ ok: true, stdout: JSON.stringify(value), stderr: "", ...more });
const failed = (stderr: string, stdout = ""): Ran => ({ ok: false, stdout, stderr });

let folder: string;
let printed: string[];
let asked: string[][];
/** Answers by the beginning of a command, of which a test changes some. */
let answers: Record<string, Ran | (() => Ran)>;
let isHealthy: () => boolean;
let pauses: number[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "afterclick-steps-"));
  [printed, asked] = [[], []];
  answers = {
    whoami: said({ loggedIn: true, accounts: [{ id: "a1", name: "Shop" }] }),
    "kv namespace list": said([
      { id: "k0", title: "other-events" },
      { id: "k1", title: "shop-events" },
    ]),
    "secret list": said(SECRETS.map((name) => ({ name }))),
    deploy: said("", { deployed: { targets: ["https://shop.a.workers.dev"], bundle_size: { gzip_bytes: 123_499 } } }),
  };
  isHealthy = () => true;
  pauses = notedPauses();
});
afterEach(async () => {
  endPauses();
  await rm(folder, { recursive: true });
});

function options(changed: Partial<DeploymentOptions> = {}): DeploymentOptions {
  const cloudflare = {
    async wrangler(args: readonly string[]) {
      asked.push([...args]);
      const name = Object.keys(answers).find((each) => args.join(" ").startsWith(each)) as string;
      const answer = answers[name];
      return typeof answer === "function" ? answer() : answer;
    },
    isHealthy: async () => isHealthy(),
  };
  return { cloudflare, config, folder, print: (line) => void printed.push(line), ...changed };
}

const written = async () => JSON.parse(await readFile(join(folder, "wrangler.json"), "utf8"));

it("asks wrangler for each step, and says what it has found", async () => {
  await deploy(options());
  const file = join(folder, "wrangler.json");
  expect(asked).toEqual([
    ["whoami", "--json"],
    ["kv", "namespace", "list"],
    ["secret", "list", "--name", "shop"],
    ["deploy", "--config", file, "--keep-vars", "--secrets-file", join(folder, "secrets.json")],
  ]);
  expect(printed.slice(0, 3)).toEqual(["Account: Shop (a1)", "KV namespace: shop-events (k1)", "Deploying shop."]);
  expect(printed).toHaveLength(4);
  expect(printed[3]).toMatch(/^The worker answers\. Its dashboard asks for the secret key:\n\n {2}https:\/\/shop\.a\.workers\.dev\/\n/);
  expect(await readFile(join(folder, "secrets.json"), "utf8")).toBe("{}");
});

describe("the configuration", () => {
  it("has absolute paths, no schema, and the account's namespace in place of a local one", async () => {
    const kv_namespaces = [...config.kv_namespaces, { binding: "CACHE", id: "k9" }];
    const whole = {
      ...config,
      $schema: "node_modules/wrangler/schema.json",
      assets: { directory: "public", binding: "ASSETS" },
      kv_namespaces,
    };
    await deploy(options({ config: whole }));
    expect(await written()).toEqual({
      ...{ name: "shop", main: resolve("worker.js"), assets: { directory: resolve("public"), binding: "ASSETS" } },
      kv_namespaces: [
        { binding: "EVENTS", id: "k1" },
        { binding: "CACHE", id: "k9" },
      ],
    });
  });

  it("of staging without limits of rates has none", () => {
    expect(ofEnvironment(config, "staging")).not.toHaveProperty("ratelimits");
    const limited = { ...config, ratelimits: [{ namespace_id: "1", name: "R" }, { namespace_id: "2" }] };
    expect(ofEnvironment(limited, "staging")).toMatchObject({
      ratelimits: [{ namespace_id: "1001", name: "R" }, { namespace_id: "1002" }],
    });
    expect(ofEnvironment(limited, "production")).toMatchObject({ ratelimits: [{ namespace_id: "1" }, { namespace_id: "2" }] });
  });
});

describe("the account", () => {
  it("is that of the configuration, unless another is chosen", async () => {
    answers.whoami = said({
      accounts: [
        { id: "a1", name: "Shop" },
        { id: "a2", name: "Other" },
      ],
    });
    await deploy(options({ config: { ...config, account_id: "a2" } }));
    await deploy(options({ config: { ...config, account_id: "a2" }, accountId: "a1" }));
    expect(printed.filter((line) => line.startsWith("Account"))).toEqual(["Account: Other (a2)", "Account: Shop (a1)"]);
  });

  it.each<[string, Ran, string]>([
    ["without a login", failed("", '{"loggedIn":false}'), "Not logged in to Cloudflare. Run `npx wrangler login`."],
    ["that wrangler cannot ask for", failed(" no network \n", "ignored"), "wrangler whoami failed:\nno network"],
    ["of which wrangler says nothing on stderr", failed(" ", " no network\n"), "wrangler whoami failed:\nno network"],
    ["without any account", said({ accounts: [] }), "The login has no account. Create one at dash.cloudflare.com."],
  ])("%s ends the deployment", async (_, whoami, message) => {
    answers.whoami = whoami;
    const error = await deploy(options()).catch((caught) => caught);
    expect(error).toBeInstanceOf(DeployError);
    expect(error.message.startsWith(message)).toBe(true);
    expect(asked).toHaveLength(1);
  });
});

describe("the KV namespace", () => {
  it("is created if there is none, and then found", async () => {
    const lists = [said([]), answers["kv namespace list"] as Ran];
    answers["kv namespace list"] = () => lists.shift() as Ran;
    answers["kv namespace create"] = said("");
    await deploy(options());
    expect(asked.slice(1, 4)).toEqual([
      ["kv", "namespace", "list"],
      ["kv", "namespace", "create", "shop-events"],
      ["kv", "namespace", "list"],
    ]);
    expect(printed[1]).toBe("KV namespace: shop-events (k1), created");
  });

  it("may not be listed at once", async () => {
    answers["kv namespace list"] = said([]);
    answers["kv namespace create"] = said("");
    await expect(deploy(options())).rejects.toThrow(
      new DeployError("The KV namespace shop-events was created, but is not listed yet. Run the command again."),
    );
  });

  it("that wrangler cannot create ends the deployment", async () => {
    answers["kv namespace list"] = said([]);
    answers["kv namespace create"] = failed("limit reached");
    await expect(deploy(options())).rejects.toThrow("wrangler kv namespace create failed:\nlimit reached");
  });
});

describe("the secrets", () => {
  it("that the worker lacks are in a file for this user alone, and shown once", async () => {
    answers["secret list"] = said(SECRETS.slice(1).map((name) => ({ name })));
    await deploy(options());
    const secrets = JSON.parse(await readFile(join(folder, "secrets.json"), "utf8"));
    expect(Object.keys(secrets)).toEqual(["AFTERCLICK_SECRET_KEY"]);
    expect((await stat(join(folder, "secrets.json"))).mode & 0o777).toBe(0o600);
    expect(printed[3]).toBe(
      "\nNew secrets. Save them now: neither this command nor Cloudflare shows them again.\n\n" +
        `  AFTERCLICK_SECRET_KEY='${secrets.AFTERCLICK_SECRET_KEY}'\n`,
    );
  });

  it("of a worker that does not exist yet are all new", async () => {
    answers["secret list"] = failed('Worker "shop" not found.');
    await deploy(options());
    expect(Object.keys(JSON.parse(await readFile(join(folder, "secrets.json"), "utf8"))).toSorted()).toEqual(SECRETS.toSorted());
  });

  it("that cannot be listed are not replaced", async () => {
    answers["secret list"] = failed("Authentication error");
    await expect(deploy(options())).rejects.toThrow("wrangler secret list failed:\nAuthentication error");
    expect(asked.map(([name]) => name)).not.toContain("deploy");
  });
});

describe("the address", () => {
  it("is missing if wrangler states none", async () => {
    answers.deploy = said("", { deployed: {} });
    await expect(deploy(options())).rejects.toThrow("The worker is deployed, but has no address. Add a route or a workers.dev subdomain");
    answers.deploy = said("");
    await expect(deploy(options())).rejects.toThrow("has no address");
  });

  it("is asked every two seconds until it answers", async () => {
    let asks = 0;
    isHealthy = () => ++asks > 3;
    await deploy(options());
    expect(pauses).toEqual([2000, 2000, 2000]);
    expect(printed.at(-1)).toContain("The worker answers.");
  });

  it("has two minutes to answer", async () => {
    isHealthy = () => false;
    await expect(deploy(options())).rejects.toThrow(
      "The worker is deployed, but https://shop.a.workers.dev/healthz does not answer yet. A new subdomain can take some minutes: open it later.",
    );
    expect(pauses).toEqual(Array(60).fill(2000));
  });

  it("has as long as a caller gives it", async () => {
    isHealthy = () => false;
    await expect(deploy(options({ healthyWithinMs: 300 }))).rejects.toThrow("does not answer yet");
    expect(pauses).toEqual([300]);
  });
});

describe("a rehearsal", () => {
  it("bundles, and names the steps that need an account", async () => {
    await rehearse(options());
    expect(asked).toEqual([["deploy", "--config", join(folder, "wrangler.json"), "--dry-run", "--outdir", join(folder, "bundle")]]);
    expect(printed.join("\n")).toMatch(/^Bundled shop: 123 kB gzipped\.\n/);
    expect(printed.join("\n")).toContain("looks for the KV namespace shop-events, and creates it if there is none;");
    expect((await written()).kv_namespaces).toEqual(config.kv_namespaces);
  });

  it("creates no namespace that the configuration names", async () => {
    await rehearse(options({ config: { ...config, kv_namespaces: [{ binding: "EVENTS", id: "k1" }] } }));
    expect(printed.join("\n")).toContain("looks for the KV namespaces that wrangler.jsonc names;");
  });

  it("shows why wrangler cannot bundle", async () => {
    answers.deploy = failed("Could not resolve worker.js");
    await expect(rehearse(options())).rejects.toThrow("wrangler deploy failed:\nCould not resolve worker.js");
    expect(printed).toEqual([]);
  });
});
