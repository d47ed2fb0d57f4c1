import type { Components } from "./components.ts";
import { ADD_STEPS, checkBudget, checkVector, placeSteps, productSteps } from "./cost.ts";
import { hashBytes, mixed } from "./hash.ts";
import { CONSTANT, PRODUCT } from "./scale.ts";
import { TermSum } from "./term-sum.ts";
import { centred, isNumber, type Term, type Terms } from "./terms.ts";

/** Most places to remember, 2 bytes each: enough for 256 context terms and 10,000 actions with a distinct name each. */
const MOST_PLACES = 2_621_440;

/** Terms as arrays, feature by feature. */
interface Columns {
  readonly list: readonly Term[];
  readonly values: readonly number[];
  readonly factors: readonly number[];
  readonly places: readonly number[];
  /** The end of each feature's terms. */
  readonly ends: readonly number[];
}

/** The terms and features of an action. */
interface Span {
  readonly first: number;
  readonly end: number;
  readonly feature: number;
  readonly features: number;
}

/** Encodes a fixed list of actions in one context after another, with the product of every context term and every action term. */
export class Catalogue {
  readonly #count: number;
  /** The terms of all actions, one action after another: small arrays of each would be spread over the memory. */
  readonly #values: Float64Array;
  readonly #factors: Float64Array;
  /** The factors as products with a number take them, see `productValue`. */
  readonly #centred: Float64Array;
  readonly #own: Uint16Array;
  /** For each term the index of its name among the distinct names. */
  readonly #names: Int32Array;
  /** For each action the end of its terms, and that of its features among `#features`, the ends of each feature's terms. */
  readonly #termEnds: Int32Array;
  readonly #featureEnds: Int32Array;
  readonly #features: Int32Array;
  /** The categories of the distinct names, one after another in UTF-8. */
  readonly #rests: Uint8Array;
  /** For each distinct name the end of its category in `#rests`. */
  readonly #ends: Int32Array;
  /** For each distinct name the index of its stem. */
  readonly #stemOf: Int32Array;
  readonly #stems: readonly Uint8Array[];
  /** A term of each distinct name. */
  readonly #terms: readonly Term[];
  readonly #components: Components;
  readonly #sum: TermSum;
  /** The greatest number of terms of an action. */
  readonly #most: number;
  /** For one term of a context: the most steps of an action, and the steps of all actions together. */
  readonly #mostSteps: number;
  readonly #steps: number;
  /** The places of the products of a context term with all distinct names. The key is the hash state after the context term. */
  readonly #places = new Map<number, Uint16Array>();
  /** The same for the products of a number that have a component of their own, and -1 for the others. The key is the number's stem. */
  readonly #ownPlaces = new Map<string, Int32Array>();

  constructor(actions: readonly Terms[], components: Components) {
    const columns = actions.map(columnsOf);
    const all = columns.flatMap(({ list }) => list);
    this.#count = actions.length;
    this.#values = Float64Array.from(all, ({ value }) => value);
    this.#factors = Float64Array.from(all, ({ factor }) => factor);
    this.#centred = Float64Array.from(all, centred);
    this.#own = Uint16Array.from(all, ({ place }) => place);
    let [lastTerm, lastFeature] = [0, 0];
    this.#features = Int32Array.from(
      columns.flatMap(({ list, ends }) => {
        const from = lastTerm;
        lastTerm += list.length;
        return ends.map((end) => from + end);
      }),
    );
    lastTerm = 0;
    this.#termEnds = Int32Array.from(columns, ({ list }) => (lastTerm += list.length));
    this.#featureEnds = Int32Array.from(columns, ({ ends }) => (lastFeature += ends.length));
    const terms: Term[] = [];
    const stems = new Map<string, Map<string, number>>();
    const indexOf = (term: Term): number => {
      const indices = stems.get(term.stem) ?? new Map<string, number>();
      const index = indices.get(term.rest) ?? terms.push(term) - 1;
      stems.set(term.stem, indices.set(term.rest, index));
      return index;
    };
    this.#names = Int32Array.from(all, indexOf);
    const utf8 = new TextEncoder();
    const rests = new Uint8Array(3 * terms.reduce((sum, { rest }) => sum + rest.length, 0));
    let end = 0;
    this.#ends = Int32Array.from(terms, ({ rest }) => (end += utf8.encodeInto(rest, rests.subarray(end)).written));
    this.#rests = rests.slice(0, end);
    const places = new Map(Array.from(stems.keys(), (stem, place) => [stem, place]));
    this.#stemOf = Int32Array.from(terms, ({ stem }) => places.get(stem) as number);
    this.#stems = Array.from(stems.keys(), (stem) => utf8.encode(stem));
    this.#terms = terms;
    this.#components = components;
    this.#sum = new TermSum(components.dimension);
    this.#most = columns.reduce((most, { list }) => Math.max(most, list.length), 0);
    this.#mostSteps = columns.reduce((most, { list }) => Math.max(most, productSteps(list)), 0);
    this.#steps = columns.reduce((sum, { list }) => sum + ADD_STEPS * list.length, placeSteps(terms));
  }

  /** The vector of each action in a context: actions x d. */
  vectorsIn(context: Terms, budget: number): Float64Array {
    const left = columnsOf(context);
    const { length } = left.list;
    checkVector(length + this.#most + length * this.#most, length * this.#mostSteps);
    checkBudget(length * this.#steps, budget);
    const products = left.list.map(({ prefix }) => this.#productPlaces(prefix));
    const { dimension } = this.#components;
    const vectors = new Float64Array(this.#count * dimension);
    const sum = this.#sum;
    for (let i = 0, first = 0, feature = 0; i < this.#count; feature = this.#featureEnds[i], first = this.#termEnds[i++]) {
      sum.add(0, CONSTANT);
      sum.addAll(left.places, left.values);
      for (let term = first; term < this.#termEnds[i]; term++) sum.add(this.#own[term], this.#values[term]);
      this.#addProducts(sum, left, products, { first, end: this.#termEnds[i], feature, features: this.#featureEnds[i] });
      sum.moveInto(vectors, i * dimension);
    }
    return vectors;
  }

  /** Adds feature by feature, as `encode` does: in another order, sums of a component would differ by rounding. */
  #addProducts(sum: TermSum, left: Columns, products: readonly Uint16Array[], { first: start, end, feature, features }: Span): void {
    const [names, factors] = [this.#names, this.#factors];
    for (let l = 0, first = 0; l < left.ends.length; first = left.ends[l++]) {
      const single = left.ends[l] === first + 1;
      // A feature with one term needs no loop over the features of the action.
      if (single && isNumber(left.list[first])) this.#addNumber(sum, left.list[first], products[first], start, end);
      else if (single) sum.addPicked(products[first], names, factors, PRODUCT * left.factors[first], start, end);
      else {
        for (let r = feature, from = start; r < features; from = this.#features[r++]) {
          for (let a = first; a < left.ends[l]; a++) {
            sum.addPicked(products[a], names, factors, PRODUCT * left.factors[a], from, this.#features[r]);
          }
        }
      }
    }
  }

  #addNumber(sum: TermSum, number: Term, products: Uint16Array, first: number, end: number): void {
    const own = this.#ownPlacesOf(number);
    const inMiddle = centred(number);
    for (let term = first; term < end; term++) {
      const name = this.#names[term];
      const place = own[name];
      if (place < 0) sum.add(products[name], PRODUCT * (number.factor * this.#factors[term]));
      else sum.add(place, PRODUCT * (inMiddle * this.#centred[term]));
    }
  }

  #ownPlacesOf({ stem }: Term): Int32Array {
    const known = this.#ownPlaces.get(stem);
    if (known) return known;
    const places = Int32Array.from(this.#terms, (term) => this.#components.product(stem, term) ?? -1);
    this.#ownPlaces.set(stem, places);
    return places;
  }

  /** The places of the products of a context term with each distinct name. Contexts share many terms, so results are kept. */
  #productPlaces(prefix: number): Uint16Array {
    const known = this.#places.get(prefix);
    if (known) return known;
    const [rests, ends, stemOf] = [this.#rests, this.#ends, this.#stemOf];
    // A dimension is at most 4,096.
    const places = new Uint16Array(ends.length);
    const states = this.#stems.map((stem) => hashBytes(prefix, stem));
    for (let i = 0, from = 0; i < ends.length; from = ends[i++]) {
      places[i] = this.#components.hashed(mixed(hashBytes(states[stemOf[i]], rests, from, ends[i])));
    }
    if ((this.#places.size + 1) * places.length > MOST_PLACES) this.#places.clear();
    this.#places.set(prefix, places);
    return places;
  }
}

function columnsOf(terms: Terms): Columns {
  const [list, values, factors, places, ends]: [Term[], number[], number[], number[], number[]] = [[], [], [], [], []];
  for (const feature of terms.values()) {
    for (const term of feature) {
      list.push(term);
      values.push(term.value);
      factors.push(term.factor);
      places.push(term.place);
    }
    ends.push(list.length);
  }
  return { list, values, factors, places, ends };
}
