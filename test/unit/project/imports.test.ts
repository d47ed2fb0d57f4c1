import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

// Checks the architecture by the import lines.

/** Each folder, and the other folders and files that it may import. `type` allows a type-only import, and `/*` all rooms of a folder. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  assembly: ["assembly/gaussian-process", "assembly/matrix", "assembly/numbers", "assembly/ridge"],
  "assembly/numbers": [],
  "assembly/matrix": ["assembly"],
  "assembly/ridge": ["assembly", "assembly/matrix"],
  "assembly/gaussian-process": ["assembly", "assembly/matrix", "assembly/numbers"],
  "src/core": ["assembly/abi.ts", "src/values/errors.ts"],
  "src/model": ["src/values", "type src/encoding", "type src/model/delay"],
  "src/model/delay": ["src/values", "type src/core", "src/model"],
  "src/model/linear": [...["src/values", "type src/core", "type src/encoding"], ...["src/model", "src/model/delay"]],
  "src/model/goals": ["src/values/snapshot.ts", "type src/core", "src/model", "src/model/delay", "src/model/linear"],
  "src/model/gaussian-process": [...["assembly/abi.ts", "src/values", "src/core"], ...["src/model", "src/model/delay", "src/model/linear"]],
  "src/model/pending": [...["src/values", "type src/core"], ...["src/model", "src/model/delay", "src/model/gaussian-process"]],
  "src/model/batch": [...["src/values", "type src/core"], ...["src/model", "src/model/gaussian-process", "src/model/pending"]],
  "src/model/lipschitz": ["src/values", "type src/core", "src/model"],
  "src/model/sales": ["src/values", "src/encoding", "src/model", "src/model/delay"],
  // A policy is given a core. It names only the core's type.
  "src/policy": [
    ...["src/values", "type src/core", "src/encoding", "src/model", "src/model/*"],
    ...["src/policy/recommended", "src/policy/research"],
  ],
  "src/policy/recommended": ["src/values/argument.ts", "src/policy", "src/model", "src/model/*"],
  "src/policy/research": ["src/values/argument.ts", "src/policy", "src/model", "src/model/*", "type src/policy/recommended"],
  "src/evaluation": [
    ...["#core-module", "src", "src/values", "src/core", "src/encoding", "src/model/linear", "type src/policy"],
    ...["src/evaluation/estimate", "src/evaluation/log"],
  ],
  "src/evaluation/log": ["src/values", "src/ledger", "src/encoding", "src/model/delay", "src/model/goals", "type src/policy"],
  "src/evaluation/estimate": ["src/values", "type src/core", "src/model/linear", "src/evaluation/log"],
  "src/evaluation/lists": [
    ...["#core-module", "src/values", "src/ledger", "src/core", "type src/encoding", "type src/policy"],
    ...["src/evaluation", "src/evaluation/estimate", "src/evaluation/log"],
  ],
  "src/comparison": ["src/values", "src/model/delay", "type src/delay-estimate.ts"],
  "src/encoding": ["src/values/argument.ts", "src/values/errors.ts"],
  "src/values": ["type src/core"],
  "src/ledger": ["src/values", "src/model", "src/model/delay", "type src/model/goals"],
  "src/entry": ["src/values/errors.ts"],
  "src/named": [
    "src/values",
    "src/encoding",
    "type src/evaluation/log",
    "type src/ledger",
    "src/model/delay",
    "src/policy",
    "src/recommender.ts",
  ],
  src: [
    "#core-module",
    "src/named",
    "src/values",
    "src/ledger",
    "src/core",
    "src/encoding",
    "src/model",
    "src/model/delay",
    "type src/model/goals",
    "src/model/gaussian-process",
    "type src/model/lipschitz",
    "src/policy",
    "src/policy/*",
    "src/evaluation",
    "src/evaluation/*",
  ],
  "src/publication": ["afterclick"],
  "src/local": ["afterclick", "src/publication"],
  "src/beacon": [],
  "src/react": ["src/beacon"],
  // Simulated worlds, and the demo shop's products and visitors.
  "src/simulation": ["afterclick"],
  "worker/protocol": [],
  "worker/domain/ids": ["afterclick", "worker/protocol"],
  "worker/domain/model": ["afterclick", "src/publication", "worker/domain/ids", "worker/protocol"],
  "worker/domain/impression": ["afterclick", "worker/domain/ids", "type worker/domain/model", "type worker/protocol"],
  "worker/domain/catalogue": ["afterclick", "src/publication", "worker/domain/model", "worker/protocol"],
  "worker/domain/decision": [
    ...["afterclick", "worker/domain/ids", "worker/domain/model", "type worker/domain/impression"],
    ...["worker/domain/catalogue", "worker/protocol"],
  ],
  "worker/domain/conversion": [
    ...["afterclick", "worker/domain/ids", "worker/domain/model", "worker/domain/impression", "worker/protocol"],
  ],
  "worker/domain/orders": [],
  "worker/domain/log": [
    ...[
      "worker/domain/ids",
      "type worker/domain/model",
      "type worker/domain/impression",
      "type worker/domain/conversion",
      "worker/protocol",
    ],
  ],
  "worker/domain/archive": ["worker/domain/ids", "worker/domain/log"],
  "worker/domain/figures": [
    ...[
      "afterclick",
      "src/comparison",
      "src/values",
      "worker/domain/ids",
      "worker/domain/model",
      "worker/domain/impression",
      "type worker/protocol",
    ],
  ],
  "worker/openapi": [
    "worker/domain/archive",
    "worker/domain/log",
    "worker/domain/orders",
    "worker/edge/routes",
    "worker/edge/routes/models",
    "worker/protocol",
  ],
  "worker/rpc": ["worker/environment.ts", "type worker/domain/*", "worker/protocol"],
  "worker/kv": ["worker/domain/*"],
  "worker/learner/store": [...["afterclick", "worker/domain/*", "worker/protocol", "worker/rpc", "worker/learner/store/*"]],
  "worker/learner/store/impressions": [
    ...["worker/domain/*", "worker/protocol", "type worker/rpc", "worker/learner/store", "worker/learner/store/counts"],
  ],
  "worker/learner/store/counts": [
    ...["worker/domain/*", "worker/protocol", "worker/rpc", "worker/learner/store", "type worker/learner/store/impressions"],
  ],
  "worker/learner/model": [
    ...["afterclick", "worker/environment.ts", "worker/domain/*", "worker/protocol", "worker/rpc"],
    ...["worker/learner/store", "worker/learner/store/*", "type worker/learner/shards", "type worker/learner/upkeep"],
  ],
  "worker/learner/shards": [
    ...["type worker/environment.ts", "worker/domain/*", "worker/protocol", "worker/rpc", "worker/learner/turns.ts"],
    ...["type worker/learner/store", "type worker/learner/store/*", "worker/learner/model", "type worker/learner/upkeep"],
  ],
  "worker/learner/upkeep": [
    ...["worker/environment.ts", "worker/domain/*", "worker/protocol", "worker/rpc", "worker/kv", "worker/learner/turns.ts"],
    ...["worker/learner/store", "worker/learner/model", "type worker/learner/shards"],
  ],
  "worker/learner/figures": [
    ...[
      "afterclick",
      "src/values/report-time.ts",
      "worker/domain/*",
      "worker/protocol",
      "worker/rpc",
      "worker/learner/store",
      "worker/learner/store/*",
      "worker/learner/model",
    ],
  ],
  "worker/learner/calls": [
    ...["afterclick", "worker/environment.ts", "worker/domain/*", "worker/protocol", "worker/rpc", "worker/kv"],
    ...["type worker/learner", "type worker/learner/store", "worker/learner/model", "worker/learner/shards", "worker/learner/figures"],
    ...["worker/learner/calls/registration", "worker/learner/group.ts"],
  ],
  "worker/learner/calls/registration": [
    ...["afterclick", "worker/domain/*", "worker/protocol", "worker/rpc"],
    ...["type worker/learner", "type worker/learner/store", "worker/learner/model", "worker/learner/group.ts"],
  ],
  "worker/learner": ["worker/environment.ts", "worker/protocol", "type worker/rpc", "worker/learner/*"],
  "worker/edge": [
    ...["worker/environment.ts", "worker/domain/*", "worker/protocol", "worker/rpc", "worker/kv"],
    ...["worker/edge/access", "worker/edge/routes", "worker/edge/routes/models", "worker/edge/senders", "src/simulation/assortment.ts"],
  ],
  "worker/edge/access": ["worker/environment.ts", "worker/domain/ids", "worker/protocol", "worker/kv"],
  "worker/edge/routes": [
    ...["worker/environment.ts", "worker/domain/*", "worker/protocol", "worker/rpc", "worker/kv"],
    ...["worker/edge", "worker/edge/access", "worker/edge/senders"],
  ],
  "worker/edge/routes/models": [
    ...["worker/environment.ts", "worker/domain/*", "worker/protocol", "worker/rpc", "worker/kv", "worker/edge", "worker/edge/access"],
  ],
  "worker/edge/senders": ["worker/environment.ts", "worker/domain/*", "worker/protocol"],
  worker: ["worker/protocol", "worker/rpc", "worker/kv", "worker/edge", "worker/learner/learner.ts"],
  "pages/ui": [],
  "pages/shop": ["src/simulation/assortment.ts", "pages/ui", "type worker/protocol"],
  "pages/dashboard": ["pages/ui", "type worker/protocol"],
  "pages/playground": ["afterclick", "src/simulation"],
  "pages/playground/client": ["pages/ui", "pages/playground"],
  pages: ["src/simulation/assortment.ts", "pages/ui", "pages/shop", "pages/dashboard", "pages/playground/policy.ts"],
  experiments: [
    ...["afterclick", "src/simulation", "src/comparison", "cli/command"],
    ...["beyond", "intervals", "logs", "rivals", "runs", "shop", "signals", "summary", "worth"].map((folder) => `experiments/${folder}`),
  ],
  "experiments/runs": [],
  "experiments/summary": [
    ...["afterclick", "src/simulation", "cli/command", "experiments"],
    ...["beyond", "runs", "shop"].map((folder) => `experiments/${folder}`),
  ],
  "experiments/beyond": [...["afterclick", "src/simulation", "cli/command", "experiments", "experiments/runs", "experiments/summary"]],
  "experiments/signals": [
    ...["afterclick", "src/simulation", "cli/command", "experiments/runs", "experiments/shop", "experiments/summary"],
  ],
  "experiments/logs": [
    ...["afterclick", "src/simulation", "cli/command", "cli/replay/open-bandit.ts"],
    ...["experiments", "experiments/rivals", "experiments/runs", "experiments/shop", "experiments/summary"],
  ],
  // Some figures are stated by the worker or by a command.
  "experiments/intervals": [
    ...[
      "afterclick",
      "src/simulation",
      "src/comparison",
      "experiments",
      "experiments/runs",
      "experiments/shop",
      "cli/command",
      "cli/evaluate",
      "cli/compare",
    ],
    ...["worker/domain/*", "worker/learner/figures", "worker/protocol", "worker/rpc"],
  ],
  // The worker itself makes the default model that is tried in shops.
  "experiments/shop": [
    ...["afterclick", "src/simulation", "cli/command", "worker/domain/*", "type worker/protocol"],
    ...["experiments/rivals", "experiments/runs", "experiments/summary"],
  ],
  "experiments/worth": [
    "afterclick",
    "src/simulation",
    "cli/command",
    "experiments",
    ...["runs", "shop", "summary"].map((name) => `experiments/${name}`),
  ],
  "experiments/rivals": ["afterclick", "src/simulation", "experiments/shop"],
  bench: [...["afterclick", "src/simulation", "bench/against", "bench/workloads"], ...["cli/command", "cli/worker/worker-process.ts"]],
  "bench/workloads": ["afterclick", "src/simulation", "cli/worker/api.ts", "bench", "bench/peers", "bench/peers/typescript"],
  "bench/against": ["cli/command", "type bench/variant.ts", "type bench/workload.ts"],
  "bench/peers": ["type bench/inputs.ts"],
  "bench/peers/typescript": ["type bench/inputs.ts"],
  "bench/services": ["afterclick", "worker", "worker/domain/*", "worker/edge", "worker/learner", "worker/learner/store"],
  cli: [
    ...["afterclick", "src/comparison", "worker/domain/*"],
    ...["archive", "command", "compare", "deploy", "doctor", "evaluate", "import", "log", "replay", "verify", "worker"].map(
      (folder) => `cli/${folder}`,
    ),
  ],
  // A command asks something of its reader's terminal, and something of a worker.
  "cli/command": ["worker/protocol/timestamp.ts"],
  "cli/worker": ["cli/command"],
  "cli/deploy": ["cli/worker"],
  "cli/doctor": ["cli/command", "cli/worker"],
  "cli/import": ["cli/command", "worker/protocol/most.ts"],
  "cli/log": ["worker/domain/*"],
  "cli/archive": ["cli/log", "worker/domain/*"],
  "cli/compare": ["type src/comparison", "cli/command/counted.ts", "cli/log", "worker/domain/*"],
  "cli/evaluate": ["afterclick", "cli/command/counted.ts", "cli/log", "cli/replay", "worker/domain/*"],
  "cli/replay": ["afterclick", "cli/worker"],
  "cli/verify": ["cli/archive", "cli/log", "worker/domain/*"],
  trials: [
    ...["cli/command", "cli/worker", "worker/domain/*"],
    ...["attack", "attack/groups", "crossing", "golden", "mutations", "simulation", "sizing", "soak"].map((folder) => `trials/${folder}`),
    ...["type trials/simulation/launch", "type trials/simulation/orders"],
  ],
  "trials/attack": ["cli/worker", "cli/replay"],
  "trials/attack/groups": ["trials/attack", "trials/soak"],
  "trials/crossing": ["trials/simulation", "trials/simulation/workerd"],
  "trials/golden": ["afterclick", "src/simulation"],
  "trials/mutations": ["src/values/quantile.ts", "src/simulation", "vitest.config.ts", "test/worker/vitest.config.ts"],
  "trials/soak": [
    ...["afterclick", "cli/worker", "cli/replay", "src/publication", "worker/domain/*", "worker/environment.ts"],
    "worker/index.ts",
  ],
  // The worker's own classes, in Node.
  "trials/simulation": [
    ...["afterclick", "worker", "worker/domain/ids", "worker/edge", "worker/learner", "worker/rpc", "cli/verify"],
    ...["trials/simulation/launch", "trials/simulation/orders", "trials/simulation/workerd"],
  ],
  "trials/simulation/launch": ["src/simulation", "trials/simulation", "type trials/simulation/workerd"],
  "trials/simulation/orders": ["afterclick", "worker/edge", "worker/domain/*", "type worker/rpc", "src/simulation", "trials/simulation"],
  "trials/simulation/workerd": [],
  "trials/sizing": ["afterclick", "worker/domain/*"],
  scripts: ["cli/command", "cli/worker", "src/simulation/assortment.ts", "worker/openapi"],
};

const ROOTS = ["assembly", "src", "worker", "pages", "experiments", "bench", "cli", "trials", "scripts"];
const IMPORT = /^(?:import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s)?"([^"]+)"/gm;

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

async function files(): Promise<string[]> {
  const names = await Promise.all(ROOTS.map(async (root) => (await readdir(root, { recursive: true })).map((name) => join(root, name))));
  return names.flat().filter((name) => /\.tsx?$/.test(name) && !name.includes("__tests__") && !name.endsWith(".d.ts"));
}

/** All imports of the project's own modules. Files are paths from the root. */
async function imports(): Promise<Import[]> {
  const all = await Promise.all(
    (await files()).map(async (from) =>
      Array.from((await readFile(from, "utf8")).matchAll(IMPORT), ([, type, path]): Import => {
        const isFile = path.startsWith(".") && !path.endsWith(".wasm");
        return { from, to: isFile ? normalize(join(dirname(from), path)) : path, isType: type !== undefined };
      }),
    ),
  );
  return all
    .flat()
    .filter(({ to }) => /^(#|afterclick|build\/|test\/|[a-z.]+\.ts$)/.test(to) || ROOTS.some((root) => to.startsWith(`${root}/`)));
}

it("imports only what each folder may", async () => {
  const all = await imports();
  const wrong = all.filter(({ from, to, isType }) => {
    const folder = dirname(from);
    const allowed = ALLOWED[folder];
    if (!allowed) throw new Error(`${from}: no rule for folder ${folder}`);
    const names = [to, dirname(to), `${dirname(dirname(to))}/*`, to.split("/")[0] === "afterclick" ? "afterclick" : to];
    return dirname(to) !== folder && !names.some((name) => allowed.includes(name) || (isType && allowed.includes(`type ${name}`)));
  });
  expect(wrong.map(({ from, to, isType }) => `${from} imports ${isType ? "type " : ""}${to}`)).toEqual([]);
  expect(all.length).toBeGreaterThan(500);
});

it("has a folder for each rule", async () => {
  const folders = new Set((await files()).map((file) => dirname(file)));
  expect(Object.keys(ALLOWED).filter((folder) => !folders.has(folder))).toEqual([]);
});

it("has no circle of imports, types counted", async () => {
  const targets = new Map<string, string[]>();
  for (const { from, to } of await imports()) targets.set(from, [...(targets.get(from) ?? []), to]);
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    if (path.includes(file)) throw new Error(`circle: ${[...path.slice(path.indexOf(file)), file].join(" -> ")}`);
    if (done.has(file)) return;
    path.push(file);
    for (const target of targets.get(file) ?? []) visit(target);
    path.pop();
    done.add(file);
  };
  for (const file of targets.keys()) visit(file);
  expect(done.size).toBeGreaterThan(200);
});

it("writes to the terminal only in cli/command/terminal.ts, beside the progress bar", async () => {
  const writers: string[] = [];
  for (const file of (await files()).filter((name) =>
    /^(cli|trials\/(attack|golden|soak)|scripts\/start|experiments\/reproduce)/.test(name),
  )) {
    const code = (await readFile(file, "utf8")).replace(/\/\/.*|\/\*[\s\S]*?\*\/|^import type .*/gm, "");
    if (/\bconsole\b|process\.std(out|err)|(import|from) "(node:)?(console|tty|cli-progress)"/.test(code)) writers.push(file);
  }
  expect(writers).toEqual(["cli/command/progress.ts", "cli/command/terminal.ts"]);
});

it("says WebAssembly only at the seam and at the entries that load it", async () => {
  const speakers: string[] = [];
  for (const file of await files()) {
    if (!/^src\/(model|policy|ledger|encoding|values)\//.test(file)) continue;
    if (/WebAssembly|pointer|status code/.test((await readFile(file, "utf8")).replace(/\/\/.*|\/\*[\s\S]*?\*\//g, ""))) speakers.push(file);
  }
  expect(speakers).toEqual([]);
});

it("uses no clock, no randomness and no transcendental function of the host in the SDK", async () => {
  // A page has a clock. No decision depends on a comparison or on a simulated world.
  const elsewhere = /^src\/(local|beacon|react)\//;
  const beside = /^src\/(comparison|simulation)\//;
  for (const file of (await files()).filter((name) => /^(src|assembly)\//.test(name) && !elsewhere.test(name))) {
    const code = (await readFile(file, "utf8")).replace(/\/\/.*|\/\*[\s\S]*?\*\//g, "");
    if (file.startsWith("src/") && !beside.test(file))
      expect(code, file).not.toMatch(/Math\.(random|exp|log|pow|sin|cos|tan|hypot|cbrt)|\*\*/);
    expect(code, file).not.toMatch(/Date\.now|new Date|performance\.now|console\./);
  }
});
