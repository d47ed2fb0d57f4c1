// Chances of actions in a random list whose families have a limit each.
// Probabilities of a random order within families. Let every candidate arrive at a time of its own, uniform on [0, 1]. The list takes
// candidates as they arrive, so it has the law of `randomWithin`. Given that a candidate arrives at time t, families are independent:
// one of n candidates with room c has given min(c, Binomial(n, t)) candidates to the list. The candidate has place p if its own family
// still has room and all families together have given p. An integral over t is left.

import type { ChanceOf } from "./ranking.ts";

/** Families of candidates, and the most candidates of each in a list. */
export interface FamilyBounds {
  /** Family of each candidate: an index of `room`, or -1 if it has none. **Shapes:** k. */
  readonly of: ArrayLike<number>;
  /** Most candidates of each family in a list, at least 1. */
  readonly room: ArrayLike<number>;
}

/** A kind of family: all families with the same size and room. */
interface Kind {
  readonly size: number;
  readonly room: number;
  families: number;
}

/** Nodes and weights of the Gauss-Legendre rule of 16 points on [-1, 1], of which these are the positive half. */
const NODES = [
  0.09501250983763744, 0.2816035507792589, 0.4580167776572274, 0.6178762444026438, 0.755404408355003, 0.8656312023878318,
  0.9445750230732326, 0.9894009349916499,
];
const WEIGHTS = [
  0.1894506104550685, 0.1826034150449236, 0.1691565193950025, 0.1495959888165767, 0.1246289712555339, 0.0951585116824928,
  0.0622535239386479, 0.0271524594117541,
];

/** Places are left with a smaller probability: no later time counts. */
const NEGLIGIBLE = 1e-20;

/**
 * Probability of each candidate at each place of a random order within families, with `places` places.
 * @param indices the candidates that are asked for. Default: all.
 * **Cost:** O(kinds places^2 log k) at some hundred points, once.
 */
export function randomChances(count: number, places: number, { of, room }: FamilyBounds, indices?: readonly number[]): ChanceOf {
  const sizes = new Int32Array(room.length);
  let single = 0;
  for (let i = 0; i < count; i++) {
    if (of[i] >= 0) sizes[of[i]]++;
    else single++;
  }
  const kinds = new Map<string, Kind>();
  const add = (size: number, most: number, families: number): string => {
    // A family that always has room is as many candidates without one.
    const alone = size <= most;
    const kind = alone ? { size: 1, room: 1, families: 0 } : { size, room: Math.min(most, places), families: 0 };
    const key = `${kind.size} ${kind.room}`;
    const known = kinds.get(key) ?? kind;
    known.families += alone ? size * families : families;
    kinds.set(key, known);
    return key;
  };
  const alone = add(1, 1, single);
  const keys = Array.from(sizes, (size, family) => add(size, room[family], 1));
  const keyOf = (index: number): string => (of[index] >= 0 ? keys[of[index]] : alone);
  const asked = indices && new Set(indices.map(keyOf));
  const isAsked = Array.from(kinds.keys(), (key) => asked?.has(key) ?? true);
  const chances = chancesOf(Array.from(kinds.values()), isAsked, count, places);
  const byKey = new Map(Array.from(kinds.keys(), (key, kind) => [key, chances[kind]]));
  return (index, place) => (byKey.get(keyOf(index)) as Float64Array)[place];
}

/** For a candidate of each kind that is asked for, its probability at each place. */
function chancesOf(kinds: readonly Kind[], isAsked: readonly boolean[], count: number, places: number): Float64Array[] {
  const integral = new Integral(kinds, isAsked, places);
  const ends = panels(count, places);
  let left = 1;
  for (let panel = 1; panel < ends.length && left > NEGLIGIBLE; panel++) {
    left = 0;
    const [half, middle] = [(ends[panel] - ends[panel - 1]) / 2, (ends[panel] + ends[panel - 1]) / 2];
    for (let node = 0; node < 2 * NODES.length; node++) {
      const at = node >> 1;
      const time = middle + half * (node % 2 === 0 ? NODES[at] : -NODES[at]);
      left = Math.max(left, integral.addAt(time, half * WEIGHTS[at]));
    }
  }
  return integral.chances;
}

/** Ends of panels. They are short near 0, where many candidates have arrived soon, and near 1, where lists take all candidates. */
function panels(count: number, places: number): number[] {
  const ends = [0.5];
  while (ends[0] * 4 * count > 1) ends.unshift(ends[0] / 2);
  for (let left = 0.25; left * 4 * places > 1; left /= 2) ends.push(1 - left);
  return [0, ...ends, 1];
}

/** The integrals over time, with the memory of their power series: a list has few places, and there are many times and kinds. */
class Integral {
  /** For each kind that is asked for, the probability of each place. */
  readonly chances: Float64Array[];
  readonly #kinds: readonly Kind[];
  readonly #isAsked: readonly boolean[];
  readonly #places: number;
  /** Power series of the candidates that a family of each kind gives, and of those that all kinds after it give. */
  readonly #given: Float64Array[];
  readonly #after: Float64Array[];
  /** Power series of the candidates that all kinds before one give, without and with the other families of that kind. */
  #before: Float64Array;
  #product: Float64Array;
  readonly #own: Float64Array;
  readonly #rest: Float64Array;
  readonly #all: Float64Array;

  constructor(kinds: readonly Kind[], isAsked: readonly boolean[], places: number) {
    const series = () => new Float64Array(places);
    this.#kinds = kinds;
    this.#isAsked = isAsked;
    this.#places = places;
    [this.chances, this.#given, this.#after] = [kinds.map(series), kinds.map(series), kinds.map(series)];
    [this.#before, this.#product, this.#own, this.#rest, this.#all] = [series(), series(), series(), series(), series()];
  }

  /** Adds the integrand at a time. Returns the probability that places are left then. */
  addAt(time: number, weight: number): number {
    const kinds = this.#kinds;
    for (let kind = 0; kind < kinds.length; kind++) give(kinds[kind], time, this.#given[kind]);
    // The other families of each kind. Undefined if there are none.
    const others = kinds.map(({ families }, kind) => power(this.#given[kind], families - 1));
    const left = this.#collect(others);
    one(this.#before);
    for (let kind = 0; kind < kinds.length; kind++) {
      const { size, room, families } = kinds[kind];
      if (families === 0) continue;
      const product = times(others[kind], this.#before, this.#product);
      if (this.#isAsked[kind]) {
        arrive(size - 1, room, time, this.#own);
        const all = times(this.#own, times(product, this.#after[kind], this.#rest), this.#all);
        const chances = this.chances[kind];
        for (let place = 0; place < this.#places; place++) chances[place] += weight * all[place];
      }
      times(this.#given[kind], product, this.#rest);
      this.#before.set(this.#rest);
    }
    return left;
  }

  /** Multiplies what the kinds give, from the last to the first. Returns the probability that places are left. */
  #collect(others: readonly (Float64Array | undefined)[]): number {
    let product = one(this.#all);
    for (let kind = this.#kinds.length - 1; kind >= 0; kind--) {
      this.#after[kind].set(product);
      if (this.#kinds[kind].families > 0)
        product = times(this.#given[kind], times(others[kind], this.#after[kind], this.#product), this.#all);
    }
    return product.reduce((sum, each) => sum + each, 0);
  }
}

/** Probabilities of 0, 1, ... room - 1 arrivals among `size` candidates by a time. */
function arrive(size: number, room: number, time: number, chances: Float64Array): void {
  chances.fill(0);
  let chance = 1;
  for (let factor = 1 - time, n = size; n > 0; n >>= 1, factor *= factor) if (n & 1) chance *= factor;
  for (let j = 0; j < room && j < chances.length && j <= size; j++) {
    chances[j] = chance;
    chance *= ((size - j) / (j + 1)) * (time / (1 - time));
  }
}

/** Probabilities that a family gives 0, 1, ... `room` candidates to the list by a time. More arrivals than `room` count as `room`. */
function give({ size, room }: Kind, time: number, chances: Float64Array): void {
  arrive(size, room, time, chances);
  if (room < chances.length) chances[room] = Math.max(0, 1 - chances.reduce((sum, each) => sum + each, 0));
}

/** The power series of 1. */
function one(series: Float64Array): Float64Array {
  series.fill(0);
  series[0] = 1;
  return series;
}

/** The product of two power series, as far as their terms go. Without the first one, the second. @param into neither of both. */
function times(a: Float64Array | undefined, b: Float64Array, into: Float64Array): Float64Array {
  if (!a) return b;
  into.fill(0);
  for (let i = 0; i < a.length; i++) {
    const factor = a[i];
    if (factor === 0) continue;
    for (let j = 0; i + j < a.length; j++) into[i + j] += factor * b[j];
  }
  return into;
}

/** A power of a power series. Undefined for the exponent 0, or below. */
function power(base: Float64Array, exponent: number): Float64Array | undefined {
  let result: Float64Array | undefined;
  for (let factor = base, n = exponent; n > 0; n >>= 1) {
    if (n & 1) result = result ? times(result, factor, new Float64Array(base.length)) : factor;
    if (n > 1) factor = times(factor, factor, new Float64Array(base.length));
  }
  return result;
}
