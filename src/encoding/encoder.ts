import { nonEmptyString, onlyKeys, outOfRange, type Range, range, record, wholeNumber, wrongType } from "../argument.ts";
import { Catalogue } from "./catalogue.ts";
import { Components, type Entry, type Interactions } from "./components.ts";
import { checkBudget, checkVector, PAIR_STEPS, productSteps } from "./cost.ts";
import { CONSTANT } from "./scale.ts";
import { TermSum } from "./term-sum.ts";
import { type NamedFeatures, productOf, type Term, type Terms, termsOf } from "./terms.ts";
import { textOf } from "./vocabulary.ts";

/** Two encoders with the same options give the same vectors. */
export interface EncoderOptions {
  /** Version of the encoding. It changes with the vectors of any options. */
  readonly version?: typeof VERSION;
  /** Components of the vector (d), at least 2. */
  readonly dimension: number;
  /** Range of each numeric feature. A number outside it counts as the nearer end. */
  readonly numeric?: Readonly<Record<string, { readonly min: number; readonly max: number }>>;
  /** Pairs of features to multiply, such as ["country", "brand"]. "all": every context feature with every action feature. */
  readonly interactions?: Interactions;
  /**
   * Categories and numbers of actions, see `vocabularyOf`. As far as there is room, each category has a component of its own, and so has
   * its product with each other number.
   */
  readonly vocabulary?: readonly Entry[];
}

/** Turns named features into vectors. */
export interface Encoder {
  /** The given options, and the version. */
  readonly options: EncoderOptions & { readonly version: typeof VERSION };
  /** Components of one term each, the constant among them. The others are shared by hashing. */
  readonly exact: number;
  /** Entries of the vocabulary that share a component, because there was no room for one of their own. */
  readonly unplaced: number;
  /**
   * Turns the features of a context and of an action into one vector inside the unit ball. Its components are multiples of 2^-12.
   *
   * @throws {TypeError | RangeError} naming the feature, for a number that has no declared range or is not finite.
   */
  encode(features: { readonly context?: NamedFeatures; readonly action?: NamedFeatures }): Float64Array;
  /**
   * Encodes k actions in one context after another, with the same bits as `encode`. The actions are hashed only once.
   * **Shapes:** k x d, row-major, a new array for each context.
   *
   * @example
   * const featuresIn = among(products);
   * recommender.recommend({ points: featuresIn({ country: "PT" }) });
   * @param budget the most steps for the interactions of all actions in one context: about a step for each character of their names,
   *   and 12 for each product. Default: no limit. A budget bounds the time that a stranger's context takes.
   * @throws {TypeError | RangeError} as `encode`. The returned function throws for a context, before it encodes anything.
   */
  among(actions: readonly NamedFeatures[], budget?: number): (context?: NamedFeatures) => Float64Array;
}

/** 1 hashed with random signs, and had neither a constant nor components of one term. */
const VERSION = 2;
/** Most entries of a vocabulary. */
const MOST_ENTRIES = 65_536;

/**
 * An encoder of named features. It adds a constant, each feature, and each interaction.
 *
 * The constant, declared numbers and the categories of `vocabulary` have components of their own, and so have the products of these
 * categories with a visitor's numbers. All other terms share components by feature hashing (Weinberger et al., ICML 2009). Shared
 * components get no negative numbers, so no two terms cancel.
 *
 * @example
 * const { encode } = encoder({ dimension: 64, numeric: { price: { min: 0, max: 500 } }, interactions: [["country", "brand"]] });
 * encode({ context: { country: "PT" }, action: { brand: "Acme", price: 120 } });
 */
export function encoder(options: EncoderOptions): Encoder {
  onlyKeys("options", record("options", options), ["version", "dimension", "numeric", "interactions", "vocabulary"]);
  if ((options.version ?? VERSION) !== VERSION) {
    throw outOfRange("version", `${VERSION}, as vectors of another version cannot be compared; learn again from the log`, options.version);
  }
  const dimension = wholeNumber("dimension", options.dimension, 2, 4096);
  const ranges = new Map<string, Range>();
  for (const [name, value] of Object.entries(record("numeric", options.numeric ?? {}))) {
    onlyKeys(`numeric.${name}`, record(`numeric.${name}`, value), ["min", "max"]);
    ranges.set(name, range(`numeric.${name}`, value));
  }
  const interactions = parseInteractions(options.interactions ?? []);
  const vocabulary = parseVocabulary(options.vocabulary ?? []);
  const components = new Components({ dimension, ranges, vocabulary, interactions });

  const encode = (context: Terms, actions: readonly Terms[], budget: number): Float64Array => {
    let steps = 0;
    for (const action of actions) {
      steps += checkedSteps(context, action, interactions);
      checkBudget(steps, budget);
    }
    const vectors = new Float64Array(actions.length * dimension);
    const sum = new TermSum(dimension);
    for (let i = 0; i < actions.length; i++) {
      addTogether(sum, components, context, actions[i], interactions);
      sum.moveInto(vectors, i * dimension);
    }
    return vectors;
  };

  return {
    options: { ...structuredClone(options), version: VERSION },
    exact: components.exactCount,
    unplaced: components.unplaced,
    encode({ context = {}, action = {} }) {
      const [left, right] = [termsOf("context", context, ranges, components), termsOf("action", action, ranges, components)];
      return encode(left, [right], Number.POSITIVE_INFINITY);
    },
    among(actions, budget = Number.POSITIVE_INFINITY) {
      if (!Array.isArray(actions)) throw wrongType("actions", "an array", actions);
      const terms = actions.map((action) => termsOf("action", action, ranges, components));
      const catalogue = interactions === "all" ? new Catalogue(terms, components) : null;
      return (context = {}) => {
        const contextTerms = termsOf("context", context, ranges, components);
        return catalogue ? catalogue.vectorsIn(contextTerms, budget) : encode(contextTerms, terms, budget);
      };
    },
  };
}

function parseInteractions(value: unknown): Interactions {
  if (value === "all") return value;
  if (!Array.isArray(value)) throw wrongType("interactions", '"all" or pairs of names', value);
  return value.map((pair, i) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw wrongType(`interactions[${i}]`, "a pair of names", pair);
    return [nonEmptyString(`interactions[${i}][0]`, pair[0]), nonEmptyString(`interactions[${i}][1]`, pair[1])];
  });
}

function parseVocabulary(value: unknown): readonly Entry[] {
  if (!Array.isArray(value)) throw wrongType("vocabulary", "an array", value);
  if (value.length > MOST_ENTRIES) throw outOfRange("vocabulary", `at most ${MOST_ENTRIES} entries`, value);
  const known = new Set<string>();
  return value.map((entry, i): Entry => {
    if (!Array.isArray(entry) || entry.length < 1 || entry.length > 2 || entry.some((text) => typeof text !== "string")) {
      throw wrongType(`vocabulary[${i}]`, "a feature, or a feature and a category, all strings", entry);
    }
    const own: Entry = entry.length === 1 ? [entry[0]] : [entry[0], entry[1]];
    if (known.has(textOf(own))) throw outOfRange(`vocabulary[${i}]`, "each entry once", own.join(" "));
    known.add(textOf(own));
    return own;
  });
}

/** Steps for the interactions of one vector. @throws {RangeError} for too many. */
function checkedSteps(context: Terms, action: Terms, interactions: Interactions): number {
  let terms = countOf(context) + countOf(action);
  let steps = interactions === "all" ? 0 : interactions.length * PAIR_STEPS;
  for (const [left, right] of pairs(context, action, interactions)) {
    terms += left.length * right.length;
    steps += left.length * productSteps(right);
  }
  checkVector(terms, steps);
  return steps;
}

function countOf(terms: Terms): number {
  let count = 0;
  for (const { length } of terms.values()) count += length;
  return count;
}

/** Adds the constant, the terms of a context and of an action, and their interactions. */
function addTogether(sum: TermSum, components: Components, context: Terms, action: Terms, interactions: Interactions): void {
  sum.add(0, CONSTANT);
  for (const terms of [...context.values(), ...action.values()]) for (const { place, value } of terms) sum.add(place, value);
  for (const [left, right] of pairs(context, action, interactions)) {
    for (const a of left) {
      for (const b of right) {
        const { place, value } = productOf(a, b, components);
        sum.add(place, value);
      }
    }
  }
}

function* pairs(context: Terms, action: Terms, interactions: Interactions): Generator<readonly [readonly Term[], readonly Term[]]> {
  if (interactions === "all") {
    for (const left of context.values()) for (const right of action.values()) yield [left, right];
    return;
  }
  for (const [first, second] of interactions) {
    const left = context.get(first) ?? action.get(first);
    const right = action.get(second) ?? context.get(second);
    if (left && right) yield [left, right];
  }
}
