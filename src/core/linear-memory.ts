import { NumericalError } from "../errors.ts";
import type { CoreExports } from "./exports.ts";

/** The memory of one core, and within it a scratch area through which arguments and results pass. */
export class LinearMemory {
  readonly #exports: CoreExports;
  readonly #encoder = new TextEncoder();
  #view: Float64Array;
  #bytes: Uint8Array;
  /** Where the scratch area begins, and how many doubles it has. */
  #scratch = 0;
  #room = 0;

  constructor(exports: CoreExports) {
    this.#exports = exports;
    this.#view = new Float64Array(exports.memory.buffer);
    this.#bytes = new Uint8Array(exports.memory.buffer);
  }

  get bytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  /**
   * Copies `inputs` into the scratch area and adds room for `outputs` doubles; returns a pointer to each, in this order.
   * They hold until the next call. **Throws:** NumericalError "out-of-memory".
   */
  place(inputs: readonly Float64Array[], outputs: readonly number[] = []): number[] {
    // Plain loops: a decision among few candidates takes no longer than a handful of short-lived arrays would.
    let doubles = 0;
    for (const input of inputs) doubles += input.length;
    for (const length of outputs) doubles += length;
    this.#reserve(doubles);
    const pointers: number[] = [];
    let next = this.#scratch;
    for (const input of inputs) {
      this.write(next, input);
      pointers.push(next);
      next += input.length * 8;
    }
    for (const length of outputs) {
      pointers.push(next);
      next += length * 8;
    }
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
  #renew(): void {
    if (this.#view.length > 0) return;
    this.#view = new Float64Array(this.#exports.memory.buffer);
    this.#bytes = new Uint8Array(this.#exports.memory.buffer);
  }

  /** `pointer` may be signed, as the core returns it. */
  copy(pointer: number, length: number): Float64Array {
    this.#renew();
    const start = (pointer >>> 0) / 8;
    return this.#view.slice(start, start + length);
  }

  write(pointer: number, values: Float64Array): void {
    this.#renew();
    this.#view.set(values, (pointer >>> 0) / 8);
  }

  writeBytes(pointer: number, bytes: Uint8Array): void {
    this.#renew();
    this.#bytes.set(bytes, pointer);
  }

  /** Writes UTF-8, at most three bytes a character, and returns how many. */
  writeText(pointer: number, text: string): number {
    this.#renew();
    return this.#encoder.encodeInto(text, this.#bytes.subarray(pointer, pointer + 3 * text.length)).written;
  }

  /** The unsigned 32-bit little-endian integer at `pointer`. */
  word(pointer: number): number {
    this.#renew();
    const bytes = this.#bytes;
    return (bytes[pointer] | (bytes[pointer + 1] << 8) | (bytes[pointer + 2] << 16) | (bytes[pointer + 3] << 24)) >>> 0;
  }
}

export function outOfMemory(): NumericalError {
  return new NumericalError("out-of-memory", "the core's memory could not grow");
}
