// What there is to choose, and how good it is. Each round's draws come from the seed alone, never from what was chosen.
import { type Candidate, gaussianProcess, squaredExponential } from "afterclick";
import { type Stream, stream } from "../../experiments/environment.ts";

export type ProblemId = "linear" | "curve";

/** One round, as every policy finds it. */
export interface Scene {
  readonly candidates: readonly Candidate[];
  /** The expected reward of each candidate. */
  readonly rates: readonly number[];
}

export interface Problem {
  /** Points at which a posterior is asked, and what it would say if it knew. */
  readonly points: readonly (readonly number[])[];
  readonly truth: readonly number[];
  /** Whether what does not convert is reported too; otherwise silence is all there is. */
  readonly reportsFailures: boolean;
  /** Over how many places choices are counted, and at which of them this one is. */
  readonly places: number;
  place(scene: Scene, index: number): number;
  scene(): Scene;
}

/** Features of the linear problem (d), and candidates per round (k). */
export const DIMENSION = 5;
export const CANDIDATES = 10;

function direction(random: Stream): number[] {
  const raw: number[] = [];
  for (let j = 0; j < DIMENSION; j++) raw.push(random());
  const norm = Math.sqrt(inner(raw, raw));
  return raw.map((each) => each / norm);
}

function inner(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let j = 0; j < a.length; j++) sum += a[j] * b[j];
  return sum;
}

/**
 * Ten new candidates each round, whose chance to convert is linear in their features. Choices are counted by rank.
 * **Source:** Vernade et al. 2020, section 8, where theta has equal coordinates; here the seed draws it.
 */
function linear(seed: number): Problem {
  const theta = direction(stream("theta", seed));
  const random = stream("candidates", seed);
  return {
    points: theta.map((_, j) => theta.map((_, i) => Number(i === j))),
    truth: theta,
    reportsFailures: false,
    places: CANDIDATES,
    place: ({ rates }, index) => rates.filter((rate) => rate > rates[index]).length,
    scene() {
      const features = Array.from({ length: CANDIDATES }, () => direction(random));
      const rates = features.map((each) => Math.min(1, inner(each, theta)));
      return { candidates: features.map((each) => ({ features: each })), rates };
    },
  };
}

/** Of the curve: how far apart its points lie, and how fast it bends. */
const INTERVALS = 50;
export const LENGTHSCALE = 0.1;
export const grid: readonly (readonly number[])[] = Array.from({ length: INTERVALS + 1 }, (_, i) => [i / INTERVALS]);

/** Nearly normal, and without a logarithm, which hosts round differently: a seed draws the same curve everywhere. */
const nearlyNormal = (random: Stream): number => Array.from({ length: 12 }, () => random()).reduce((sum, each) => sum + each, -6);

/** 51 points of an interval, whose chance to succeed is drawn from a Gaussian process. Choices are counted by point. */
async function curve(seed: number): Promise<Problem> {
  const random = stream("curve", seed);
  const process = await gaussianProcess({ dimension: 1, kernel: squaredExponential({ lengthscale: LENGTHSCALE }) });
  const normals = Float64Array.from(grid, () => nearlyNormal(random));
  const { sample } = process.sample(Float64Array.from(grid.flat()), normals, 1);
  const [least, most] = [Math.min(...sample), Math.max(...sample)];
  const rates = Array.from(sample, (each) => 0.05 + (0.9 * (each - least)) / (most - least));
  const scene = { candidates: grid.map((features) => ({ features })), rates };
  return { points: grid, truth: rates, reportsFailures: true, places: grid.length, place: (_, index) => index, scene: () => scene };
}

export async function problemOf(id: ProblemId, seed: number): Promise<Problem> {
  return id === "linear" ? linear(seed) : curve(seed);
}
