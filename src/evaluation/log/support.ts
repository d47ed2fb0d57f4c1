// Which candidates of a decision its log could have taken.

import type { LoggedDecision } from "./log.ts";

/** Probabilities this close to 1 leave nothing for other candidates. */
const CERTAIN = 1 - 1e-9;
/** A candidate that would be taken as often as this on average is hardly missing by chance: with a probability of 0.7 %. Sums are rounded. */
const EXPECTED = 5 - 1e-9;
/** Arrays of ids whose shares are added up before their candidates get them. */
const MOST_ARRAYS = 1000;

/**
 * Candidates that a log could not have taken, or seems never to take.
 *
 * A log states only the probability of the chosen candidate. If that is 1, all others had none. Otherwise the others are taken to have equal
 * parts of the rest. A candidate that no decision of the log chose counts as one without any probability, if the decisions that could have
 * chosen it would have done so five times on average.
 *
 * **Cost:** O(k) for each array of ids, however many decisions have it.
 */
export class LoggedSupport {
  /** How often each candidate that was never taken would have been taken. */
  readonly #expected = new Map<string | number, number>();

  constructor(log: Iterable<LoggedDecision>) {
    const taken = new Set<string | number>();
    for (const decision of log) taken.add(nameOf(decision, decision.index));
    const shares = new Map<LoggedDecision["ids"] | number, number>();
    const add = (): void => {
      for (const [ids, share] of shares) {
        const [names, count] = typeof ids === "object" ? [ids, ids.length] : [undefined, ids as number];
        for (let candidate = 0; candidate < count; candidate++) {
          const name = names?.[candidate] ?? candidate;
          if (!taken.has(name)) this.#expected.set(name, (this.#expected.get(name) ?? 0) + share);
        }
      }
      shares.clear();
    };
    for (const { ids, count, probability } of log) {
      if (count > 1) shares.set(ids ?? count, (shares.get(ids ?? count) ?? 0) + (1 - probability) / (count - 1));
      if (shares.size >= MOST_ARRAYS) add();
    }
    add();
  }

  /** Whether the decision of the log could not have been this candidate. */
  lacks(decision: LoggedDecision, candidate: number): boolean {
    if (candidate === decision.index) return false;
    return isCertain(decision.probability) || (this.#expected.get(nameOf(decision, candidate)) ?? 0) >= EXPECTED;
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
