import type { GoalEvent } from "./event.ts";
import { differs, type ResolvedReward, type RewardChange, resolved } from "./reward.ts";
import type { RewardRules } from "./silence.ts";

/** The change of a reward that the policies observe. */
export type Change = Pick<RewardChange, "before" | "after">;

/**
 * Folds the conversions of one impression that count into its reward. Each conversion that comes returns what it changes. The live ledger,
 * the start of a learner, a relearning and a verification fold alike, so that policies observe the same changes.
 */
export class Fold {
  readonly #shownAt: number;
  readonly #rules: RewardRules;
  readonly #events: GoalEvent[];
  #resolved: ResolvedReward | null;

  /** @param shownAt of the impression, in ms since 1970. @param earlier conversions that count and have come before. */
  constructor(shownAt: number, rules: RewardRules, earlier: readonly GoalEvent[] = []) {
    this.#shownAt = shownAt;
    this.#rules = rules;
    this.#events = [...earlier];
    this.#resolved = resolved(this.#events, rules, shownAt);
  }

  /** The reward by all conversions so far. Null before the first one. */
  get resolved(): ResolvedReward | null {
    return this.#resolved;
  }

  /** Applies a conversion. Returns undefined if the policies have nothing to observe. */
  apply(event: GoalEvent): Change | undefined {
    const before = this.#resolved;
    this.#events.push(event);
    const after = resolved(this.#events, this.#rules, this.#shownAt);
    this.#resolved = after;
    return differs(before, after) ? { before, after } : undefined;
  }
}
