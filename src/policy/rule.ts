// The contract of an algorithm: how it scores candidates, and how impressions and rewards change its state. A policy implements it with the
// posteriors of `src/model`, and knows no core and no ledger. The parts that all algorithms share are in chooser.ts (decisions) and policy.ts
// (learning).

import type { Core } from "../core/core.ts";
import type { CandidateRows, Ranked, SampleRequest } from "../model/candidates.ts";
import type { Moment, Window } from "../model/delay/window.ts";
import type { Domain } from "../model/domain.ts";
import type { GoalChange, LearntGoal } from "../model/goals/goal.ts";
import type { Factor } from "../model/goals/goal-ridges.ts";
import type { Interval } from "../model/linear/interval.ts";
import type { RateChange } from "../model/linear/rate-changes.ts";
import type { AppendedImpression, Moments, ReportedDelay } from "../model/posterior.ts";
import type { Scores } from "../model/ranking.ts";
import { wrongType } from "../values/argument.ts";
import type { SnapshotReader, SnapshotWriter } from "../values/snapshot.ts";

/** Request to a rule that scores candidates. */
export interface ScoreRequest extends SampleRequest, Moment {
  /** t: one more than the impressions appended so far. */
  readonly trial: number;
  /** Ids of the candidates, by default their indices. k entries. */
  readonly ids: readonly string[];
}

/** Request to a rule that chooses in its own domain. */
type ProposeRequest = Omit<ScoreRequest, keyof CandidateRows | "ids" | "draws" | "limit" | "families">;

/** A point of a rule's own domain. */
interface Proposal {
  readonly index: number;
  readonly features: Float64Array;
  readonly score: number;
  readonly mean: number;
  readonly width: number;
}

/** The learnt state of a rule. */
export interface State {
  /**
   * Counts an impression. Returns its slot (the number of a row, a round, a ball), which comes back with its rewards. `examination`: the
   * probability in (0, 1] that the visitor examined it. `action`: the id of what was shown, if the caller knows it.
   */
  append(features: Float64Array, shown: Moment & { readonly action?: string }, examination: number): number;
  /**
   * Sets an impression's reward. `previous`: its reward until now, undefined while pending. Without `delay`, the first conversion
   * counts as made at the time of the latest impression. `goals`: the same by goals, if the state has `factors`.
   */
  observe(impression: AppendedImpression, reward: number, previous: number | undefined, delay?: ReportedDelay, goals?: GoalChange): void;
  /**
   * Replaces what is known from before: k products by their features in no context (k x d, row-major) and ids, their conversions, and the
   * impressions that brought them, or shares of these. It fades as own evidence comes. Absent if the state takes no prior.
   */
  prior?(points: Float64Array, sales: Float64Array, views: Float64Array, ids: readonly string[]): void;
  /** See `Policy.regroup`. Absent if blocks of features do not matter. */
  regroup?(blocks: readonly number[]): void;
  /** Absent for a rule without a posterior. */
  predict?(points: Float64Array): Moments;
  /** As `Policy.interval`. Absent for a rule that does not count products. */
  interval?(points: Float64Array): Interval[];
  /** As `Policy.factors`. Absent if goals are not learnt one by one. */
  factors?(points: Float64Array): Factor[][];
  /** When rates have last changed. Undefined if they probably have not. Absent if changes are not looked for. */
  readonly change?: RateChange | undefined;
  /** Computes derived state again from the sums, in a canonical order. Absent if there is none. */
  refactor?(): void;
  /** As `Policy.forget`, for a policy without a domain. Absent if the state has no features of impressions. */
  forget?(features: Float64Array): boolean;
  /** Adds the sums of another state with the same options, which is not used any more. `refactor` follows. Absent if there are none. */
  merge?(other: State): void;
  save(writer: SnapshotWriter): void;
  load(reader: SnapshotReader): void;
  /** Writes what `score`, `propose` and `predict` need. Absent if that is about all of the state. `save` then writes it. */
  publish?(writer: SnapshotWriter): void;
  /** Takes what `publish` wrote. Decisions and predictions have the same bits. No other method is called afterwards. */
  loadPublished?(reader: SnapshotReader): void;
  /** The learnt sums, in an order that does not depend on the order of arrival. */
  statistics(): Float64Array;
}

/** A running algorithm. */
export interface Rule {
  /** Features per candidate. 0 for a rule that ignores features. */
  readonly dimension: number;
  /** Whether the state, once refactored, is independent of the order of conversions. */
  readonly orderInvariant: boolean;
  /** Whether states are sums over impressions, and add up. A text names the options with which they are. Absent: never. */
  readonly merges?: true | string;
  /** Whether the choice does not depend on random draws. */
  readonly deterministic: boolean;
  /** With a window of m rounds, a conversion e rounds after its impression counts iff e + delayOffset <= m. */
  readonly delayOffset: 0 | 1;
  readonly state: State;
  /** The fixed set of points that the rule scores instead of candidates. */
  readonly domain?: Domain | null;
  /** Throws if the rule cannot count an impression with these features. Absent if it counts any. */
  check?(features: Float64Array): void;
  /** Scores candidates, or ranks them. Changes no state. Absent for a rule that proposes. */
  score?(request: ScoreRequest): Scores | Ranked;
  /** The means of candidates: k. Absent: greedy decisions take them from `score`. */
  means?(candidates: CandidateRows): Float64Array;
  /** `Scores.moments` of the candidates with these indices, if `score` does not return it. */
  moments?(request: ScoreRequest, indices: readonly number[]): ReturnType<NonNullable<Scores["moments"]>>;
  /** Chooses in its own domain. Changes no state. Absent for a rule that scores. */
  propose?(request: ProposeRequest): Proposal;
}

/** A state that leads to one point of its domain, without random draws. */
interface Leading extends State {
  readonly domain: Domain;
  leader(): Proposal;
}

/** The rule that proposes the leader of its state. */
export function leading(state: Leading): Rule {
  const { domain } = state;
  const propose = () => state.leader();
  return { dimension: domain.dimension, domain, orderInvariant: false, deterministic: true, delayOffset: 0, state, propose };
}

/** The surroundings in which a policy starts. */
export interface PolicyContext {
  readonly core: Core;
  readonly window: Window;
  /** Range of the reward of one conversion. */
  readonly reward: { readonly min: number; readonly max: number };
  /** Goals, each after the one that comes before it. Undefined if none are declared. */
  readonly goals?: readonly LearntGoal[];
  /** Safe integer from which every random draw derives. */
  readonly seed: number;
}

/** With every window, or only without one, where no impression expires. */
export type CountsZeros = true | "without a window";

/** A policy with its options, as a plain value. `start` makes it run. */
export interface PolicyDescriptor {
  readonly id: string;
  readonly stateVersion: number;
  readonly sequential?: string;
  /** All options with their defaults filled in; survives JSON. */
  readonly options: object;
  readonly countsZeros?: CountsZeros;
  /** Numbers in a snapshot of its state, at least. Absent if the memory that it starts with has a small bound. */
  readonly leastNumbers?: number;
  start(context: PolicyContext): Rule;
}

/** Makes descriptors of one policy. */
export interface PolicyFactory<Options = never> {
  (...options: undefined extends Options ? [options?: Options] : [options: Options]): PolicyDescriptor;
  readonly id: string;
  /** Why each choice must be counted before the next decision. Absent if it need not be. */
  readonly sequential?: string;
  /** When an impression without a reward is no reward of 0, so that a 0 must be reported. Absent: a 0 says what silence says. */
  readonly countsZeros?: CountsZeros;
  /** Whether a publication leaves out the part of the state that only learning needs. Absent if it holds all of the state. */
  readonly publishes?: true;
}

/** Makes the factory of a policy: `parse` checks options and fills in defaults, `start` creates the running rule. */
export function definePolicy<Options, Parsed extends object>(definition: {
  readonly id: string;
  /** Of all states, or of those with these options. */
  readonly stateVersion: number | ((options: NoInfer<Parsed>) => number);
  readonly sequential?: string;
  readonly countsZeros?: CountsZeros;
  readonly publishes?: true;
  parse(options: Options): Parsed;
  leastNumbers?(options: NoInfer<Parsed>): number;
  start(context: PolicyContext, options: Parsed): Rule;
}): PolicyFactory<Options> {
  const { id, stateVersion: version, sequential, countsZeros, publishes } = definition;
  const factory = (options?: Options): PolicyDescriptor => {
    if (options !== undefined && (options === null || typeof options !== "object")) throw wrongType("options", "an object", options);
    const parsed = definition.parse((options ?? {}) as Options);
    const leastNumbers = definition.leastNumbers?.(parsed);
    const stateVersion = typeof version === "function" ? version(parsed) : version;
    const start = (context: PolicyContext): Rule => definition.start(context, parsed);
    return { id, stateVersion, sequential, countsZeros, options: parsed, leastNumbers, start };
  };
  return Object.assign(factory, { id, sequential, countsZeros, publishes });
}
