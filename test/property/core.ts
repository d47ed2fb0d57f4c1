import { readFileSync } from "node:fs";
import { Core } from "../../src/core/core.ts";
import type { CoreExports } from "../../src/core/exports.ts";

const module = new WebAssembly.Module(readFileSync(new URL("../../dist/core.wasm", import.meta.url)));

/** A core with its own memory, and the exports behind its typed calls. */
export function freshCore(): { readonly core: Core; readonly exports: CoreExports } {
  const exports = new WebAssembly.Instance(module).exports as unknown as CoreExports;
  return { core: new Core(exports), exports };
}
