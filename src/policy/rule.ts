import { wrongType } from "../argument.ts";
import type { Core } from "../core/core.ts";
import type { Moment, Window } from "../model/delay/window.ts";
import type { Domain } from "../model/domain.ts";
import type { AppendedImpression, Moments, ReportedDelay } from "../model/posterior.ts";
import type { SampleRequest, Scores } from "../model/ranking.ts";
import type { SnapshotReader, SnapshotWriter } from "../snapshot.ts";

// What an algorithm is: how it scores candidates, and what an impression and a reward change. Everything that all algorithms
// share stands once, in policy.ts.

/** What a rule is told when it chooses. */
export interface ScoreRequest extends SampleRequest, Moment {
  /** t: one more than the impressions appended so far. */
  readonly trial: number;
}

/** What a rule is told that chooses in its own domain. */
export type ProposeRequest = Omit<ScoreRequest, "points" | "count" | "draws">;

/** A point of a rule's own domain. */
export interface Proposal {
  readonly index: number;
  readonly features: Float64Array;
  readonly score: number;
  readonly mean: number;
  readonly width: number;
}

/** What a rule has learnt. */
export interface State {
  /** Counts an impression. Returns its slot, a number that comes back with its rewards: a row, a round, a ball. */
  append(features: Float64Array, moment: Moment): number;
  /**
   * An impression's reward is now `reward`; it was `previous`, or undefined while pending. Without `delay`, its first conversion
   * comes when the latest impression was made.
   */
  observe(impression: AppendedImpression, reward: number, previous: number | undefined, delay?: ReportedDelay): void;
  /** Absent for a rule without a posterior. */
  predict?(points: Float64Array): Moments;
  /** Derives from the sums, in an order of their own, all that is derived from them. Absent where nothing is. */
  refactor?(): void;
  save(writer: SnapshotWriter): void;
  load(reader: SnapshotReader): void;
  /** The learnt sums, in an order that does not depend on the order of arrival. */
  statistics(): Float64Array;
}

/** An algorithm, running. */
export interface Rule {
  /** Features per candidate; 0 for a rule that looks at none. */
  readonly dimension: number;
  /** Whether its state is independent of the order in which conversions come. */
  readonly orderInvariant: boolean;
  /** Whether its choice is the same whatever the decision draws. */
  readonly deterministic: boolean;
  /** In rounds a conversion e rounds after its impression counts iff e + delayOffset <= m. */
  readonly delayOffset: 0 | 1;
  readonly state: State;
  /** The fixed set of points that it scores instead of candidates. */
  readonly domain?: Domain | null;
  /** Throws if an impression's features are none that the rule can count; absent if it counts any. */
  check?(features: Float64Array): void;
  /** Scores candidates. Changes nothing. Absent for a rule that proposes. */
  score?(request: ScoreRequest): Scores;
  /** Chooses in its own domain. Changes nothing. Absent for a rule that scores. */
  propose?(request: ProposeRequest): Proposal;
}

export interface PolicyContext {
  readonly core: Core;
  readonly window: Window;
  /** Safe integer from which every random draw derives. */
  readonly seed: number;
}

/** A policy with its options: a plain value, nothing runs behind it. */
export interface PolicyDescriptor {
  readonly id: string;
  readonly stateVersion: number;
  readonly sequential?: string;
  /** All options with their defaults filled in; survives JSON. */
  readonly options: object;
  start(context: PolicyContext): Rule;
}

/** Makes descriptors of one policy. */
export interface PolicyFactory<Options = never> {
  (...options: undefined extends Options ? [options?: Options] : [options: Options]): PolicyDescriptor;
  readonly id: string;
  /** Why it cannot decide twice without counting its first choice in between, if that is so. */
  readonly sequential?: string;
}

/** Makes the factory of a policy: `parse` checks options and fills in defaults, `start` brings the rule to life. */
export function definePolicy<Options, Parsed extends object>(definition: {
  readonly id: string;
  readonly stateVersion: number;
  readonly sequential?: string;
  parse(options: Options): Parsed;
  start(context: PolicyContext, options: Parsed): Rule;
}): PolicyFactory<Options> {
  const { id, stateVersion, sequential } = definition;
  const factory = (options?: Options): PolicyDescriptor => {
    if (options !== undefined && (options === null || typeof options !== "object")) throw wrongType("options", "an object", options);
    const parsed = definition.parse((options ?? {}) as Options);
    return { id, stateVersion, sequential, options: parsed, start: (context) => definition.start(context, parsed) };
  };
  return Object.assign(factory, { id, sequential });
}
