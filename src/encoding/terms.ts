import { finiteNumber, outOfRange, type Range, record, wrongType } from "../argument.ts";
import { type Components, restOf, type Side, stemOf } from "./components.ts";

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

/** The place of the product of two terms. The name of the product is the first name, U+0001, and the second name. */
export function productPlace({ prefix }: Term, { stem, rest }: Term, components: Components): number {
  return components.hashed(mixed(hashText(hashText(prefix, stem), rest)));
}

// FNV-1a over UTF-8, so that a common prefix is hashed once. The finaliser of MurmurHash3 makes every bit depend on every byte.

const FNV_OFFSET = 0x811c9dc5;
const SEPARATOR = 1;

function step(state: number, byte: number): number {
  return Math.imul(state ^ byte, 0x01000193);
}

export function hashBytes(state: number, bytes: Uint8Array, from = 0, to = bytes.length): number {
  for (let i = from; i < to; i++) state = step(state, bytes[i]);
  return state;
}

/** Hashes the UTF-8 of a text without an array of bytes. A lone surrogate counts as U+FFFD, as in `TextEncoder`. */
function hashText(state: number, text: string): number {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) state = step(state, unit);
    else if (unit < 0x800) state = step(step(state, 0xc0 | (unit >> 6)), 0x80 | (unit & 0x3f));
    else {
      const point = text.codePointAt(i) as number;
      if (point > 0xffff) i++;
      state = hashWide(state, point >> 11 === 0x1b ? 0xfffd : point);
    }
  }
  return state;
}

/** Hashes a code point of three or four bytes. */
function hashWide(state: number, point: number): number {
  if (point > 0xffff) state = step(step(state, 0xf0 | (point >> 18)), 0x80 | ((point >> 12) & 0x3f));
  else state = step(state, 0xe0 | (point >> 12));
  return step(step(state, 0x80 | ((point >> 6) & 0x3f)), 0x80 | (point & 0x3f));
}

/** The hash of a finished text. */
export function mixed(state: number): number {
  let hash = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
