import type { LoggedDecision } from "./log.ts";

/** Probabilities this close to 1 leave nothing for other candidates. */
const CERTAIN = 1 - 1e-9;
/** A candidate that was to be taken as often as this on average is hardly missing by chance: with a probability of 0.7 %. */
const EXPECTED = 5;

/**
 * Candidates that a log could not have taken, or seems never to take.
 *
 * A log states only the probability of the chosen candidate. If that is 1, all others had none. Otherwise a candidate that no decision
 * of the log chose counts as one without any probability, if an average candidate would have been chosen five times.
 */
export class LoggedSupport {
  readonly #taken = new Set<string | number>();
  readonly #expected: number;

  constructor(log: readonly LoggedDecision[]) {
    let expected = 0;
    for (const decision of log) {
      this.#taken.add(nameOf(decision, decision.index));
      if (decision.count > 1) expected += (1 - decision.probability) / (decision.count - 1);
    }
    this.#expected = expected;
  }

  /** Whether the decision of the log could not have been this candidate. */
  lacks(decision: LoggedDecision, candidate: number): boolean {
    if (candidate === decision.index) return false;
    return isCertain(decision.probability) || (this.#expected >= EXPECTED && !this.#taken.has(nameOf(decision, candidate)));
  }
}

/** Whether the shown item was certain, so that no other one could have been at its place. */
export function isCertain(probability: number): boolean {
  return probability >= CERTAIN;
}

/** Mean ratio of the policy's probability and the logged one over the candidates that were not chosen. `spent`: the policy's for others. */
export function otherRatio(probability: number, spent: number): number {
  return isCertain(probability) ? 0 : Math.max(0, 1 - spent) / (1 - probability);
}

function nameOf({ ids }: LoggedDecision, candidate: number): string | number {
  return ids?.[candidate] ?? candidate;
}
