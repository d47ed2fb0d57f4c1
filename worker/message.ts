import type { Decision, RowStatus } from "./learner-store.ts";
import type { LedgerStatus } from "./ledger.ts";
import type { ModelConfig } from "./model.ts";
import type { ProblemStatus } from "./problem.ts";
import type { Action, Features } from "./schema.ts";
import type { Impression } from "./token.ts";

// What the app and a learner say to each other. Times are milliseconds since 1970.

/** Errors do not survive a remote call with their fields: a refusal is a value. */
export type Answer<T> = { readonly value: T } | { readonly problem: { readonly status: ProblemStatus; readonly detail: string } };

export interface Description extends ModelConfig {
  readonly model: string;
  readonly counts: {
    /** All that were ever shown: pending, converted and expired together. */
    readonly impressions: number;
    readonly pending: number;
    readonly converted: number;
    readonly expired: number;
    /** Distinct events, by what became of them. */
    readonly applied: number;
    readonly conflict: number;
    readonly late: number;
    /** Whose impression has not been registered yet. */
    readonly orphan: number;
    /** Repeated deliveries. */
    readonly duplicate: number;
  };
  /** Size of the catalogue. */
  readonly actions: number;
  readonly digest: string;
  readonly modelVersion: number;
  /** Share of impressions that converted, among those whose window has passed; null while there are none. */
  readonly conversionRate: number | null;
}

export interface Recommended extends Pick<Impression, "id" | "action" | "probability"> {
  readonly score: number;
  readonly mean: number;
  readonly width: number;
  /** The point, if the policy chose in its own domain. */
  readonly features?: readonly number[];
}

export interface Recommendation {
  readonly modelVersion: number;
  readonly policy: string;
  readonly windowEndsAt: number;
  /** Best first. */
  readonly actions: readonly Recommended[];
}

/** An impression decided elsewhere. */
export interface Shown {
  /** UUIDv7 of the time it was shown. */
  readonly id: string;
  /** Names the registration, so that its repetition is known. */
  readonly key: string | null;
  /** Without features, one of the catalogue. */
  readonly action: Action;
  readonly context?: Features;
}

export interface Registered extends Omit<Impression, "model"> {
  readonly status: "registered" | "duplicate";
}

export interface Intake {
  readonly status: LedgerStatus | "unknown" | "refused";
  readonly detail?: string;
}

export interface Explanation {
  readonly model: string;
  readonly status: "pending" | "converted" | "expired";
  readonly action: string;
  readonly shownAt: number;
  readonly windowEndsAt: number;
  readonly modelVersion: number;
  readonly decision: Decision | null;
  readonly conversions: readonly { readonly goal: string; readonly reward: number; readonly at: number; readonly status: RowStatus }[];
  /** Of all its conversions that count; null until one does. */
  readonly reward: number | null;
  /** What the policy thinks of it now; null in a domain of its own. */
  readonly now: { readonly mean: number; readonly width: number } | null;
}

export interface Estimate {
  readonly id: string;
  readonly mean: number;
  readonly width: number;
}
