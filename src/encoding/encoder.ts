// Named features as vectors in the unit ball. The same options give the same bits on every platform.

import { nonEmptyString, onlyKeys, outOfRange, type Range, range, record, wholeNumber, wrongType } from "../values/argument.ts";
import { UnsupportedError } from "../values/errors.ts";
import { CatalogueColumns } from "./catalogue-columns.ts";
import { Components, type Entry, type Interactions, type Side } from "./components.ts";
import { checkProducts, checkTerms } from "./cost.ts";
import { type EncodedActions, encodedActions } from "./encoded-actions.ts";
import { CONSTANT, ENCODER_VERSION, scaleOf, squaresOf } from "./scale.ts";
import { TermSum } from "./term-sum.ts";
import { addProduct, type NamedFeatures, type Term, TermReader, type Terms } from "./terms.ts";
import { textOf } from "./vocabulary.ts";

/** Two encoders with the same options give the same vectors. */
export interface EncoderOptions {
  /** Version of the encoding. It changes with the vectors of any options. */
  readonly version?: typeof ENCODER_VERSION;
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

/** Options of `Encoder.among`. */
export interface AmongOptions<Action = NamedFeatures> {
  /** The most interactions of all actions in one context, default no limit. It bounds the time that a stranger's context takes. */
  readonly budget?: number | undefined;
  /** What `columns` made of the same actions under the same options. The actions are then not read before their vectors are. */
  readonly columns?: Uint8Array | undefined;
  /** The features of an action in the list. Default: the action itself. */
  readonly featuresOf?: ((action: Action) => NamedFeatures) | undefined;
}

/** Turns named features into vectors. */
export interface Encoder {
  /** The given options, and the version. */
  readonly options: EncoderOptions & { readonly version: typeof ENCODER_VERSION };
  /** Components of one term each, or of one visitor's number, the constant among them. The others are shared by hashing. */
  readonly exact: number;
  /** Entries of the vocabulary that share a component, because there was no room for one of their own. */
  readonly unplaced: number;
  /**
   * The block of each component, for `blocks` of a delay-aware linear policy: 0 for the constant, 1 for terms of actions, 2 for terms of
   * contexts, 3 for components that products share, and from 4 on a block for the products of each number of visitors. **Shapes:** d.
   */
  readonly blocks: readonly number[];
  /**
   * Turns the features of a context and of an action into one vector. Its components are multiples of 2^-12. Its length is 1 at
   * most, as long as no terms share components and no products of numbers are centred. Otherwise it is about 1, and never above 4.
   *
   * @throws {TypeError | RangeError} naming the feature, for a number that has no declared range or is not finite.
   */
  encode(features: { readonly context?: NamedFeatures; readonly action?: NamedFeatures }): Float64Array;
  /**
   * Encodes k actions in one context after another, for the `points` of a request. Actions are read only once, and must not change.
   *
   * @example
   * const featuresIn = among(products);
   * recommender.recommend({ points: featuresIn({ country: "PT" }) });
   * @throws {TypeError | RangeError} as `encode`. The returned function throws for a context, before it encodes anything.
   * @throws {SnapshotError} code `truncated`, `version` or `malformed` for columns that are not those of the actions. A decision checks the rest.
   * @throws {UnsupportedError} code `no-columns` for columns and interactions of some features only.
   */
  among<Action = NamedFeatures>(actions: readonly Action[], options?: AmongOptions<Action>): (context?: NamedFeatures) => EncodedActions;
  /**
   * What `among` reads of actions, about 40 bytes each, for a process that has to decide at once.
   * @throws {TypeError | RangeError} as `encode`.
   * @throws {UnsupportedError} code `no-columns` for interactions of some features only.
   */
  columns(actions: readonly NamedFeatures[]): Uint8Array;
}

/** Most features and categories of contexts that are remembered: visitors may state any. */
const MOST_REMEMBERED = 1000;
/** Most entries of a vocabulary. */
const MOST_ENTRIES = 65_536;

/**
 * An encoder of named features. It adds a constant, each feature, and each interaction.
 *
 * The constant, declared numbers and the categories of `vocabulary` have components of their own, and so have the products of these
 * categories with a visitor's numbers. Where there is no room for all products, several categories share those of a number. All other terms
 * share components by feature hashing (Weinberger et al., ICML 2009). These get no negative numbers, so no two terms cancel.
 *
 * @example
 * const { encode } = encoder({ dimension: 64, numeric: { price: { min: 0, max: 500 } }, interactions: [["country", "brand"]] });
 * encode({ context: { country: "PT" }, action: { brand: "Acme", price: 120 } });
 */
export function encoder(options: EncoderOptions): Encoder {
  onlyKeys("options", record("options", options), ["version", "dimension", "numeric", "interactions", "vocabulary"]);
  if ((options.version ?? ENCODER_VERSION) !== ENCODER_VERSION) {
    throw outOfRange(
      "version",
      `${ENCODER_VERSION} or none, as vectors of another version cannot be compared; learn again from the log`,
      options.version,
    );
  }
  const dimension = wholeNumber("dimension", options.dimension, 2, 4096);
  const ranges = new Map<string, Range>();
  for (const [name, value] of Object.entries(record("numeric", options.numeric ?? {}))) {
    onlyKeys(`numeric.${name}`, record(`numeric.${name}`, value), ["min", "max"]);
    // The width of the range must be finite too.
    ranges.set(name, range(`numeric.${name}`, value, Number.MAX_VALUE / 2));
  }
  const interactions = parseInteractions(options.interactions ?? []);
  const vocabulary = parseVocabulary(options.vocabulary ?? []);
  const components = new Components({ dimension, ranges, vocabulary, interactions });

  const sum = new TermSum(dimension);
  const readerOf = (side: Side) => new TermReader(side, ranges, components);

  const encode = (context: Terms, actions: readonly Terms[]): Float64Array => {
    const vectors = new Float64Array(actions.length * dimension);
    for (let i = 0; i < actions.length; i++) {
      const products = pairs(context, actions[i], interactions);
      addTogether(sum, components, [context.list, actions[i].list], products);
      sum.moveInto(vectors, i * dimension, scaleTogether(context.list, actions[i].list, products));
    }
    return vectors;
  };

  const isMultiplied = interactions === "all";
  const hasColumns = isMultiplied || interactions.length === 0;
  const noColumns = (what: string) =>
    new UnsupportedError("no-columns", `${what}: expected an encoder with interactions of all features or of none`);

  return {
    options: { ...structuredClone(options), version: ENCODER_VERSION },
    exact: components.exactCount,
    unplaced: components.unplaced,
    get blocks() {
      return components.blocks;
    },
    encode({ context = {}, action = {} }) {
      const [left, right] = [readerOf("context").terms(context), readerOf("action").terms(action)];
      checkedProducts(left, right, interactions);
      return encode(left, [right]);
    },
    among<Action>(actions: readonly Action[], options: AmongOptions<Action> = {}) {
      const { budget = Number.POSITIVE_INFINITY, columns, featuresOf = (action) => action as NamedFeatures } = options;
      if (!Array.isArray(actions)) throw wrongType("actions", "an array", actions);
      if (columns && !hasColumns) throw noColumns("options.columns");
      const reader = readerOf("action");
      const named = columns ? [] : actions.map((action) => featuresOf(action));
      const made = () => (hasColumns ? CatalogueColumns.of(named, reader, components) : undefined);
      const catalogue = columns ? new CatalogueColumns(columns, actions.length, components) : made();
      // Without a catalogue, wrong actions are refused here.
      const terms = catalogue ? [] : named.map((features) => reader.terms(features));
      const termsAt = (i: number): Terms => terms[i] ?? reader.terms(featuresOf(actions[i]));
      let contexts = readerOf("context");
      return (context = {}) => {
        if (contexts.size > MOST_REMEMBERED) contexts = readerOf("context");
        const own = contexts.terms(context);
        if (catalogue) checkCatalogue(own, catalogue, isMultiplied, budget);
        else checkAll(own, terms, interactions, budget);
        const vectors = (indices: readonly number[]) => encode(own, indices.map(termsAt));
        return encodedActions({ dimension, vectors, catalogue, context: catalogue?.context(own, isMultiplied) }, actions.length);
      };
    },
    columns(actions) {
      if (!hasColumns) throw noColumns("columns");
      return CatalogueColumns.of(actions, readerOf("action"), components).columns;
    },
  };
}

/** @throws {RangeError} for too many terms of an action, or too many interactions. */
function checkCatalogue(context: Terms, { mostTerms, terms }: CatalogueColumns, isMultiplied: boolean, budget: number): void {
  const count = context.list.length;
  const multiplied = isMultiplied ? count : 0;
  checkTerms(count + mostTerms + multiplied * mostTerms);
  checkProducts(multiplied * terms, budget);
}

/** @throws {RangeError} as `checkCatalogue`. */
function checkAll(context: Terms, actions: readonly Terms[], interactions: Interactions, budget: number): void {
  let products = 0;
  for (const action of actions) {
    products += checkedProducts(context, action, interactions);
    checkProducts(products, budget);
  }
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

/** Number of interactions of one vector. To look up a pair of names counts as one. @throws {RangeError} for too many terms. */
function checkedProducts(context: Terms, action: Terms, interactions: Interactions): number {
  let products = 0;
  for (const [left, right] of pairs(context, action, interactions)) products += left.length * right.length;
  checkTerms(context.list.length + action.list.length + products);
  return products + (interactions === "all" ? 0 : interactions.length);
}

/** Two lists of terms of which each is multiplied with each. */
type Pair = readonly [readonly Term[], readonly Term[]];

function pairs(context: Terms, action: Terms, interactions: Interactions): readonly Pair[] {
  if (interactions === "all") return [[context.list, action.list]];
  return interactions.flatMap(([first, second]): Pair[] => {
    const left = context.of(first) ?? action.of(first);
    const right = action.of(second) ?? context.of(second);
    return left && right ? [[left, right]] : [];
  });
}

/** Adds the constant, the terms of both sides, and their products. */
function addTogether(sum: TermSum, components: Components, sides: Pair, products: readonly Pair[]): void {
  sum.add(0, CONSTANT);
  for (const side of sides) for (const { place, value } of side) sum.add(place, value);
  for (const [left, right] of products) {
    for (const a of left) {
      for (const b of right) {
        addProduct(sum, a, b, components);
      }
    }
  }
}

function scaleTogether(context: readonly Term[], action: readonly Term[], products: readonly Pair[]): number {
  let square = 0;
  for (const [left, right] of products) square += squaresOf(left).factors * squaresOf(right).factors;
  return scaleOf(squaresOf(context).values, squaresOf(action).values, square);
}
