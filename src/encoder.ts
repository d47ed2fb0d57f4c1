import { finiteNumber, nonEmptyString, onlyKeys, outOfRange, record, wholeNumber, wrongType } from "./argument.ts";

/** Features by name: numbers, categories, flags, or lists of categories. */
export type NamedFeatures = Readonly<Record<string, number | string | boolean | readonly string[]>>;

export interface EncoderOptions {
  /** Components of the vector (d). */
  readonly dimension: number;
  /** Range of each numeric feature, scaled to -1 .. 1; a number outside is set to the nearer end. */
  readonly numeric?: Readonly<Record<string, { readonly min: number; readonly max: number }>>;
  /** Pairs of features whose products are features too, such as ["country", "brand"]; "all": every context feature with every action feature. */
  readonly interactions?: "all" | readonly (readonly [string, string])[];
}

export interface Encoder {
  readonly options: EncoderOptions;
  /**
   * Turns the features of a context and of an action into one vector inside the unit ball, of multiples of 2^-12.
   *
   * @throws {TypeError | RangeError} naming the feature, if a number has no declared range or is not finite.
   */
  encode(features: { readonly context?: NamedFeatures; readonly action?: NamedFeatures }): Float64Array;
}

interface Term {
  readonly name: string;
  readonly value: number;
}

const MAX_TERMS = 4096;
/** Sums of products of multiples of 2^-12 are exact in float64, so they do not depend on order. */
const RESOLUTION = 4096;

/**
 * An encoder of named features by signed feature hashing (Weinberger et al., ICML 2009).
 *
 * @example
 * const { encode } = encoder({ dimension: 64, numeric: { price: { min: 0, max: 500 } }, interactions: [["country", "brand"]] });
 * encode({ context: { country: "PT" }, action: { brand: "Acme", price: 120 } });
 */
export function encoder(options: EncoderOptions): Encoder {
  onlyKeys("options", record("options", options), ["dimension", "numeric", "interactions"]);
  const dimension = wholeNumber("dimension", options.dimension, 1, 4096);
  const numeric = new Map(
    Object.entries(record("numeric", options.numeric ?? {})).map(([name, value]) => [name, parseRange(`numeric.${name}`, value)]),
  );
  const interactions = parseInteractions(options.interactions ?? []);

  return {
    options: structuredClone(options),
    encode({ context = {}, action = {} }) {
      const contextTerms = terms("context", context, numeric);
      const actionTerms = terms("action", action, numeric);
      const vector = new Float64Array(dimension);
      let count = 0;
      const add = (name: string, value: number): void => {
        if (++count > MAX_TERMS) throw new RangeError(`features: expected at most ${MAX_TERMS} terms with interactions`);
        const hash = hashOf(name);
        // The top bit signs, the others place: collisions then cancel on average instead of adding up.
        vector[(hash & 0x7fffffff) % dimension] += hash < 0 ? -value : value;
      };
      for (const term of [...contextTerms.values(), ...actionTerms.values()].flat()) add(term.name, term.value);
      for (const [left, right] of pairs(contextTerms, actionTerms, interactions)) {
        for (const a of left) for (const b of right) add(`${a.name}\u0001${b.name}`, a.value * b.value);
      }
      return intoBall(vector);
    },
  };
}

function parseRange(name: string, value: unknown): { min: number; max: number } {
  const range = record(name, value);
  onlyKeys(name, range, ["min", "max"]);
  const min = finiteNumber(`${name}.min`, range.min);
  const max = finiteNumber(`${name}.max`, range.max);
  if (min >= max) throw outOfRange(`${name}.max`, `more than the minimum ${min}`, max);
  return { min, max };
}

function parseInteractions(value: unknown): "all" | [string, string][] {
  if (value === "all") return value;
  if (!Array.isArray(value)) throw wrongType("interactions", '"all" or pairs of names', value);
  return value.map((pair, i) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw wrongType(`interactions[${i}]`, "a pair of names", pair);
    return [nonEmptyString(`interactions[${i}][0]`, pair[0]), nonEmptyString(`interactions[${i}][1]`, pair[1])];
  });
}

/** The terms of each feature: one for a number or a category, one per entry of a list. */
function terms(side: string, features: NamedFeatures, numeric: ReadonlyMap<string, { min: number; max: number }>): Map<string, Term[]> {
  const result = new Map<string, Term[]>();
  // In order of name: the same features give the same bits however an object lists them.
  for (const name of Object.keys(record(side, features)).sort()) {
    const value: unknown = features[name];
    const categories = Array.isArray(value) ? value : [value];
    if (typeof value === "number") {
      const range = numeric.get(name);
      if (!range) throw new RangeError(`${side}.${name}: expected its range under numeric, or a string for a category`);
      const scaled = (2 * (finiteNumber(`${side}.${name}`, value) - range.min)) / (range.max - range.min) - 1;
      result.set(name, [{ name: `${side}\u0000${name}`, value: Math.min(1, Math.max(-1, scaled)) }]);
    } else if (categories.every((category) => typeof category === "string" || typeof category === "boolean")) {
      result.set(
        name,
        [...new Set(categories)].map((category) => ({ name: `${side}\u0000${name}\u0000${category}`, value: 1 })),
      );
    } else {
      throw wrongType(`${side}.${name}`, "a number, a string, a boolean or an array of strings", value);
    }
  }
  return result;
}

function* pairs(
  context: ReadonlyMap<string, Term[]>,
  action: ReadonlyMap<string, Term[]>,
  interactions: "all" | readonly (readonly [string, string])[],
): Generator<readonly [Term[], Term[]]> {
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

/** Scales a vector longer than 1 to length 1, then rounds towards zero, which never makes it longer (and + 0 makes -0 a 0). */
function intoBall(vector: Float64Array): Float64Array {
  let square = 0;
  for (const component of vector) square += component * component;
  const scale = square > 1 ? 1 / Math.sqrt(square) : 1;
  return vector.map((component) => Math.trunc(component * scale * RESOLUTION) / RESOLUTION + 0);
}

/** FNV-1a over UTF-8, with the finaliser of MurmurHash3 so that every bit depends on every byte. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
