import type { Core } from "../../core/core.ts";

/**
 * Lengths of the rounds of batch pure exploration: t_r = ceil(q_r + u) with q_0 = 1 and q_r = ceil(sqrt(T q_{r-1})).
 *
 * The horizon T cuts the round it falls into. Queries beyond the horizon continue in full rounds of the same recursion.
 * **Source:** Vakili et al. 2023, Alg. 1.
 */
export class RoundSchedule {
  readonly #horizon: number;
  /** u: rounds to wait for feedback. */
  readonly #wait: number;
  readonly #lengths: number[] = [];
  #exploration = 1;
  #end = 0;

  constructor(horizon: number, wait: number) {
    this.#horizon = horizon;
    this.#wait = wait;
  }

  /** The number of queries in round `number` = 1, 2, ... */
  length(number: number): number {
    while (this.#lengths.length < number) {
      // The recursion ends at T: beyond the horizon all further rounds have this length.
      if (this.#exploration === this.#horizon && this.#end >= this.#horizon) return Math.ceil(this.#horizon + this.#wait);
      this.#exploration = Math.ceil(Math.sqrt(this.#horizon * this.#exploration));
      const full = Math.ceil(this.#exploration + this.#wait);
      const left = this.#horizon - this.#end;
      const length = left > 0 && left < full ? left : full;
      this.#lengths.push(length);
      this.#end += length;
    }
    return this.#lengths[number - 1];
  }
}

/** A model of a delay: its mean in rounds, its sub-exponential parameters, and the probability delta that a bound fails. */
export interface DelayModel {
  readonly horizon: number;
  readonly expectedDelay: number;
  readonly xi: number;
  readonly b: number;
  readonly delta: number;
}

/**
 * u = E[tau] + psi_T(delta / 2), or 0 without delay. Feedback takes longer than u rounds with probability at most delta / 2.
 * **Source:** Vakili et al. 2023, eq. 5.
 */
export function delayBound(core: Core, { horizon, expectedDelay, xi, b, delta }: DelayModel): number {
  if (expectedDelay === 0) return 0;
  const log = core.log((3 * horizon) / delta);
  return expectedDelay + Math.min(Math.sqrt(2 * xi * xi * log), 2 * b * log);
}
