import type { ChanceOf } from "./ranking.ts";

// Probabilities of a random order within families. Let every candidate arrive at a time of its own, uniform on [0, 1]. The list takes
// candidates as they arrive, so it has the law of `randomWithin`. Given that a candidate arrives at time t, families are independent:
// one of n candidates with room c has given min(c, Binomial(n, t)) candidates to the list. The candidate has place p if its own family
// still has room and all families together have given p. An integral over t is left.

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
 * **Cost:** O(kinds places^2 log k) at some hundred points, once.
 */
export function randomChances(count: number, places: number, { of, room }: FamilyBounds): ChanceOf {
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
  const chances = chancesOf(Array.from(kinds.values()), count, places);
  const byKey = new Map(Array.from(kinds.keys(), (key, kind) => [key, chances[kind]]));
  return (index, place) => (byKey.get(of[index] >= 0 ? keys[of[index]] : alone) as Float64Array)[place];
}

/** For a candidate of each kind, its probability at each place. */
function chancesOf(kinds: readonly Kind[], count: number, places: number): Float64Array[] {
  const chances = kinds.map(() => new Float64Array(places));
  const ends = panels(count, places);
  let left = 1;
  for (let panel = 1; panel < ends.length && left > NEGLIGIBLE; panel++) {
    left = 0;
    const [half, middle] = [(ends[panel] - ends[panel - 1]) / 2, (ends[panel] + ends[panel - 1]) / 2];
    for (let node = 0; node < 2 * NODES.length; node++) {
      const at = node >> 1;
      const time = middle + half * (node % 2 === 0 ? NODES[at] : -NODES[at]);
      left = Math.max(left, addAt(time, half * WEIGHTS[at], kinds, chances));
    }
  }
  return chances;
}

/** Ends of panels. They are short near 0, where many candidates have arrived soon, and near 1, where lists take all candidates. */
function panels(count: number, places: number): number[] {
  const ends = [0.5];
  while (ends[0] * 4 * count > 1) ends.unshift(ends[0] / 2);
  for (let left = 0.25; left * 4 * places > 1; left /= 2) ends.push(1 - left);
  return [0, ...ends, 1];
}

/** Adds the integrand at a time. Returns the probability that places are left then. */
function addAt(time: number, weight: number, kinds: readonly Kind[], chances: readonly Float64Array[]): number {
  const [{ length: places }] = chances;
  const given = kinds.map(({ size, room }) => givenBy(size, room, time, places));
  // The families of a kind without one of them, and of all other kinds before and after it.
  const others = kinds.map(({ families }, kind) => power(given[kind], families - 1));
  const after: Float64Array[] = [];
  let product = one(places);
  for (let kind = kinds.length - 1; kind >= 0; kind--) {
    after[kind] = product;
    if (kinds[kind].families > 0) product = times(given[kind], times(others[kind], product));
  }
  const left = product.reduce((sum, each) => sum + each, 0);
  product = one(places);
  for (let kind = 0; kind < kinds.length; kind++) {
    const { size, room, families } = kinds[kind];
    if (families === 0) continue;
    product = times(others[kind], product);
    const all = times(arrivals(size - 1, room, time, places), times(product, after[kind]));
    for (let place = 0; place < places; place++) chances[kind][place] += weight * all[place];
    product = times(given[kind], product);
  }
  return left;
}

/** Probabilities of 0, 1, ... room - 1 arrivals among `size` candidates by a time. */
function arrivals(size: number, room: number, time: number, places: number): Float64Array {
  const chances = new Float64Array(places);
  let chance = 1;
  for (let factor = 1 - time, n = size; n > 0; n >>= 1, factor *= factor) if (n & 1) chance *= factor;
  for (let j = 0; j < room && j < places && j <= size; j++) {
    chances[j] = chance;
    chance *= ((size - j) / (j + 1)) * (time / (1 - time));
  }
  return chances;
}

/** The same for what a family gives: all arrivals from `room` on count as `room`. */
function givenBy(size: number, room: number, time: number, places: number): Float64Array {
  const chances = arrivals(size, room, time, places);
  if (room < places) chances[room] = Math.max(0, 1 - chances.reduce((sum, each) => sum + each, 0));
  return chances;
}

function one(places: number): Float64Array {
  const power = new Float64Array(places);
  power[0] = 1;
  return power;
}

/** The product of two power series, as far as their terms go. */
function times(a: Float64Array, b: Float64Array): Float64Array {
  const product = new Float64Array(a.length);
  for (let i = 0; i < a.length; i++) {
    if (a[i] === 0) continue;
    for (let j = 0; i + j < a.length; j++) product[i + j] += a[i] * b[j];
  }
  return product;
}

function power(base: Float64Array, exponent: number): Float64Array {
  let result = one(base.length);
  for (let factor = base, n = exponent; n > 0; n >>= 1) {
    if (n & 1) result = times(result, factor);
    if (n > 1) factor = times(factor, factor);
  }
  return result;
}
