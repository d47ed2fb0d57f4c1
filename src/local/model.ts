// The shapes that both models of a page take and return.

import type { Choice, Policy } from "afterclick";
import type { Action, Features } from "../publication/featurizer.ts";

export interface LocalRequest {
  readonly context?: Features;
  /** Default: the whole catalogue of the model. An `OwnModel` has none, so it needs them. Those with `available: false` are left out. */
  readonly actions?: readonly Action[];
  /** Length of the ranked list, default 1. */
  readonly limit?: number;
}

/** A shown action, which is an impression of its own. */
export interface LocalAction {
  readonly impressionId: string;
  readonly id: string;
  /** The number by which it was ranked. It is no reward, and may be outside their range. */
  readonly score: number;
  /** The expected reward, inside the range of rewards. */
  readonly mean: number;
  readonly width: number;
  readonly probability?: number;
}

export interface LocalRecommendation {
  /** Grows as the model learns. */
  readonly modelVersion: number;
  readonly policy: string;
  /** Present if the page cannot read the policy: the actions are in the catalogue's order, or in that of the request. */
  readonly arm?: "catalogue";
  /** Milliseconds since 1970. Infinity without a window in ms. */
  readonly windowEndsAt: number;
  /** Best first. */
  readonly actions: readonly LocalAction[];
}

export interface LocalConversion {
  readonly impressionId: string;
  /** Default "conversion". */
  readonly goal?: string;
  /** Default 1. With a `PublishedModel`, the shop's server decides on the final reward. */
  readonly reward?: number;
  /** Time of the conversion, in ms since 1970. Default: now. */
  readonly at?: number;
}

/**
 * A model in a page, whichever it is. `await` every answer: a `PublishedModel` gives it at once, an `OwnModel` in its turn among tabs.
 */
export interface LocalModel {
  recommend(request: LocalRequest): LocalRecommendation | Promise<LocalRecommendation>;
  convert(conversion: LocalConversion): { readonly status: string } | Promise<{ readonly status: string }>;
  forget(): Promise<void>;
}

export function isAvailable({ available }: Action): boolean {
  return available !== false;
}

/** The error of a request without an action that can be shown. @param isKnown whether there are actions that are not available. */
export function nothingOffered(isKnown: boolean): RangeError {
  return new RangeError(`actions: expected at least one, as ${isKnown ? "none is available" : "there is no catalogue"}`);
}

export function shownAction(choice: Choice, policy: Policy | undefined, impressionId: string, id: string): LocalAction {
  const { score, mean, width, probability = policy?.deterministic ? 1 : undefined } = choice;
  return { impressionId, id, score, mean: policy ? policy.stated(mean) : mean, width, ...(probability !== undefined && { probability }) };
}
