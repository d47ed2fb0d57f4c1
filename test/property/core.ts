import { readFileSync } from "node:fs";
import { Core, type DrawStage, type RidgeHandle } from "../../src/core/core.ts";
import type { CoreExports } from "../../src/core/exports.ts";

const bytes = readFileSync(new URL("../../dist/core.wasm", import.meta.url));
const whole = new WebAssembly.Module(bytes);

/** The core with a memory of at most 32 MB, so that a test can fill it soon. */
export const smallCore = new WebAssembly.Module(withMostPages(bytes, 512));

/** The same module with another maximum of its memory. Its memory section declares 1 page at least and 65,535 at most. */
function withMostPages(given: Uint8Array<ArrayBuffer>, pages: number): Uint8Array<ArrayBuffer> {
  // A section 5 of 6 bytes: one memory, limits with a maximum, and the two limits as LEB128.
  const section = Buffer.from([5, 6, 1, 1, 1, 0xff, 0xff, 3]);
  const at = Buffer.from(given).indexOf(section);
  if (at < 0) throw new Error("expected a memory of 1 to 65,535 pages in core.wasm");
  const changed = given.slice();
  changed.set([0x80 | (pages & 0x7f), 0x80 | ((pages >> 7) & 0x7f), pages >> 14], at + 5);
  return changed;
}

/** A core with its own memory, and the exports behind its typed calls. */
export function freshCore(module = whole): { readonly core: Core; readonly exports: CoreExports } {
  const exports = new WebAssembly.Instance(module).exports as unknown as CoreExports;
  return { core: new Core(exports), exports };
}

/** log det L L^T of a packed lower triangle. */
export function logDeterminant(factor: Float64Array): number {
  let sum = 0;
  for (let row = 0, diagonal = 0; diagonal < factor.length; row++, diagonal += row + 1) sum += 2 * Math.log(factor[diagonal]);
  return sum;
}

/** A stage alone: scores are samples of a ridge posterior. */
export function stageOf(handle: RidgeHandle): DrawStage {
  return { handle, scale: 1, level: 0, weight: 1, parent: -1, isProbability: false };
}
