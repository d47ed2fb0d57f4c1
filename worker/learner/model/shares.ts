const MINUTE_MS = 60_000;
/** In a minute one asker may use this part of the room that a limit has left, so no single one ever uses it up. */
const PART = 1 / 10;
/** Most askers that are counted. Memory stays bounded, however many there are. */
const MOST_ASKERS = 10_000;

/** The limits that pages share: reports, impressions, and what waits for an impression to be shown or registered. */
export type SharedLimit = "reports" | "impressions" | "waiting";

/** Counts what each asker uses of the limits in this minute, in memory alone. A restart begins anew. */
export class Shares {
  readonly #onOver: () => void;
  readonly #used = new Map<string, number>();
  readonly #over = new Set<string>();
  #minute = 0;

  /** @param onOver hears of each asker and limit once a minute. */
  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  /** Whether an asker may use so much of the room that is left. Callers without an address share all of it. */
  fits(limit: SharedLimit, asker: string | undefined, count: number, room: number): boolean {
    if (asker === undefined || count > room) return count <= room;
    const name = `${limit} ${asker}`;
    const minute = Math.floor(Date.now() / MINUTE_MS);
    if (minute !== this.#minute || this.#used.size >= MOST_ASKERS) {
      this.#minute = minute;
      this.#used.clear();
      this.#over.clear();
    }
    const used = this.#used.get(name) ?? 0;
    if (used + count <= Math.ceil((room + used) * PART)) return true;
    if (!this.#over.has(name)) this.#onOver();
    this.#over.add(name);
    return false;
  }

  use(limit: SharedLimit, asker: string | undefined, count: number): void {
    if (asker !== undefined) this.#used.set(`${limit} ${asker}`, (this.#used.get(`${limit} ${asker}`) ?? 0) + count);
  }
}
