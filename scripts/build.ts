// Bundles the SDK once per platform, and copies the core beside the bundles. `asc` must have built the core.
import { execFileSync } from "node:child_process";
import { copyFile, mkdir } from "node:fs/promises";
import { build } from "esbuild";

const shared = { bundle: true, format: "esm", target: "es2023", sourcemap: true, logLevel: "warning" } as const;

await mkdir("dist", { recursive: true });
await copyFile("build/core.wasm", "dist/core.wasm");
for (const platform of ["node", "workerd", "browser", "slim"]) {
  await build({
    entryPoints: ["src/index.ts"],
    outfile: `dist/${platform}.js`,
    ...shared,
    platform: platform === "node" ? "node" : "neutral",
    conditions: [platform],
    external: ["./core.wasm"],
  });
}
await build({
  entryPoints: ["local/index.ts"],
  outfile: "dist/local.js",
  ...shared,
  platform: "neutral",
  mainFields: ["module"],
  external: ["afterclick"],
});
await build({
  entryPoints: { beacon: "beacon/index.ts", "beacon-script": "beacon/script.ts" },
  outdir: "dist",
  ...shared,
  platform: "neutral",
  minify: true,
});
// Not `tsc` itself: on Windows that is a script for a shell.
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.types.json"], { stdio: "inherit" });
