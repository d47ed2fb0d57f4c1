// The shapes that both models of a page take and return.

import type { Action, Features, Recommendation } from "afterclick";

export interface LocalRequest {
  readonly context?: Features;
  /** Default: the whole catalogue of the model. An `OwnModel` has none, so it needs them. Those with `available: false` are left out. */
  readonly actions?: readonly Action[];
  /** Length of the ranked list, default 1. */
  readonly limit?: number;
}

export interface LocalRecommendation extends Recommendation {
  /** Grows as the model learns. */
  readonly modelVersion: number;
  /** Present if the page cannot read the policy: the actions are in the catalogue's order, or in that of the request. */
  readonly arm?: "catalogue";
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
