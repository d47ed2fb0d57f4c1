import { NumericalError } from "../errors.ts";
import type { CoreExports } from "./exports.ts";

/** The memory of one core, and within it a scratch area through which arguments and results pass. */
export class LinearMemory {
  readonly #exports: CoreExports;
  #view: Float64Array;
  /** Where the scratch area begins, and how many doubles it has. */
  #scratch = 0;
  #room = 0;

  constructor(exports: CoreExports) {
    this.#exports = exports;
    this.#view = new Float64Array(exports.memory.buffer);
  }

  /**
   * Copies `inputs` into the scratch area and adds room for `outputs` doubles; returns a pointer to each, in this order.
   * They hold until the next call. **Throws:** NumericalError "out-of-memory".
   */
  place(inputs: readonly Float64Array[], outputs: readonly number[] = []): number[] {
    const lengths = [...inputs.map((input) => input.length), ...outputs];
    this.#reserve(lengths.reduce((sum, length) => sum + length, 0));
    let next = this.#scratch;
    const pointers = lengths.map((length) => {
      const pointer = next;
      next += length * 8;
      return pointer;
    });
    for (const [i, input] of inputs.entries()) this.write(pointers[i], input);
    return pointers;
  }

  #reserve(doubles: number): void {
    if (doubles <= this.#room) return;
    const room = Math.max(doubles, 2 * this.#room, 1024);
    // A size beyond 32 bits would wrap on its way into the core.
    const pointer = room * 8 <= 0xffffffff ? this.#exports.allocate(room * 8) >>> 0 : 0;
    if (pointer === 0) throw outOfMemory();
    this.#exports.release(this.#scratch);
    this.#scratch = pointer;
    this.#room = room;
  }

  /** All memory, seen anew whenever it has grown, which leaves older views without length. */
  #doubles(): Float64Array {
    if (this.#view.length === 0) this.#view = new Float64Array(this.#exports.memory.buffer);
    return this.#view;
  }

  /** `pointer` may be signed, as the core returns it. */
  copy(pointer: number, length: number): Float64Array {
    const start = (pointer >>> 0) / 8;
    return this.#doubles().slice(start, start + length);
  }

  write(pointer: number, values: Float64Array): void {
    this.#doubles().set(values, (pointer >>> 0) / 8);
  }

  writeBytes(pointer: number, bytes: Uint8Array): void {
    new Uint8Array(this.#exports.memory.buffer).set(bytes, pointer);
  }

  /** The unsigned 64-bit little-endian integer at `pointer`. */
  word(pointer: number): bigint {
    return new DataView(this.#exports.memory.buffer).getBigUint64(pointer, true);
  }
}

export function outOfMemory(): NumericalError {
  return new NumericalError("out-of-memory", "the core's memory could not grow");
}
