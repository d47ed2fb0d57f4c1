// One policy in a match, with its regret and its reports so far.

import { type PolicyDescriptor, Recommender, type RecommendRequest, UnsupportedError } from "afterclick";
import type { Problem, Scene } from "./problem.ts";

export interface PlayerOptions {
  readonly policy: PolicyDescriptor;
  /** In rounds. */
  readonly window: number;
  readonly seed: number;
  /** The policy learns impression and outcome only when the window has closed. */
  readonly waits: boolean;
  readonly problem: Problem;
}

interface Shown {
  readonly features: Float64Array;
  readonly reward: number;
  /** Inside its window, with an unknown outcome. */
  pending: boolean;
}

/** A posterior at the problem's points. */
export interface PlayerPosterior {
  readonly mean: Float64Array;
  readonly deviation: Float64Array;
}

/** One policy in a match, and the results of its choices. */
export class Player {
  /** Expected reward lost so far, compared with the best choice of each round. */
  regret = 0;
  /** Outcomes that arrived inside the window, and after it. Outcomes are conversions, and failures that are reported and counted. */
  counted = 0;
  late = 0;
  /** How often each place was chosen. */
  readonly choices: Uint32Array;
  /** Impressions inside their window with an unknown outcome. */
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

  /** Digest of the recommender's state. */
  get digest(): string {
    return this.#recommender.digest();
  }

  /** Chooses a candidate. It converts iff `lot`, uniform on [0, 1), is below its rate. */
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

  /** The candidates in the form that the policy takes: none for a policy with its own domain, empty ones for a policy without features. */
  #among({ points, rates }: Scene): Pick<RecommendRequest, "points" | "candidates"> {
    const { hasDomain, dimension } = this.#recommender.policy;
    if (hasDomain) return {};
    return dimension === 0 ? { candidates: Array.from(rates, () => ({})) } : { points };
  }

  /** Takes the outcome of the impression of round `shown`. */
  arrive(shown: number): void {
    const impression = this.#shown.get(shown) as Shown;
    const { reward } = impression;
    if (reward === 0 && !this.#takesFailures) return;
    const inTime = this.#options.waits
      ? impression.pending
      : this.#recommender.convert({ impressionId: String(shown), reward }).status === "applied";
    if (inTime) {
      this.counted++;
      this.#settle(impression);
    } else this.late++;
  }

  /** Whether a failure is an outcome. To most policies it says what silence says. */
  get #takesFailures(): boolean {
    const { policy, problem, waits } = this.#options;
    return problem.reportsFailures && (waits || policy.countsZeros === true);
  }

  #settle(impression: Shown): void {
    if (impression.pending) this.pending--;
    impression.pending = false;
  }

  /** Closes the window of the impression of round `shown`. */
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

  /** The posterior at the problem's points. Null for a policy without a posterior. */
  estimate(): PlayerPosterior | null {
    try {
      const { mean, variance } = this.#recommender.policy.predict(this.#options.problem.points);
      return { mean, deviation: variance.map((each) => Math.sqrt(Math.max(0, each))) };
    } catch (error) {
      if (error instanceof UnsupportedError) return null;
      throw error;
    }
  }
}
