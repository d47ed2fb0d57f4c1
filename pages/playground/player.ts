import { type PolicyDescriptor, Recommender, type RecommendRequest, UnsupportedError } from "afterclick";
import type { Problem, Scene } from "./problem.ts";

export interface PlayerOptions {
  readonly policy: PolicyDescriptor;
  /** In rounds. */
  readonly window: number;
  readonly seed: number;
  /** Told of an impression only when its window has closed. */
  readonly waits: boolean;
  readonly problem: Problem;
}

interface Shown {
  readonly features: Float64Array;
  readonly reward: number;
  /** Inside its window, and nothing known of it. */
  pending: boolean;
}

/** A posterior at the problem's points. */
export interface Estimate {
  readonly mean: Float64Array;
  readonly deviation: Float64Array;
}

/** One policy at play, and what came of its choices. */
export class Player {
  /** Expected reward missed so far against the best choice of each round. */
  regret = 0;
  /** Conversions, or all outcomes where failures are reported, that came in the window, and after it. */
  counted = 0;
  late = 0;
  /** How often each place was chosen. */
  readonly choices: Uint32Array;
  /** Impressions inside their window of which nothing is known. */
  pending = 0;
  readonly #options: PlayerOptions;
  readonly #recommender: Recommender;
  readonly #shown = new Map<number, Shown>();

  private constructor(recommender: Recommender, options: PlayerOptions) {
    this.#recommender = recommender;
    this.#options = options;
    this.choices = new Uint32Array(options.problem.places);
  }

  static async create(options: PlayerOptions): Promise<Player> {
    const { policy, window, seed } = options;
    return new Player(await Recommender.create({ policy, window: { rounds: window }, seed }), options);
  }

  /** Digest of all that it has learnt. */
  get digest(): string {
    return this.#recommender.digest();
  }

  /** Chooses; the choice converts iff `lot`, uniform on [0, 1), is below its rate. */
  decide(round: number, scene: Scene, lot: number): void {
    const { points, rates } = scene;
    const { policy } = this.#recommender;
    const among = this.#among(scene);
    const { index } = this.#options.waits
      ? policy.choose({ ...among, round })[0]
      : this.#recommender.recommend({ ...among, impressionId: String(round) }).action;
    const d = points.length / rates.length;
    this.#shown.set(round, { features: points.subarray(index * d, (index + 1) * d), reward: Number(lot < rates[index]), pending: true });
    this.pending++;
    this.regret += Math.max(...rates) - rates[index];
    this.choices[this.#options.problem.place(scene, index)]++;
    this.#close(round - this.#options.window - 1 + policy.delayOffset);
  }

  /** A policy with its own domain is given no candidates, and one that looks at no features only so many. */
  #among({ points, rates }: Scene): Pick<RecommendRequest, "points" | "candidates"> {
    const { hasDomain, dimension } = this.#recommender.policy;
    if (hasDomain) return {};
    return dimension === 0 ? { candidates: Array.from(rates, () => ({})) } : { points };
  }

  /** What came of the impression of round `shown` comes in. */
  arrive(shown: number): void {
    const impression = this.#shown.get(shown) as Shown;
    const { reward } = impression;
    if (reward === 0 && !this.#options.problem.reportsFailures) return;
    const inTime = this.#options.waits
      ? impression.pending
      : this.#recommender.convert({ impressionId: String(shown), reward }).status === "applied";
    if (inTime) {
      this.counted++;
      this.#settle(impression);
    } else this.late++;
  }

  #settle(impression: Shown): void {
    if (impression.pending) this.pending--;
    impression.pending = false;
  }

  /** The window of the impression of round `shown` has closed. */
  #close(shown: number): void {
    const impression = this.#shown.get(shown);
    if (!impression) return;
    const impressionId = String(shown);
    const inTime = !impression.pending;
    this.#settle(impression);
    if (!this.#options.waits) return;
    this.#recommender.register({ impressionId, features: impression.features });
    if (inTime) this.#recommender.convert({ impressionId, reward: impression.reward });
  }

  /** What it expects at the problem's points; null for a policy without a posterior. */
  estimate(): Estimate | null {
    try {
      const { mean, variance } = this.#recommender.policy.predict(this.#options.problem.points);
      return { mean, deviation: variance.map((each) => Math.sqrt(Math.max(0, each))) };
    } catch (error) {
      if (error instanceof UnsupportedError) return null;
      throw error;
    }
  }
}
