import type { ModelConfig } from "../domain/model.ts";
import type { Impression } from "../domain/token.ts";
import type { ConversionEvent, KeyedEvent } from "../kv/event-journal.ts";
import type { LedgerStatus } from "../learner/ledger.ts";
import type { Arm } from "../learner/metrics.ts";
import type { RowStatus } from "../learner/store/conversion-store.ts";
import type { Decision, ImpressionRow, ImpressionState } from "../learner/store/impression-store.ts";
import type { CounterName } from "../learner/store/learner-store.ts";
import type { ProblemStatus } from "../protocol/problem.ts";
import type { Action, Features, RecommendationsBody } from "../protocol/schema.ts";

// What the app and a learner say to each other. Times are milliseconds since 1970.

/** Errors do not survive a remote call with their fields: a refusal is a value. */
export type Answer<T> = { readonly value: T } | { readonly problem: { readonly status: ProblemStatus; readonly detail: string } };

export interface Description extends ModelConfig {
  readonly model: string;
  readonly counts: {
    /** All that were ever shown: pending, converted, retracted and expired together. */
    readonly impressions: number;
    readonly pending: number;
    readonly converted: number;
    /** Whose every conversion was taken back. */
    readonly retracted: number;
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
  /** What should not happen: conversions that closing has missed; impressions over a limit or of another model; those and snapshots that isolates gave up. */
  readonly incidents: Readonly<Record<Extract<CounterName, "missed" | "refused" | "dropped" | "keptOut">, number>>;
  /** Size of the catalogue. */
  readonly actions: number;
  /** Of everything stored. */
  readonly bytes: number;
  readonly digest: string;
  readonly modelVersion: number;
  /** The snapshot that isolates serve by; null before the first. */
  readonly published: { readonly version: number; readonly at: number } | null;
  /** Versions that a rollback can go to, newest first. */
  readonly kept: readonly number[];
  /** Share of impressions that converted, among those whose window has passed; null while there are none. */
  readonly conversionRate: number | null;
}

export interface RecommendRequest extends RecommendationsBody {
  /** Hashes. */
  readonly keys: string[];
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
  readonly arm: Arm;
  readonly windowEndsAt: number;
  /** Best first. */
  readonly actions: readonly Recommended[];
}

/** What an isolate has shown since it registered last. */
export interface Registration {
  /** A decision each, and the generation of the model that it was made by. */
  readonly batch: readonly { readonly generation: number; readonly rows: readonly ImpressionRow[]; readonly deferred: boolean }[];
  /** Impressions that it gave up, and snapshots that it did not take. */
  readonly dropped: number;
  readonly keptOut: number;
}

/** An impression decided elsewhere. */
export interface Shown {
  /** UUIDv7 of the time it was shown. */
  readonly id: string;
  /** Names the registration, so that its repetition is known. */
  readonly name: string | null;
  /** Without features, one of the catalogue. */
  readonly action: Action;
  readonly context?: Features;
  /** The vector itself, as a log has it. */
  readonly features?: readonly number[];
  readonly probability?: number;
  /** Hashes. */
  readonly keys: readonly string[];
}

export interface Registered extends Omit<Impression, "model"> {
  readonly status: "registered" | "duplicate";
}

export interface Intake {
  readonly status: LedgerStatus | "unknown" | "refused";
  readonly detail?: string;
}

/** What a past log says was shown. */
export interface PastImpression extends Shown {
  readonly type: "impression";
  readonly arm: Arm;
  readonly state: ImpressionState;
}

/** What a past log says came for it, and what became of that. */
export interface PastConversion {
  readonly type: "conversion";
  readonly event: ConversionEvent & Partial<Pick<KeyedEvent, "key" | "action">>;
  readonly status: RowStatus;
}

/** With its number in the log, from 1. */
export type PastLine = (PastImpression | PastConversion) & { readonly line: number };

export interface Imported {
  readonly impressions: number;
  readonly repeated: number;
  /** By status. */
  readonly conversions: Readonly<Record<string, number>>;
}

/** Which log it is, and from when on it is whole. */
export interface LogHead {
  readonly model: string;
  readonly generation: number;
  /** Nothing is kept of what was shown before it. */
  readonly horizon: number;
  readonly modelVersion: number;
  readonly config: ModelConfig;
  /** The line after which it goes on: 0 if it is whole. */
  readonly after: number;
  /** How many lines follow. */
  readonly lines: number;
  readonly exportedAt: number;
  /** Of what has been learnt up to the model's version. */
  readonly digest: string;
}

export interface Rollback {
  readonly restored: number;
  readonly modelVersion: number;
  /** Versions that were kept before. */
  readonly kept: readonly number[];
}

export interface Explanation {
  readonly model: string;
  readonly status: "pending" | "converted" | "retracted" | "expired" | "deferred" | "rolled-back";
  readonly action: string;
  readonly arm: Arm;
  readonly shownAt: number;
  readonly windowEndsAt: number;
  readonly modelVersion: number;
  readonly decision: Decision | null;
  readonly context: Features | null;
  readonly conversions: readonly {
    readonly goal: string;
    /** Null: retracted. */
    readonly reward: number | null;
    readonly at: number;
    readonly status: RowStatus;
  }[];
  /** Of all its conversions that count; null until one does. */
  readonly reward: number | null;
  /** What the policy thinks of it now; null in a domain of its own. */
  readonly now: { readonly mean: number; readonly width: number } | null;
  /** What the policy thinks now of every action of the catalogue in that context, best first. */
  readonly candidates: readonly (Estimate & { readonly score: number })[] | null;
}

export interface Estimate {
  readonly id: string;
  readonly mean: number;
  readonly width: number;
}
