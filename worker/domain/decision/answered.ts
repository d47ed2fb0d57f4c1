/** Most answers that are remembered, and for how long, in ms. */
const MOST = 500;
const KEPT_MS = 600_000;

/** Answers to requests that have an id, so that a repetition gets the same one. */
export class Answered<Answer> {
  readonly #answers = new Map<string, { readonly at: number; readonly answer: Answer }>();

  /** The answer that the same request got before, or else a new one. @param name of the request; without one it is always new. */
  once(name: string | undefined, now: number, make: () => Answer): Answer {
    if (name === undefined) return make();
    const known = this.find(name, now);
    if (known !== undefined) return known;
    const answer = make();
    this.remember(name, now, answer);
    return answer;
  }

  /** The answer that the same request got before. @param name of the request. */
  find(name: string, now: number): Answer | undefined {
    const known = this.#answers.get(name);
    return known && Math.abs(now - known.at) < KEPT_MS ? known.answer : undefined;
  }

  remember(name: string, now: number, answer: Answer): void {
    this.#answers.delete(name);
    this.#answers.set(name, { at: now, answer });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > MOST) this.#answers.delete(oldest);
  }
}
