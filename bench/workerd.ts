import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { build, type Plugin } from "esbuild";

/** A worker in a workerd process. */
export interface Service {
  readonly name: string;
  /** Source file. It is bundled as for a deployment. */
  readonly entry: string;
  /** Text bindings by name. */
  readonly vars?: Readonly<Record<string, string>>;
  /** Durable Object classes by binding. The entry exports them, and each has SQLite on disk. */
  readonly objects?: Readonly<Record<string, string>>;
  /** Durable Object classes of other services by binding. */
  readonly foreign?: Readonly<Record<string, { readonly service: string; readonly className: string }>>;
  /** KV namespaces by binding. The value names the service that holds the namespace. */
  readonly namespaces?: Readonly<Record<string, string>>;
}

export interface Runtime {
  /** Port of each service on the loopback interface. */
  readonly ports: ReadonlyMap<string, number>;
  /** Port of the inspector, if it was asked for. */
  readonly inspector?: number;
  /** Of the operating system. */
  readonly pid: number;
  /** Ends the process and deletes its storage. */
  close(): Promise<void>;
}

const STARTED_WITHIN_MS = 30_000;

// Uses the workerd that wrangler depends on, as `npm start` does.
const fromWrangler = createRequire(createRequire(import.meta.url).resolve("wrangler"));

/**
 * Starts workerd with these services, each on its own port, without wrangler's proxy.
 * @throws {Error} if workerd ends before all services listen.
 */
export async function startWorkerd(
  services: readonly Service[],
  { inspected = false }: { readonly inspected?: boolean } = {},
): Promise<Runtime> {
  const folder = await mkdtemp(join(tmpdir(), "afterclick-bench-"));
  try {
    const runtime = await start(services, folder, inspected);
    return {
      ...runtime,
      async close() {
        await runtime.close();
        await rm(folder, { recursive: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true });
    throw error;
  }
}

/** Starts workerd with its configuration, modules and storage in a folder. */
async function start(services: readonly Service[], folder: string, inspected: boolean): Promise<Runtime> {
  await mkdir(join(folder, "objects"));
  const date = /"compatibility_date": "([\d-]+)"/.exec(await readFile("wrangler.jsonc", "utf8"))?.[1] as string;
  const modules = await Promise.all(services.map((service) => bundle(service, folder)));
  const workers = services.map((service, i) => workerConfig(service, modules[i], date));
  const config = join(folder, "config.capnp");
  await writeFile(config, configuration(services, workers, join(folder, "objects")));

  const executable = fromWrangler.resolve("workerd/bin/workerd");
  const options = ["--control-fd=3", ...(inspected ? ["--inspector-addr=127.0.0.1:0"] : [])];
  const runtime = spawn(executable, ["serve", ...options, config], { stdio: ["ignore", "inherit", "inherit", "pipe"] });
  const ended = once(runtime, "exit");
  const kill = () => runtime.kill("SIGKILL");
  process.once("exit", kill);
  const close = async () => {
    process.off("exit", kill);
    kill();
    await ended;
  };
  try {
    const died = ended.then(() => Promise.reject(new Error("workerd ended before all services listened; look at its output above")));
    const listened = await Promise.race([listening(runtime.stdio[3] as Readable, services.length, inspected), died]);
    return { ...listened, pid: runtime.pid as number, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Reads the runtime's messages until `count` sockets listen, and the inspector if it is asked for. */
async function listening(messages: Readable, count: number, inspected: boolean): Promise<Pick<Runtime, "ports" | "inspector">> {
  const ports = new Map<string, number>();
  let inspector: number | undefined;
  for await (const line of createInterface({ input: messages, signal: AbortSignal.timeout(STARTED_WITHIN_MS) })) {
    const { event, socket, port } = JSON.parse(line);
    if (event === "listen") ports.set(socket, port);
    if (event === "listen-inspector") inspector = port;
    if (ports.size === count && (!inspected || inspector !== undefined)) return { ports, inspector };
  }
  throw new Error(`expected workerd to listen for ${count} services, got ${ports.size}`);
}

/** Keeps WebAssembly as a separate module, because workerd requires it. */
const keepWasm: Plugin = {
  name: "keep-wasm",
  setup({ onResolve }) {
    onResolve({ filter: /\.wasm$/ }, () => ({ path: "./core.wasm", external: true }));
  },
};

/** Bundles a service. Returns its modules in the syntax of the configuration. */
async function bundle({ name, entry }: Service, folder: string): Promise<string> {
  const { metafile } = await build({
    entryPoints: [entry],
    outfile: join(folder, `${name}.js`),
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    plugins: [keepWasm],
    metafile: true,
    logLevel: "warning",
  });
  const usesCore = Object.values(metafile.outputs).some(({ imports }) => imports.some(({ path }) => path.endsWith(".wasm")));
  if (!usesCore) return `(name = "${name}.js", esModule = embed "${name}.js")`;
  await writeFile(join(folder, "core.wasm"), await readFile("dist/core.wasm"));
  return `(name = "${name}.js", esModule = embed "${name}.js"), (name = "core.wasm", wasm = embed "core.wasm")`;
}

function workerConfig({ name, vars = {}, objects = {}, foreign = {}, namespaces = {} }: Service, modules: string, date: string): string {
  const bindings = [
    ...Object.entries(vars).map(([binding, value]) => `(name = "${binding}", text = ${JSON.stringify(value)})`),
    ...Object.entries(objects).map(([binding, className]) => `(name = "${binding}", durableObjectNamespace = "${className}")`),
    ...Object.entries(foreign).map(
      ([binding, { service, className }]) =>
        `(name = "${binding}", durableObjectNamespace = (className = "${className}", serviceName = "${service}"))`,
    ),
    ...Object.entries(namespaces).map(([binding, service]) => `(name = "${binding}", kvNamespace = "${service}")`),
  ];
  const classes = Object.values(objects).map(
    (className) => `(className = "${className}", uniqueKey = "${name}-${className}", enableSql = true)`,
  );
  return `(
    compatibilityDate = "${date}",
    modules = [${modules}],
    bindings = [${bindings.join(", ")}],
    durableObjectNamespaces = [${classes.join(", ")}],
    durableObjectStorage = (localDisk = "objects"),
  )`;
}

function configuration(services: readonly Service[], workers: readonly string[], objects: string): string {
  const sockets = services.map(({ name }) => `(name = "${name}", address = "127.0.0.1:0", http = (), service = "${name}")`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "objects", disk = (path = "${objects}", writable = true)),
    ${services.map(({ name }, i) => `(name = "${name}", worker = ${workers[i]})`).join(",\n    ")}
  ],
  sockets = [${sockets.join(", ")}]
);
`;
}
