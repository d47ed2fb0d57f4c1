/** The time in ms since 1970, from the device's clock, corrected by a server's time. It never decreases, except by a correction. */
export class Clock {
  #latest = 0;
  #ahead = 0;

  /** @param latest a time in the past, such as the time of an earlier visit. */
  passed(latest: number): void {
    this.#latest = Math.max(this.#latest, latest);
  }

  /** Follows a server's time from now on, even if it is earlier than the last `now()`. */
  correct(serverNow: number): void {
    this.#ahead = serverNow - Date.now();
    this.#latest = serverNow;
  }

  now(): number {
    this.passed(Date.now() + this.#ahead);
    return this.#latest;
  }
}
