// A log of decisions as a policy is evaluated on it, whatever its format.

import type { Goals, LoggedDecision } from "afterclick";
import type { EntriesOf, Families, LoggedList } from "afterclick/research";

/** A decision with the ids of its candidates. */
export type SourceDecision = LoggedDecision & {
  readonly ids: readonly string[];
  /** The action, among them or pinned. */
  readonly id: string;
  /** The index of an action. Undefined if it is no candidate. **Cost:** O(1). */
  indexOf(action: string): number | undefined;
  /** Set if the request gave the action its place. It is then no candidate, and its index is -1. */
  readonly pinned?: true;
  /** Bounds of families in its list. */
  readonly families?: Families;
};

/** The lists of a log, and the number of lists that lack an item. */
export interface SourceLists {
  readonly lists: EntriesOf<LoggedList>;
  /** Lists that were ranked at random, also by a minimum share: the places of their items tell how visitors examine places. */
  readonly random: EntriesOf<LoggedList>;
  readonly incomplete: number;
}

/** A log that a policy can be evaluated on. */
export interface Source {
  readonly decisions: EntriesOf<SourceDecision>;
  /** Absent for a format that does not say which impressions form a list. */
  readonly lists?: SourceLists;
  /** Numbers of unusable decisions, by reason. */
  readonly leftOut: ReadonlyMap<string, number>;
  /** Number of lines that stood in the log before, and count once. */
  readonly repeated: number;
  /** Features per candidate. */
  readonly dimension: number;
  readonly window: { readonly ms: number } | "none";
  /** Absent if the model declares none. */
  readonly goals?: Goals;
  /** Range of the reward of one conversion, before the weight of its goal. */
  readonly reward: { readonly min: number; readonly max: number };
  /** End of the log, in ms since 1970. */
  readonly end: number;
  /** The moment until which the log has all conversions. Earlier than its end if they are reported late. */
  readonly completeUntil: number;
  /** Share of conversions that have come by an age in ms. Absent if the log has to tell it. */
  maturity?(ageMs: number): number;
}

export interface SourceOptions {
  /** Later conversions are ignored. In ms since 1970; default: `completeUntil` of the log. */
  readonly asOf?: number;
  /** Whether lists are asked for. */
  readonly lists?: boolean;
  /** Called now and then in the first reading, which checks the log, and in the second one. */
  checked?(done: number, all: number): void;
  progress(done: number, all: number): void;
}

/** An unusable log. The message says why. */
export class SourceError extends Error {
  override readonly name = "SourceError";
}
