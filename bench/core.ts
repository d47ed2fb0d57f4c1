import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { RidgePosterior } from "./inputs.ts";

/** The core as the package ships it, compiled. */
export async function compileCore(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve("afterclick/core.wasm"))));
}

/** Those of the core's exports that are called here; assembly/index.ts has them all. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  allocate(bytes: number): number;
  ridgeCreate(dimension: number, ridge: number): number;
  ridgeAppend(handle: number, x: number): number;
  ridgeReward(handle: number, x: number, delta: number): number;
  ridgeScore(handle: number, xs: number, k: number, means: number, widths: number): number;
}

/** The core's ridge posterior by its calls alone, without the SDK: vectors and results stand in its memory. */
export class CoreRidge implements RidgePosterior {
  /** In the core's memory: rows x d, row-major. */
  readonly features: Float64Array;
  readonly means: Float64Array;
  readonly norms: Float64Array;
  readonly #core: Exports;
  readonly #handle: number;
  readonly #rowBytes: number;

  private constructor(core: Exports, dimension: number, features: Float64Array, k: number) {
    this.#core = core;
    this.#handle = core.ridgeCreate(dimension, 1);
    this.#rowBytes = 8 * dimension;
    const pointers = [features.length, k, k].map((length) => core.allocate(8 * length) >>> 0);
    const view = (pointer: number, length: number) => new Float64Array(core.memory.buffer, pointer, length);
    this.features = view(pointers[0], features.length);
    this.features.set(features);
    this.means = view(pointers[1], k);
    this.norms = view(pointers[2], k);
  }

  /** A posterior over rows of `dimension` features, of which at most `k` are scored at once, with a ridge of 1. */
  static async create(dimension: number, features: Float64Array, k: number): Promise<CoreRidge> {
    const { exports } = await WebAssembly.instantiate(await compileCore(), {});
    return new CoreRidge(exports as unknown as Exports, dimension, features, k);
  }

  #row(row: number): number {
    return this.features.byteOffset + row * this.#rowBytes;
  }

  append(row: number): void {
    this.#core.ridgeAppend(this.#handle, this.#row(row));
  }

  reward(row: number, reward: number): void {
    this.#core.ridgeReward(this.#handle, this.#row(row), reward);
  }

  score(first: number, count: number): void {
    this.#core.ridgeScore(this.#handle, this.#row(first), count, this.means.byteOffset, this.norms.byteOffset);
  }
}
