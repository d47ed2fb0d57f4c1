import { boundedNumbers, copyVector, finiteNumber, flag, matrix, outOfRange, wholeNumber, wrongType } from "../argument.ts";
import { UnsupportedError } from "../errors.ts";
import type { Moment } from "../model/delay/window.ts";
import type { AppendedImpression, ReportedDelay } from "../model/posterior.ts";
import { best } from "../model/ranking.ts";
import type { SnapshotReader, SnapshotWriter } from "../snapshot.ts";
import type { PolicyContext, PolicyDescriptor, Rule, ScoreRequest } from "./rule.ts";

// What all algorithms share: checking what comes in, ranking, drawing random numbers, counting.

/** Above it a share is told apart better than any use of it could tell, and the samples fill the memory. */
const DRAWS_LIMIT = 10_000;

/** What may be chosen. */
export interface Candidate {
  readonly id?: string;
  /** `dimension` numbers. */
  readonly features?: ArrayLike<number>;
}

/** What a policy is asked; it changes nothing. */
export interface ChooseRequest {
  /** Absent for a policy with its own domain. */
  readonly candidates?: readonly Candidate[];
  /** Instead of candidates their features alone: k x `dimension`, row-major; not copied. Ids are then their places. */
  readonly points?: Float64Array;
  readonly round: number;
  readonly now?: number;
  /** Places to rank, default 1. */
  readonly limit?: number;
  /**
   * For a Thompson policy: so many samples, the same for every decision until the next impression, of which the decision takes
   * one at random. It then knows its `probability`, exactly. Default 0: a sample of its own. Other policies ignore it.
   */
  readonly draws?: number;
  /**
   * Ranks by posterior mean, which is then the score, without exploring. Ignored by a policy that has no means of candidates
   * ("uniform"), or that chooses one point at a time.
   */
  readonly greedy?: boolean;
  /**
   * Least chance of each candidate to come to each place, default 0: with `count` times that chance all orders are equally
   * likely. A probability is then known wherever the policy knows its own, and of a deterministic policy.
   */
  readonly minimumShare?: number;
  /** Replace the generator's draws; with `draws` the normals are not the decision's, and cannot be replaced. */
  readonly normals?: ArrayLike<number>;
  readonly uniforms?: ArrayLike<number>;
  /** Names the decision for the generator; by default its round does. */
  readonly decision?: string;
}

/** What was chosen for a place, and why. */
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

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** With which chance a decision ranks at random, and, if this one does, in which order. */
interface Shares {
  readonly uniform: number;
  readonly order?: readonly number[];
}

const NO_SHARES: Shares = { uniform: 0 };
const NO_POINTS = /* @__PURE__ */ new Float64Array(0);

/** What became of an impression. */
export interface Outcome {
  readonly impression: AppendedImpression;
  readonly reward: number;
  readonly previous?: number;
  readonly delay?: ReportedDelay;
}

/** A running policy: the research loop of choose, append, observe and predict. */
export class Policy {
  readonly id: string;
  /** Why it cannot decide twice without its first choice being appended in between, from a copy for instance; if that is so. */
  readonly sequential: string | undefined;
  readonly #rule: Rule;
  readonly #context: PolicyContext;
  #impressions = 0;

  constructor(descriptor: PolicyDescriptor, context: PolicyContext) {
    this.id = descriptor.id;
    this.sequential = descriptor.sequential;
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
  /** Whether its choice is the same whatever the decision draws: its probability is then 1. A greedy choice is so as well. */
  get deterministic(): boolean {
    return this.#rule.deterministic;
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
    const limit = wholeNumber("limit", request.limit ?? 1, 1);
    checkDraws(request);
    return this.#rule.propose ? this.#propose(request, limit) : this.#rank(request, limit);
  }

  /**
   * Chance of each candidate to come first, where the policy knows it: what `choose` says of its first choice, of them all.
   * **Shapes:** k.
   *
   * @throws {UnsupportedError} code `no-probability`; a policy that samples knows it if there are `draws`.
   * @throws {TypeError | RangeError} as `choose`.
   */
  chances(request: ChooseRequest): Float64Array {
    if (this.#rule.propose) throw new UnsupportedError("no-probability", `${this.id} does not choose among candidates`);
    checkDraws(request);
    const { count, own, shares, known } = this.#scored(request, 1);
    const chance = known ?? (this.deterministic ? (index: number) => Number(own[0] === index) : undefined);
    if (!chance && shares.uniform < 1) {
      throw new UnsupportedError("no-probability", `${this.id} does not know its probabilities without draws`);
    }
    return Float64Array.from({ length: count }, (_, index) => mixed(shares.uniform, count, chance?.(index, 0)));
  }

  /** What a rule is told that has not been asked yet. One object with all of it: a decision among few candidates takes no longer than a few copies would. */
  #asked(request: ChooseRequest, points: Float64Array, count: number): ScoreRequest {
    const { round, now, draws = 0, normals, uniforms } = request;
    const { core, seed } = this.#context;
    const trial = this.#impressions + 1;
    const decision = () => request.decision ?? `round ${round}`;
    return {
      points,
      count,
      trial,
      round,
      now,
      draws,
      normals(count) {
        if (normals) return given("normals", normals, count);
        return core.normals(seed, draws > 0 ? `trial ${trial}` : decision(), count);
      },
      uniforms: (count) => (uniforms ? given("uniforms", uniforms, count) : core.uniforms(seed, decision(), count)),
    };
  }

  #propose(request: ChooseRequest, limit: number): Choice[] {
    this.#refuseCandidates(request);
    if (request.minimumShare) throw outOfRange("minimumShare", `0, as ${this.id} chooses in its own domain`, request.minimumShare);
    if (limit > 1) throw outOfRange("limit", `1, as ${this.id} chooses one point at a time`, limit);
    const proposal = (this.#rule as Required<Rule>).propose(this.#asked(request, NO_POINTS, 0));
    return [{ ...proposal, id: String(proposal.index) }];
  }

  #refuseCandidates({ candidates, points }: ChooseRequest): void {
    if (candidates !== undefined) throw wrongType("candidates", `none, as this ${this.id} has its own domain`, candidates);
    if (points !== undefined) throw wrongType("points", `none, as this ${this.id} has its own domain`, points);
  }

  #rank(request: ChooseRequest, limit: number): Choice[] {
    const { domain, count, score, own, shares, known, momentsOf } = this.#scored(request, limit);
    const { candidates } = request;
    const ranked = shares.order ?? own;
    const moments = momentsOf?.(ranked);
    return ranked.map((index, place) => {
      const [mean, width] = [moments?.mean[place] ?? 0, moments?.width[place] ?? 0];
      const choice: Writable<Choice> = { index, id: candidates?.[index].id ?? String(index), score: score[index], mean, width };
      if (domain) choice.features = domain.at(index);
      if (known || shares.uniform === 1) choice.probability = mixed(shares.uniform, count, known?.(index, place));
      return choice;
    });
  }

  /** The candidates' scores, the ranking by them, and what is known of its chances. */
  #scored(request: ChooseRequest, limit: number) {
    const { domain, score: rule } = this.#rule as Required<Rule>;
    if (domain) this.#refuseCandidates(request);
    const points = domain?.points ?? this.#points(request);
    const count = domain?.count ?? request.candidates?.length ?? points.length / this.dimension;
    const scores = rule(this.#asked(request, points, count));
    const greedy = request.greedy === true && scores.moments !== undefined;
    // Copied, as the moments may be asked for again.
    const score = greedy ? Float64Array.from(scores.moments(Array.from({ length: count }, (_, index) => index)).mean) : scores.score;
    const own = best(score, limit);
    const shares = this.#shares(request, count, own.length);
    const certain = greedy || (shares.uniform > 0 && this.deterministic);
    const known = certain ? (index: number, place: number) => Number(own[place] === index) : scores.probability;
    return { domain, count, score, own, shares, known, momentsOf: scores.moments };
  }

  #shares({ minimumShare = 0, round, decision }: ChooseRequest, count: number, places: number): Shares {
    const uniform = Math.min(1, count * finiteNumber("minimumShare", minimumShare, 0, 1));
    if (uniform === 0) return NO_SHARES;
    const { core, seed } = this.#context;
    const [chance, ...picks] = core.uniforms(seed, `share ${decision ?? `round ${round}`}`, 1 + places);
    if (chance >= uniform) return { uniform };
    const order = Array.from({ length: count }, (_, index) => index);
    picks.forEach((pick, place) => {
      const from = place + Math.min(Math.floor(pick * (count - place)), count - place - 1);
      [order[place], order[from]] = [order[from], order[place]];
    });
    return { uniform, order: order.slice(0, places) };
  }

  #points({ candidates, points }: ChooseRequest): Float64Array {
    if (points === undefined) return this.#flatten(candidates);
    if (candidates !== undefined) throw outOfRange("points", "none beside candidates", points);
    if (this.dimension === 0) throw wrongType("points", `candidates instead, as ${this.id} looks at no features`, points);
    return boundedNumbers("points", matrix("points", points, this.dimension));
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
    return now === undefined ? { features, slot, round } : { features, slot, round, now };
  }

  /**
   * The reward of an impression that `append` returned is now `reward`; it was `previous`, absent for its first conversion.
   * `delay`: how long after the impression its conversion came; by default until the latest impression, for the first one.
   */
  observe(outcome: Outcome): void {
    const { impression } = outcome;
    if (typeof impression?.slot !== "number") throw wrongType("impression", "what append returned", impression);
    const reward = finiteNumber("reward", outcome.reward);
    const previous = outcome.previous === undefined ? undefined : finiteNumber("previous", outcome.previous);
    this.#rule.state.observe(impression, reward, previous, outcome.delay);
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
    return { mean: mean.slice(), variance: deviation.map((each) => each * each) };
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

  /**
   * Derives factors, caches and running sums anew from the learnt sums. What its state is then follows from its options, the
   * order of impressions and the sums alone, not from the order or the repetition of conversions, if it is `orderInvariant`.
   *
   * Changes decisions by rounding at most, and nothing when called twice. **Cost:** O(d^3), or O(n^3) for n unique points.
   * @throws {NumericalError} if a matrix cannot be factorised.
   */
  refactor(): void {
    this.#rule.state.refactor?.();
  }

  /** Writes its state into a snapshot. */
  save(writer: SnapshotWriter): void {
    this.#rule.state.save(writer);
  }

  /** Takes its state from a snapshot. */
  load(reader: SnapshotReader): void {
    this.#rule.state.load(reader);
    this.#impressions = reader.header.impressions;
  }
}

/** @throws {TypeError | RangeError} if what a choice is drawn with is malformed. */
function checkDraws({ greedy = false, draws = 0, normals, round }: ChooseRequest): void {
  flag("greedy", greedy);
  wholeNumber("draws", draws, 0, DRAWS_LIMIT);
  if (draws > 0 && normals) throw outOfRange("normals", "none with draws, whose normals belong to the trial", normals);
  wholeNumber("round", round, 1);
}

/** A chance, where with chance `uniform` all `count` candidates are equally likely instead. */
function mixed(uniform: number, count: number, chance = 0): number {
  return uniform / count + (1 - uniform) * chance;
}

function given(name: string, values: ArrayLike<number>, count: number): Float64Array {
  const copy = new Float64Array(count);
  copyVector(name, values, count, copy);
  return copy;
}
