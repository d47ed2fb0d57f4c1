/**
 * The SDK: recommenders whose policies know that conversions come late.
 *
 * @module afterclick
 */

export {
  type DelayDistribution,
  DelayEstimate,
  type DelayEstimateOptions,
  type DelayEstimateState,
  type DelayedConversion,
  type DelayGrid,
  type Silence,
} from "./delay-estimate.ts";
export type { Entry, Interactions } from "./encoding/components.ts";
export type { EncodedActions } from "./encoding/encoded-actions.ts";
export { type AmongOptions, type Encoder, type EncoderOptions, encoder } from "./encoding/encoder.ts";
export type { Points } from "./encoding/points.ts";
export { ENCODER_VERSION } from "./encoding/scale.ts";
export type { NamedFeatures } from "./encoding/terms.ts";
export { vocabularyOf } from "./encoding/vocabulary.ts";
export type { Figure } from "./evaluation/estimate/enough.ts";
export type { Estimate } from "./evaluation/estimate/estimate.ts";
export { type Evaluation, evaluate } from "./evaluation/evaluation.ts";
export { type ExaminationEstimate, type ExaminationRequest, estimateExamination } from "./evaluation/lists/examination-estimate.ts";
export { evaluateLists, type ListEvaluation, type ListEvaluationRequest } from "./evaluation/lists/list-evaluation.ts";
export type { LoggedItem, LoggedList } from "./evaluation/lists/list-log.ts";
export type { LoggedConversion, LoggedDecision } from "./evaluation/log/log.ts";
export type { EntriesOf } from "./evaluation/log/timed-log.ts";
export type { EvaluationRequest } from "./evaluation/weighed-log.ts";
export { type ExpectedImprovement, expectedImprovement } from "./expected-improvement.ts";
export type { ConversionEvent } from "./ledger/conversion-event.ts";
export { CLOCK_TOLERANCE_MS } from "./ledger/conversion-time.ts";
export { type GoalEvent, goalOutcomes } from "./ledger/goal-outcomes.ts";
export type { GoalOptions, Goals, GoalValue } from "./ledger/goals.ts";
export type { ConversionStatus, Impression, ImpressionStatus } from "./ledger/ledger.ts";
export { merge } from "./merge.ts";
export type { ConversionRate, Expected } from "./model/delay/product-laws.ts";
export type { Window } from "./model/delay/window.ts";
export { type Families, families } from "./model/families.ts";
export type { GaussianProcess } from "./model/gaussian-process/gaussian-process.ts";
export type { GaussianProcessSettings } from "./model/gaussian-process/gaussian-process-settings.ts";
export {
  additiveMatern32,
  type Kernel,
  linear,
  matern12,
  matern32,
  matern52,
  squaredExponential,
} from "./model/gaussian-process/kernel.ts";
export type { GoalChange, GoalOutcome, GoalOutcomes } from "./model/goals/goal.ts";
export type { Factor } from "./model/goals/goal-ridges.ts";
export type { RewardRange } from "./model/goals/stated.ts";
export type { BoxSettings, RegionSettings } from "./model/lipschitz/box.ts";
export type { AppendedImpression, ReportedDelay } from "./model/posterior.ts";
export type { FamilyBounds } from "./model/random-chances.ts";
export type { Candidate, ChooseRequest } from "./policy/choose-request.ts";
export type { Choice } from "./policy/chooser.ts";
export * from "./policy/factories.ts";
export type { Outcome, Policy, PriorProduct } from "./policy/policy.ts";
export type { PolicyDescriptor, PolicyFactory } from "./policy/rule.ts";
export { policies } from "./policy/table.ts";
export { gaussianProcess } from "./posterior.ts";
export {
  type Decision,
  type RankedAction,
  Recommender,
  type RecommenderOptions,
  type RecommendRequest,
} from "./recommender.ts";
export { NumericalError, SnapshotError, UnsupportedError } from "./values/errors.ts";
export { isTooFew, type TooFew, tooFew, tooFewText } from "./values/too-few.ts";
