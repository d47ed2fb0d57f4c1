// The candidates of a log's decisions, each list of them once.

import type { Families, Featurizer } from "afterclick/research";
import type { Catalogue } from "../../worker/domain/catalogue/catalogue.ts";
import { freeCandidates } from "../../worker/domain/decision/offer.ts";

/** The candidates of a request, in one array for all decisions that have the same. */
interface Candidates {
  readonly actions: Catalogue["actions"];
  readonly ids: readonly string[];
  readonly places: ReadonlyMap<string, number>;
  readonly families?: Families;
  readonly boosts?: Float64Array;
}

/** A catalogue with the restrictions of a request, as JSON. */
interface Offer {
  readonly featurize: Featurizer;
  readonly catalogue: Catalogue;
  readonly asked: string;
}

/** Lists of candidates that are held at a time. */
const MOST_LISTS = 1000;

/** Numbers offers, and makes their candidates when they are read. */
export class Offers {
  readonly #offers: Offer[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #parts = new Map<object, number>();
  readonly #candidates = new Map<number, Candidates>();

  /** The number of an offer. */
  numberOf(featurize: Featurizer, catalogue: Catalogue, asked: object): number {
    const text = JSON.stringify(asked);
    const key = `${this.#partOf(featurize)} ${this.#partOf(catalogue)} ${text}`;
    const number = this.#numbers.get(key) ?? this.#offers.length;
    if (number === this.#offers.length) {
      this.#offers.push({ featurize, catalogue, asked: text });
      this.#numbers.set(key, number);
    }
    return number;
  }

  candidates(number: number): Candidates {
    const known = this.#candidates.get(number);
    if (known) return known;
    if (this.#candidates.size >= MOST_LISTS) this.#candidates.clear();
    const { catalogue, asked } = this.#offers[number];
    const { candidates, bounds, boosts } = freeCandidates(catalogue, { exclude: [], limit: 1, ...JSON.parse(asked) });
    const ids = candidates.actions.map(({ id }) => id);
    const restricted = { ...(bounds && { families: bounds }), ...(boosts && { boosts }) };
    const found = { actions: candidates.actions, ids, places: new Map(ids.map((id, i) => [id, i])), ...restricted };
    this.#candidates.set(number, found);
    return found;
  }

  /** The features of the candidates, in a context as JSON. */
  points(number: number, context: string) {
    return this.#offers[number].featurize.points(JSON.parse(context) ?? undefined, this.candidates(number).actions);
  }

  #partOf(each: object): number {
    const number = this.#parts.get(each) ?? this.#parts.size;
    this.#parts.set(each, number);
    return number;
  }
}
