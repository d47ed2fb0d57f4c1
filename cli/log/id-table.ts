// Numbers the ids of a log in little memory.

import { setUuid } from "../../worker/domain/ids/uuid.ts";
import { Column } from "./column.ts";

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const WORDS = 4;
/** Share of the slots that may be taken. */
const FULLEST = 0.75;

/**
 * Gives each id the number of its first appearance, from 0. An id of 16 bytes takes 21 to 27 bytes: itself, and a slot of a hash table. The
 * table takes half as much again while it grows. Other names are rare in a log, such as those of marks, and are kept as texts.
 */
export class IdTable {
  readonly #words = new Column(Uint32Array);
  /** Numbers of ids, from 1. 0 in a free slot. */
  #slots = new Uint32Array(1024);
  readonly #others = new Map<string, number>();
  readonly #bytes = new Uint8Array(4 * WORDS);
  /** The id that is looked up. */
  readonly #own = new Uint32Array(this.#bytes.buffer);
  #size = 0;

  /** Number of different ids. */
  get size(): number {
    return this.#size;
  }

  /** The number of an id, which is its own from now on. */
  add(id: string): number {
    const known = this.find(id);
    if (known !== undefined) return known;
    const number = this.#size++;
    if (!UUID.test(id)) {
      this.#others.set(id, number);
      return number;
    }
    for (let word = 0; word < WORDS; word++) this.#words.set(WORDS * number + word, this.#own[word]);
    this.#slots[this.#slotOf()] = number + 1;
    if (this.#size > FULLEST * this.#slots.length) this.#grow();
    return number;
  }

  /** The number of an id. Undefined if it was not added. */
  find(id: string): number | undefined {
    if (!UUID.test(id)) return this.#others.get(id);
    setUuid(this.#bytes, 0, id);
    const number = this.#slots[this.#slotOf()];
    return number > 0 ? number - 1 : undefined;
  }

  /** The slot of the id that is looked up, or the free one that it would take. */
  #slotOf(): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(this.#own) & mask;
    for (; this.#slots[slot] > 0; slot = (slot + 1) & mask) if (this.#isAt(this.#slots[slot] - 1)) break;
    return slot;
  }

  #isAt(number: number): boolean {
    for (let word = 0; word < WORDS; word++) if (this.#words.get(WORDS * number + word) !== this.#own[word]) return false;
    return true;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    for (const taken of before) {
      if (taken === 0) continue;
      for (let word = 0; word < WORDS; word++) this.#own[word] = this.#words.get(WORDS * (taken - 1) + word);
      this.#slots[this.#slotOf()] = taken;
    }
  }
}

/** All bits of an id matter: those of one millisecond differ in the last ones, and those of another source in any. */
function hashOf(words: Uint32Array): number {
  let hash = 0;
  for (const word of words) {
    hash = Math.imul(hash ^ word, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
}
