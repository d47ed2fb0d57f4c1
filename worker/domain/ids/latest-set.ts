/** A set that holds the latest members, at most so many: a further one makes it forget the oldest. */
export class LatestSet<T> extends Set<T> {
  readonly #most: number;

  constructor(most: number) {
    super();
    this.#most = most;
  }

  override add(member: T): this {
    super.add(member);
    const [oldest] = this;
    if (this.size > this.#most) this.delete(oldest);
    return this;
  }
}
