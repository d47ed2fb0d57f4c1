import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { RidgePosterior } from "./inputs.ts";

/** Compiles the core of the package. */
export async function compileCore(): Promise<WebAssembly.Module> {
  return WebAssembly.compile(await readFile(fileURLToPath(import.meta.resolve("afterclick/core.wasm"))));
}

/** The core's exports that this benchmark calls. assembly/index.ts has all of them. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  allocate(bytes: number): number;
  ridgeCreate(dimension: number, ridge: number): number;
  ridgeAppend(handle: number, x: number): number;
  ridgeReward(handle: number, x: number, delta: number): number;
  ridgeScore(handle: number, xs: number, k: number, means: number, widths: number): number;
}

/** The core's ridge posterior without the SDK. Features and results stay in the core's memory. */
export class CoreRidge implements RidgePosterior {
  /** A view of the core's memory: rows x d, row-major. */
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

  /** A posterior over rows of `dimension` features with a ridge of 1. At most `k` rows are scored at once. */
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
