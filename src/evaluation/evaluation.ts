import { compileCore } from "#core-module";
import { wholeNumber, wrongType } from "../argument.ts";
import { instantiate } from "../core/core.ts";
import { countedGoals } from "./counted-goals.ts";
import type { Estimate } from "./estimate.ts";
import { decisionsUntil, type LoggedDecision } from "./log.ts";
import { MaturedLog, maturedReward } from "./matured-log.ts";
import { checked, type PolicyRequest } from "./request.ts";
import { estimates, type Row, rewardModel, weightsOf } from "./row.ts";
import { fitted, fittedTarget, givenTarget, type Target } from "./target.ts";

/** Request of `evaluate`. */
export interface EvaluationRequest extends PolicyRequest<Target> {
  /** Decisions of one or several policies, each with its probability. */
  readonly log: readonly LoggedDecision[];
  /** Called now and then with the number of decisions done. */
  readonly progress?: (done: number, all: number) => void;
}

/** Expected reward per decision, by several estimators, each with a 95 % interval. */
export interface Evaluation {
  readonly asOf: number;
  /** When the evaluated part begins, in ms since 1970. */
  readonly since: number;
  /** Decisions learnt from, decisions evaluated, and decisions too young to be evaluated. */
  readonly decisions: { readonly learnt: number; readonly evaluated: number; readonly tooYoung: number };
  /** Share of the evaluated decisions that may still convert, and the expected share of conversions that are still to come. */
  readonly immature: { readonly decisions: number; readonly conversions: number };
  /** Ratios of the policy's probability and the logged one. A mean far below 1: the log seldom has the policy's choices. */
  readonly weights: { readonly mean: number; readonly greatest: number; readonly effective: number };
  /** The policy that made the log. */
  readonly logged: Estimate;
  readonly ips: Estimate;
  readonly snips: Estimate;
  readonly doublyRobust: Estimate;
}

const PROGRESS_EVERY = 64;

/**
 * Estimates what a policy would have earned, from a log of the decisions of other policies. Some conversions may still be to come.
 *
 * Each arrived reward is multiplied by the ratio of the policy's probability of the action and the logged one (inverse propensity
 * scoring). The self-normalised estimate divides by the sum of these ratios. The doubly robust one applies them to the errors of a
 * reward model. Each reward is also divided by the probability that a conversion has come by the age of its impression. This assumes
 * that delays do not depend on the action. The intervals allow for the error of this probability, unless `maturity` is given.
 *
 * **Cost:** per decision that of the policy, and O(k d^2) for the reward model.
 *
 * **Source:** Horvitz and Thompson 1952; Swaminathan and Joachims, NeurIPS 2015; Dudik, Langford and Li, ICML 2011.
 *
 * @example
 * const { doublyRobust } = await evaluate({ log, policy: otfLinTs({ dimension: 8 }), window: { ms: 86_400_000 }, asOf });
 * @throws {TypeError | RangeError} naming the argument.
 * @throws {UnsupportedError} code `no-probability` if the policy chooses in its own domain, or does not know its probabilities.
 */
export async function evaluate(request: EvaluationRequest): Promise<Evaluation> {
  const { asOf, windowMs, split } = checked(request, ["progress"]);
  const log = decisionsUntil(asOf, request.log, request.goals);
  const cut = Math.floor(split * log.length);
  const since = log[cut]?.shownAt ?? asOf;
  const core = await instantiate(request.module ?? (await compileCore()));
  const goals = countedGoals({ ...request, windowMs }, log);
  const shown = log.map(({ shownAt, kept, conversions }) => ({ shownAt, kept, items: [{ conversions }] }));
  const matured = new MaturedLog(shown, { asOf, goals, maturity: request.maturity });
  const old = shown.flatMap((each, place) => (matured.rewardsOf(each, place) ?? []).map((seen) => ({ ...seen, decision: log[place] })));
  const learnt = old.filter(({ place }) => place < cut).map((seen) => ({ decision: seen.decision, reward: maturedReward(seen) }));
  const expected = rewardModel(core, learnt, goals.reward);
  const target = await targetOf(request, log.slice(0, cut), since);
  const evaluated = old.filter(({ place }) => place >= cut);
  const rows = evaluated.map(({ decision, ...seen }, i): Row => {
    if (i % PROGRESS_EVERY === 0) request.progress?.(i, evaluated.length);
    const [chances, means] = [target(decision, seen.place), expected(decision)];
    const { index, probability } = decision;
    const expectedOfPolicy = means.reduce((sum, mean, candidate) => sum + mean * chances[candidate], 0);
    return { ...seen, weight: chances[index] / probability, expected: means[index], expectedOfPolicy };
  });
  request.progress?.(rows.length, rows.length);
  return {
    asOf,
    since,
    decisions: { learnt: cut, evaluated: rows.length, tooYoung: log.length - cut - rows.length },
    immature: matured.immatureShares(rows),
    weights: weightsOf(rows),
    ...estimates(core, rows, matured),
  };
}

async function targetOf(request: EvaluationRequest, log: readonly LoggedDecision[], at: number): Promise<Target> {
  const { policy, window, goals, reward, seed, module } = request;
  if (typeof policy === "function") return givenTarget(policy);
  if (typeof policy?.start !== "function") throw wrongType("policy", "a descriptor or a function of a decision", policy);
  const draws = wholeNumber("draws", request.draws ?? 100, 1);
  return fittedTarget(await fitted({ policy, window, goals, reward, seed, module }, log, { at, draws }));
}
