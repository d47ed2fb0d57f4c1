import type { Components } from "./components.ts";
import { ADD_STEPS, checkBudget, checkVector, placeSteps, productSteps } from "./cost.ts";
import { hashBytes, mixed } from "./hash.ts";
import { CONSTANT, PRODUCT } from "./scale.ts";
import { TermSum } from "./term-sum.ts";
import { isNumber, productValue, type Term, type Terms } from "./terms.ts";

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

/** Encodes a fixed list of actions in one context after another, with the product of every context term and every action term. */
export class Catalogue {
  readonly #actions: readonly Columns[];
  /** For each action and term the index of its name among the distinct names. */
  readonly #names: readonly Int32Array[];
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
    this.#actions = actions.map(columnsOf);
    const terms: Term[] = [];
    const stems = new Map<string, Map<string, number>>();
    const indexOf = (term: Term): number => {
      const indices = stems.get(term.stem) ?? new Map<string, number>();
      const index = indices.get(term.rest) ?? terms.push(term) - 1;
      stems.set(term.stem, indices.set(term.rest, index));
      return index;
    };
    this.#names = this.#actions.map(({ list }) => Int32Array.from(list, indexOf));
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
    this.#most = this.#actions.reduce((most, { list }) => Math.max(most, list.length), 0);
    this.#mostSteps = this.#actions.reduce((most, { list }) => Math.max(most, productSteps(list)), 0);
    this.#steps = this.#actions.reduce((sum, { list }) => sum + ADD_STEPS * list.length, placeSteps(terms));
  }

  /** The vector of each action in a context: actions x d. */
  vectorsIn(context: Terms, budget: number): Float64Array {
    const left = columnsOf(context);
    const { length } = left.list;
    checkVector(length + this.#most + length * this.#most, length * this.#mostSteps);
    checkBudget(length * this.#steps, budget);
    const products = left.list.map(({ prefix }) => this.#productPlaces(prefix));
    const { dimension } = this.#components;
    const vectors = new Float64Array(this.#actions.length * dimension);
    const sum = this.#sum;
    for (let i = 0; i < this.#actions.length; i++) {
      const right = this.#actions[i];
      sum.add(0, CONSTANT);
      sum.addAll(left.places, left.values);
      sum.addAll(right.places, right.values);
      this.#addProducts(sum, left, right, products, this.#names[i]);
      sum.moveInto(vectors, i * dimension);
    }
    return vectors;
  }

  /** Adds feature by feature, as `encode` does: in another order, sums of a component would differ by rounding. */
  #addProducts(sum: TermSum, left: Columns, right: Columns, products: readonly Uint16Array[], names: Int32Array): void {
    const { factors, ends } = right;
    for (let l = 0, first = 0; l < left.ends.length; first = left.ends[l++]) {
      const single = left.ends[l] === first + 1;
      // A feature with one term needs no loop over the features of the action.
      if (single && isNumber(left.list[first])) this.#addNumber(sum, left.list[first], right, products[first], names);
      else if (single) sum.addPicked(products[first], names, factors, PRODUCT * left.factors[first], 0, factors.length);
      else {
        for (let r = 0, from = 0; r < ends.length; from = ends[r++]) {
          for (let a = first; a < left.ends[l]; a++) sum.addPicked(products[a], names, factors, PRODUCT * left.factors[a], from, ends[r]);
        }
      }
    }
  }

  #addNumber(sum: TermSum, number: Term, right: Columns, products: Uint16Array, names: Int32Array): void {
    const own = this.#ownPlacesOf(number);
    for (let i = 0; i < names.length; i++) {
      const place = own[names[i]];
      sum.add(place < 0 ? products[names[i]] : place, productValue(number, right.list[i], place >= 0));
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
