// Builds the parts that only the package has: a core for linear policies alone, the mountable worker, and its typed client.
// Runs after `npm run build`.
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { build } from "esbuild";

execFileSync("asc", ["assembly/linear.ts", "--config", "asconfig.linear.json"], { stdio: "inherit" });

await build({
  entryPoints: { worker: "worker/library.ts", client: "worker/client.ts" },
  outdir: "dist",
  bundle: true,
  format: "esm",
  target: "es2023",
  platform: "neutral",
  mainFields: ["module", "main"],
  conditions: ["workerd"],
  // The host worker has these packages itself, so that each exists once.
  external: ["afterclick", "cloudflare:workers", "hono", "hono/*", "valibot"],
  logLevel: "warning",
});

execFileSync("tsc", ["-p", "worker/tsconfig.types.json"], { stdio: "inherit" });

// Inferred types name the SDK's declarations by their path on this disk. The package's name replaces it.
for (const name of await readdir("build/types/worker", { recursive: true })) {
  if (!name.endsWith(".d.ts")) continue;
  const text = await readFile(join("build/types/worker", name), "utf8");
  const file = join("dist/types/worker", name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text.replace(/import\("(\.\.\/)+dist\/types\/src\/[^"]+"\)/g, 'import("afterclick")'));
}
