// Storage of a page that may fail at any time: a page without IndexedDB works for this visit.

import { clear, createStore, del, entries, get, set, type UseStore } from "idb-keyval";

/** Called for a problem that stops nothing: a full disk, a snapshot of a newer version, a refused impression. */
export type Report = (problem: Error) => void;

/**
 * Values by key in IndexedDB, which stores structured clones. A value that IndexedDB refuses, for example over its quota, is
 * reported and kept in memory for this visit.
 */
export class Shelf {
  readonly #report: Report;
  /** Values that differ from IndexedDB. undefined: deleted. */
  readonly #memory = new Map<string, unknown>();
  #store?: UseStore;
  readonly #name: string;

  constructor(name: string, report: Report) {
    this.#name = `afterclick ${name}`;
    this.#report = report;
  }

  async get<T>(key: string): Promise<T | undefined> {
    if (this.#memory.has(key)) return this.#memory.get(key) as T | undefined;
    return this.#tried((store) => get<T>(key, store), undefined);
  }

  async set(key: string, value: unknown): Promise<void> {
    this.#memory.set(key, value);
    await this.#tried(async (store) => {
      await set(key, value, store);
      if (this.#memory.get(key) === value) this.#memory.delete(key);
    }, undefined);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#memory.set(key, undefined);
    await this.#tried(async (store) => {
      await Promise.all(keys.map((key) => del(key, store)));
      for (const key of keys) if (this.#memory.get(key) === undefined) this.#memory.delete(key);
    }, undefined);
  }

  /** The values with this key prefix, in order of their keys. */
  async startingWith<T>(prefix: string): Promise<[key: string, value: T][]> {
    const stored = await this.#tried((store) => entries<string, T>(store), []);
    const all = new Map<string, T | undefined>([...stored, ...(this.#memory as Map<string, T | undefined>)]);
    const found = Array.from(all).filter((entry): entry is [string, T] => entry[0].startsWith(prefix) && entry[1] !== undefined);
    return found.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  async clear(): Promise<void> {
    this.#memory.clear();
    await this.#tried((store) => clear(store), undefined);
  }

  async #tried<T>(work: (store: UseStore) => Promise<T>, otherwise: T): Promise<T> {
    try {
      this.#store ??= createStore(this.#name, "values");
      return await work(this.#store);
    } catch (error) {
      this.#report(error as Error);
      return otherwise;
    }
  }
}
