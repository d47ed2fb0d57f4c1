import { NumericalError } from "../errors.ts";
import type { CoreExports } from "./exports.ts";

/** Up to so many numbers a loop copies faster than a call of the engine. */
const SHORT = 64;

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

  /** `place` for one input: copies `values`, with room for `room` doubles behind them, and returns where they stand. */
  put(values: Float64Array, room = 0): number {
    this.#reserve(values.length + room);
    this.write(this.#scratch, values);
    return this.#scratch;
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

  /** A view, which holds until the core changes what it shows or memory grows. */
  view(pointer: number, length: number): Float64Array {
    this.#renew();
    const start = (pointer >>> 0) / 8;
    return this.#view.subarray(start, start + length);
  }

  /** The number at `pointer`. */
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
    this.#bytes.set(bytes, pointer);
  }

  /** Writes UTF-8, at most three bytes a character, and returns how many. */
  writeText(pointer: number, text: string): number {
    this.#renew();
    // Names are short and plain: the encoder costs more than they do.
    let length = 0;
    for (; length < text.length; length++) {
      const code = text.charCodeAt(length);
      if (code > 127) break;
      this.#bytes[pointer + length] = code;
    }
    if (length === text.length) return length;
    return this.#encoder.encodeInto(text, this.#bytes.subarray(pointer, pointer + 3 * text.length)).written;
  }

  /** The digest at `pointer` in 16 hexadecimal digits, as a number of 64 bits, little-endian. */
  hexadecimal(pointer: number): string {
    this.#renew();
    const digits: number[] = [];
    for (let at = pointer + 7; at >= pointer; at--) digits.push(digit(this.#bytes[at] >> 4), digit(this.#bytes[at] & 15));
    return String.fromCharCode(...digits);
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
