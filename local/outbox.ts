import type { Report, Shelf } from "./shelf.ts";

/** Something to be sent, once: whoever gets it again under the same id knows it. */
export interface Letter {
  readonly id: string;
  /** Names who takes it, among the outbox's carriers. */
  readonly to: string;
  /** Nobody takes it after this, in ms since 1970. */
  readonly until: number;
  readonly item: unknown;
}

/** How letters of one kind are sent: some together, as one request. */
export interface Carrier {
  readonly most: number;
  request(items: readonly unknown[]): { readonly url: string; readonly init: RequestInit };
  /** Sends when the page is about to go, when nobody can wait for an answer. */
  beacon(items: readonly unknown[]): void;
}

const PREFIX = "letter ";
/** Letters are gathered for a moment, in ms. */
const GATHER_MS = 500;
const FIRST_RETRY_MS = 2000;
const LAST_RETRY_MS = 300_000;
/** Beyond it the oldest are given up: a page that is offline for weeks does not fill the disk. */
const MOST = 1000;

/**
 * Letters that are kept until they have arrived, over reloads and while offline.
 *
 * A refusal for good (400, 413, 422) of several is tried with each alone, then reported and given up; everything else is
 * tried again: when the browser is online again, and ever less often.
 */
export class Outbox {
  readonly #shelf: Shelf;
  readonly #carriers: Readonly<Record<string, Carrier>>;
  readonly #now: () => number;
  readonly #report: Report;
  readonly #letters = new Map<string, Letter>();
  #sending?: Promise<void>;
  #timer?: ReturnType<typeof setTimeout>;
  #retryMs = FIRST_RETRY_MS;
  readonly #left = new AbortController();

  constructor(
    shelf: Shelf,
    carriers: Readonly<Record<string, Carrier>>,
    { now, report }: { readonly now: () => number; readonly report: Report },
  ) {
    this.#shelf = shelf;
    this.#carriers = carriers;
    this.#now = now;
    this.#report = report;
    const { signal } = this.#left;
    globalThis.addEventListener?.("online", () => this.#soon(0), { signal });
    globalThis.addEventListener?.("pagehide", () => this.#leave(), { signal });
  }

  /** Takes up what earlier visits have left. */
  async open(): Promise<void> {
    for (const [, letter] of await this.#shelf.startingWith<Letter>(PREFIX)) this.#letters.set(letter.id, letter);
    if (this.#letters.size > 0) this.#soon(0);
  }

  get size(): number {
    return this.#letters.size;
  }

  /** Keeps letters, and sends them soon. One whose id waits here already changes nothing. */
  async put(letters: readonly Letter[]): Promise<void> {
    const fresh = letters.filter(({ id }) => !this.#letters.has(id));
    for (const letter of fresh) this.#letters.set(letter.id, letter);
    const over = Array.from(this.#letters.keys()).slice(0, Math.max(0, this.#letters.size - MOST));
    if (over.length > 0) this.#giveUp(over, `more than ${MOST} wait to be sent`);
    this.#soon(GATHER_MS);
    await Promise.all(fresh.map((letter) => this.#shelf.set(PREFIX + letter.id, letter)));
  }

  /** Sends what waits. It resolves when all was tried, whatever came of it. */
  send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  /** Sends nothing any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#left.abort();
  }

  #soon(ms: number): void {
    if (this.#left.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.send(), ms);
  }

  async #sendAll(): Promise<void> {
    clearTimeout(this.#timer);
    const now = this.#now();
    const over = Array.from(this.#letters.values()).filter(({ until }) => until < now);
    if (over.length > 0)
      this.#giveUp(
        over.map(({ id }) => id),
        "the window has passed",
      );
    let arrived = true;
    for (const batch of this.#batches()) arrived = (await this.#deliver(batch)) && arrived;
    this.#retryMs = arrived ? FIRST_RETRY_MS : Math.min(LAST_RETRY_MS, 2 * this.#retryMs);
    // Letters of a carrier that this visit has not wait for another visit.
    if (this.#batches().length > 0) this.#soon(arrived ? 0 : this.#retryMs * (0.5 + Math.random() / 2));
  }

  #batches(): Letter[][] {
    return Object.entries(this.#carriers).flatMap(([carrier, { most }]) => {
      const letters = Array.from(this.#letters.values()).filter(({ to }) => to === carrier);
      return Array.from({ length: Math.ceil(letters.length / most) }, (_, i) => letters.slice(i * most, (i + 1) * most));
    });
  }

  /** Whether what became of the letters is settled. */
  async #deliver(letters: readonly Letter[]): Promise<boolean> {
    const { url, init } = this.#carriers[letters[0].to].request(letters.map(({ item }) => item));
    const response = await fetch(url, init).catch(() => undefined);
    if (!response) return false;
    const ids = letters.map(({ id }) => id);
    if (response.ok) this.#forget(ids);
    else if (![400, 413, 422].includes(response.status)) return false;
    else if (letters.length === 1) this.#giveUp(ids, `${url} answered ${response.status}: ${await response.text().catch(() => "")}`);
    else {
      const each = await Promise.all(letters.map((letter) => this.#deliver([letter])));
      return each.every(Boolean);
    }
    return true;
  }

  /** What is sent now may not arrive: it stays, and the next visit sends it again. */
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
