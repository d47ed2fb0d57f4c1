/** States at versions that later events need. */
export class KeptStates<State> {
  readonly #last: ReadonlyMap<number, number>;
  /** The versions in order, and the place of the next one. */
  readonly #due: readonly number[];
  #next = 0;
  readonly #kept = new Map<number, State>();

  /** @param last the versions, each with the place of the last line that needs it. */
  constructor(last: ReadonlyMap<number, number>) {
    this.#last = last;
    this.#due = Array.from(last.keys()).sort((a, b) => a - b);
  }

  /**
   * Keeps the present state if the next event is the first after a needed version. Drops the states that no later line needs.
   * @param next number of the next event. @param place of its line. @param state undefined before the first.
   */
  keep(next: number, place: number, state: () => State | undefined): void {
    for (; this.#due[this.#next] < next; this.#next++) {
      const present = state();
      if (present) this.#kept.set(this.#due[this.#next], present);
    }
    for (const version of this.#kept.keys()) {
      if ((this.#last.get(version) as number) < place) this.#kept.delete(version);
    }
  }

  get(version: number): State | undefined {
    return this.#kept.get(version);
  }
}
