// The SDK's object: joins a policy, which learns, with the ledger, which says when a conversion counts.

import { compileCore } from "#core-module";
import { type Core, instantiate } from "./core/core.ts";
import { countOf, type Points, rowOf } from "./encoding/points.ts";
import { type ConversionEvent, type ConversionRules, checkedReward, parseConversion } from "./ledger/conversion-event.ts";
import { examinationAt, parseExamination } from "./ledger/examination.ts";
import { type Goals, parseGoals, stateVersionOf } from "./ledger/goals.ts";
import { type ConversionStatus, type Impression, type ImpressionStatus, Ledger } from "./ledger/ledger.ts";
import { isInMs, type Moment, momentOf, parseWindow, type Window } from "./model/delay/window.ts";
import type { AppendedImpression } from "./model/posterior.ts";
import type { Candidate } from "./policy/choose-request.ts";
import type { Choice } from "./policy/chooser.ts";
import { onlyDecides, Policy, type PriorProduct } from "./policy/policy.ts";
import type { PolicyDescriptor, PolicyFactory } from "./policy/rule.ts";
import { nonEmptyString, onlyKeys, outOfRange, range, record, wholeNumber, wrongType } from "./values/argument.ts";
import { SnapshotError } from "./values/errors.ts";
import { counted, malformed, SnapshotReader, SnapshotWriter } from "./values/snapshot.ts";

/** Options of `Recommender.create`. */
export interface RecommenderOptions {
  /** A descriptor, such as `otfLinUcb({ dimension: 8 })`. */
  readonly policy: PolicyDescriptor;
  /** Greatest delay at which a conversion still counts. */
  readonly window: Window;
  /**
   * Range of the reward of one conversion, default 0 to 1. An impression that never converts has the reward 0, whatever the range, so no
   * zeros need be reported.
   */
  readonly reward?: { readonly min: number; readonly max: number };
  /**
   * Probability that a visitor examines each place of a list, relative to the first: the first is 1, the others are in (0, 1]. Places
   * beyond the array have its last weight. Default: every place is examined.
   *
   * Delay-aware linear policies then learn the reward of an examined impression. Other policies ignore the weights.
   */
  readonly examination?: readonly number[];
  /**
   * The goals of conversions, by name. Each has a weight, and delays of its own. Default: any goal is taken, and rewards add up.
   *
   * Delay-aware linear policies learn each goal by itself, and a goal `after` another as a share of it. Other policies learn the total.
   */
  readonly goals?: Goals;
  /** Seed of every random draw, together with the id of the impression. Default 0. */
  readonly seed?: number;
  /** A compiled core.wasm, for hosts that load it themselves. */
  readonly module?: WebAssembly.Module;
}

/** A request for a decision. */
export interface RecommendRequest {
  /** The candidates. Absent for a policy with its own domain. */
  readonly candidates?: readonly Candidate[];
  /** Features alone, instead of `candidates`: k x dimension, row-major, or encoded actions. The ids are then the places. */
  readonly points?: Points;
  /** Length of the ranked list, default 1. */
  readonly limit?: number;
  /** The time of the decision, in ms since 1970. Required with a window in ms. */
  readonly now?: number;
  /** Replaces the generated id. For a list: one id per place. */
  readonly impressionId?: string | readonly string[];
  /** As those of `Policy.choose`. Default: no draws, not greedy, a least share of 0. */
  readonly draws?: number;
  readonly greedy?: boolean;
  readonly minimumShare?: number;
}

/** A shown item, which is an impression of its own. */
export interface RankedAction extends Choice {
  readonly impressionId: string;
}

/** The decision of one round. */
export interface Decision {
  readonly round: number;
  readonly policy: string;
  /** `ranking[0]`. */
  readonly action: RankedAction;
  /** Best first. Every shown item is an impression of its own. */
  readonly ranking: readonly RankedAction[];
}

/** The meaning of a reward of 0. Absent: the snapshot is of an earlier version, in which a 0 counted as any other reward, and it goes on to count. */
interface Zeros {
  readonly zeros?: "silent";
}

const SEED_LIMIT = Number.MAX_SAFE_INTEGER;

/** Recommends among candidates, and learns from delayed conversions. Each recommender has its own WebAssembly instance. */
export class Recommender {
  /** The running policy, for the research loop of choose, append, observe and predict. */
  readonly policy: Policy;
  /** What `snapshot` was given beside the state, if the recommender was restored from it. */
  readonly beside: unknown;
  readonly #core: Core;
  readonly #descriptor: PolicyDescriptor;
  readonly #ledger: Ledger;
  readonly #rules: ConversionRules;
  readonly #zeros: Zeros;
  readonly #examination: readonly number[] | undefined;
  readonly #seed: number;
  #round = 0;

  /** For `create` and `restore` alone. */
  private constructor(core: Core, { zeros, beside, ...options }: RecommenderOptions & Zeros & { readonly beside?: unknown }) {
    this.#core = core;
    this.beside = beside;
    const window = parseWindow(options.window);
    const { reward: given = { min: 0, max: 1 } } = options;
    onlyKeys("reward", record("reward", given), ["min", "max"]);
    const reward = range("reward", given, 1e6);
    const { rewards } = options.policy.options as { readonly rewards?: unknown };
    if (rewards === "bernoulli" && (reward.min < 0 || reward.max > 1)) {
      throw new RangeError(
        `reward: expected a range inside 0 to 1 with rewards: "bernoulli", got ${reward.min} to ${reward.max}; divide rewards by the greatest one, or use rewards: "linear"`,
      );
    }
    this.#examination = options.examination === undefined ? undefined : parseExamination(options.examination);
    this.#seed = wholeNumber("seed", options.seed ?? 0, -SEED_LIMIT, SEED_LIMIT);
    this.#descriptor = options.policy;
    const goals = options.goals === undefined ? undefined : parseGoals(options.goals, window);
    // A copy, because a caller may change its object later. It is what a snapshot holds, and has a goal named __proto__ too.
    const declared = goals && JSON.parse(JSON.stringify(options.goals));
    const { countsZeros } = options.policy;
    const counted = zeros === undefined || countsZeros === true || (countsZeros !== undefined && window === "none");
    this.#rules = { window, reward, goals: declared, countsZeros: counted };
    this.#zeros = { zeros };
    this.policy = new Policy(options.policy, { core, window, reward, goals, seed: this.#seed });
    this.#ledger = new Ledger(window, this.policy.delayOffset, goals, counted);
  }

  /**
   * Creates a recommender without any impressions.
   *
   * @example
   * const recommender = await Recommender.create({ policy: otfLinTs({ dimension: 8 }), window: { ms: 86_400_000 } });
   * @throws {TypeError | RangeError} naming the option.
   */
  static async create(options: RecommenderOptions): Promise<Recommender> {
    onlyKeys("options", record("options", options), ["policy", "window", "reward", "goals", "examination", "seed", "module"]);
    if (typeof options.policy?.start !== "function") {
      throw wrongType("policy", "a descriptor such as otfLinUcb({ dimension: 8 })", options.policy);
    }
    return new Recommender(await instantiate(options.module ?? (await compileCore())), { ...options, zeros: "silent" });
  }

  /**
   * Restores a recommender from a snapshot or a publication. Its decisions are identical to those of the original.
   *
   * A recommender restored from a publication only decides: `recommend` registers nothing, and calls that would learn throw an
   * `UnsupportedError`, code `only-decides`.
   *
   * @param options.policies factories, including the one of the policy in the bytes.
   * @throws {SnapshotError} code `truncated`, `magic`, `version`, `checksum`, `policy`, `state-version` or `malformed`.
   */
  static async restore(
    bytes: Uint8Array,
    options: { readonly policies: readonly PolicyFactory[]; readonly module?: WebAssembly.Module },
  ): Promise<Recommender> {
    if (!Array.isArray(options?.policies)) throw wrongType("policies", "an array of policy factories", options?.policies);
    const core = await instantiate(options.module ?? (await compileCore()));
    const reader = new SnapshotReader(core, bytes);
    const { kind, policyId, stateVersion, dimension } = reader.header;
    const factory = options.policies.find(({ id }) => id === policyId) as PolicyFactory<unknown> | undefined;
    if (!factory) {
      const known = options.policies.map(({ id }) => id).join(", ");
      throw new SnapshotError("policy", `policies: expected the factory of ${JSON.stringify(policyId)}, got ${known || "none"}`);
    }
    try {
      const config = record("config", reader.json());
      const policy = factory(config.policy);
      const expected = stateVersionOf(policy, config.goals as Goals | undefined);
      if (expected !== stateVersion) {
        throw new SnapshotError("state-version", `expected state version ${expected} of ${policyId}, got ${stateVersion}`);
      }
      // Checked before the policy takes its memory. A publication may leave out half: a matrix whose factor it has.
      const least = 8 * (policy.leastNumbers ?? 0);
      if ((kind === "publication" ? least / 2 : least) > bytes.length) throw malformed();
      const recommender = new Recommender(core, { ...(config as unknown as RecommenderOptions), policy });
      if (recommender.policy.dimension !== dimension) throw malformed();
      recommender.#round = counted("round", config.round);
      recommender.policy.load(reader);
      if (kind === "snapshot")
        recommender.#ledger.load(reader, dimension, recommender.#round, (goal, reward) =>
          checkedReward({ goal, reward }, recommender.#rules),
        );
      reader.end();
      return recommender;
    } catch (error) {
      if (error instanceof SnapshotError) throw error;
      throw new SnapshotError("malformed", `the snapshot's contents do not fit together: ${(error as Error).message}`);
    }
  }

  /**
   * Ranks the candidates, and registers each shown candidate as an impression.
   *
   * @throws {TypeError | RangeError} naming the argument. Nothing has changed then.
   * @throws {NumericalError} if the policy cannot count a place. No impression is registered then, but the earlier places are counted.
   */
  recommend(request: RecommendRequest): Decision {
    const known = ["candidates", "points", "limit", "now", "impressionId", "draws", "greedy", "minimumShare"];
    onlyKeys("request", record("request", request), known);
    const moment = momentOf(this.#rules.window, this.#round + 1, request.now);
    const { candidates, points } = request;
    const d = this.policy.dimension;
    const limit = wholeNumber("limit", request.limit ?? 1, 1);
    const count = candidates?.length ?? (points && countOf(points, d)) ?? this.policy.domainSize ?? 1;
    const places = Math.max(1, Math.min(limit, count));
    const ids = this.#impressionIds(request.impressionId, places, moment.round);
    const { draws, greedy, minimumShare } = request;
    const { round, now } = moment;
    const choices = this.policy.choose({ round, now, candidates, points, limit, decision: ids[0], draws, greedy, minimumShare });
    // Set on the choices themselves: copies of them would take as long as a decision among few candidates.
    const ranking = choices as (Choice & { impressionId: string })[];
    // If the policy fails at a later place, no id of the list is taken.
    const appended: AppendedImpression[] = [];
    for (let place = 0; place < ranking.length; place++) {
      const shown = ranking[place];
      shown.impressionId = ids[place];
      if (!this.policy.learns) continue;
      const features = shown.features ?? candidates?.[shown.index].features ?? (points && rowOf(points, shown.index, d));
      appended.push(this.#append({ features, place, action: shown.id }, moment));
    }
    for (let place = 0; place < appended.length; place++) this.#ledger.register(ids[place], appended[place]);
    this.#round = moment.round;
    this.#ledger.advance(moment);
    return { round: moment.round, policy: this.policy.id, action: ranking[0], ranking };
  }

  /**
   * Registers an impression that was decided elsewhere, such as at the edge, offline or in a log. It counts as one round. `place`: its
   * place in the list that was shown, default 0, the first. `examination` gives the place its weight. `action`: the id of the product, which
   * `bestsellers` without features needs.
   *
   * @throws {TypeError | RangeError} naming the argument, also for an id that is already registered. Nothing has changed then.
   */
  register(impression: {
    readonly impressionId: string;
    readonly features?: ArrayLike<number>;
    readonly now?: number;
    readonly place?: number;
    readonly action?: string;
  }): void {
    onlyKeys("impression", record("impression", impression), ["impressionId", "features", "now", "place", "action"]);
    const place = wholeNumber("place", impression.place ?? 0, 0);
    const moment = momentOf(this.#rules.window, this.#round + 1, impression.now);
    const [id] = this.#impressionIds(nonEmptyString("impressionId", impression.impressionId), 1, moment.round);
    this.#ledger.register(id, this.#append({ features: impression.features, place, action: impression.action }, moment));
    this.#round = moment.round;
    this.#ledger.advance(moment);
  }

  #append(
    { place, ...shown }: { features: ArrayLike<number> | undefined; place: number; action: string | undefined },
    { round, now }: Moment,
  ): AppendedImpression {
    return this.policy.append({ ...shown, round, now, weight: this.weightAt(place) });
  }

  /** Examination weight of a place, 0 for the first: 1 without `examination`. For an impression that `policy.append` counts. */
  weightAt(place: number): number {
    return this.#examination ? examinationAt(this.#examination, wholeNumber("place", place, 0)) : 1;
  }

  #impressionIds(given: string | readonly string[] | undefined, places: number, round: number): string[] {
    if (given === undefined) {
      const ids = new Array<string>(places);
      for (let place = 0; place < places; place++) ids[place] = this.#core.digestNumbers(this.#seed, round, place);
      return ids;
    }
    const ids = typeof given === "string" ? [given] : given;
    if (!Array.isArray(ids)) throw wrongType("impressionId", "a string, or an array with one per place", given);
    if (ids.length < places) throw outOfRange("impressionId", `${places} ids, one per place of the list`, ids.length);
    for (let place = 0; place < ids.length; place++) {
      const id = nonEmptyString("impressionId", ids[place]);
      if (this.#ledger.get(id) || ids.indexOf(id) < place) throw outOfRange("impressionId", "an id that is not registered yet", id);
    }
    return ids;
  }

  /**
   * Counts a conversion of an impression. Repetition and order of arrival do not matter: for each impression and goal, the event
   * with the greatest (time, event id, reward) counts. A retraction has the least reward, and the delay of what it retracts does not count.
   * Only with a window in rounds and without declared goals that delay stays in the law of delays, because its round is not kept.
   *
   * A reward of 0 changes nothing, unless its event id had a reward before, which it takes back.
   *
   * @returns `applied`; `duplicate`: the same event arrived before; `conflict`: the event id arrived before with other data, and
   * the greatest event counts; `late`: the conversion happened after the window; `unknown`: there is no such impression, or it is
   * forgotten.
   * @throws {TypeError | RangeError} naming the argument, such as a time in ms that lies more than five minutes before the impression.
   * Nothing has changed then.
   */
  convert(event: ConversionEvent): { readonly status: ConversionStatus } {
    if (!this.policy.learns) throw onlyDecides(this.policy.id);
    const { impressionId, conversion } = parseConversion(event, this.#rules);
    const { status } = this.#ledger.convert(impressionId, conversion, (impression, { reward: total, previous, delay, goals }) => {
      this.policy.observe({ impression, reward: total as number, previous, delay, goals });
    });
    return { status };
  }

  /**
   * Tells what products sold before the recommender learnt anything, as `Policy.prior`.
   *
   * @example
   * recommender.prior([{ id: "mug", sales: 61 }, { id: "hat", sales: 30 }]);
   */
  prior(products: readonly PriorProduct[]): void {
    this.policy.prior(products);
  }

  /**
   * Closes the windows that have ended by `now`, in ms. `recommend` and `register` do so too.
   * @returns the number of windows closed without a conversion.
   */
  expire(now: number): number {
    return this.#ledger.advance(momentOf(this.#rules.window, this.#round, now));
  }

  /** A remembered impression: its status, features and every distinct conversion. */
  impression(id: string): (Impression & { readonly status: ImpressionStatus }) | undefined {
    const impression = this.#ledger.get(id);
    if (!impression) return undefined;
    const { features, conversions } = impression;
    return { ...impression, features: features.slice(), conversions: [...conversions], status: this.#ledger.status(impression) };
  }

  /** The number of remembered impressions by status. */
  counts(): Record<ImpressionStatus, number> {
    return this.#ledger.counts();
  }

  /** A digest of the learnt sums. For an `orderInvariant` policy, the order of conversions does not change it. */
  digest(): string {
    return this.policy.digest();
  }

  /** Size of the WebAssembly memory, which grows with the state and never shrinks. */
  get memoryBytes(): number {
    return this.#core.memoryBytes;
  }

  /**
   * Derives everything again from what was learnt, as `Policy.refactor`. If the policy `merges` and the window is in ms, a snapshot then
   * depends on the options, the impressions and their events alone, in whichever order they came. Impressions are numbered by their time.
   */
  refactor(): void {
    this.policy.refactor();
    if (this.#inMs && this.policy.merges === true) this.#ledger.refactor();
  }

  /** Takes what another recommender with the same options has learnt, which is not used any more. For `merge`. Call `refactor` then. */
  absorb(other: Recommender): void {
    this.#ledger.merge(other.#ledger);
    this.policy.merge(other.policy);
    this.#round += other.#round;
  }

  /**
   * All state as bytes. A recommender restored from them makes identical decisions.
   * @param beside is kept in the bytes as JSON, and is the `beside` of the restored recommender.
   */
  snapshot(beside?: object): Uint8Array {
    const write = (writer: SnapshotWriter) => {
      this.policy.save(writer);
      this.#ledger.save(writer);
    };
    return this.#written("snapshot", write, beside);
  }

  /**
   * The part that decisions need, as bytes, without the remembered impressions. A recommender restored from them decides and predicts with the
   * same bits as this one does now, and cannot learn. The bytes of `delayLinTs` and `delayLinUcb` are a small part of a snapshot.
   */
  publication(): Uint8Array {
    return this.#written("publication", (writer) => this.policy.publish(writer));
  }

  /** How long conversions count. */
  get window(): Window {
    return this.#rules.window;
  }

  #written(kind: "snapshot" | "publication", write: (writer: SnapshotWriter) => void, beside?: object): Uint8Array {
    const writer = new SnapshotWriter();
    const { countsZeros: _, ...rules } = this.#rules;
    writer.json({
      policy: this.#descriptor.options,
      ...rules,
      ...this.#zeros,
      examination: this.#examination,
      seed: this.#seed,
      round: this.#round,
      beside,
    });
    write(writer);
    return writer.finish(this.#core, {
      kind,
      policyId: this.policy.id,
      stateVersion: stateVersionOf(this.#descriptor, this.#rules.goals),
      dimension: this.policy.dimension,
      impressions: this.policy.impressions,
    });
  }

  get #inMs(): boolean {
    return isInMs(this.#rules.window);
  }
}
