import { copyVector, finiteNumber, outOfRange, wholeNumber, wrongType } from "../argument.ts";
import type { Core } from "../core/core.ts";
import { NumericalError, UnsupportedError } from "../errors.ts";
import type { Domain } from "../model/domain.ts";
import type { AppendedImpression, Moments } from "../model/posterior.ts";
import type { Moment, Window } from "../model/window.ts";
import type { SnapshotReader, SnapshotWriter } from "../snapshot.ts";

// A policy file holds one rule: how it scores candidates, and what an impression and a reward change.
// Everything that all policies share, checking, ranking, drawing random numbers, stands here once.

/** What a rule is told when it chooses. */
export interface DrawRequest extends Moment {
  /** t: one more than the impressions appended so far. */
  readonly trial: number;
  /** Standard normals and uniforms on (0, 1) that belong to this decision. */
  normals(count: number): Float64Array;
  uniforms(count: number): Float64Array;
}

export interface ScoreRequest extends DrawRequest {
  /** Features of the candidates, or the rule's own domain: count x dimension, row-major. */
  readonly points: Float64Array;
  readonly count: number;
}

/** One entry per candidate. */
export interface Scores {
  readonly score: Float64Array;
  readonly mean: Float64Array;
  readonly width: Float64Array;
  /** Chance that the candidate with this index comes to this place of the ranking, where the rule knows it. */
  readonly probability?: (index: number, place: number) => number;
}

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
  /** An impression's reward is now `reward`; it was `previous`, or undefined while pending. */
  observe(impression: AppendedImpression, reward: number, previous: number | undefined): void;
  /** Absent for a rule without a posterior. */
  predict?(points: Float64Array): Moments;
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
  propose?(request: DrawRequest): Proposal;
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
  /** All options with their defaults filled in; survives JSON. */
  readonly options: object;
  start(context: PolicyContext): Rule;
}

export interface PolicyFactory<Options = never> {
  (...options: undefined extends Options ? [options?: Options] : [options: Options]): PolicyDescriptor;
  readonly id: string;
}

/** Makes the factory of a policy: `parse` checks options and fills in defaults, `start` brings the rule to life. */
export function definePolicy<Options, Parsed extends object>(definition: {
  readonly id: string;
  readonly stateVersion: number;
  parse(options: Options): Parsed;
  start(context: PolicyContext, options: Parsed): Rule;
}): PolicyFactory<Options> {
  const { id, stateVersion } = definition;
  const factory = (options?: Options): PolicyDescriptor => {
    if (options !== undefined && (options === null || typeof options !== "object")) throw wrongType("options", "an object", options);
    const parsed = definition.parse((options ?? {}) as Options);
    return { id, stateVersion, options: parsed, start: (context) => definition.start(context, parsed) };
  };
  return Object.assign(factory, { id });
}

export interface Candidate {
  readonly id?: string;
  /** `dimension` numbers. */
  readonly features?: ArrayLike<number>;
}

export interface ChooseRequest {
  /** Absent for a policy with its own domain. */
  readonly candidates?: readonly Candidate[];
  readonly round: number;
  readonly now?: number;
  /** Places to rank, default 1. */
  readonly limit?: number;
  /** Replace the generator's draws. */
  readonly normals?: ArrayLike<number>;
  readonly uniforms?: ArrayLike<number>;
  /** Names the decision for the generator; by default its round does. */
  readonly decision?: string;
}

export interface Choice {
  /** Place in the list of candidates, or in the policy's own domain. */
  readonly index: number;
  readonly id: string;
  readonly score: number;
  /** Posterior mean of the reward. */
  readonly mean: number;
  /** The bonus: a multiplier times the posterior standard deviation. */
  readonly width: number;
  /** Chance of this action at this place, where the policy knows it. */
  readonly probability?: number;
  /** The point that a policy with its own domain has chosen. */
  readonly features?: Float64Array;
}

/** A running policy: the research loop of choose, append, observe and predict. */
export class Policy {
  readonly id: string;
  readonly #rule: Rule;
  readonly #context: PolicyContext;
  #impressions = 0;

  constructor(descriptor: PolicyDescriptor, context: PolicyContext) {
    this.id = descriptor.id;
    this.#context = context;
    this.#rule = descriptor.start(context);
  }

  get dimension(): number {
    return this.#rule.dimension;
  }
  /** Whether it chooses in a domain of its own, not among candidates. */
  get hasDomain(): boolean {
    return Boolean(this.#rule.domain ?? this.#rule.propose);
  }
  get orderInvariant(): boolean {
    return this.#rule.orderInvariant;
  }
  get delayOffset(): 0 | 1 {
    return this.#rule.delayOffset;
  }
  /** Impressions appended so far (n). */
  get impressions(): number {
    return this.#impressions;
  }

  /**
   * Ranks candidates, best first; of equal scores the first candidate wins. Changes nothing.
   * @throws {TypeError | RangeError} if candidates are missing, malformed or of another dimension.
   */
  choose(request: ChooseRequest): Choice[] {
    const { round, now, decision = `round ${round}` } = request;
    const { core, seed } = this.#context;
    const limit = wholeNumber("limit", request.limit ?? 1, 1);
    const draw = {
      trial: this.#impressions + 1,
      round: wholeNumber("round", round, 1),
      now,
      normals: (count: number) => (request.normals ? given("normals", request.normals, count) : core.normals(seed, decision, count)),
      uniforms: (count: number) => (request.uniforms ? given("uniforms", request.uniforms, count) : core.uniforms(seed, decision, count)),
    };
    return this.#rule.propose ? this.#propose(request, limit, draw) : this.#rank(request, limit, draw);
  }

  #propose({ candidates }: ChooseRequest, limit: number, draw: DrawRequest): Choice[] {
    if (candidates !== undefined) throw wrongType("candidates", `none, as ${this.id} has its own domain`, candidates);
    if (limit > 1) throw outOfRange("limit", `1, as ${this.id} chooses one point at a time`, limit);
    const proposal = (this.#rule as Required<Rule>).propose(draw);
    return [{ ...proposal, id: String(proposal.index) }];
  }

  #rank({ candidates }: ChooseRequest, limit: number, draw: DrawRequest): Choice[] {
    const { domain, score: rule } = this.#rule as Required<Rule>;
    if (domain && candidates !== undefined) throw wrongType("candidates", `none, as this ${this.id} has its own domain`, candidates);
    const points = domain?.points ?? this.#flatten(candidates);
    const count = domain?.count ?? (candidates as readonly Candidate[]).length;
    const { score, mean, width, probability } = rule({ ...draw, points, count });
    return best(score, limit).map((index, place) => ({
      index,
      id: candidates?.[index].id ?? String(index),
      ...(domain && { features: domain.at(index) }),
      score: score[index],
      mean: mean[index],
      width: width[index],
      ...(probability && { probability: probability(index, place) }),
    }));
  }

  #flatten(candidates: readonly Candidate[] | undefined): Float64Array {
    if (!Array.isArray(candidates)) throw wrongType("candidates", "an array", candidates);
    if (candidates.length === 0) throw new RangeError("candidates: expected at least one, got none");
    const d = this.dimension;
    const points = new Float64Array(candidates.length * d);
    for (let i = 0; i < candidates.length; i++) {
      if (candidates[i] === null || typeof candidates[i] !== "object") throw wrongType(`candidates[${i}]`, "an object", candidates[i]);
      if (d > 0) copyVector(`candidates[${i}].features`, candidates[i].features, d, points, i * d);
    }
    return points;
  }

  /** Counts an impression, whatever comes of it; what it returns is handed back with its rewards. */
  append(impression: Moment & { readonly features?: ArrayLike<number> }): AppendedImpression {
    const { round, now } = impression;
    wholeNumber("round", round, 1);
    const features = this.features(impression.features);
    const slot = this.#rule.state.append(features, impression);
    this.#impressions++;
    return { features, slot, round, ...(now !== undefined && { now }) };
  }

  /** The reward of an impression that `append` returned is now `reward`; it was `previous`, absent for its first conversion. */
  observe(outcome: { readonly impression: AppendedImpression; readonly reward: number; readonly previous?: number }): void {
    const { impression } = outcome;
    if (typeof impression?.slot !== "number") throw wrongType("impression", "what append returned", impression);
    const reward = finiteNumber("reward", outcome.reward);
    const previous = outcome.previous === undefined ? undefined : finiteNumber("previous", outcome.previous);
    this.#rule.state.observe(impression, reward, previous);
  }

  /**
   * Posterior mean and variance of the expected reward at each point.
   * @throws {UnsupportedError} code `no-posterior`.
   */
  predict(points: readonly ArrayLike<number>[]): { mean: Float64Array; variance: Float64Array } {
    const { state } = this.#rule;
    if (!state.predict) throw new UnsupportedError("no-posterior", `${this.id} has no posterior to predict from`);
    if (!Array.isArray(points)) throw wrongType("points", "an array of feature vectors", points);
    const { mean, deviation } = state.predict(this.#flatten(points.map((features) => ({ features }))));
    return { mean, variance: deviation.map((each) => each * each) };
  }

  /** Checks and copies the features of one impression, which in a fixed domain are those of one of its points. */
  features(features: ArrayLike<number> | undefined): Float64Array {
    const copy = new Float64Array(this.dimension);
    if (this.dimension > 0) copyVector("features", features, this.dimension, copy);
    this.#rule.domain?.indexOf(copy);
    this.#rule.check?.(copy);
    return copy;
  }

  /** The learnt sums, in the order that the policy's state documents: what `digest` covers. */
  statistics(): Float64Array {
    return this.#rule.state.statistics();
  }

  /** Digest of the learnt sums alone: 16 hexadecimal digits. */
  digest(): string {
    const sums = this.#rule.state.statistics();
    const all = new Float64Array(sums.length + 1);
    all[0] = this.#impressions;
    // Adding zero turns -0 into 0: equal sums have equal bits.
    for (let i = 0; i < sums.length; i++) all[i + 1] = sums[i] + 0;
    return this.#context.core.digest(new Uint8Array(all.buffer));
  }

  save(writer: SnapshotWriter): void {
    this.#rule.state.save(writer);
  }

  load(reader: SnapshotReader): void {
    this.#rule.state.load(reader);
    this.#impressions = reader.header.impressions;
  }
}

function given(name: string, values: ArrayLike<number>, count: number): Float64Array {
  const copy = new Float64Array(count);
  copyVector(name, values, count, copy);
  return copy;
}

/** Indices of the `limit` greatest scores, greatest first, ties to the lowest index. */
function best(score: Float64Array, limit: number): number[] {
  if (score.some(Number.isNaN)) throw new NumericalError("not-a-number", "a candidate's score is not a number");
  if (limit === 1) {
    let top = 0;
    for (let i = 1; i < score.length; i++) if (score[i] > score[top]) top = i;
    return [top];
  }
  const order = Array.from(score.keys()).sort((a, b) => score[b] - score[a] || a - b);
  return order.slice(0, limit);
}
