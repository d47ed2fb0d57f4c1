// The two problems: candidates and their expected rewards. All draws depend on the seed alone, never on the choices.
import { squaredExponential } from "afterclick";
import { gaussianProcess } from "afterclick/research";
import { type Stream, stream } from "../../src/simulation/stream.ts";

export type ProblemId = "linear" | "curve";

/** One round's candidates. They are the same for every policy. */
export interface Scene {
  /** Features of the candidates: k x d, row-major. */
  readonly points: Float64Array;
  /** The expected reward of each candidate (k). */
  readonly rates: Float64Array;
}

export interface Problem {
  /** Points at which posteriors are evaluated, and the true expected reward at each. */
  readonly points: readonly (readonly number[])[];
  readonly truth: readonly number[];
  /** Whether failures are reported. If not, an impression without conversion stays silent. */
  readonly reportsFailures: boolean;
  /** Number of places for which choices are counted; `place` maps a choice to one of them. */
  readonly places: number;
  place(scene: Scene, index: number): number;
  scene(): Scene;
}

/** Features of the linear problem (d), and candidates per round (k). */
export const DIMENSION = 5;
const CANDIDATES = 10;

/** Fills the row with a unit vector: coordinates uniform on [0, 1), then normalised. */
function direct(row: Float64Array, random: Stream): void {
  let squares = 0;
  for (let j = 0; j < DIMENSION; j++) {
    row[j] = random();
    squares += row[j] * row[j];
  }
  const norm = Math.sqrt(squares);
  for (let j = 0; j < DIMENSION; j++) row[j] /= norm;
}

/**
 * Ten new candidates each round, whose chance to convert is linear in their features. Choices are counted by rank.
 * **Source:** Vernade et al. 2020, section 8, where theta has equal coordinates; here the seed draws it.
 */
function linear(seed: number): Problem {
  const theta = new Float64Array(DIMENSION);
  direct(theta, stream("theta", seed));
  const truth = Array.from(theta);
  const random = stream("candidates", seed);
  return {
    points: truth.map((_, j) => truth.map((_, i) => Number(i === j))),
    truth,
    reportsFailures: false,
    places: CANDIDATES,
    place({ rates }, index) {
      let better = 0;
      for (const rate of rates) better += Number(rate > rates[index]);
      return better;
    },
    scene() {
      const points = new Float64Array(CANDIDATES * DIMENSION);
      const rates = new Float64Array(CANDIDATES);
      for (let i = 0; i < CANDIDATES; i++) {
        const row = points.subarray(i * DIMENSION, (i + 1) * DIMENSION);
        direct(row, random);
        let rate = 0;
        for (let j = 0; j < DIMENSION; j++) rate += row[j] * theta[j];
        rates[i] = Math.min(1, rate);
      }
      return { points, rates };
    },
  };
}

/** The curve: number of intervals between its points, and the lengthscale of its kernel. */
const INTERVALS = 50;
export const LENGTHSCALE = 0.1;
export const grid: readonly (readonly number[])[] = Array.from({ length: INTERVALS + 1 }, (_, i) => [i / INTERVALS]);

/** An approximately normal draw. It avoids logarithms, which hosts round differently, so a seed draws the same curve everywhere. */
const nearlyNormal = (random: Stream): number => Array.from({ length: 12 }, () => random()).reduce((sum, each) => sum + each, -6);

/** 51 points of an interval, whose chance to succeed is drawn from a Gaussian process. Choices are counted by point. */
async function curve(seed: number): Promise<Problem> {
  const random = stream("curve", seed);
  const process = await gaussianProcess({ dimension: 1, kernel: squaredExponential({ lengthscale: LENGTHSCALE }) });
  const normals = Float64Array.from(grid, () => nearlyNormal(random));
  const { sample } = process.sample(Float64Array.from(grid.flat()), normals, 1);
  const [least, most] = [Math.min(...sample), Math.max(...sample)];
  const rates = sample.map((each) => 0.05 + (0.9 * (each - least)) / (most - least));
  const scene = { points: Float64Array.from(grid.flat()), rates };
  return {
    points: grid,
    truth: Array.from(rates),
    reportsFailures: true,
    places: grid.length,
    place: (_, index) => index,
    scene: () => scene,
  };
}

export async function problemOf(id: ProblemId, seed: number): Promise<Problem> {
  return id === "linear" ? linear(seed) : curve(seed);
}
