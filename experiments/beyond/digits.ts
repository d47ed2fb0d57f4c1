// Handwritten digits as a bandit with ten actions. Only the action that equals the image's label converts.
import type { Candidate } from "afterclick";
import { csvParseRows } from "d3-dsv";
import type { DelayLaw } from "../../src/simulation/delay-law.ts";
import { stream } from "../../src/simulation/stream.ts";
import type { World } from "../../src/simulation/world.ts";

const ACTIONS = 10;
const PIXELS = 64;
/** One block of pixels per action. */
export const DIMENSION = ACTIONS * PIXELS;

interface Digit {
  readonly label: number;
  /** Normalised to length 1. */
  readonly pixels: readonly number[];
}

function digitsOf(data: string): Digit[] {
  return csvParseRows(data)
    .slice(1)
    .map((row) => {
      const [label, ...pixels] = row.map(Number);
      const length = Math.hypot(...pixels);
      return { label, pixels: pixels.map((each) => each / length) };
    });
}

/** One pass through the digits, shuffled by the names' seed. */
export function digitsWorld(data: string, law: DelayLaw, names: (string | number)[]): World {
  const draws = { order: stream(...names, "order"), delay: stream(...names, "delay") };
  const digits = digitsOf(data);
  for (let i = digits.length - 1; i > 0; i--) {
    const j = draws.order.below(i + 1);
    [digits[i], digits[j]] = [digits[j], digits[i]];
  }
  const right = (round: number, index: number): boolean => digits[round - 1].label === index;
  return {
    horizon: digits.length,
    candidates: (round) =>
      Array.from({ length: ACTIONS }, (_, action): Candidate => {
        const features = new Float64Array(DIMENSION);
        features.set(digits[round - 1].pixels, action * PIXELS);
        return { features };
      }),
    reward: (round, { index }) => Number(right(round, index)),
    regret: (round, { index }) => Number(!right(round, index)),
    delay: () => law.draw(draws.delay),
  };
}
