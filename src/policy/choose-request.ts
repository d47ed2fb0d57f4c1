import type { Points } from "../encoding/points.ts";
import type { Families } from "../model/families.ts";

/** An action to choose among. */
export interface Candidate {
  readonly id?: string;
  /** `dimension` numbers. */
  readonly features?: ArrayLike<number>;
}

/** A request to choose. It changes no state. */
export interface ChooseRequest {
  /** Absent for a policy with its own domain. */
  readonly candidates?: readonly Candidate[];
  /** The features alone, instead of candidates: k x `dimension`, row-major, not copied, or encoded actions. Ids are then the indices of rows. */
  readonly points?: Points;
  readonly round: number;
  /** Time in ms since 1970. A policy that asks which windows are open, such as OTFLinUCB, needs it if they are in ms. */
  readonly now?: number;
  /** Places to rank, default 1. */
  readonly limit?: number;
  /**
   * For a Thompson policy: number of samples, of which the decision takes one at random. All decisions until the next impression
   * share them, and `probability` is exact. Default 0: the decision draws a sample of its own. Other policies ignore this.
   */
  readonly draws?: number;
  /**
   * Ranks by posterior mean, without exploring. The score is then the mean, for encoded actions that of the vector before its components
   * are rounded. Policies that have no means ("uniform", "bestsellers"), or that choose
   * one point at a time, ignore this.
   */
  readonly greedy?: boolean;
  /**
   * Least probability of each candidate at each place, default 0. With `count` times this probability, the decision ranks uniformly
   * at random. `probability` is then known if the policy is deterministic or knows its own.
   */
  readonly minimumShare?: number;
  /**
   * Made by `families`. Bounds the candidates of a family in the list: each place takes the next candidate whose family still has room. Default: no bounds.
   * `probability` is that of the bounded list. A random order is bounded alike, so `minimumShare` then holds for the first place.
   */
  readonly families?: Families;
  /**
   * Added to the score of each candidate, in units of the expected reward: k numbers of at most 1e6 in size. Every sample is boosted alike, so
   * `probability` stays exact. The random parts of a decision ignore them. Default: none. A policy with its own domain takes none.
   */
  readonly boosts?: ArrayLike<number>;
  /** Replace the generator's draws. With `draws` the normals belong to the trial and cannot be replaced. */
  readonly normals?: ArrayLike<number>;
  readonly uniforms?: ArrayLike<number>;
  /** Name of the decision, which seeds its random draws. Default: its round. */
  readonly decision?: string;
}
