// Keeps reports of a page until they have arrived. It knows what a letter needs, and not what it says.

import { deliver } from "./delivery.ts";
import type { Report, Shelf } from "./shelf.ts";

/** An item to send. The receiver knows a repetition by its id. */
export interface Letter {
  readonly id: string;
  /** The name of its carrier. */
  readonly to: string;
  /** The receiver accepts it until this time, in ms since 1970. */
  readonly until: number;
  readonly item: unknown;
}

/** Sends letters of one kind, several of them in one request. */
export interface Carrier {
  /** Most letters in one request. */
  readonly most: number;
  request(items: readonly unknown[]): { readonly url: string; readonly init: RequestInit };
  /** Sends items while the page is unloaded, without waiting for an answer. */
  beacon(items: readonly unknown[]): void;
}

type Carriers = Readonly<Record<string, Carrier>>;

const PREFIX = "letter ";
/** Letters are gathered for this long, in ms. */
const GATHER_MS = 500;
const FIRST_RETRY_MS = 2000;
const LAST_RETRY_MS = 300_000;
/** With more letters than this, the oldest are dropped, so that a page that is offline for weeks does not fill the disk. */
const MOST = 1000;

/**
 * Keeps letters until they have arrived, across reloads and while offline.
 *
 * After a permanent refusal (400, 413, 422) of several letters, each is sent alone. A letter that is refused alone is reported and
 * dropped. After any other failure the letters are sent again, when the browser is online again and with growing pauses. A fault that
 * does not pass by itself, such as a wrong address, is reported once.
 */
export class Outbox {
  readonly #shelf: Shelf;
  readonly #carriers: Carriers;
  readonly #now: () => number;
  readonly #report: Report;
  readonly #letters = new Map<string, Letter>();
  readonly #reported = new Set<string>();
  #sending?: Promise<void>;
  #timer?: ReturnType<typeof setTimeout>;
  #retryMs = FIRST_RETRY_MS;
  readonly #left = new AbortController();
  #forgotten = false;

  constructor(shelf: Shelf, carriers: Carriers, { now, report }: { readonly now: () => number; readonly report: Report }) {
    this.#shelf = shelf;
    this.#carriers = carriers;
    this.#now = now;
    this.#report = report;
    const { signal } = this.#left;
    globalThis.addEventListener?.("online", () => this.#soon(0), { signal });
    globalThis.addEventListener?.("pagehide", () => this.#leave(), { signal });
  }

  /** Loads the letters of earlier visits. */
  async open(): Promise<void> {
    for (const [, letter] of await this.#shelf.startingWith<Letter>(PREFIX)) this.#letters.set(letter.id, letter);
    if (this.#letters.size > 0) this.#soon(0);
  }

  get size(): number {
    return this.#letters.size;
  }

  /** Keeps letters, and sends them soon. A letter with the id of a kept one is ignored. */
  async put(letters: readonly Letter[]): Promise<void> {
    if (this.#forgotten) return;
    const fresh = letters.filter(({ id }) => !this.#letters.has(id));
    for (const letter of fresh) this.#letters.set(letter.id, letter);
    const over = Array.from(this.#letters.keys()).slice(0, Math.max(0, this.#letters.size - MOST));
    if (over.length > 0) this.#giveUp(over, `more than ${MOST} wait to be sent`);
    this.#soon(GATHER_MS);
    await Promise.all(fresh.map((letter) => this.#shelf.set(PREFIX + letter.id, letter)));
  }

  /** Sends all kept letters. The promise resolves after one attempt for each letter, with or without success. */
  send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** Stops sending. */
  close(): void {
    clearTimeout(this.#timer);
    this.#left.abort();
  }

  /** Stops sending, and drops all letters, also those that come later. The owner of the shelf clears it. */
  forget(): void {
    this.close();
    this.#forgotten = true;
    this.#letters.clear();
  }

  #soon(ms: number): void {
    if (this.#left.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.send(), ms);
  }

  async #sendAll(): Promise<void> {
    clearTimeout(this.#timer);
    const now = this.#now();
    const over = Array.from(this.#letters.values()).flatMap(({ id, until }) => (until < now ? [id] : []));
    if (over.length > 0) this.#giveUp(over, "the window has passed");
    let arrived = true;
    for (const batch of this.#batches()) arrived = (await this.#deliver(batch)) && arrived;
    this.#retryMs = arrived ? FIRST_RETRY_MS : Math.min(LAST_RETRY_MS, 2 * this.#retryMs);
    // Letters without a carrier in this visit wait for another visit.
    if (this.#batches().length > 0) this.#soon(arrived ? 0 : this.#retryMs * (0.5 + Math.random() / 2));
  }

  #batches(): Letter[][] {
    return Object.entries(this.#carriers).flatMap(([carrier, { most }]) => {
      const letters = Array.from(this.#letters.values()).filter(({ to }) => to === carrier);
      return Array.from({ length: Math.ceil(letters.length / most) }, (_, i) => letters.slice(i * most, (i + 1) * most));
    });
  }

  /** Whether the letters are settled: delivered or dropped. */
  async #deliver(letters: readonly Letter[]): Promise<boolean> {
    if (this.#forgotten) return true;
    const { url, init } = this.#carriers[letters[0].to].request(letters.map(({ item }) => item));
    const { status, answer = "", remedy } = await deliver(url, init);
    const ids = letters.map(({ id }) => id);
    if (status === "delivered") this.#forget(ids);
    else if (status === "waiting") return this.#wait(url, answer, remedy);
    else if (letters.length === 1) this.#giveUp(ids, answer);
    else {
      const each = await Promise.all(letters.map((letter) => this.#deliver([letter])));
      return each.every(Boolean);
    }
    return true;
  }

  /** Reports once what each address needs. */
  #wait(url: string, answer: string, remedy = ""): false {
    const fault = `${url} ${remedy}`;
    if (remedy && !this.#reported.has(fault)) this.#report(new Error(`${this.#letters.size} wait: ${answer}. ${remedy}`));
    this.#reported.add(fault);
    return false;
  }

  /** A beacon may get lost, so the letters stay, and the next visit sends them again. */
  #leave(): void {
    for (const batch of this.#batches()) this.#carriers[batch[0].to].beacon(batch.map(({ item }) => item));
  }

  #giveUp(ids: readonly string[], why: string): void {
    this.#forget(ids);
    this.#report(new Error(`${ids.length} given up: ${why}`));
  }

  #forget(ids: readonly string[]): void {
    for (const id of ids) this.#letters.delete(id);
    void this.#shelf.delete(ids.map((id) => PREFIX + id));
  }
}
