import type { Rankings } from "../model/ranking.ts";

/** Probability of a candidate at a place. */
export type ChanceOf = (index: number, place: number) => number;
/** A share of the probability that a random order has. */
export type RandomShare = (share: number, index: number, place: number) => number;

/** Chances if with probability `uniform` those of a `random` order hold, and `free` otherwise. */
export function mixed(uniform: number, random: RandomShare, free: ChanceOf = () => 0): ChanceOf {
  if (uniform === 0) return free;
  return (index, place) => random(uniform, index, place) + (1 - uniform) * free(index, place);
}

/** The share of a random order that families bound. */
export function boundedOrder(chance: ChanceOf): RandomShare {
  return (share, index, place) => share * chance(index, place);
}

/** Computes chances when they are first asked for. */
export function later(compute: () => ChanceOf): ChanceOf {
  let chances: ChanceOf | undefined;
  return (index, place) => {
    chances ??= compute();
    return chances(index, place);
  };
}

/** Chances of the lists that `listOf` makes of each ranking. */
export function bounded(
  { random: share, count, scores }: Rankings,
  listOf: (scores: Float64Array) => readonly number[],
  random: RandomShare,
): ChanceOf {
  const lists = later(() => {
    const all = Array.from({ length: count }, (_, ranking) => listOf(scores(ranking)));
    return (index, place) => all.reduce((hits, list) => hits + Number(list[place] === index), 0) / count;
  });
  return mixed(share, random, lists);
}
