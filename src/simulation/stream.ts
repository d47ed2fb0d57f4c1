import { randomNormal } from "d3-random";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** A seeded stream of random numbers. */
export interface Stream {
  /** Uniform on [0, 1). */
  (): number;
  /** Standard normal. */
  normal(): number;
  /** Uniform on 0 .. count - 1. */
  below(count: number): number;
}

/** A stream seeded by its names. The same names give the same stream in every process and on every machine. */
export function stream(...names: (string | number)[]): Stream {
  let seed = 2166136261;
  for (const character of names.join("\u0000")) seed = Math.imul(seed ^ (character.codePointAt(0) as number), 16777619);
  const generator = xoroshiro128plus(seed);
  const uniform = (): number => ((generator.next() >>> 5) * 67108864 + (generator.next() >>> 6)) / 9007199254740992;
  return Object.assign(uniform, { normal: randomNormal.source(uniform)(), below: (count: number) => Math.floor(uniform() * count) });
}

/** The items in random order (Fisher-Yates). */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}

/** Cumulative sums. */
export function cumulative(values: ArrayLike<number>): Float64Array {
  const sums = Float64Array.from(values);
  for (let i = 1; i < sums.length; i++) sums[i] += sums[i - 1];
  return sums;
}
