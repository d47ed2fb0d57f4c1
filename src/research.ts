/**
 * Everything: the policies with the types of their options, kernels, Gaussian processes, estimates, and the parts of which a worker and a
 * page are made. `afterclick` has the names that most programs need.
 *
 * @module afterclick/research
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
export type { AmongOptions, Encoder } from "./encoding/encoder.ts";
export type { Points } from "./encoding/points.ts";
export { ENCODER_VERSION } from "./encoding/scale.ts";
export { vocabularyOf } from "./encoding/vocabulary.ts";
export type { Figure } from "./evaluation/estimate/enough.ts";
export type { Estimate } from "./evaluation/estimate/estimate.ts";
export { type ExaminationEstimate, type ExaminationRequest, estimateExamination } from "./evaluation/lists/examination-estimate.ts";
export type { ListEvaluation, ListEvaluationRequest } from "./evaluation/lists/list-evaluation.ts";
export type { LoggedItem, LoggedList } from "./evaluation/lists/list-log.ts";
export type { EntriesOf } from "./evaluation/log/timed-log.ts";
export type { EvaluationRequest } from "./evaluation/weighed-log.ts";
export { type ExpectedImprovement, expectedImprovement } from "./expected-improvement.ts";
export * from "./index.ts";
export { CLOCK_TOLERANCE_MS } from "./ledger/conversion-time.ts";
export { type GoalEvent, goalOutcomes } from "./ledger/goal-outcomes.ts";
export type { GoalOptions, GoalValue } from "./ledger/goals.ts";
export type { Impression, ImpressionStatus } from "./ledger/ledger.ts";
export type { ConversionRate, Expected } from "./model/delay/product-laws.ts";
export { type Families, families } from "./model/families.ts";
export type { GaussianProcess } from "./model/gaussian-process/gaussian-process.ts";
export type { GaussianProcessSettings } from "./model/gaussian-process/gaussian-process-settings.ts";
export { additiveMatern32, type Kernel } from "./model/gaussian-process/kernel.ts";
export type { GoalChange, GoalOutcome, GoalOutcomes } from "./model/goals/goal.ts";
export type { Factor } from "./model/goals/goal-ridges.ts";
export type { RewardRange } from "./model/goals/stated.ts";
export type { BoxSettings, RegionSettings } from "./model/lipschitz/box.ts";
export type { AppendedImpression, ReportedDelay } from "./model/posterior.ts";
export type { FamilyBounds } from "./model/random-chances.ts";
export { describePolicy, type LearningOptions, learningDefaults } from "./named/defaults.ts";
export { type Featurizer, featurizer, isAvailable, namedAction, RESOLUTION, toDyadic, vectorAt } from "./named/featurizer.ts";
export { type Frame, type FrameColumns, type FrameLog, type FrameOptions, frameLog } from "./named/frame-log.ts";
export { type PriorSales, tellBlocks, tellPrior, withCatalogue } from "./named/meanings.ts";
export { type Host, type ModelRequest, type ModelSettings, NamedModel, type ShownElsewhere } from "./named/named-model.ts";
export { nothingOffered, statedScores } from "./named/shown.ts";
export type { ChooseRequest } from "./policy/choose-request.ts";
export type { Choice } from "./policy/chooser.ts";
export * from "./policy/factories.ts";
export type { Outcome, PriorProduct } from "./policy/policy.ts";
export { definePolicy, type PolicyContext, type Rule, type ScoreRequest, type State } from "./policy/rule.ts";
export { gaussianProcess } from "./posterior.ts";
export { isTooFew, type TooFew, tooFew, tooFewText } from "./values/too-few.ts";
