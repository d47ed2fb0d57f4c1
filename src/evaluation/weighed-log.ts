// Splits a log: policy and reward model learn its first part, and the rest is weighed for the policy.

import { compileCore } from "#core-module";
import { type Core, instantiate } from "../core/core.ts";
import { wholeNumber, wrongType } from "../values/argument.ts";
import type { Row } from "./estimate/row.ts";
import { countedGoals } from "./log/counted-goals.ts";
import { decisionsUntil, type LoggedDecision } from "./log/log.ts";
import { MaturedLog, maturedReward } from "./log/matured-log.ts";
import { checked, type PolicyRequest } from "./log/request.ts";
import { LoggedSupport, otherRatio } from "./log/support.ts";
import { rewardModel } from "./reward-model.ts";
import { fitted, fittedTarget, givenTarget, type Target } from "./target.ts";

/** Request of `evaluate`. */
export interface EvaluationRequest extends PolicyRequest<Target> {
  /** Decisions of one or several policies, each with its probability. */
  readonly log: readonly LoggedDecision[];
  /** Called now and then with the number of decisions done. */
  readonly progress?: (done: number, all: number) => void;
}

/** A log whose decisions are weighed for a policy. */
export interface WeighedLog {
  readonly core: Core;
  readonly log: readonly LoggedDecision[];
  readonly matured: MaturedLog;
  /** When the evaluated part begins, in ms since 1970. */
  readonly since: number;
  readonly decisions: { readonly learnt: number; readonly evaluated: number; readonly tooYoung: number };
  /** Rewards of the learnt part. */
  readonly learnt: readonly number[];
  /** The evaluated decisions. */
  readonly rows: readonly Row[];
}

const PROGRESS_EVERY = 64;

/** Teaches policy and reward model the first part of the log, and weighs the other part. @throws as `evaluate` does. */
export async function weighedLog(request: EvaluationRequest): Promise<WeighedLog> {
  const { asOf, windowMs, split, reward } = checked(request, ["progress"]);
  const log = decisionsUntil(asOf, request.log, { goals: request.goals, reward });
  const cut = Math.floor(split * log.length);
  const since = log[cut]?.shownAt ?? asOf;
  const core = await instantiate(request.module ?? (await compileCore()));
  const shown = log.map(({ shownAt, kept, conversions }) => ({ shownAt, kept, items: [{ conversions }] }));
  const matured = new MaturedLog(shown, { asOf, goals: countedGoals({ ...request, windowMs, reward }, log), maturity: request.maturity });
  const old = shown.flatMap((each, place) => (matured.rewardsOf(each, place) ?? []).map((seen) => ({ ...seen, decision: log[place] })));
  const learnt = old.filter(({ place }) => place < cut).map((seen) => ({ decision: seen.decision, reward: maturedReward(seen) }));
  const expected = rewardModel(core, learnt, matured.goals.reward);
  const target = await targetOf(request, log.slice(0, cut), since);
  const support = new LoggedSupport(log);
  const evaluated = old.filter(({ place }) => place >= cut);
  const rows = evaluated.map(({ decision, ...seen }, i): Row => {
    if (i % PROGRESS_EVERY === 0) request.progress?.(i, evaluated.length);
    const [chances, means] = [target(decision, seen.place), expected(decision)];
    const { index, probability } = decision;
    let [expectedOfPolicy, unsupported, expectedOfUnsupported] = [0, 0, 0];
    means.forEach((mean, candidate) => {
      expectedOfPolicy += mean * chances[candidate];
      if (!(chances[candidate] > 0) || !support.lacks(decision, candidate)) return;
      unsupported += chances[candidate];
      expectedOfUnsupported += mean * chances[candidate];
    });
    return {
      ...seen,
      weight: chances[index] / probability,
      expected: means[index],
      expectedOfPolicy,
      unsupported,
      expectedOfUnsupported,
      otherwise: otherRatio(probability, chances[index] + unsupported),
    };
  });
  request.progress?.(rows.length, rows.length);
  const decisions = { learnt: cut, evaluated: rows.length, tooYoung: log.length - cut - rows.length };
  return { core, log, matured, since, decisions, learnt: learnt.map(({ reward }) => reward), rows };
}

async function targetOf(request: EvaluationRequest, log: readonly LoggedDecision[], at: number): Promise<Target> {
  const { policy, window, goals, reward, seed, module } = request;
  if (typeof policy === "function") return givenTarget(policy);
  if (typeof policy?.start !== "function") throw wrongType("policy", "a descriptor or a function of a decision", policy);
  const draws = wholeNumber("draws", request.draws ?? 100, 1);
  return fittedTarget(await fitted({ policy, window, goals, reward, seed, module }, log, { at, draws }));
}
