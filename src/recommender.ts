import { compileCore } from "#core-module";
import { finiteNumber, nonEmptyString, onlyKeys, outOfRange, record, wholeNumber, wrongType } from "./argument.ts";
import { type Core, instantiate } from "./core/core.ts";
import { SnapshotError } from "./errors.ts";
import { type Moment, parseWindow, type Window } from "./model/delay/window.ts";
import { type ConversionStatus, type Impression, type ImpressionStatus, Pending } from "./pending.ts";
import { type Candidate, type Choice, Policy } from "./policy/policy.ts";
import type { PolicyDescriptor, PolicyFactory } from "./policy/rule.ts";
import { malformed, SnapshotReader, SnapshotWriter } from "./snapshot.ts";

/** What a recommender is made of. */
export interface RecommenderOptions {
  /** A descriptor, such as `otfLinUcb({ dimension: 8 })`. */
  readonly policy: PolicyDescriptor;
  /** How long after its impression a conversion still counts. */
  readonly window: Window;
  /** Range of the reward of one conversion, default 0 to 1; an impression that never converts is worth 0. */
  readonly reward?: { readonly min: number; readonly max: number };
  /** Every random draw derives from it and from the impression's id, default 0. */
  readonly seed?: number;
  /** A compiled core, for hosts that bring their own. */
  readonly module?: WebAssembly.Module;
}

/** What to choose among, and when. */
export interface RecommendRequest {
  /** Absent for a policy with its own domain. */
  readonly candidates?: readonly Candidate[];
  /** Instead of candidates their features alone: k x dimension, row-major. Ids are then their places. */
  readonly points?: Float64Array;
  /** Length of the ranked list, default 1. */
  readonly limit?: number;
  /** Milliseconds since 1970; required with a window in ms. */
  readonly now?: number;
  /** Taken instead of a fresh id; for a list, one id per place. */
  readonly impressionId?: string | readonly string[];
}

/** A shown item: an impression of its own. */
export interface RankedAction extends Choice {
  readonly impressionId: string;
}

/** What was decided in a round. */
export interface Decision {
  readonly round: number;
  readonly policy: string;
  /** `ranking[0]`. */
  readonly action: RankedAction;
  /** Best first; every shown item is an impression of its own. */
  readonly ranking: readonly RankedAction[];
}

/** What came of an impression. */
export interface ConversionEvent {
  readonly impressionId: string;
  /** null retracts the goal: as if it had not been reached, unless a later event says that it was. */
  readonly reward: number | null;
  /** When it happened, in milliseconds since 1970; required with a window in ms. */
  readonly at?: number;
  /** What was reached, default "conversion". Rewards of several goals add up. */
  readonly goal?: string;
  /** Names the event, so that its repetition is known; default: its time. */
  readonly eventId?: string;
}

const SEED_LIMIT = Number.MAX_SAFE_INTEGER;

/** Recommends among candidates, and learns from conversions that come late. One WebAssembly instance each. */
export class Recommender {
  /** The running policy: the research loop of choose, append, observe and predict. */
  readonly policy: Policy;
  readonly #core: Core;
  readonly #descriptor: PolicyDescriptor;
  readonly #pending: Pending;
  readonly #window: Window;
  readonly #reward: { readonly min: number; readonly max: number };
  readonly #seed: number;
  #round = 0;

  /** Not for callers: `create` and `restore` make recommenders. */
  private constructor(core: Core, options: RecommenderOptions) {
    this.#core = core;
    this.#window = parseWindow(options.window);
    this.#reward = parseReward(options.reward);
    this.#seed = wholeNumber("seed", options.seed ?? 0, -SEED_LIMIT, SEED_LIMIT);
    this.#descriptor = options.policy;
    this.policy = new Policy(options.policy, { core, window: this.#window, seed: this.#seed });
    this.#pending = new Pending(this.#window, this.policy.delayOffset);
  }

  /**
   * Makes a recommender that has learnt nothing yet.
   *
   * @example
   * const recommender = await Recommender.create({ policy: otfLinTs({ dimension: 8 }), window: { ms: 86_400_000 } });
   * @throws {TypeError | RangeError} naming the option.
   */
  static async create(options: RecommenderOptions): Promise<Recommender> {
    onlyKeys("options", record("options", options), ["policy", "window", "reward", "seed", "module"]);
    if (typeof options.policy?.start !== "function") {
      throw wrongType("policy", "a descriptor such as otfLinUcb({ dimension: 8 })", options.policy);
    }
    return new Recommender(await instantiate(options.module ?? (await compileCore())), options);
  }

  /**
   * Goes on where `snapshot()` stood, with identical decisions.
   *
   * @param options.policies factories among which is the snapshot's policy.
   * @throws {SnapshotError} code `truncated`, `magic`, `version`, `checksum`, `policy`, `state-version` or `malformed`.
   */
  static async restore(
    bytes: Uint8Array,
    options: { readonly policies: readonly PolicyFactory[]; readonly module?: WebAssembly.Module },
  ): Promise<Recommender> {
    if (!Array.isArray(options?.policies)) throw wrongType("policies", "an array of policy factories", options?.policies);
    const core = await instantiate(options.module ?? (await compileCore()));
    const reader = new SnapshotReader(core, bytes);
    const { policyId, stateVersion, dimension } = reader.header;
    const factory = options.policies.find(({ id }) => id === policyId) as PolicyFactory<unknown> | undefined;
    if (!factory) {
      const known = options.policies.map(({ id }) => id).join(", ");
      throw new SnapshotError("policy", `the snapshot is of policy ${JSON.stringify(policyId)}; given were ${known || "none"}`);
    }
    try {
      const config = record("config", reader.json());
      const policy = factory(config.policy);
      if (policy.stateVersion !== stateVersion) {
        throw new SnapshotError(
          "state-version",
          `state ${stateVersion} of ${policyId} is not the state ${policy.stateVersion} of this version`,
        );
      }
      const recommender = new Recommender(core, { ...(config as unknown as RecommenderOptions), policy });
      if (recommender.policy.dimension !== dimension) throw malformed();
      recommender.#round = wholeNumber("round", config.round, 0);
      recommender.policy.load(reader);
      recommender.#pending.load(reader, dimension);
      reader.end();
      return recommender;
    } catch (error) {
      if (error instanceof SnapshotError) throw error;
      throw new SnapshotError("malformed", `the snapshot's contents do not fit together: ${(error as Error).message}`);
    }
  }

  /**
   * Ranks the candidates, and registers each shown one as an impression.
   *
   * @throws {TypeError | RangeError} naming the argument; nothing has changed then.
   */
  recommend(request: RecommendRequest): Decision {
    onlyKeys("request", record("request", request), ["candidates", "points", "limit", "now", "impressionId"]);
    const moment = this.#moment(this.#round + 1, request.now);
    const { candidates, points } = request;
    const d = this.policy.dimension;
    const limit = wholeNumber("limit", request.limit ?? 1, 1);
    const count = candidates?.length ?? (points && points.length / d) ?? limit;
    const places = Math.max(1, Math.min(limit, count));
    const ids = this.#impressionIds(request.impressionId, places, moment.round);
    const choices = this.policy.choose({ ...moment, candidates, points, limit, decision: ids[0] });
    const ranking = choices.map((choice, place): RankedAction => ({ ...choice, impressionId: ids[place] }));
    this.#round = moment.round;
    for (const { impressionId, index, features } of ranking) {
      this.#show(impressionId, features ?? candidates?.[index].features ?? points?.subarray(index * d, (index + 1) * d), moment);
    }
    this.#pending.advance(moment);
    return { round: moment.round, policy: this.policy.id, action: ranking[0], ranking };
  }

  /**
   * Registers an impression that was decided elsewhere: at the edge, offline, in a log. It is a round of its own.
   *
   * @throws {TypeError | RangeError} naming the argument, also for an id that is registered already; nothing has changed then.
   */
  register(impression: { readonly impressionId: string; readonly features?: ArrayLike<number>; readonly now?: number }): void {
    onlyKeys("impression", record("impression", impression), ["impressionId", "features", "now"]);
    const moment = this.#moment(this.#round + 1, impression.now);
    const [id] = this.#impressionIds(nonEmptyString("impressionId", impression.impressionId), 1, moment.round);
    this.#show(id, impression.features, moment);
    this.#round = moment.round;
    this.#pending.advance(moment);
  }

  #show(id: string, features: ArrayLike<number> | undefined, moment: Moment): void {
    this.#pending.add(id, this.policy.append({ features, round: moment.round, now: moment.now }));
  }

  #impressionIds(given: string | readonly string[] | undefined, places: number, round: number): string[] {
    if (given === undefined) {
      const ids: string[] = [];
      for (let place = 0; place < places; place++) ids.push(this.#core.digestText(`${this.#seed} ${round} ${place}`));
      return ids;
    }
    const ids = typeof given === "string" ? [given] : given;
    if (!Array.isArray(ids)) throw wrongType("impressionId", "a string, or an array with one per place", given);
    if (ids.length < places) throw new RangeError(`impressionId: expected ${places} ids, one per place of the list, got ${ids.length}`);
    ids.forEach((id, place) => {
      nonEmptyString("impressionId", id);
      if (this.#pending.get(id) || ids.indexOf(id) < place) throw outOfRange("impressionId", "an id that is not registered yet", id);
    });
    return ids;
  }

  /**
   * Takes a conversion of an impression. Repetition and order of arrival do not matter: per impression and goal the event
   * with the greatest (time, event id, reward) counts, a retraction having the least reward.
   *
   * @returns `applied`; `duplicate`: this very event came before; `conflict`: it came before with another payload, of which
   * the greatest counts; `late`: it happened after the window; `unknown`: no such impression, or forgotten.
   * @throws {TypeError | RangeError} naming the argument; nothing has changed then.
   */
  convert(event: ConversionEvent): { readonly status: ConversionStatus } {
    onlyKeys("event", record("event", event), ["impressionId", "reward", "at", "goal", "eventId"]);
    const { min, max } = this.#reward;
    const reward = event.reward === null ? null : finiteNumber("reward", event.reward, min, max);
    const at = this.#inMs || event.at !== undefined ? finiteNumber("at", event.at) : 0;
    const goal = nonEmptyString("goal", event.goal ?? "conversion");
    const eventId = nonEmptyString("eventId", event.eventId ?? `at ${at}`);
    const id = nonEmptyString("impressionId", event.impressionId, 2048);
    const { status, previous, reward: total, delay } = this.#pending.convert(id, { goal, eventId, at, reward });
    const impression = this.#pending.get(id);
    const moved = delay !== undefined && delay.before !== delay.after;
    if (impression && total !== undefined && (total !== previous || moved)) {
      this.policy.observe({ impression, reward: total, previous, delay });
    }
    return { status };
  }

  /**
   * Closes the windows that have passed by `now`, in ms. `recommend` and `register` do so by themselves.
   * @returns how many closed without a conversion.
   */
  expire(now: number): number {
    return this.#pending.advance(this.#moment(this.#round, now));
  }

  /** An impression that is still remembered: its status, features, and every distinct conversion. */
  impression(id: string): (Impression & { readonly status: ImpressionStatus }) | undefined {
    const impression = this.#pending.get(id);
    if (!impression) return undefined;
    const { features, conversions } = impression;
    return { ...impression, features: features.slice(), conversions: [...conversions], status: this.#pending.status(impression) };
  }

  /** Impressions that are still remembered, by status. */
  counts(): Record<ImpressionStatus, number> {
    return this.#pending.counts();
  }

  /** Digest of what has been learnt, as sums: the same for the same impressions and conversions in any order. */
  digest(): string {
    return this.policy.digest();
  }

  /** Size of its WebAssembly memory, which grows with what is learnt and never shrinks. */
  get memoryBytes(): number {
    return this.#core.memoryBytes;
  }

  /** All state as bytes; `restore` goes on from them bit for bit. */
  snapshot(): Uint8Array {
    const writer = new SnapshotWriter();
    writer.json({
      policy: this.#descriptor.options,
      window: this.#window,
      reward: this.#reward,
      seed: this.#seed,
      round: this.#round,
    });
    this.policy.save(writer);
    this.#pending.save(writer);
    return writer.finish(this.#core, {
      policyId: this.policy.id,
      stateVersion: this.#descriptor.stateVersion,
      dimension: this.policy.dimension,
      impressions: this.policy.impressions,
    });
  }

  get #inMs(): boolean {
    return typeof this.#window === "object" && "ms" in this.#window;
  }

  #moment(round: number, now: number | undefined): Moment {
    if (!this.#inMs && now === undefined) return { round };
    return { round, now: finiteNumber("now", now, 0, Number.MAX_SAFE_INTEGER) };
  }
}

function parseReward(value: RecommenderOptions["reward"]): { min: number; max: number } {
  if (value === undefined) return { min: 0, max: 1 };
  onlyKeys("reward", record("reward", value), ["min", "max"]);
  const min = finiteNumber("reward.min", value.min, -1e6, 1e6);
  const max = finiteNumber("reward.max", value.max, -1e6, 1e6);
  if (min >= max) throw outOfRange("reward.max", `more than the minimum ${min}`, max);
  return { min, max };
}
