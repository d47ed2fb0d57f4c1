type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Numbers of a chunk: a power of two. */
const CHUNK = 4096;

/**
 * A list of numbers in an array of their type. It grows in chunks, so that growth copies nothing. Numbers that were never set are 0, and a
 * chunk of them takes no memory.
 */
export class Column {
  readonly #type: new (
    length: number,
  ) => Numbers;
  readonly #chunks: (Numbers | undefined)[] = [];

  constructor(type: new (length: number) => Numbers) {
    this.#type = type;
  }

  get(at: number): number {
    return this.#chunks[Math.floor(at / CHUNK)]?.[at % CHUNK] ?? 0;
  }

  set(at: number, value: number): void {
    const place = Math.floor(at / CHUNK);
    this.#chunks[place] ??= new this.#type(CHUNK);
    (this.#chunks[place] as Numbers)[at % CHUNK] = value;
  }
}
