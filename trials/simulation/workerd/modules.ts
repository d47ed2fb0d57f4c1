import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

// Lets plain Node load `worker/`: replaces workerd's modules. Import this file before any file of the worker.

const root = join(import.meta.dirname, "../../../");

const BUILDS: Readonly<Record<string, string>> = { afterclick: "workerd", "afterclick/research": "workerd-research" };

const durableObject = `export class DurableObject { constructor(ctx, env) { this.ctx = ctx; this.env = env; } }`;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === "cloudflare:workers") return { url: "workerd:workers", shortCircuit: true };
    // The worker's build of the SDK, which imports its core as a module.
    const build = BUILDS[specifier];
    if (build) return { url: pathToFileURL(`${root}dist/${build}.js`).href, shortCircuit: true };
    if (specifier.endsWith("/core.wasm")) return { url: "workerd:core", shortCircuit: true };
    return next(specifier, context);
  },
  load(url, context, next) {
    // Packages require theirs.
    if (url.endsWith(".json") && !url.includes("/node_modules/") && context.importAttributes.type === undefined) {
      return { format: "module", source: `export default ${readFileSync(fileURLToPath(url), "utf8")}`, shortCircuit: true };
    }
    if (url === "workerd:workers") return { format: "module", source: durableObject, shortCircuit: true };
    if (url !== "workerd:core") return next(url, context);
    const bytes = readFileSync(`${root}dist/core.wasm`).toString("base64");
    return { format: "module", source: `export default new WebAssembly.Module(Buffer.from("${bytes}", "base64"))`, shortCircuit: true };
  },
});
