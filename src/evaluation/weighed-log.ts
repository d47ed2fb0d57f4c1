// Splits a log: policy and reward model learn its first part, and the rest is weighed for the policy.

import { compileCore } from "#core-module";
import { type Core, instantiate } from "../core/core.ts";
import { wholeNumber, wrongType } from "../values/argument.ts";
import type { Rows } from "./estimators.ts";
import { type CountedGoals, capped, countedGoals } from "./log/counted-goals.ts";
import { impressionsOf } from "./log/impressions.ts";
import { decisionsUntil, type LoggedDecision } from "./log/log.ts";
import { MaturedLog, type SeenRewards } from "./log/matured-log.ts";
import { closedBy, partsOf } from "./log/parts.ts";
import { checked, type PolicyRequest } from "./log/request.ts";
import { LoggedSupport, otherRatio } from "./log/support.ts";
import type { EntriesOf, TimedLog } from "./log/timed-log.ts";
import { type RewardModel, rewardModel, type SeenReward } from "./reward-model.ts";
import { fitted, fittedTarget, givenTarget, type Target } from "./target.ts";

/** Request of `evaluate`. */
export interface EvaluationRequest extends PolicyRequest<Target> {
  /** Decisions of one or several policies, each with its probability. A long log may make them as they are asked for. */
  readonly log: EntriesOf<LoggedDecision>;
  /** Called now and then with the number of decisions done. */
  readonly progress?: (done: number, all: number) => void;
}

/** The rewards of a log. */
interface Rewards {
  readonly matured: MaturedLog;
  /** Rewards of the learnt part. */
  readonly learnt: SeenRewards;
  /** The evaluated decisions. */
  readonly rows: Rows;
}

/** A log whose decisions are weighed for a policy. */
export interface WeighedLog extends Rewards {
  readonly core: Core;
  /** Number of decisions. */
  readonly size: number;
  /** When the evaluated part begins, in ms since 1970. */
  readonly since: number;
  readonly decisions: { readonly learnt: number; readonly evaluated: number; readonly tooYoung: number };
  /** Days until the rewards of all kinds and products are known of decisions that are old enough. 0 if they are. */
  readonly young: number;
  /** The rewards if each goal of a decision earns at most `cap`. */
  capped(cap: number): Rewards;
}

const PROGRESS_EVERY = 64;

/** Teaches policy and reward model the first part of the log, and weighs the other part. @throws as `evaluate` does. */
export async function weighedLog(request: EvaluationRequest): Promise<WeighedLog> {
  const { asOf, windowMs, split, older, closed, reward } = checked(request, ["progress"]);
  const shown = decisionsUntil(asOf, request.log, { goals: request.goals, reward });
  const all = impressionsOf(shown, itemOf);
  const goals = countedGoals({ ...request, windowMs, reward }, all);
  const log = closed ? closedBy(shown, asOf, goals.goals) : shown;
  const parts = partsOf(log, { split, older, asOf });
  const core = await instantiate(request.module ?? (await compileCore()));
  const impressions = closed ? impressionsOf(log, itemOf) : all;
  const maturedOf = (counted: CountedGoals) => new MaturedLog(impressions, { asOf, goals: counted, maturity: request.maturity, closed });
  const matured = maturedOf(goals);
  const learnt = matured.rows(...parts.learnt).rows;
  const expected = rewardModel(core, seenRewards(log, learnt), matured.goals.reward);
  const target = await targetOf(request, log.slice(...parts.learnt), parts.at);
  const { rows: rewards, tooYoung, young } = matured.rows(...parts.evaluated);
  const rows = weighedRows(log, rewards, { target, expected, support: new LoggedSupport(log), progress: request.progress });
  const decisions = {
    learnt: parts.learnt[1] - parts.learnt[0],
    evaluated: rewards.length,
    tooYoung: tooYoung + shown.length - log.length,
  };
  const withCap = (cap: number): Rewards => {
    const own = maturedOf(capped(goals, cap));
    return { matured: own, learnt: own.rows(...parts.learnt).rows, rows: { ...rows, rewards: own.rows(...parts.evaluated).rows } };
  };
  return { core, size: log.length, matured, since: parts.since, decisions, young, learnt, rows, capped: withCap };
}

/** A decision as an impression of its product. */
function itemOf({ conversions, ids, index }: LoggedDecision) {
  return [{ product: ids?.[index] ?? index, conversions }];
}

function* seenRewards(log: TimedLog<LoggedDecision>, { length, matured, placeOf }: SeenRewards): Generator<SeenReward> {
  for (let row = 0; row < length; row++) yield { decision: log.at(placeOf(row)), reward: matured[row] };
}

interface Weighing {
  readonly target: Target;
  readonly expected: RewardModel;
  readonly support: LoggedSupport;
  readonly progress: EvaluationRequest["progress"];
}

function weighedRows(log: TimedLog<LoggedDecision>, rewards: SeenRewards, { target, progress, ...models }: Weighing): Rows {
  const column = (): Float64Array => new Float64Array(rewards.length);
  const rows = { weight: column(), correction: column(), unsupported: column(), expectedOfUnsupported: column(), otherwise: column() };
  for (let row = 0; row < rewards.length; row++) {
    if (row % PROGRESS_EVERY === 0) progress?.(row, rewards.length);
    const place = rewards.placeOf(row);
    const decision = log.at(place);
    const own = weighed(decision, target(decision, place), models);
    rows.weight[row] = own.weight;
    rows.correction[row] = own.correction;
    rows.unsupported[row] = own.unsupported;
    rows.expectedOfUnsupported[row] = own.expectedOfUnsupported;
    rows.otherwise[row] = own.otherwise;
  }
  progress?.(rewards.length, rewards.length);
  return { rewards, ...rows };
}

/** The part of a row that the policy decides. **Cost:** in proportion to the candidates that the policy may take. */
function weighed(
  decision: LoggedDecision,
  chances: ArrayLike<number> | number,
  { expected, support }: Pick<Weighing, "expected" | "support">,
) {
  const { index, probability } = decision;
  const chanceOf = (candidate: number): number => (typeof chances === "number" ? Number(candidate === chances) : chances[candidate]);
  const taken: number[] = [];
  if (typeof chances === "number") taken.push(chances);
  else for (let candidate = 0; candidate < chances.length; candidate++) if (chances[candidate] > 0) taken.push(candidate);
  const means = expected(decision, [...taken, index]);
  let [expectedOfPolicy, unsupported, expectedOfUnsupported] = [0, 0, 0];
  taken.forEach((candidate, i) => {
    const chance = chanceOf(candidate);
    expectedOfPolicy += means[i] * chance;
    if (!support.lacks(decision, candidate)) return;
    unsupported += chance;
    expectedOfUnsupported += means[i] * chance;
  });
  const weight = chanceOf(index) / probability;
  const otherwise = otherRatio(probability, chanceOf(index) + unsupported);
  return { weight, correction: expectedOfPolicy - weight * means[taken.length], unsupported, expectedOfUnsupported, otherwise };
}

async function targetOf(request: EvaluationRequest, log: TimedLog<LoggedDecision>, at: number): Promise<Target> {
  const { policy, window, goals, reward, seed, module } = request;
  if (typeof policy === "function") return givenTarget(policy);
  if (typeof policy?.start !== "function") throw wrongType("policy", "a descriptor or a function of a decision", policy);
  const draws = wholeNumber("draws", request.draws ?? 100, 1);
  return fittedTarget(await fitted({ policy, window, goals, reward, seed, module }, log, { at, draws }));
}
