// Simulated problems, and the loop in which a policy plays them.

import type { Candidate } from "afterclick";
import type { AppendedImpression, Choice, Outcome } from "afterclick/research";

/** The part of a choice that a world needs: the index, and the point if the policy has its own domain. */
export type Taken = Pick<Choice, "index" | "features">;

/** A simulated problem: candidates, rewards and delays. */
export interface World {
  readonly horizon: number;
  /** Absent for a policy with its own domain. */
  candidates?(round: number): readonly Candidate[];
  /** A choice made instead of the policy's, such as a random one to begin with. Undefined if the policy chooses. */
  forced?(round: number): Taken | undefined;
  /** The observed reward, noise included. */
  reward(round: number, choice: Taken): number;
  /** Expected reward lost, compared with the best choice of the round. */
  regret(round: number, choice: Taken): number;
  delay(round: number): number;
}

/** A copy of a world without negative feedback, as in a shop: rewards of 0 are never reported. */
export function converting(world: World): World {
  let converted = false;
  return {
    ...world,
    reward(round, choice) {
      const reward = world.reward(round, choice);
      converted = reward !== 0;
      return reward;
    },
    delay(round) {
      const delay = world.delay(round);
      return converted ? delay : Number.POSITIVE_INFINITY;
    },
  };
}

/** A paper's convention: feedback of round s with delay D is known to the choice of round s + D + 1 - offset, iff D <= window. */
export interface Timing {
  readonly offset: 0 | 1;
  readonly window?: number;
}

/** The part of a policy that a world plays. */
export interface Player {
  /** Returns the best choice first. */
  choose(request: { readonly candidates?: readonly Candidate[]; readonly round: number }): readonly Taken[];
  append(impression: { readonly round: number; readonly features?: ArrayLike<number> }): AppendedImpression;
  observe(outcome: Outcome): void;
}

/** A policy for which each reward seems to come at once, so that it doubts no silent impression. */
export function concealed(policy: Player): Player {
  return {
    choose: (request) => policy.choose(request),
    append: (impression) => policy.append(impression),
    observe: (outcome) => policy.observe({ ...outcome, delay: { after: 0 } }),
  };
}

/** Plays a policy in a world and returns the regret of each round. Rewards of 0 arrive like all others. */
export function play(policy: Player, world: World, { offset, window = Number.POSITIVE_INFINITY }: Timing): Float64Array {
  const regret = new Float64Array(world.horizon);
  const due: { impression: AppendedImpression; reward: number }[][] = [];
  for (let round = 1; round <= world.horizon; round++) {
    for (const outcome of due[round] ?? []) policy.observe(outcome);
    delete due[round];
    const candidates = world.candidates?.(round);
    const choice = world.forced?.(round) ?? policy.choose({ candidates, round })[0];
    const impression = policy.append({ round, features: choice.features ?? candidates?.[choice.index].features });
    regret[round - 1] = world.regret(round, choice);
    const reward = world.reward(round, choice);
    const delay = world.delay(round);
    const known = round + Math.max(delay + 1 - offset, 1);
    if (delay > window || known > world.horizon) continue;
    due[known] ??= [];
    due[known].push({ impression, reward });
  }
  return regret;
}
