// What the worker tells a dashboard, as far as the page reads it. Times and ages are milliseconds; `page.ts` holds it
// against the worker's own types, which need a runtime that a browser has not.

/** How an action was chosen: by the policy, as uniform control, or because nothing else was left. */
export type Arm = "policy" | "holdout" | "default";

export interface Bucket {
  /** ms since 1970. */
  readonly start: number;
  readonly arm: Arm;
  readonly impressions: number;
  readonly converted: number;
  /** Whether its books are closed: nothing changes any more. */
  readonly closed: boolean;
}

/** Counts of [fromMs, toMs); null: open-ended. */
export interface Bar {
  readonly fromMs: number;
  readonly toMs: number | null;
  readonly count: number;
}

export interface ArmMean {
  readonly impressions: number;
  readonly mean: number;
}

export interface Lift {
  readonly policy: ArmMean;
  readonly holdout: ArmMean;
  readonly difference: number;
  readonly interval: readonly [number, number];
  readonly relative: number | null;
}

/** Of the conversions that come at all: the share that has come after a delay, and its 95 % band. */
export interface DelayPoint {
  readonly delayMs: number;
  readonly probability: number;
  readonly low: number;
  readonly high: number;
  /** Chance that an impression of that age that has not converted still does. */
  readonly stillConverts: number;
}

export interface Delay {
  readonly impressions: number;
  readonly conversions: number;
  readonly rateSoFar: number;
  /** Once all have had their time. */
  readonly rate: number;
  readonly toCome: number;
  readonly window95Ms: number;
  readonly distribution: readonly DelayPoint[];
  /** Since a conversion arrived last: how many should have, and the chance that none did. */
  readonly silence: { readonly since: number; readonly expected: number; readonly chance: number; readonly alarm: boolean };
}

export type CountName =
  | "impressions"
  | "pending"
  | "converted"
  | "retracted"
  | "expired"
  | "applied"
  | "duplicate"
  | "late"
  | "conflict"
  | "orphan";

export interface Metrics {
  readonly model: string;
  readonly policy: string;
  readonly serving: string;
  /** The learner's clock. */
  readonly now: number;
  readonly windowMs: number;
  readonly counts: Readonly<Record<CountName, number>>;
  readonly snapshot: { readonly version: number; readonly ageMs: number } | null;
  readonly lagMs: number | null;
  readonly bucketMs: number;
  readonly buckets: readonly Bucket[];
  readonly pendingByAge: readonly Bar[];
  /** Null before the first conversion. */
  readonly delay: Delay | null;
  readonly delays: readonly Bar[];
  readonly lift: Lift | null;
  readonly recent: readonly Recent[];
}

export interface Recent {
  readonly impressionId: string;
  readonly action: string;
  readonly shownAt: number;
  readonly status: string;
}

export interface Candidate {
  readonly id: string;
  readonly mean: number;
  readonly width: number;
  readonly score: number;
}

export interface Conversion {
  readonly goal: string;
  /** Null: retracted. */
  readonly reward: number | null;
  readonly at: number;
  readonly status: string;
}

/** An impression: how it was decided, and what has become of it. */
export interface Explanation {
  readonly impressionId: string;
  readonly model: string;
  readonly status: string;
  readonly action: string;
  readonly arm: Arm;
  readonly shownAt: number;
  readonly windowEndsAt: number;
  readonly modelVersion: number;
  /** Null if it was decided elsewhere. */
  readonly decision: {
    readonly score: number;
    readonly mean: number;
    readonly width: number;
    /** Chance of this action at this place. */
    readonly probability?: number;
    /** From 0. */
    readonly place: number;
    readonly candidates: number | null;
    /** What each shadow policy would have shown first, by its name. */
    readonly shadows?: Readonly<Record<string, string>>;
  } | null;
  /** What the policy thinks now of every action of the catalogue in that context; null where it cannot say. */
  readonly candidates: readonly Candidate[] | null;
  readonly conversions: readonly Conversion[];
  readonly reward: number | null;
  readonly now: { readonly mean: number; readonly width: number } | null;
}

export interface ModelSummary {
  readonly model: string;
  readonly policy: string;
}
