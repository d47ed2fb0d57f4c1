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
  readonly #core: Exports;
  readonly #handle: number;
  readonly #rowBytes: number;
  readonly #numbers: number;
  readonly #scored: number;
  readonly #features: number;
  readonly #means: number;
  readonly #norms: number;

  private constructor(core: Exports, dimension: number, features: Float64Array, k: number) {
    this.#core = core;
    this.#handle = core.ridgeCreate(dimension, 1);
    this.#rowBytes = 8 * dimension;
    [this.#numbers, this.#scored] = [features.length, k];
    [this.#features, this.#means, this.#norms] = [features.length, k, k].map((length) => core.allocate(8 * length) >>> 0);
    this.features.set(features);
  }

  /** A view of the core's memory: rows x d, row-major. As other views, it is invalid when the memory has grown. */
  get features(): Float64Array {
    return this.#view(this.#features, this.#numbers);
  }

  get means(): Float64Array {
    return this.#view(this.#means, this.#scored);
  }

  get norms(): Float64Array {
    return this.#view(this.#norms, this.#scored);
  }

  #view(pointer: number, length: number): Float64Array {
    return new Float64Array(this.#core.memory.buffer, pointer, length);
  }

  /** A posterior over rows of `dimension` features with a ridge of 1. At most `k` rows are scored at once. */
  static async create(dimension: number, features: Float64Array, k: number): Promise<CoreRidge> {
    const { exports } = await WebAssembly.instantiate(await compileCore(), {});
    return new CoreRidge(exports as unknown as Exports, dimension, features, k);
  }

  #row(row: number): number {
    return this.#features + row * this.#rowBytes;
  }

  append(row: number): void {
    this.#core.ridgeAppend(this.#handle, this.#row(row));
  }

  reward(row: number, reward: number): void {
    this.#core.ridgeReward(this.#handle, this.#row(row), reward);
  }

  score(first: number, count: number): void {
    this.#core.ridgeScore(this.#handle, this.#row(first), count, this.#means, this.#norms);
  }
}
