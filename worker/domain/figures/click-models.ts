// Compares click models: how the place of an item changes the probability that it converts. All are fitted to random lists, where the
// place of an item does not depend on the visitor.

import { type TooFew, tooFew } from "afterclick/research";
import { QUANTILE } from "../../../src/values/quantile.ts";

/** An item of a list, at its place from 0. */
export interface ShownItem {
  readonly place: number;
  readonly action: string;
  readonly converted: boolean;
}

/** A list that was ranked uniformly at random. Items may be missing. */
export type RandomList = readonly ShownItem[];

/** From simple to complex. */
const CLICK_MODELS = ["no-bias", "position-based", "item-position"] as const;
export type ClickModelName = (typeof CLICK_MODELS)[number];

/** A click model on lists that it was not fitted to. */
interface ClickModel {
  readonly name: ClickModelName;
  /** Mean log-likelihood of an impression, in nats. */
  readonly logLikelihood: number;
  /** exp of minus the mean: 1 if every conversion is foreseen, 2 for a coin. */
  readonly perplexity: number;
  /** How much higher the greatest of these log-likelihoods is, with its 95 % interval. All are 0 where it is the greatest. */
  readonly behind: { readonly value: number; readonly low: number; readonly high: number };
}

export interface ClickModels {
  /** The simplest model that is at most one standard error behind. */
  readonly best: ClickModelName;
  readonly models: readonly ClickModel[];
}

/** Parts of the lists. Each is predicted by models that were fitted to the others. */
const FOLDS = 5;
/** Fewer conversions tell no model from another. */
const LEAST_CONVERSIONS = 20;
/** Strengths of the prior of a rate, in expected conversions. */
const STRENGTHS = [0.3, 1, 3, 10, 30, 100, 1000, 10_000];
/** Bound on predicted probabilities, so that a surprise stays finite. */
const LEAST_CHANCE = 1e-6;

/**
 * The mean log-likelihood of three click models in a cross-validation by list. With the rate p of an action and the weight e of a place:
 *
 * - no-bias: an impression converts with probability p(action).
 * - position-based: p(action) e(place).
 * - item-position: p(action, place), a rate of its own for each pair.
 *
 * Rates have a Gamma prior about the mean, whose strength maximises the evidence. Intervals take each list as one observation. The best
 * model is the simplest within one standard error.
 *
 * **Source:** the models: Craswell et al. 2008, and Li et al., KDD 2018, section 4. Log-likelihood and perplexity of click models:
 * Dupret and Piwowarski, SIGIR 2008; Chuklin, Markov and de Rijke, *Click models for web search*, 2015, chapter 5. One standard
 * error: Breiman, Friedman, Olshen and Stone, *Classification and regression trees*, 1984, section 3.4.3.
 *
 * @param weightsOf estimates the weights of places from lists. Places beyond them have the last weight.
 * @returns how many more conversions it needs, if there are too few to tell.
 */
export async function compareClickModels(
  lists: readonly RandomList[],
  weightsOf: (lists: readonly RandomList[]) => Promise<readonly number[]>,
): Promise<ClickModels | TooFew> {
  const impressions = lists.reduce((sum, { length }) => sum + length, 0);
  const conversions = lists.flat().filter(({ converted }) => converted).length;
  if (conversions < LEAST_CONVERSIONS) return tooFew(LEAST_CONVERSIONS - conversions, "conversions");
  /** Log-likelihood of each list, by model. */
  const scores = CLICK_MODELS.map(() => new Float64Array(lists.length));
  for (let fold = 0; fold < FOLDS; fold++) {
    const training = lists.filter((_, i) => i % FOLDS !== fold);
    const predictors = predictorsOf(training, await weightsOf(training));
    for (let i = fold; i < lists.length; i += FOLDS) {
      predictors.forEach((predict, model) => {
        for (const item of lists[i]) scores[model][i] += logLikelihood(predict(item), item.converted);
      });
    }
  }
  const totals = scores.map((own) => own.reduce((sum, each) => sum + each, 0));
  const first = totals.indexOf(Math.max(...totals));
  const models = CLICK_MODELS.map((name, model): ClickModel => {
    const mean = totals[model] / impressions;
    const ahead = scores[first].map((each, i) => each - scores[model][i]);
    return { name, logLikelihood: mean, perplexity: Math.exp(-mean), behind: meanOf(ahead, lists, impressions) };
  });
  // The first model within one standard error of the leader: the simplest. Nested models that fit alike differ by far less than this error.
  const { name: best } = models.find(({ behind: { value, high } }) => value <= (high - value) / QUANTILE) as ClickModel;
  return { best, models };
}

function logLikelihood(chance: number, converted: boolean): number {
  const bounded = Math.min(Math.max(chance, LEAST_CHANCE), 1 - LEAST_CHANCE);
  return Math.log(converted ? bounded : 1 - bounded);
}

/** Mean per impression of values per list, with the interval of a ratio. */
function meanOf(values: Float64Array, lists: readonly RandomList[], impressions: number): ClickModel["behind"] {
  const value = values.reduce((sum, each) => sum + each, 0) / impressions;
  const squares = lists.reduce((sum, { length }, i) => sum + (values[i] - value * length) ** 2, 0);
  const half = (QUANTILE * Math.sqrt(squares)) / impressions;
  return { value, low: value - half, high: value + half };
}

/** Probability that an item converts. */
type Predictor = (item: ShownItem) => number;

/** The fitted models, in the order of their names. */
function predictorsOf(lists: readonly RandomList[], weights: readonly number[]): Predictor[] {
  const at = (place: number): number => weights[Math.min(place, weights.length - 1)];
  const byAction = ({ action }: ShownItem): string => action;
  const byPair = ({ action, place }: ShownItem): string => `${place} ${action}`;
  return [fitted(lists, () => 1, byAction), fitted(lists, at, byAction), fitted(lists, at, byPair)];
}

/**
 * Conversions of a group are Poisson with mean `factor` times the expected ones, which follow from the weights of places. The factor has
 * a Gamma prior of mean 1.
 */
function fitted(lists: readonly RandomList[], weight: (place: number) => number, groupOf: (item: ShownItem) => string): Predictor {
  const groups = new Map<string, { converted: number; expected: number }>();
  let [converted, weights] = [0, 0];
  for (const item of lists.flat()) {
    const key = groupOf(item);
    const group = groups.get(key) ?? { converted: 0, expected: 0 };
    groups.set(key, group);
    group.expected += weight(item.place);
    weights += weight(item.place);
    group.converted += Number(item.converted);
    converted += Number(item.converted);
  }
  const mean = converted / weights;
  for (const group of groups.values()) group.expected *= mean;
  const strength = strengthOf(Array.from(groups.values()));
  return (item) => {
    const { converted = 0, expected = 0 } = groups.get(groupOf(item)) ?? {};
    return (mean * weight(item.place) * (converted + strength)) / (expected + strength);
  };
}

/** The strength of the prior that makes the conversions most likely: they are negative binomial. */
function strengthOf(groups: readonly { readonly converted: number; readonly expected: number }[]): number {
  const evidence = STRENGTHS.map((strength) => {
    let sum = 0;
    for (const { converted, expected } of groups) {
      sum += strength * Math.log(strength / (strength + expected)) - converted * Math.log(strength + expected);
      for (let i = 0; i < converted; i++) sum += Math.log(strength + i);
    }
    return sum;
  });
  return STRENGTHS[evidence.indexOf(Math.max(...evidence))];
}
