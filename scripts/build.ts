// Bundles the SDK once per platform. Node's bundle holds the core, the others find it beside them. `asc` must have built the core.
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { build } from "esbuild";

const shared = { bundle: true, format: "esm", target: "es2023", sourcemap: true, logLevel: "warning" } as const;

await mkdir("dist", { recursive: true });
await copyFile("build/core.wasm", "dist/core.wasm");
const core = JSON.stringify(await readFile("build/core.wasm", "base64"));
for (const platform of ["node", "workerd", "edge-light", "browser", "slim"]) {
  await build({
    entryPoints: { [platform]: "src/index.ts", [`${platform}-research`]: "src/research.ts" },
    outdir: "dist",
    // The code of both entries, once: the classes of one are those of the other.
    splitting: true,
    chunkNames: `${platform}-shared`,
    ...shared,
    platform: "neutral",
    conditions: [platform],
    define: { CORE: core },
    external: ["./core.wasm", "./core.wasm?module"],
  });
}
await build({
  entryPoints: ["src/local/index.ts"],
  outfile: "dist/local.js",
  ...shared,
  platform: "neutral",
  mainFields: ["module"],
  external: ["afterclick", "afterclick/research"],
});
for (const [name, entry, banner] of [
  // A server component of React may render what this entry exports.
  ["react", "index", { js: '"use client";' }],
  ["react-server", "server", {}],
] as const) {
  await build({
    entryPoints: [`src/react/${entry}.ts`],
    outfile: `dist/${name}.js`,
    ...shared,
    platform: "neutral",
    banner,
    external: ["react"],
  });
}
for (const [name, entry, format] of [
  ["page", "index", "esm"],
  // A script's own names must not become names of the page.
  ["page-script", "script", "iife"],
] as const) {
  await build({
    entryPoints: [`src/beacon/${entry}.ts`],
    outfile: `dist/${name}.js`,
    ...shared,
    format,
    platform: "neutral",
    minify: true,
    sourcemap: "external",
    // The sources are strict as modules. A directive would only take bytes.
    tsconfigRaw: { compilerOptions: { alwaysStrict: false } },
  });
}
// Not `tsc` itself: on Windows that is a script for a shell.
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.types.json"], { stdio: "inherit" });
