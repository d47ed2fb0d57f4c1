import { readFileSync } from "node:fs";
import { Core } from "../../src/core/core.ts";
import type { CoreExports } from "../../src/core/exports.ts";

const module = new WebAssembly.Module(readFileSync(new URL("../../dist/core.wasm", import.meta.url)));

/** A core with its own memory, and the exports behind its typed calls. */
export function freshCore(): { readonly core: Core; readonly exports: CoreExports } {
  const exports = new WebAssembly.Instance(module).exports as unknown as CoreExports;
  return { core: new Core(exports), exports };
}

/** log det L L^T of a packed lower triangle. */
export function logDeterminant(factor: Float64Array): number {
  let sum = 0;
  for (let row = 0, diagonal = 0; diagonal < factor.length; row++, diagonal += row + 1) sum += 2 * Math.log(factor[diagonal]);
  return sum;
}
