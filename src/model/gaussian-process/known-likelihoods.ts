/** A likelihood, and of how many rewards. */
interface Known {
  readonly likelihood: number;
  readonly rewards: number;
}

/** So that rounding in two sums of logarithms cannot make a bound of what is none. */
const SLACK = 1e-9;

/**
 * Log likelihoods of a process under kernels that were tried before, and what they say of it with more rewards: no reward's
 * density given others exceeds that of the noise at its centre, so each adds -1/2 log(2 pi noise) at most.
 *
 * It holds while rewards are only added. Kernels that one search after another does not come by are forgotten.
 */
export class KnownLikelihoods {
  readonly #most: number;
  #known = new Map<string, Known>();
  #before = new Map<string, Known>();

  /** `most`: the log density of a reward at the noise's centre. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Begins a search: what the one before did not come by is forgotten. */
  begin(): void {
    this.#before = this.#known;
    this.#known = new Map();
  }

  /** A reward that had been counted has changed. */
  clear(): void {
    this.#known.clear();
    this.#before.clear();
  }

  /** The log likelihood of `rewards` rewards under the kernel that `key` names, or -Infinity if it surely does not exceed `toBeat`. */
  exceeding(toBeat: number, key: string, rewards: number, likelihood: () => number): number {
    const known = this.#known.get(key) ?? this.#before.get(key);
    if (known) {
      if (known.rewards === rewards) return known.likelihood;
      const bound = known.likelihood + (rewards - known.rewards) * this.#most;
      this.#known.set(key, known);
      if (bound + SLACK * (Math.abs(bound) + rewards) < toBeat) return Number.NEGATIVE_INFINITY;
    }
    const found = likelihood();
    this.#known.set(key, { likelihood: found, rewards });
    return found;
  }
}
