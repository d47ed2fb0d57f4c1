// A running policy: the part that all algorithms share. It checks what comes in, counts, predicts and saves, and hands the rest to the rule.
// The part of a decision is in chooser.ts. It does not know the ledger.

import { type Moment, momentOf } from "../model/delay/window.ts";
import type { GoalChange, GoalOutcomes } from "../model/goals/goal.ts";
import type { Factor } from "../model/goals/goal-ridges.ts";
import { type RewardRange, rangeOf, statedInterval, statedMean } from "../model/goals/stated.ts";
import type { Interval } from "../model/linear/interval.ts";
import { parseBlocks } from "../model/linear/maturing-ridge-settings.ts";
import type { RateChange } from "../model/linear/rate-changes.ts";
import type { AppendedImpression, ReportedDelay } from "../model/posterior.ts";
import {
  boundedNumbers,
  copyVector,
  finiteNumber,
  finiteVector,
  nonEmptyString,
  onlyKeys,
  positiveShare,
  record,
  wholeNumber,
  wrongType,
} from "../values/argument.ts";
import { NumericalError, UnsupportedError } from "../values/errors.ts";
import { counted, SnapshotReader, SnapshotWriter } from "../values/snapshot.ts";
import type { ChooseRequest } from "./choose-request.ts";
import { type Choice, Chooser, type RandomRequest } from "./chooser.ts";
import type { PolicyContext, PolicyDescriptor, Rule, State } from "./rule.ts";

/** A reward for an impression, or a change of its reward. */
export interface Outcome {
  readonly impression: AppendedImpression;
  readonly reward: number;
  readonly previous?: number;
  readonly delay?: ReportedDelay;
  /** The goals of the impression. Required if goals are declared. */
  readonly goals?: GoalChange;
}

/** Past sales of a product, for `Policy.prior`. */
export interface PriorProduct {
  /** Default: its index. For a policy without features. */
  readonly id?: string;
  /** `dimension` numbers: the product in no context. */
  readonly features?: ArrayLike<number>;
  /** Conversions, at least 0. */
  readonly sales: number;
  /** Impressions that brought them, or its share of all impressions if only that is known. Default: every product had the same share. */
  readonly views?: number;
}

/** A running policy: the research loop of choose, append, observe and predict. */
export class Policy {
  readonly id: string;
  /** Why each choice must be appended before the next decision, so that no copy of the policy may decide. Absent if it need not be. */
  readonly sequential: string | undefined;
  readonly #rule: Rule;
  readonly #context: PolicyContext;
  readonly #chooser: Chooser;
  #impressions = 0;
  #learns = true;

  constructor(descriptor: PolicyDescriptor, context: PolicyContext) {
    this.id = descriptor.id;
    this.sequential = descriptor.sequential;
    this.#context = context;
    this.#rule = descriptor.start(context);
    this.#chooser = new Chooser(this.id, this.#rule, context, () => this.#impressions);
  }

  get dimension(): number {
    return this.#rule.dimension;
  }
  /** Whether the policy chooses in its own domain, not among candidates. */
  get hasDomain(): boolean {
    return Boolean(this.#rule.domain ?? this.#rule.propose);
  }
  /** Whether goals are learnt one by one, so that there are `factors`. */
  get hasFactors(): boolean {
    return this.#rule.state.factors !== undefined;
  }
  /** Number of points of the policy's own domain. Undefined if it chooses among candidates, or anywhere in a box. */
  get domainSize(): number | undefined {
    return this.#rule.domain?.count;
  }
  get orderInvariant(): boolean {
    return this.#rule.orderInvariant;
  }
  /** Whether the choice does not depend on random draws. Its probability is then 1, as that of a greedy choice. */
  get deterministic(): boolean {
    return this.#rule.deterministic;
  }
  /** Whether the state is a sum over impressions, so that snapshots `merge`. A text names the options with which it is. */
  get merges(): boolean | string {
    return this.#rule.merges ?? false;
  }
  get delayOffset(): 0 | 1 {
    return this.#rule.delayOffset;
  }
  /** False if the policy was restored from a publication, which only decides. */
  get learns(): boolean {
    return this.#learns;
  }
  /**
   * Range of the expected reward of an impression: from no reward to all goals, each by its weight. Without declared goals that of one
   * reward. Amounts have no greatest one, unless their goal does.
   */
  get range(): RewardRange {
    const { reward, goals } = this.#context;
    return rangeOf(reward, goals, this.hasFactors);
  }
  /** Impressions appended so far (n). */
  get impressions(): number {
    return this.#impressions;
  }
  /**
   * When rates have last changed, and how probably. Undefined if they probably have not, or if the policy does not look for changes:
   * delay-aware linear policies do with `forgetting: "changes"`.
   */
  get change(): RateChange | undefined {
    return this.#rule.state.change;
  }

  /**
   * Ranks candidates, best first. Among equal scores the first candidate wins. Changes no state.
   * @throws {TypeError | RangeError} if candidates are missing, malformed or of another dimension.
   */
  choose(request: ChooseRequest): Choice[] {
    return this.#chooser.choose(request);
  }

  /**
   * Probability of each candidate to be ranked first, as `choose` states it for the first choice alone. **Shapes:** k.
   *
   * @throws {UnsupportedError} code `no-probability` if the policy does not know it. A Thompson policy needs `draws`.
   * @throws {TypeError | RangeError} as `choose`.
   */
  chances(request: ChooseRequest): Float64Array {
    return this.#chooser.chances(request);
  }

  /**
   * Probability of candidates at each place of the list that `choose` would rank, for a log of lists (`LoggedItem.chances`).
   *
   * @param indices of the candidates. **Shapes:** indices x places, row-major. The places are `limit`, or the candidates if they are fewer.
   * @throws {UnsupportedError} code `no-probability`, as `chances`.
   * @throws {TypeError | RangeError} as `choose`, and for an index that no candidate has.
   */
  placeChances(request: ChooseRequest, indices: readonly number[]): Float64Array {
    return this.#chooser.placeChances(request, indices);
  }

  /**
   * Whether `choose` ranks `count` candidates uniformly at random for this request, because of its `minimumShare`. Such a list is random
   * whatever the policy knows, so `estimateExamination` may take it as `LoggedList.random`. `evaluateLists` may not: it needs the
   * probabilities that held before this draw.
   * @throws {TypeError | RangeError} naming the argument.
   */
  ranksAtRandom(request: RandomRequest, count: number): boolean {
    return this.#chooser.ranksAtRandom(request, count);
  }

  /** The state, of a policy that learns. @throws {UnsupportedError} code `only-decides`. */
  #learning(): State {
    if (!this.#learns) throw onlyDecides(this.id);
    return this.#rule.state;
  }

  /**
   * Counts an impression. Pass the returned value to `observe` with its rewards. `weight`: the probability in (0, 1] that the visitor
   * examined it, default 1. Delay-aware linear policies count the impression by its weight, and its rewards wholly: they learn the
   * reward of examined impressions. Other policies ignore the weight. `action`: the id of the product, which `bestsellers` counts.
   * @throws {TypeError | RangeError} naming the argument. A window in ms needs `now`. Nothing has changed then.
   */
  append(
    impression: Moment & { readonly features?: ArrayLike<number>; readonly weight?: number; readonly action?: string },
  ): AppendedImpression {
    const { weight = 1, action } = impression;
    const moment = momentOf(this.#context.window, wholeNumber("round", impression.round, 1), impression.now);
    positiveShare("weight", weight);
    const features = this.features(impression.features);
    if (Math.max(moment.round, this.#impressions + 1) > MOST_IMPRESSIONS)
      throw new NumericalError("not-finite", `impressions: expected at most ${MOST_IMPRESSIONS}, as no more can be counted`);
    const slot = this.#learning().append(features, action === undefined ? moment : { ...moment, action }, weight);
    this.#impressions++;
    return { features, slot, ...moment };
  }

  /**
   * Sets the reward of an impression that `append` returned. `previous`: its reward until now, absent for its first conversion.
   * `delay`: how long after the impression its conversion came. Default for the first conversion: until the latest impression.
   * @throws {TypeError | RangeError | NumericalError} Nothing has changed then.
   */
  observe(outcome: Outcome): void {
    const { impression, previous, delay, goals } = outcome;
    if (typeof impression?.slot !== "number") throw wrongType("impression", "what append returned", impression);
    if (this.dimension > 0) {
      if (impression.features?.length !== this.dimension) throw wrongType("impression", "what append returned", impression);
      boundedNumbers("impression.features", impression.features);
    }
    wholeNumber("impression.slot", impression.slot, -1);
    wholeNumber("impression.round", impression.round, 1);
    optional("impression.now", impression.now);
    optional("delay.before", delay?.before);
    optional("delay.after", delay?.after);
    const reward = boundedReward("reward", outcome.reward);
    const state = this.#learning();
    if (state.factors) checkGoals(goals);
    state.observe(impression, reward, previous === undefined ? undefined : boundedReward("previous", previous), delay, goals);
  }

  /**
   * Posterior mean and variance of the expected reward at each point. As those of `choose`, the mean may be outside `range`: `stated`
   * is the expected reward to show to people.
   * @throws {UnsupportedError} code `no-posterior`.
   */
  predict(points: readonly ArrayLike<number>[]): { mean: Float64Array; variance: Float64Array } {
    const { state } = this.#rule;
    if (!state.predict) throw new UnsupportedError("no-posterior", `${this.id} has no posterior to predict from`);
    const { mean, deviation } = state.predict(this.#pointsOf(points));
    return { mean: mean.slice(), variance: deviation.map((each) => each * each) };
  }

  /** The expected reward that is stated for a posterior mean: the nearest value in `range`. */
  stated(mean: number): number {
    return statedMean(finiteNumber("mean", mean), this.range);
  }

  /** Whether the policy counts what products bring, so that `interval` states it. */
  get hasIntervals(): boolean {
    return this.#rule.state.interval !== undefined;
  }

  /**
   * The stated expected reward at each point (`mean`), and that of its product: the `average` over the visitors that the product met, with
   * the interval `low` to `high` that holds it with a probability of 95 %, whether the model is right or not. The mean of a single point has
   * no such interval, and may lie outside it. A product is what shares the first nonzero feature, counted from `delayComponents` on.
   *
   * All are inside `range`. Only impressions count that have matured, those before a change of rates among them. The interval includes the
   * error of the estimated delays. An end is infinite while the product has fewer than ten amounts of a goal.
   * @throws {UnsupportedError} code `no-interval` for a policy that does not count products, or `only-decides` for a publication.
   */
  interval(points: readonly ArrayLike<number>[]): Interval[] {
    const state = this.#learning();
    if (!state.interval)
      throw new UnsupportedError("no-interval", `${this.id} does not count what products bring: predict has its posterior`);
    const { range } = this;
    return state.interval(this.#pointsOf(points)).map((each) => statedInterval(each, range));
  }

  /**
   * The expected reward of each goal at each point, and the average of its product with its interval, as `interval` states them. A goal after
   * another has those of the impressions which reached the other one. Goals that count for nothing are left out.
   * @throws {UnsupportedError} code `no-goals` if the policy learns the total alone, or `only-decides` for a publication.
   */
  factors(points: readonly ArrayLike<number>[]): Factor[][] {
    const state = this.#learning();
    if (state.factors) return state.factors(this.#pointsOf(points));
    throw new UnsupportedError("no-goals", `${this.id} was not started with goals that it learns one by one`);
  }

  /**
   * Replaces the blocks of features, which an encoder has changed with its vocabulary. Sums stay as they are, and snapshots keep the blocks.
   * Changes nothing in a policy without blocks, such as a Gaussian process.
   * @param blocks as the option `blocks` of `delayLinTs`. @throws {UnsupportedError} code `only-decides` for a publication.
   */
  regroup(blocks: readonly number[]): void {
    const { regroup } = this.#learning();
    if (regroup) regroup.call(this.#rule.state, parseBlocks(blocks, this.dimension));
  }

  /** Whether the policy takes a prior. */
  get takesPrior(): boolean {
    return this.#rule.state.prior !== undefined;
  }

  /**
   * Tells the policy what products sold before it learnt anything. This replaces an earlier prior, and an empty list removes it. The prior
   * fades as impressions of the policy's own convert. Changes nothing else, and snapshots keep it.
   * @throws {UnsupportedError} code `no-prior` for a policy that takes none, or `only-decides` for a publication.
   * @throws {TypeError | RangeError} naming the product. Nothing has changed then.
   */
  prior(products: readonly PriorProduct[]): void {
    const state = this.#learning();
    if (!state.prior) throw new UnsupportedError("no-prior", `${this.id} takes no prior: expected a policy such as delay-lin-ts`);
    if (!Array.isArray(products)) throw wrongType("products", "an array", products);
    const d = this.dimension;
    const points = new Float64Array(products.length * d);
    const ids = products.map((product, i) => {
      const { features, id = String(i) } = record(`products[${i}]`, product) as unknown as PriorProduct;
      onlyKeys(`products[${i}]`, product, ["id", "features", "sales", "views"]);
      if (d > 0) copyVector(`products[${i}].features`, features, d, points, i * d);
      return nonEmptyString(`products[${i}].id`, id);
    });
    const sales = Float64Array.from(products, (each, i) => finiteNumber(`products[${i}].sales`, each.sales, 0, MOST_IMPRESSIONS));
    const views = Float64Array.from(products, ({ views = 1 }, i) => finiteNumber(`products[${i}].views`, views, 0, MOST_IMPRESSIONS));
    state.prior(points, sales, views, ids);
  }

  #pointsOf(points: readonly ArrayLike<number>[]): Float64Array {
    if (!Array.isArray(points)) throw wrongType("points", "an array of feature vectors", points);
    return this.#chooser.flatten(points.map((features) => ({ features })));
  }

  /** Checks and copies the features of one impression. In a fixed domain they must be a point of the domain. */
  features(features: ArrayLike<number> | undefined): Float64Array {
    const copy = new Float64Array(this.dimension);
    if (this.dimension > 0) copyVector("features", features, this.dimension, copy);
    this.#rule.domain?.indexOf(copy);
    this.#rule.check?.(copy);
    return copy;
  }

  /** The learnt sums, in the order that the policy's state documents. `digest` covers them. */
  statistics(): Float64Array {
    return this.#learning().statistics();
  }

  /** Digest of the learnt sums alone: 16 hexadecimal digits. */
  digest(): string {
    const sums = this.statistics();
    const all = new Float64Array(sums.length + 1);
    all[0] = this.#impressions;
    // Adding zero turns -0 into 0: equal sums have equal bits.
    for (let i = 0; i < sums.length; i++) all[i + 1] = sums[i] + 0;
    return this.#context.core.digest(new Uint8Array(all.buffer));
  }

  /**
   * Computes factors, caches and running sums again from the learnt sums. If the policy is `orderInvariant`, its state then depends
   * on its options, the order of impressions and the sums alone, not on the order or the repetition of conversions. If it `merges`, not on
   * the order of impressions either.
   *
   * Delay-aware linear policies also choose their ridge and look for changes of rates as of now. Decisions of others change by rounding at
   * most. A second call changes nothing. **Cost:** O(d^3), or O(n^3) for n unique points.
   * @throws {NumericalError} if a matrix cannot be factorised.
   */
  refactor(): void {
    this.#learning().refactor?.();
  }

  /**
   * Share of the range in which sums are exact that they have used. Above 1 they round, as doubles do, and depend on the order of events
   * in the last bits. It is 2^52 impressions, or sums of 2^80 of features and rewards that are multiples of 2^-12. **Cost:** O(d^2).
   */
  get rangeUsed(): number {
    return this.statistics().reduce((most, sum) => Math.max(most, Math.abs(sum) / MOST_SUM), this.#impressions / MOST_IMPRESSIONS);
  }

  /** Adds what another policy with the same options has learnt, which is not used any more. For `merge`; call `refactor` then. */
  merge(other: Policy): void {
    this.#learning().merge?.(other.#learning());
    this.#impressions += other.#impressions;
  }

  /**
   * Removes a feature vector from the state of the policy, for all impressions with it. What was learnt there moves to the nearest other
   * point, or is dropped if there is none. Later corrections and silence count at that point too. Returns whether the state had it.
   *
   * `append` brings the vector back. So does a first reward, if the policy has a process of rewarded impressions alone. Linear policies
   * keep sums, and features of pending impressions only with `norms: "exact"`. The points of a domain are options, and stay. A
   * `Recommender` remembers the features of its impressions besides, for the window and its grace.
   * **Cost:** O(n^3) for n unique points, and a copy of the state.
   * @throws {TypeError | RangeError | NumericalError} Nothing has changed then.
   */
  forget(features: ArrayLike<number>): boolean {
    const state = this.#learning();
    if (this.dimension === 0) return false;
    const vector = finiteVector("features", features, this.dimension);
    if (!state.forget || this.hasDomain) return false;
    const before = this.#saved();
    try {
      return state.forget(vector);
    } catch (error) {
      this.load(before);
      throw error;
    }
  }

  #saved(): SnapshotReader {
    const { core } = this.#context;
    const writer = new SnapshotWriter();
    this.save(writer);
    const { id: policyId, dimension } = this;
    const header = { kind: "snapshot", policyId, stateVersion: 0, dimension, impressions: this.#impressions } as const;
    return new SnapshotReader(core, writer.finish(core, header));
  }

  /** Writes its state into a snapshot. */
  save(writer: SnapshotWriter): void {
    this.#learning().save(writer);
  }

  /** Writes what decisions and predictions need of its state into a publication. */
  publish(writer: SnapshotWriter): void {
    const state = this.#learning();
    if (state.publish) state.publish(writer);
    else state.save(writer);
  }

  /** Takes its state from a snapshot or a publication. */
  load(reader: SnapshotReader): void {
    const { state } = this.#rule;
    this.#learns = reader.header.kind === "snapshot";
    if (!this.#learns && state.loadPublished) state.loadPublished(reader);
    else state.load(reader);
    this.#impressions = counted("impressions", reader.header.impressions);
  }
}

/** Refuses to learn, or to tell what was learnt. */
export function onlyDecides(policyId: string): UnsupportedError {
  return new UnsupportedError("only-decides", `${policyId}: expected a recommender that learns, got a publication's, which only decides`);
}

/** Impressions, and sizes of sums, up to which sums are exact: 2^52 and 2^80. See `ExactSums`. */
const MOST_IMPRESSIONS = 4503599627370496;
const MOST_SUM = 1.2089258196146292e24;
/** Largest size of a reward. No sum of squares overflows, whatever the number of impressions. */
const REWARD_LIMIT = 1e100;

/** @throws {NumericalError} code `not-finite` for a finite reward beyond the limit. */
function boundedReward(name: string, value: unknown): number {
  const reward = finiteNumber(name, value);
  if (Math.abs(reward) <= REWARD_LIMIT) return reward;
  throw new NumericalError("not-finite", `${name}: expected at most ${REWARD_LIMIT} in size, got ${reward}: scale rewards`);
}

/** Checks what an impression has reached. */
function checkGoals(goals: GoalChange | undefined): void {
  for (const part of ["before", "after"] as const) {
    for (const [name, { reward, delay }] of Object.entries(record(`goals.${part}`, goals?.[part]) as GoalOutcomes)) {
      boundedReward(`goals.${part}.${name}.reward`, reward);
      finiteNumber(`goals.${part}.${name}.delay`, delay, 0);
    }
  }
}

/** Checks a time or a delay. */
function optional(name: string, value: number | undefined): void {
  if (value !== undefined) finiteNumber(name, value, 0);
}
