// Reads named features as terms: the features of one side once, however many vectors need them.

import { finiteNumber, outOfRange, type Range, record, wrongType } from "../values/argument.ts";
import { type Components, restOf, type Side, stemOf } from "./components.ts";
import { FNV_OFFSET, hashText, mixed, productHash } from "./hash.ts";
import { PRODUCT } from "./scale.ts";
import type { TermSum } from "./term-sum.ts";

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
  /** Whether the component is its own. */
  readonly isExact: boolean;
  /** The hash of the term's name. Those of products follow from it. */
  readonly hash: number;
  /** The index of a category among the entries of the vocabulary, and that of a number among the numbers of visitors. */
  readonly entry: number | undefined;
  readonly visitor: number | undefined;
}

/** The terms of one side, feature by feature in order of name: one for a number or category, one per entry for a list. */
export interface Terms {
  readonly list: readonly Term[];
  /** The terms of a feature. Undefined if the side has no such feature. */
  of(feature: string): readonly Term[] | undefined;
}

/** Objects have these names already, and libraries that read JSON drop them in silence. */
const RESERVED = ["constructor", "prototype", "__proto__"];

/** A feature of one side: what its terms have in common. */
interface Feature {
  readonly stem: string;
  readonly range: Range | undefined;
  /** Terms of categories, by category. */
  readonly categories: Map<string, Term>;
  /** The term of a number, but for its amounts. */
  number?: Omit<Term, "value" | "factor">;
}

/** Reads the features of one side as terms. It remembers each feature and category: `size` says how many. */
export class TermReader {
  readonly #side: Side;
  readonly #ranges: ReadonlyMap<string, Range>;
  readonly #components: Components;
  readonly #features = new Map<string, Feature>();
  #size = 0;
  /** Names of the last reading, as they came and in order. */
  #names: readonly string[] = [];
  #sorted: readonly string[] = [];

  /** `ranges`: the range of each numeric feature. */
  constructor(side: Side, ranges: ReadonlyMap<string, Range>, components: Components) {
    this.#side = side;
    this.#ranges = ranges;
    this.#components = components;
  }

  /** Number of remembered features and categories. */
  get size(): number {
    return this.#size;
  }

  /** The terms of features. @throws {TypeError | RangeError} naming the feature. */
  terms(named: NamedFeatures): Terms {
    const list: Term[] = [];
    const names: string[] = [];
    this.visit(named, (term, feature) => {
      list.push(term);
      names.push(feature);
    });
    let features: ReadonlyMap<string, readonly Term[]> | undefined;
    const of = (feature: string) => {
      features ??= grouped(list, names);
      return features.get(feature) ?? (Object.hasOwn(named, feature) ? [] : undefined);
    };
    return { list, of };
  }

  /** Calls `take` for each term, in order of the features' names, so that the order of an object's keys does not change the bits. */
  visit(named: NamedFeatures, take: (term: Term, feature: string) => void): void {
    for (const feature of this.#inOrder(Object.keys(record(this.#side, named)))) {
      const value: unknown = named[feature];
      const known = this.#feature(feature, value);
      if (typeof value === "number") take(this.#number(feature, known, value), feature);
      else if (typeof value === "string" || typeof value === "boolean") take(this.#category(known, String(value)), feature);
      else {
        if (!Array.isArray(value) || !value.every((each) => typeof each === "string" || typeof each === "boolean")) {
          throw wrongType(`${this.#side}.${feature}`, "a number, a string, a boolean or an array of strings", value);
        }
        for (const category of new Set(value.map(String))) take(this.#category(known, category), feature);
      }
    }
  }

  /** Names in order. Actions of a catalogue have the same names as a rule. */
  #inOrder(names: readonly string[]): readonly string[] {
    if (names.length !== this.#names.length || names.some((name, i) => name !== this.#names[i])) {
      this.#names = names;
      this.#sorted = [...names].sort();
    }
    return this.#sorted;
  }

  #feature(name: string, value: unknown): Feature {
    const known = this.#features.get(name);
    if (known) return known;
    if (RESERVED.includes(name)) throw outOfRange(`${this.#side}.${name}`, `a name other than ${RESERVED.join(", ")}`, value);
    const feature = { stem: stemOf(this.#side, name), range: this.#ranges.get(name), categories: new Map() };
    this.#features.set(name, feature);
    this.#size++;
    return feature;
  }

  #category({ stem, categories }: Feature, category: string): Term {
    const known = categories.get(category);
    if (known) return known;
    const rest = restOf(category);
    const term = { ...this.#named(stem, rest), value: 1, factor: 1 };
    categories.set(category, term);
    this.#size++;
    return term;
  }

  #number(name: string, feature: Feature, value: number): Term {
    const { range } = feature;
    if (!range) throw outOfRange(`${this.#side}.${name}`, "its range under encoder.numeric, or a string for a category", value);
    const given = (finiteNumber(`${this.#side}.${name}`, value) - range.min) / (range.max - range.min);
    const factor = Math.min(1, Math.max(0, given));
    feature.number ??= this.#named(feature.stem, "");
    // A number is centred where it has a component of its own.
    return { ...feature.number, value: feature.number.isExact ? 2 * factor - 1 : factor, factor };
  }

  #named(stem: string, rest: string): Omit<Term, "value" | "factor"> {
    const hash = mixed(hashText(hashText(FNV_OFFSET, stem), rest));
    const exact = this.#components.exact(stem, rest);
    const visitor = rest === "" ? this.#components.visitors.indexOf(stem) : -1;
    return {
      ...{ stem, rest, hash, isExact: exact !== undefined, entry: this.#components.entry(stem, rest) },
      place: exact ?? this.#components.hashedTerm(this.#side, hash),
      visitor: visitor < 0 ? undefined : visitor,
    };
  }
}

function grouped(terms: readonly Term[], names: readonly string[]): ReadonlyMap<string, readonly Term[]> {
  const groups = new Map<string, Term[]>();
  terms.forEach((term, i) => {
    const own = groups.get(names[i]);
    if (own) own.push(term);
    else groups.set(names[i], [term]);
  });
  return groups;
}

/** Adds the product of two terms to its component. */
export function addProduct(sum: TermSum, first: Term, second: Term, components: Components): void {
  const own = ownProduct(first, second, components) ?? ownProduct(second, first, components);
  // A number is centred where the component is for its products alone. Its other factor is a category, which is 1.
  if (own !== undefined) sum.add(own, PRODUCT * (2 * (isNumber(first) ? first : second).factor - 1));
  else sum.add(components.hashed(productHash(first.hash, second.hash)), PRODUCT * (first.factor * second.factor));
}

/** The component for products of a visitor's number that the product with an entry of the vocabulary has. */
function ownProduct({ visitor }: Term, { entry }: Term, components: Components): number | undefined {
  return visitor === undefined || entry === undefined ? undefined : components.product(visitor, entry);
}

export function isNumber({ rest }: Pick<Term, "rest">): boolean {
  return rest === "";
}
