// Bundles the SDK once per platform, and copies the core beside the bundles. `asc` must have built the core.
import { execFileSync } from "node:child_process";
import { copyFile, mkdir } from "node:fs/promises";
import { build } from "esbuild";

await mkdir("dist", { recursive: true });
await copyFile("build/core.wasm", "dist/core.wasm");
for (const platform of ["node", "workerd", "browser", "slim"]) {
  await build({
    entryPoints: ["src/index.ts"],
    outfile: `dist/${platform}.js`,
    bundle: true,
    format: "esm",
    target: "es2023",
    platform: platform === "node" ? "node" : "neutral",
    conditions: [platform],
    external: ["./core.wasm"],
    sourcemap: true,
    logLevel: "warning",
  });
}
await build({
  entryPoints: ["local/index.ts"],
  outfile: "dist/local.js",
  bundle: true,
  format: "esm",
  target: "es2023",
  platform: "neutral",
  mainFields: ["module"],
  external: ["afterclick"],
  sourcemap: true,
  logLevel: "warning",
});
// Not `tsc` itself: on Windows that is a script for a shell.
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.types.json"], { stdio: "inherit" });
