// Memory of a core: numbers go in and come out as copies, and a failed allocation becomes an error.

import { NumericalError } from "../values/errors.ts";
import type { CoreExports } from "./exports.ts";

/** Up to this many numbers, a loop copies faster than `TypedArray.set`. */
const SHORT = 64;

/** The memory of one core, with a scratch area for arguments and results. */
export class LinearMemory {
  readonly #exports: CoreExports;
  readonly #encoder = new TextEncoder();
  #view: Float64Array;
  #bytes: Uint8Array;
  #words: Uint32Array;
  #floats: Float32Array;
  /** Start of the scratch area, and its size in doubles. */
  #scratch = 0;
  #room = 0;

  constructor(exports: CoreExports) {
    this.#exports = exports;
    this.#view = new Float64Array(exports.memory.buffer);
    this.#bytes = new Uint8Array(exports.memory.buffer);
    this.#words = new Uint32Array(exports.memory.buffer);
    this.#floats = new Float32Array(exports.memory.buffer);
  }

  get bytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  /**
   * Copies `inputs` into the scratch area and adds room for `outputs` doubles. Returns a pointer to each, in this order, valid
   * until the next call. **Throws:** NumericalError "out-of-memory".
   */
  place(inputs: readonly Float64Array[], outputs: readonly number[] = []): number[] {
    // Plain loops: for a decision among few candidates, short-lived arrays would dominate the time.
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

  /** `place` for one input: copies `values`, adds room for `room` doubles behind them, and returns a pointer to `values`. */
  put(values: Float64Array, room = 0): number {
    this.#reserve(values.length + room);
    this.write(this.#scratch, values);
    return this.#scratch;
  }

  #reserve(doubles: number): void {
    if (doubles <= this.#room) return;
    const room = Math.max(doubles, 2 * this.#room, 1024);
    // WebAssembly takes a size modulo 2^32: a larger one would wrap.
    const pointer = room * 8 <= 0xffffffff ? this.#exports.allocate(room * 8) >>> 0 : 0;
    if (pointer === 0) throw outOfMemory();
    this.#exports.release(this.#scratch);
    this.#scratch = pointer;
    this.#room = room;
  }

  /** Renews the views of the memory. Growth of the memory detaches the old ones, whose length is then 0. */
  #renew(): void {
    if (this.#view.length > 0) return;
    this.#view = new Float64Array(this.#exports.memory.buffer);
    this.#bytes = new Uint8Array(this.#exports.memory.buffer);
    this.#words = new Uint32Array(this.#exports.memory.buffer);
    this.#floats = new Float32Array(this.#exports.memory.buffer);
  }

  /** A copy of `length` doubles. `pointer` may be signed, as the core returns it. */
  copy(pointer: number, length: number): Float64Array {
    return this.read(pointer, new Float64Array(length));
  }

  /** Fills `target` from `pointer` on. */
  read(pointer: number, target: Float64Array): Float64Array {
    this.#renew();
    const start = (pointer >>> 0) / 8;
    const { length } = target;
    if (length > SHORT) target.set(this.view(pointer, length));
    else for (let i = 0; i < length; i++) target[i] = this.#view[start + i];
    return target;
  }

  /** A view, valid until the core writes there or memory grows. */
  view(pointer: number, length: number): Float64Array {
    this.#renew();
    const start = (pointer >>> 0) / 8;
    return this.#view.subarray(start, start + length);
  }

  number(pointer: number): number {
    this.#renew();
    return this.#view[(pointer >>> 0) / 8];
  }

  write(pointer: number, values: Float64Array): void {
    this.#renew();
    const start = (pointer >>> 0) / 8;
    if (values.length > SHORT) this.#view.set(values, start);
    else for (let i = 0; i < values.length; i++) this.#view[start + i] = values[i];
  }

  writeBytes(pointer: number, bytes: Uint8Array): void {
    this.#renew();
    this.#bytes.set(bytes, pointer >>> 0);
  }

  /** Writes 32-bit integers. Negative ones are written as two's complement. */
  writeWords(pointer: number, words: ArrayLike<number>): void {
    this.#renew();
    const start = pointer / 4;
    for (let i = 0; i < words.length; i++) this.#words[start + i] = words[i];
  }

  /** Writes a 32-bit floating-point number. */
  writeFloat(pointer: number, value: number): void {
    this.#renew();
    this.#floats[pointer / 4] = value;
  }

  /** Writes numbers in single precision. */
  writeFloats(pointer: number, values: Float64Array): void {
    this.#renew();
    this.#floats.set(values, pointer / 4);
  }

  /** Fills `target` with 32-bit integers from `pointer` on. */
  readWords(pointer: number, target: Int32Array): Int32Array {
    this.#renew();
    const start = pointer / 4;
    for (let i = 0; i < target.length; i++) target[i] = this.#words[start + i];
    return target;
  }

  /** Writes UTF-8, at most three bytes per UTF-16 unit, and returns the number of bytes. */
  writeText(pointer: number, text: string): number {
    this.#renew();
    // Most names are short and ASCII: this loop takes less time than a call of the encoder.
    let length = 0;
    for (; length < text.length; length++) {
      const code = text.charCodeAt(length);
      if (code > 127) break;
      this.#bytes[pointer + length] = code;
    }
    if (length === text.length) return length;
    return this.#encoder.encodeInto(text, this.#bytes.subarray(pointer, pointer + 3 * text.length)).written;
  }

  /** Writes a whole number of at least 0 in decimal digits. Returns the end. */
  writeDigits(pointer: number, value: number): number {
    this.#renew();
    let end = pointer + 1;
    for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) end++;
    let rest = value;
    for (let at = end - 1; at >= pointer; at--) {
      const tens = Math.floor(rest / 10);
      this.#bytes[at] = 48 + (rest - 10 * tens);
      rest = tens;
    }
    return end;
  }

  /** Writes a space. Returns the end. */
  writeSpace(pointer: number): number {
    this.#bytes[pointer] = 32;
    return pointer + 1;
  }

  /** The unsigned 64-bit little-endian integer at `pointer`, in 16 hexadecimal digits. */
  hexadecimal(pointer: number): string {
    this.#renew();
    return this.#digits(pointer + 4) + this.#digits(pointer);
  }

  /** The unsigned 32-bit little-endian integer at `pointer`, in 8 hexadecimal digits. Not an array of digits, which takes twice as long. */
  #digits(pointer: number): string {
    const word = this.word(pointer);
    return String.fromCharCode(
      digit(word >>> 28),
      digit((word >>> 24) & 15),
      digit((word >>> 20) & 15),
      digit((word >>> 16) & 15),
      digit((word >>> 12) & 15),
      digit((word >>> 8) & 15),
      digit((word >>> 4) & 15),
      digit(word & 15),
    );
  }

  /** The unsigned 32-bit little-endian integer at `pointer`. */
  word(pointer: number): number {
    this.#renew();
    const bytes = this.#bytes;
    return (bytes[pointer] | (bytes[pointer + 1] << 8) | (bytes[pointer + 2] << 16) | (bytes[pointer + 3] << 24)) >>> 0;
  }
}

/** The character code of a hexadecimal digit. */
const digit = (value: number): number => (value < 10 ? 48 : 87) + value;

export function outOfMemory(): NumericalError {
  return new NumericalError("out-of-memory", "the core's memory could not grow");
}
