/**
 * The SDK: recommenders whose policies know that conversions come late. `afterclick/research` has everything else.
 *
 * @module afterclick
 */

export { type EncoderOptions, encoder } from "./encoding/encoder.ts";
export type { NamedFeatures } from "./encoding/terms.ts";
export { type Evaluation, evaluate } from "./evaluation/evaluation.ts";
export { evaluateLists } from "./evaluation/lists/list-evaluation.ts";
export type { LoggedConversion, LoggedDecision } from "./evaluation/log/log.ts";
export type { ConversionEvent } from "./ledger/conversion-event.ts";
export type { Goals } from "./ledger/goals.ts";
export type { ConversionStatus } from "./ledger/ledger.ts";
export { merge } from "./merge.ts";
export type { Window } from "./model/delay/window.ts";
export { linear, matern12, matern32, matern52, squaredExponential } from "./model/gaussian-process/kernel.ts";
export type { Action, Features } from "./named/featurizer.ts";
export { Model } from "./named/model.ts";
export type { ModelOptions } from "./named/named-model.ts";
export type { Recommendation, RecommendedAction } from "./named/shown.ts";
export type { Candidate } from "./policy/choose-request.ts";
export {
  asyTs,
  bestsellers,
  bpe,
  bpeDelay,
  delayedZooming,
  delayGpTs,
  delayGpUcb,
  delayLinTs,
  delayLinUcb,
  dlpp,
  epsilonGreedy,
  gpBts,
  gpBucb,
  gpEi,
  gpTsSdf,
  gpUcb,
  gpUcbSdf,
  miniGpEi,
  miniGpUcb,
  otfLinTs,
  otfLinUcb,
  uniform,
} from "./policy/factories.ts";
export type { Policy } from "./policy/policy.ts";
export type { PolicyDescriptor, PolicyFactory } from "./policy/rule.ts";
export { policies } from "./policy/table.ts";
export { type Decision, type RankedAction, Recommender, type RecommenderOptions, type RecommendRequest } from "./recommender.ts";
export { NumericalError, SnapshotError, UnsupportedError } from "./values/errors.ts";
