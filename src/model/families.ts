import { record, wholeNumber, wrongType } from "../values/argument.ts";
import { NumericalError } from "../values/errors.ts";
import { type FamilyBounds, randomChances } from "./random-chances.ts";
import type { ChanceOf, Rankings } from "./ranking.ts";

/** Lists within families, for `ChooseRequest.families`. */
export interface Families {
  /** Number of candidates (k). */
  readonly count: number;
  readonly bounds: { readonly of: Int32Array; readonly room: Int32Array };
  /** The candidates that a list takes in order of score, see `bestWithin`. */
  best(score: Float64Array, limit: number): number[];
  /** A list in random order, see `randomWithin`. */
  random(picks: ArrayLike<number>): number[];
  /** Probabilities of a list in random order, of the candidates with these indices. Default: of all. */
  randomChances(places: number, indices?: readonly number[]): ChanceOf;
  /** Probabilities of a list by one of these rankings. */
  chances(rankings: Rankings, places: number): ChanceOf;
}

/**
 * Bounds the candidates of a family in a list.
 *
 * @example
 * // Two boots and a hat: a list shows at most one of the boots.
 * const oneOfEach = families({ of: [0, 0, 1], room: [1, 1] });
 * policy.choose({ points, round, limit: 2, families: oneOfEach });
 * @throws {TypeError | RangeError} naming the entry.
 */
export function families(given: FamilyBounds): Families {
  const { of, room } = record("bounds", given) as unknown as FamilyBounds;
  if (typeof of?.length !== "number") throw wrongType("bounds.of", "an array of numbers", of);
  if (typeof room?.length !== "number") throw wrongType("bounds.room", "an array of numbers", room);
  const count = of.length;
  for (let family = 0; family < room.length; family++) wholeNumber(`bounds.room[${family}]`, room[family], 1);
  for (let i = 0; i < count; i++) wholeNumber(`bounds.of[${i}]`, of[i], -1, room.length - 1);
  const bounds = { of: Int32Array.from(of), room: Int32Array.from(room) };
  const anyOrder = (places: number, indices?: readonly number[]) => later(() => randomChances(count, places, bounds, indices));
  return {
    count,
    bounds,
    best: (score, limit) => bestWithin(score, limit, bounds),
    random: (picks) => randomWithin(count, picks, bounds),
    randomChances: anyOrder,
    chances({ random, count: rankings, scores }, places) {
      const anyOf = anyOrder(places);
      const ranked = later(() => {
        const lists = Array.from({ length: rankings }, (_, ranking) => bestWithin(scores(ranking), places, bounds));
        return (index, place) => lists.reduce((hits, list) => hits + Number(list[place] === index), 0) / rankings;
      });
      if (random === 0) return ranked;
      return (index, place) => random * anyOf(index, place) + (1 - random) * ranked(index, place);
    },
  };
}

/** Computes chances when they are first asked for. */
function later(compute: () => ChanceOf): ChanceOf {
  let chances: ChanceOf | undefined;
  return (index, place) => {
    chances ??= compute();
    return chances(index, place);
  };
}

/**
 * Indices of the candidates that a list takes in order of score, greatest first, each unless its family has no room left. Among equals
 * the lowest index comes first. The list is shorter than `limit` if no family has room.
 *
 * @throws {NumericalError} code `not-a-number`.
 */
export function bestWithin(score: Float64Array, limit: number, { of, room }: FamilyBounds): number[] {
  const ranked: number[] = [];
  const used = new Int32Array(room.length);
  /** The score to exceed once the list is full. */
  let least = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < score.length; i++) {
    const own = score[i];
    // NaN fails this comparison, so that the next line refuses it.
    if (own <= least && ranked.length === limit) continue;
    if (Number.isNaN(own)) throw new NumericalError("not-a-number", "a candidate's score is not a number");
    const family = of[i];
    if (family >= 0 && used[family] === room[family]) {
      const last = ranked.findLastIndex((index) => of[index] === family);
      if (own <= score[ranked[last]]) continue;
      ranked.splice(last, 1);
    } else if (family >= 0) used[family]++;
    let place = ranked.length;
    while (place > 0 && own > score[ranked[place - 1]]) place--;
    ranked.splice(place, 0, i);
    if (ranked.length > limit) {
      const dropped = of[ranked.pop() as number];
      if (dropped >= 0) used[dropped]--;
    }
    least = ranked.length === limit ? score[ranked[limit - 1]] : Number.NEGATIVE_INFINITY;
  }
  return ranked;
}

/** A list in random order: each place takes one of the candidates left whose families have room. `picks`: uniforms, one per place. */
export function randomWithin(count: number, picks: ArrayLike<number>, { of, room }: FamilyBounds): number[] {
  const used = new Int32Array(room.length);
  const ranked: number[] = [];
  let left = Array.from({ length: count }, (_, index) => index);
  for (let place = 0; place < picks.length; place++) {
    const at = Math.min(Math.floor(picks[place] * left.length), left.length - 1);
    const index = left[at];
    ranked.push(index);
    left[at] = left[left.length - 1];
    left.pop();
    const family = of[index];
    if (family >= 0 && ++used[family] === room[family]) left = left.filter((each) => of[each] !== family);
  }
  return ranked;
}
