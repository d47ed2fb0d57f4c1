import { outOfRange, record, wholeNumber, wrongType } from "../argument.ts";
import { NumericalError } from "../errors.ts";

/** Families of candidates. A list has at most a number of candidates of each family. */
export interface Families {
  /** Family of each candidate: an index of `room`, or -1 if it has none. **Shapes:** k. */
  readonly of: ArrayLike<number>;
  /** Most candidates of each family in a list, at least 1. */
  readonly room: ArrayLike<number>;
}

/** @throws {TypeError | RangeError} naming the entry. */
export function checkedFamilies(value: unknown, count: number): Families {
  const { of, room } = record("families", value) as unknown as Families;
  if (typeof of?.length !== "number") throw wrongType("families.of", `an array of ${count} numbers`, of);
  if (of.length !== count) throw outOfRange("families.of", `${count} numbers, one per candidate`, of);
  if (typeof room?.length !== "number") throw wrongType("families.room", "an array of numbers", room);
  for (let family = 0; family < room.length; family++) wholeNumber(`families.room[${family}]`, room[family], 1);
  for (let i = 0; i < count; i++) wholeNumber(`families.of[${i}]`, of[i], -1, room.length - 1);
  return { of, room };
}

/**
 * Indices of the candidates that a list takes in order of score, greatest first, each unless its family has no room left. Among equals
 * the lowest index comes first. The list is shorter than `limit` if no family has room.
 *
 * @throws {NumericalError} code `not-a-number`.
 */
export function bestWithin(score: Float64Array, limit: number, { of, room }: Families): number[] {
  const ranked: number[] = [];
  const used = new Int32Array(room.length);
  for (let i = 0; i < score.length; i++) {
    const own = score[i];
    // NaN fails this comparison, so that the next line refuses it.
    if (ranked.length === limit && own <= score[ranked[limit - 1]]) continue;
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
    if (ranked.length <= limit) continue;
    const dropped = of[ranked.pop() as number];
    if (dropped >= 0) used[dropped]--;
  }
  return ranked;
}

/** A list in random order: each place takes one of the candidates left whose families have room. `picks`: uniforms, one per place. */
export function randomWithin(count: number, picks: ArrayLike<number>, { of, room }: Families): number[] {
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
