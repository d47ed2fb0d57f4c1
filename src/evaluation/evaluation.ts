import { compileCore } from "#core-module";
import { finiteNumber, onlyKeys, outOfRange, positiveNumber, record, wholeNumber, wrongType } from "../argument.ts";
import { instantiate } from "../core/core.ts";
import type { PolicyDescriptor } from "../policy/rule.ts";
import type { Estimate } from "./estimate.ts";
import { decisionsUntil, type LoggedDecision, rewardBy } from "./log.ts";
import { ProductLimit } from "./maturity.ts";
import { estimates, immatureShares, type Maturity, type Row, rewardModel, weightsOf } from "./row.ts";
import { fittedTarget, givenTarget, type Target } from "./target.ts";

/** What `evaluate` is asked. */
export interface EvaluationRequest {
  /** Decisions of one or several policies, each with the chance with which it was made. */
  readonly log: readonly LoggedDecision[];
  /** What is to be evaluated: a policy, which learns from the log's first part; or the chances with which candidates are chosen. */
  readonly policy: PolicyDescriptor | Target;
  /** What came later is not known, in ms since 1970. */
  readonly asOf: number;
  /** How long after its impression a conversion still counts. */
  readonly window: { readonly ms: number } | "none";
  /** Share of the decisions, the oldest, from which policy and reward model learn; on the others they are evaluated. Default 0.5. */
  readonly split?: number;
  /** Range of a decision's reward, default 0 to 1. */
  readonly reward?: { readonly min: number; readonly max: number };
  /** Samples among which a policy that samples chooses, default 100. */
  readonly draws?: number;
  /** Of the policy's randomness, default 0. */
  readonly seed?: number;
  /** Probability that a conversion has come by an age in ms, if there will be one; by default from the log's own conversions. */
  readonly maturity?: (ageMs: number) => number;
  /** Told now and then how many decisions are done. */
  readonly progress?: (done: number, all: number) => void;
  /** A compiled core, for hosts that bring their own. */
  readonly module?: WebAssembly.Module;
}

/** Expected reward per decision, by several estimators, each with a 95 % interval. */
export interface Evaluation {
  readonly asOf: number;
  /** When the evaluated part begins, in ms since 1970. */
  readonly since: number;
  /** Decisions learnt from, evaluated, and too young for either. */
  readonly decisions: { readonly learnt: number; readonly evaluated: number; readonly tooYoung: number };
  /** Share of the evaluated decisions that may still convert, and share of all conversions that is expected to be still to come. */
  readonly immature: { readonly decisions: number; readonly conversions: number };
  /** Ratios of the policy's chance and the log's. A mean far below 1: the log seldom or never did what the policy would do. */
  readonly weights: { readonly mean: number; readonly greatest: number; readonly effective: number };
  /** Of the policy that made the log. */
  readonly logged: Estimate;
  readonly ips: Estimate;
  readonly snips: Estimate;
  readonly doublyRobust: Estimate;
}

/** Of a younger decision an arrived conversion would count more than five times. */
const LEAST_MATURITY = 0.2;
const PROGRESS_EVERY = 64;

/**
 * What a policy would have earned, from a log of decisions of others, though not all that will convert has done so.
 *
 * Each arrived reward counts by the ratio of the policy's chance of the action and the log's (inverse propensity scoring;
 * self-normalised: over the sum of ratios; doubly robust: as correction of a model of the reward) and by one over the
 * probability that a conversion would have come by its impression's age. That assumes that how late a conversion comes does
 * not depend on the action. The intervals know that this probability is an estimate, unless `maturity` is given.
 *
 * **Cost:** the policy's own per decision, and O(k d^2) for the model of the reward.
 *
 * **Source:** Horvitz and Thompson 1952; Swaminathan and Joachims, NeurIPS 2015; Dudik, Langford and Li, ICML 2011.
 *
 * @example
 * const { doublyRobust } = await evaluate({ log, policy: otfLinTs({ dimension: 8 }), window: { ms: 86_400_000 }, asOf });
 * @throws {TypeError | RangeError} naming the argument.
 * @throws {UnsupportedError} code `no-probability` if the policy chooses in its own domain, or does not know its chances.
 */
export async function evaluate(request: EvaluationRequest): Promise<Evaluation> {
  const { asOf, windowMs, split, reward } = checked(request);
  const log = decisionsUntil(asOf, request.log);
  const cut = Math.floor(split * log.length);
  const since = log[cut]?.shownAt ?? asOf;
  const core = await instantiate(request.module ?? (await compileCore()));
  const maturity = maturityOf(request, log, { asOf, windowMs });
  const aged = log.map((decision, place) => {
    const age = Math.min(asOf - decision.shownAt, windowMs);
    return { decision, place, age, maturity: maturity.at(age), reward: rewardBy(asOf, decision, windowMs) };
  });
  const old = aged.filter((each) => each.maturity >= LEAST_MATURITY);
  const learnt = old.filter(({ place }) => place < cut).map(({ decision, reward, maturity }) => ({ decision, reward: reward / maturity }));
  const expected = rewardModel(core, learnt, reward);
  const target = await targetOf(request, log.slice(0, cut), since);
  const evaluated = old.filter(({ place }) => place >= cut);
  const rows = evaluated.map(({ decision, ...row }, i): Row => {
    if (i % PROGRESS_EVERY === 0) request.progress?.(i, evaluated.length);
    const [chances, means] = [target(decision, row.place), expected(decision)];
    const { index, probability } = decision;
    const expectedOfPolicy = means.reduce((sum, mean, candidate) => sum + mean * chances[candidate], 0);
    return { ...row, weight: chances[index] / probability, expected: means[index], expectedOfPolicy };
  });
  request.progress?.(rows.length, rows.length);
  return {
    asOf,
    since,
    decisions: { learnt: cut, evaluated: rows.length, tooYoung: log.length - cut - rows.length },
    immature: immatureShares(rows),
    weights: weightsOf(rows),
    ...estimates(core, rows, { decisions: log.length, reward, maturity }),
  };
}

function checked(request: EvaluationRequest) {
  const known = ["log", "policy", "asOf", "window", "split", "reward", "draws", "seed", "maturity", "progress", "module"];
  onlyKeys("request", record("request", request), known);
  const { window, reward = { min: 0, max: 1 } } = request;
  if (window !== "none") onlyKeys("window", record("window", window), ["ms"]);
  const min = finiteNumber("reward.min", record("reward", reward).min);
  const max = finiteNumber("reward.max", reward.max);
  if (min >= max) throw outOfRange("reward.max", `more than the minimum ${min}`, max);
  return {
    asOf: finiteNumber("asOf", request.asOf, 0),
    windowMs: window === "none" ? Number.POSITIVE_INFINITY : positiveNumber("window.ms", window.ms),
    split: finiteNumber("split", request.split ?? 0.5, 0, 1),
    reward: { min, max },
  };
}

function targetOf(request: EvaluationRequest, log: readonly LoggedDecision[], at: number): Target | Promise<Target> {
  const { policy, window, reward, seed, module } = request;
  if (typeof policy === "function") return givenTarget(policy);
  if (typeof policy?.start !== "function") throw wrongType("policy", "a descriptor or a function of a decision", policy);
  const draws = wholeNumber("draws", request.draws ?? 100, 1);
  return fittedTarget({ policy, window, reward, seed, module }, log, { at, draws });
}

/** The maturity that was given; or from all conversions that have arrived, of decisions of all ages. */
function maturityOf(
  { maturity }: EvaluationRequest,
  log: readonly LoggedDecision[],
  { asOf, windowMs }: { readonly asOf: number; readonly windowMs: number },
): Maturity {
  if (maturity) return { at: (age) => (age >= windowMs ? 1 : finiteNumber("maturity(age)", maturity(age), 0, 1)) };
  const seen = log.flatMap(({ shownAt, conversions = [] }, place) => {
    const bound = Math.min(asOf - shownAt, windowMs);
    return conversions.flatMap(({ at }) => (at - shownAt <= bound ? [{ place, delay: Math.max(at - shownAt, 0), bound }] : []));
  });
  const law = new ProductLimit(seen);
  return {
    at: (age) => law.at(age),
    influence(ages, values) {
      const ofDecisions = new Float64Array(log.length);
      law.influence(ages, values).forEach((each, i) => {
        ofDecisions[seen[i].place] += each;
      });
      return ofDecisions;
    },
  };
}
