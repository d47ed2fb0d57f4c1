import type { LoggedDecision } from "afterclick";

/** A log that a policy can be evaluated on. */
export interface Source {
  readonly decisions: readonly (LoggedDecision & { readonly ids: readonly string[] })[];
  /** Decisions that cannot be used, by why. */
  readonly leftOut: ReadonlyMap<string, number>;
  /** Features per candidate. */
  readonly dimension: number;
  readonly window: { readonly ms: number } | "none";
  readonly reward: { readonly min: number; readonly max: number };
  /** When the log ends, in ms since 1970. */
  readonly end: number;
}

export interface SourceOptions {
  /** What came later is not known, in ms since 1970; by default the end of the log. */
  readonly asOf?: number;
  progress(done: number, all: number): void;
}

/** A file that is not what it should be; the message says how. */
export class SourceError extends Error {
  override readonly name = "SourceError";
}
