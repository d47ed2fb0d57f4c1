import { finiteNumber, outOfRange, type Range, record, wrongType } from "../argument.ts";
import { type Components, restOf, type Side, stemOf } from "./components.ts";
import { FNV_OFFSET, hashText, mixed, SEPARATOR, step } from "./hash.ts";
import { PRODUCT } from "./scale.ts";

/** Features by name: numbers, categories, flags or lists of categories. */
export type NamedFeatures = Readonly<Record<string, number | string | boolean | readonly string[]>>;

/** A summand of the vector. `stem` names the feature, `rest` the category. */
export interface Term {
  readonly stem: string;
  readonly rest: string;
  /** The amount that is added to the term's component. */
  readonly value: number;
  /** The term's factor in products, between 0 and 1: hashed components get no negative numbers, so nothing cancels there. */
  readonly factor: number;
  /** The component. */
  readonly place: number;
  /** The hash state after the name and a separator. The hash of a product's name continues from it. */
  readonly prefix: number;
}

/** The terms of each feature of one side, in order of name: one for a number or category, one per entry for a list. */
export type Terms = ReadonlyMap<string, readonly Term[]>;

/** Objects have these names already, and libraries that read JSON drop them in silence. */
const RESERVED = ["constructor", "prototype", "__proto__"];

/**
 * The terms of one side. `ranges`: the range of each numeric feature.
 * @throws {TypeError | RangeError} naming the feature.
 */
export function termsOf(side: Side, named: NamedFeatures, ranges: ReadonlyMap<string, Range>, components: Components): Terms {
  const term = (stem: string, rest: string, share = 1): Term => {
    const state = hashText(hashText(FNV_OFFSET, stem), rest);
    const exact = components.exact(stem, rest);
    // A number is centred where it has a component of its own.
    const value = exact === undefined ? share : rest === "" ? 2 * share - 1 : share;
    return { stem, rest, value, factor: share, place: exact ?? components.hashed(mixed(state)), prefix: step(state, SEPARATOR) };
  };
  const terms = new Map<string, Term[]>();
  // In order of name, so that the order of an object's keys does not change the bits.
  for (const feature of Object.keys(record(side, named)).sort()) {
    const value: unknown = named[feature];
    if (RESERVED.includes(feature)) throw outOfRange(`${side}.${feature}`, `a name other than ${RESERVED.join(", ")}`, value);
    const categories = Array.isArray(value) ? value : [value];
    if (typeof value === "number") {
      const range = ranges.get(feature);
      if (!range) throw new RangeError(`${side}.${feature}: expected its range under numeric, or a string for a category`);
      const share = (finiteNumber(`${side}.${feature}`, value) - range.min) / (range.max - range.min);
      terms.set(feature, [term(stemOf(side, feature), "", Math.min(1, Math.max(0, share)))]);
    } else if (categories.every((category) => typeof category === "string" || typeof category === "boolean")) {
      const distinct = categories.length > 1 ? [...new Set(categories)] : categories;
      const stem = stemOf(side, feature);
      terms.set(
        feature,
        distinct.map((category) => term(stem, restOf(String(category)))),
      );
    } else {
      throw wrongType(`${side}.${feature}`, "a number, a string, a boolean or an array of strings", value);
    }
  }
  return terms;
}

/** The product of two terms: its component, and the amount that is added to it. */
export function productOf(first: Term, second: Term, components: Components): { readonly place: number; readonly value: number } {
  const own = isNumber(first)
    ? components.product(first.stem, second)
    : isNumber(second)
      ? components.product(second.stem, first)
      : undefined;
  const place = own ?? components.hashed(mixed(hashText(hashText(first.prefix, second.stem), second.rest)));
  return { place, value: productValue(first, second, own !== undefined) };
}

/** The amount that a product adds. A number is centred where the product has a component of its own. */
function productValue(first: Term, second: Term, own: boolean): number {
  return PRODUCT * (own ? centred(first) * centred(second) : first.factor * second.factor);
}

/** The factor of a term in products that have a component of their own: a number is centred. */
export function centred(term: Term): number {
  return isNumber(term) ? 2 * term.factor - 1 : term.factor;
}

export function isNumber({ rest }: Pick<Term, "rest">): boolean {
  return rest === "";
}
