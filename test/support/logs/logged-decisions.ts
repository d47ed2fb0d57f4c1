import { type Evaluation, evaluate, type LoggedDecision } from "afterclick";
import { type Estimate, type EvaluationRequest, type Figure, isTooFew } from "afterclick/research";
import type { Stream } from "../../../src/simulation/stream.ts";

// A world of three actions with known conversion rates. A policy with fixed probabilities wrote the log.

export const K = 3;
export const RATES = [0.1, 0.3, 0.6];
export const LOGGED = [0.6, 0.3, 0.1];
export const oneHot = (action: number): number[] => RATES.map((_, a) => Number(a === action));
export const points = Float64Array.from(RATES.flatMap((_, action) => oneHot(action)));

/** Decisions one millisecond apart, with delayed conversions. */
export function drawn(n: number, random: Stream, delay: () => number = () => 0): LoggedDecision[] {
  return Array.from({ length: n }, (_, shownAt) => {
    const lot = random();
    const index = lot < 0.6 ? 0 : lot < 0.9 ? 1 : 2;
    const conversions = random() < RATES[index] ? [{ at: shownAt + delay(), reward: 1 }] : [];
    return { shownAt, count: K, points, index, probability: LOGGED[index], conversions };
  });
}

/** Evaluates the policy that always takes the best action, with a window of one second. */
export function evaluated(log: readonly LoggedDecision[], more: Partial<EvaluationRequest> = {}): Promise<Evaluation> {
  return evaluate({ log, policy: () => oneHot(2), asOf: log.length, window: { ms: 1000 }, ...more });
}

/** An estimate that was stated. @throws if it needs more data. */
export function estimateIn(figure: Figure): Estimate {
  if (isTooFew(figure)) throw new Error(`expected an estimate, got too few: ${figure.tooFew.more} more ${figure.tooFew.of}`);
  return figure;
}
