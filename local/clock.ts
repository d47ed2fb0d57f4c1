/** The device's time, in ms since 1970: it never goes back, and follows a server's where one was asked. */
export class Clock {
  #latest = 0;
  #ahead = 0;

  /** @param latest a time that has passed already, as an earlier visit knows. */
  passed(latest: number): void {
    this.#latest = Math.max(this.#latest, latest);
  }

  /** Takes a server's time, which is right even if it lies before what this clock has shown. */
  correct(serverNow: number): void {
    this.#ahead = serverNow - Date.now();
    this.#latest = serverNow;
  }

  now(): number {
    this.passed(Date.now() + this.#ahead);
    return this.#latest;
  }
}
