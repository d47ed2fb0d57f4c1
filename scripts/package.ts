// Builds and packs what users install. The tests of packaging run it in a copy of the repository.

import { execFileSync } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { type BuildOptions, build } from "esbuild";

const USAGE = `Builds the published package in build/package, packs it, and prints the path of the tarball. The package has a core for linear
policies, the mountable worker, its typed client, and a package.json without the parts that only the repository needs.

Usage: npm run package

Example: npm run package

  TARBALL=$(npm run --silent package) keeps the path.`;

if (parseArgs({ options: { help: { type: "boolean", short: "h" } } }).values.help) {
  console.log(USAGE);
  process.exit();
}

/** Runs a tool with Node: on Windows the tool's own command is a script for a shell. Standard output has the path alone. */
function run(tool: string, ...args: readonly string[]): void {
  execFileSync(process.execPath, [join("node_modules", tool), ...args], { stdio: ["ignore", process.stderr.fd, "inherit"] });
}

const linear = ["--entry", "assembly/linear.ts", "--out", "dist/linear.wasm"];
execFileSync(process.execPath, ["scripts/core.ts", ...linear], { stdio: ["ignore", process.stderr.fd, "inherit"] });

const BUNDLE: BuildOptions = { bundle: true, format: "esm", mainFields: ["module", "main"], logLevel: "warning" };

await build({
  ...BUNDLE,
  entryPoints: { worker: "worker/library.ts", client: "worker/client.ts" },
  outdir: "dist",
  target: "es2023",
  platform: "neutral",
  // The second is for packages that read files elsewhere.
  conditions: ["workerd", "browser"],
  // The host worker has these packages itself, so that each exists once.
  external: ["afterclick", "afterclick/research", "cloudflare:workers", "hono", "hono/*", "valibot"],
});

await rm("dist/bin", { recursive: true, force: true });
// The commands. wrangler and the SDK are packages of the user's folder.
await build({
  ...BUNDLE,
  entryPoints: { afterclick: "cli/afterclick.ts" },
  outdir: "dist/bin",
  splitting: true,
  minify: true,
  target: "node22",
  platform: "node",
  external: ["afterclick", "afterclick/research", "wrangler"],
  // Bundled CommonJS asks for Node's own modules.
  banner: { js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);' },
});

run("typescript/bin/tsc", "-p", "worker/tsconfig.types.json", "--singleThreaded");

// Inferred types name the SDK's declarations by their path on this disk. The package's name replaces it.
for (const name of await readdir("build/types/worker", { recursive: true })) {
  if (!name.endsWith(".d.ts")) continue;
  const text = await readFile(join("build/types/worker", name), "utf8");
  const file = join("dist/types/worker", name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text.replace(/import\("(\.\.\/)+dist\/types\/src\/[^"]+"\)/g, 'import("afterclick/research")'));
}

// The type of both `.wasm` modules. A worker gets a compiled module, a bundler's file loader gives an address: the type allows both uses.
await writeFile("dist/types/wasm.d.ts", "declare const core: WebAssembly.Module & string;\nexport default core;\n");

// Node's types name no WebAssembly. An empty interface merges with what other platforms declare.
await writeFile("dist/types/webassembly.d.ts", "declare namespace WebAssembly {\n  interface Memory {}\n  interface Module {}\n}\n");

const PACKAGE = "build/package";
/** Static files of the worker. */
const PUBLIC = "build/public";

/** Fields of the repository's package.json that mean nothing to users, or would install packages or run scripts on their machines. */
const REPOSITORY_FIELDS = ["private", "scripts", "imports", "devDependencies", "optionalDependencies", "overrides"];

await rm(PACKAGE, { recursive: true, force: true });
await mkdir(PACKAGE, { recursive: true });
for (const name of ["dist", "README.md", "CHANGELOG.md", "LICENSE"]) await cp(name, join(PACKAGE, name), { recursive: true });
await cp(PUBLIC, join(PACKAGE, "dist/public"), { recursive: true });

// The configuration is for a folder in which the package is installed.
const configuration = await readFile("wrangler.jsonc", "utf8");
await writeFile(join(PACKAGE, "wrangler.jsonc"), configuration.replace(`"${PUBLIC}"`, '"node_modules/afterclick/dist/public"'));

for (const name of await readdir(join(PACKAGE, "dist/types"), { recursive: true })) {
  if (!name.endsWith(".d.ts")) continue;
  const file = join(PACKAGE, "dist/types", name);
  const text = await readFile(file, "utf8");
  if (!text.includes("WebAssembly.")) continue;
  const reference = relative(dirname(name), "webassembly.d.ts").replaceAll("\\", "/");
  await writeFile(file, `/// <reference path="${reference}" />\n${text}`);
}

const manifest = JSON.parse(await readFile("package.json", "utf8"));
for (const field of REPOSITORY_FIELDS) delete manifest[field];
await writeFile(join(PACKAGE, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);

const packing = ["pack", "--json", "--loglevel", "error", "--pack-destination", ".."];
const [{ filename }] = JSON.parse(execFileSync("npm", packing, { cwd: PACKAGE, encoding: "utf8", shell: process.platform === "win32" }));
console.log(join(process.cwd(), "build", filename));
