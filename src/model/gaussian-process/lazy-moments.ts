import { type Core, type GaussianProcessHandle, GROUP } from "../../core/core.ts";

/**
 * Moments of the candidates that a process watches, brought up to date a group at a time, and how far those of the others can have
 * moved since.
 *
 * A row that is added takes v^2 from a variance and adds v z to a mean, z being the same for all candidates. So the means of a
 * group with deviation s have moved by s sqrt(sum z^2) at most, over the rows that it does not know.
 */
export class LazyMoments {
  /** Of all candidates, each as it was when its group was brought up to date last. */
  readonly mean: Float64Array;
  readonly deviation: Float64Array;
  readonly groups: number;
  readonly #core: Core;
  readonly #handle: GaussianProcessHandle;
  /** How many rows a group knows, or -1 if it knows nothing that holds. */
  readonly #rows: Int32Array;
  /** The first row that has changed since `moved` was asked for. */
  #changed = Number.POSITIVE_INFINITY;

  constructor(core: Core, handle: GaussianProcessHandle, count: number) {
    this.#core = core;
    this.#handle = handle;
    this.mean = new Float64Array(count);
    this.deviation = new Float64Array(count);
    this.groups = Math.ceil(count / GROUP);
    this.#rows = new Int32Array(this.groups).fill(-1);
  }

  /** Says that a row has changed, and with it what derives from those after it. */
  changed(row: number): void {
    this.#changed = Math.min(this.#changed, row);
  }

  /** For each group the greatest change of a mean over its deviation; infinite where the change is not bounded. */
  moved(): Float64Array {
    const whitened = this.#core.gpWhitened(this.#handle);
    const squares = new Float64Array(whitened.length + 1);
    for (let i = whitened.length - 1; i >= 0; i--) squares[i] = squares[i + 1] + whitened[i] * whitened[i];
    const moved = new Float64Array(this.groups).fill(Number.POSITIVE_INFINITY);
    for (let group = 0; group < this.groups; group++) {
      if (this.#rows[group] > this.#changed) this.#rows[group] = -1;
      if (this.#rows[group] >= 0) moved[group] = Math.sqrt(squares[this.#rows[group]]);
    }
    this.#changed = Number.POSITIVE_INFINITY;
    return moved;
  }

  /** Brings a group up to date. **Cost:** for every row that is new to it O(n). */
  bring(group: number): void {
    const [start, end] = [group * GROUP, (group + 1) * GROUP];
    if (this.knows(start)) return;
    const deviation = this.deviation.subarray(start, end);
    this.#core.gpScoreGroup(this.#handle, start, this.mean.subarray(start, end), deviation);
    for (let i = 0; i < deviation.length; i++) deviation[i] = Math.sqrt(deviation[i]);
    this.#rows[group] = this.#core.gpSize(this.#handle);
  }

  /** Whether the candidate at a place is up to date. */
  knows(place: number): boolean {
    const rows = this.#rows[Math.floor(place / GROUP)];
    return rows === this.#core.gpSize(this.#handle) && this.#changed >= rows;
  }
}
