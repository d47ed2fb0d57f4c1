import { readFileSync } from "node:fs";
import { Core } from "../../src/core/core.ts";
import type { DrawStage } from "../../src/core/core-draws.ts";
import type { CoreExports } from "../../src/core/exports.ts";
import type { RidgeHandle } from "../../src/core/ridge-handle.ts";
import type { FamilyBounds } from "../../src/model/random-chances.ts";

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
  return { handle, level: 0, weight: 1, parent: -1, isProbability: false };
}

/**
 * A list of the `limit` best candidates, of equal scores the first one first, with -1 behind the last one. A family takes as many as it has
 * room for.
 */
export function rankedBy(scores: Float64Array, limit: number, families?: FamilyBounds): number[] {
  const list: number[] = [];
  for (const index of Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a] || a - b)) {
    const family = families?.of[index] ?? -1;
    const members = list.filter((other) => families?.of[other] === family).length;
    if (list.length < limit && (family < 0 || members < (families as FamilyBounds).room[family])) list.push(index);
  }
  return [...list, ...new Array<number>(limit - list.length).fill(-1)];
}
