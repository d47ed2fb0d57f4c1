import { checkCount, HashedSum } from "./hashed-sum.ts";
import { hashBytes, placeOf, type Term, type Terms } from "./terms.ts";

/** Terms in arrays, feature by feature. */
interface Columns {
  readonly list: readonly Term[];
  readonly values: Float64Array;
  readonly places: Int32Array;
  /** Where the terms of each feature end. */
  readonly ends: readonly number[];
}

/** The actions among which contexts choose again and again, when every term of a context meets every term of an action. */
export class Catalogue {
  readonly #actions: readonly Columns[];
  /** By action and term: its name's place among the distinct names. */
  readonly #names: readonly Int32Array[];
  /** The categories of the distinct names, one after another in UTF-8, where each ends, and which of the stems is before it. */
  readonly #rests: Uint8Array;
  readonly #ends: Int32Array;
  readonly #stemOf: Int32Array;
  readonly #stems: readonly Uint8Array[];
  readonly #dimension: number;
  /** Terms of the action that has most. */
  readonly #most: number;

  constructor(actions: readonly Terms[], dimension: number) {
    const utf8 = new TextEncoder();
    const nameOf = ({ stem, rest }: Term): string => stem + rest;
    this.#actions = actions.map(columnsOf);
    const distinct = new Map(this.#actions.flatMap(({ list }) => list.map((term) => [nameOf(term), term])));
    const stems = new Map<string, number>();
    for (const { stem } of distinct.values()) if (!stems.has(stem)) stems.set(stem, stems.size);
    const indices = new Map(Array.from(distinct.keys(), (name, index) => [name, index]));
    this.#names = this.#actions.map(({ list }) => Int32Array.from(list, (term) => indices.get(nameOf(term)) as number));
    const rests = Array.from(distinct.values(), ({ rest }) => Array.from(utf8.encode(rest)));
    this.#rests = Uint8Array.from(rests.flat());
    let end = 0;
    this.#ends = Int32Array.from(rests, ({ length }) => (end += length));
    this.#stemOf = Int32Array.from(distinct.values(), ({ stem }) => stems.get(stem) as number);
    this.#stems = Array.from(stems.keys(), (stem) => utf8.encode(stem));
    this.#dimension = dimension;
    this.#most = this.#actions.reduce((most, { list }) => Math.max(most, list.length), 0);
  }

  /** The vector of each action in a context: actions x d. */
  vectorsIn(context: Terms): Float64Array {
    const left = columnsOf(context);
    checkCount(left.list.length + this.#most + left.list.length * this.#most);
    const products = this.#productPlaces(left.list);
    const vectors = new Float64Array(this.#actions.length * this.#dimension);
    const sum = new HashedSum(this.#dimension);
    for (let i = 0; i < this.#actions.length; i++) {
      const right = this.#actions[i];
      addTerms(sum, left);
      addTerms(sum, right);
      this.#addProducts(sum, left, right, products, this.#names[i]);
      sum.moveInto(vectors, i * this.#dimension);
    }
    return vectors;
  }

  /** Feature by feature, as of an action alone: in another order a component's terms would add up to other bits. */
  #addProducts(sum: HashedSum, left: Columns, right: Columns, places: Int32Array, names: Int32Array): void {
    const stride = this.#ends.length;
    const addRow = (a: number, from: number, to: number): void => {
      const value = left.values[a];
      for (let b = from; b < to; b++) sum.add(places[a * stride + names[b]], value * right.values[b]);
    };
    for (let l = 0, first = 0; l < left.ends.length; first = left.ends[l++]) {
      // One term meets one feature after another.
      if (left.ends[l] === first + 1) addRow(first, 0, right.values.length);
      else {
        for (let r = 0, from = 0; r < right.ends.length; from = right.ends[r++]) {
          for (let a = first; a < left.ends[l]; a++) addRow(a, from, right.ends[r]);
        }
      }
    }
  }

  /** The places of the products of each term of a context with each distinct name: terms x names. */
  #productPlaces(context: readonly Term[]): Int32Array {
    const [rests, ends, stemOf] = [this.#rests, this.#ends, this.#stemOf];
    const places = new Int32Array(context.length * ends.length);
    let at = 0;
    for (const { prefix } of context) {
      const states = this.#stems.map((stem) => hashBytes(prefix, stem));
      for (let i = 0, from = 0; i < ends.length; from = ends[i++]) {
        places[at++] = placeOf(hashBytes(states[stemOf[i]], rests, from, ends[i]), this.#dimension);
      }
    }
    return places;
  }
}

function columnsOf(terms: Terms): Columns {
  const list = Array.from(terms.values()).flat();
  const values = new Float64Array(list.length);
  const places = new Int32Array(list.length);
  for (let i = 0; i < list.length; i++) {
    values[i] = list[i].value;
    places[i] = list[i].place;
  }
  const ends: number[] = [];
  for (const { length } of terms.values()) ends.push((ends.at(-1) ?? 0) + length);
  return { list, values, places, ends };
}

function addTerms(sum: HashedSum, { places, values }: Columns): void {
  for (let i = 0; i < places.length; i++) sum.add(places[i], values[i]);
}
