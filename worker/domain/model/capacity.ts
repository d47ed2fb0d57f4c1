// Refuses models, goals and requests that would not fit the memory of an isolate.
// Limits of a model's size. With 1,000 candidates and 1,000 draws, the largest allowed model needs less than 64 MB for WebAssembly
// memory and snapshots together (measured). An isolate has 128 MB in all, and a record in KV at most 25 MB.

import { Problem } from "../../protocol/problem.ts";

/** Most features, and most unique points of a Gaussian process. */
const MOST = 1024;
/** Most features of a delay-aware linear policy, which keeps five more sums by age. */
const MOST_BY_AGE = 512;
/** Most features of one that looks for changes of rates, which keeps about 26 more sums for a year. */
const MOST_BY_CHANGES = 256;
/** Most squares of features, one for each goal, of all delay-aware linear policies of a model. */
const MOST_SQUARES = 3 * 2 ** 18;
/** Most unique points times features. */
const MOST_NUMBERS = 2 ** 18;
/** Most points of a Gaussian process's own domain. The process keeps up to twice as many rows, each with a value per point. */
const MOST_POINTS = 512;
/** Most coordinates of a grid over a box. */
const MOST_COORDINATES = 2 ** 21;
/** Most axes of a box covered by balls. With more axes there may be 250,000 balls. */
const MOST_AXES = 5;

/** Most candidates times draws, and times features: of 10,000 candidates, 256 each take 20 MB. */
const MOST_SCORES = 2_560_000;

interface Sizes {
  /** Options of a Gaussian process, which has one or both. */
  readonly kernel?: object;
  readonly capacity?: number;
  /** Options of a delay-aware linear policy. */
  readonly shrinkage?: string;
  readonly forgetting?: object | string | null;
  readonly dimension?: number;
  readonly domain?: { readonly points?: readonly unknown[]; readonly box?: readonly unknown[] } | null;
  readonly resolution?: number;
}

/** Whether the options belong to a Gaussian-process policy. */
export const isGaussianProcess = (options: object): boolean => "kernel" in options || "capacity" in options;

/** Divides the limits: a policy beside others may have half of each. */
const share = (policies: number): number => (policies > 1 ? 2 : 1);

/** Most unique points of a Gaussian process in a model with this number of policies. */
export function mostCapacity(dimension: number, policies: number): number {
  return Math.floor(Math.min(MOST / share(policies), MOST_NUMBERS / (share(policies) ** 2 * dimension)));
}

/**
 * Checks the options of a policy in a model with this number of policies.
 * @throws {RangeError} naming the option that asks for too much memory.
 */
export function checkSize(options: Sizes, policies: number): void {
  const { shrinkage, forgetting, dimension = 0, capacity, domain, resolution } = options;
  const beside = policies > 1 ? " beside another policy" : "";
  if (forgetting === "changes") atMost("options.dimension", dimension, MOST_BY_CHANGES, ' with forgetting "changes"');
  if (!domain) atMost("options.dimension", dimension, (shrinkage ? MOST_BY_AGE : MOST) / share(policies), beside);
  if (isGaussianProcess(options)) {
    atMost("shadows", policies - 1, 1, ", as one of the policies is a Gaussian process");
    if (domain?.points) atMost("options.domain.points", domain.points.length, MOST_POINTS);
    else atMost("options.capacity", capacity ?? 0, mostCapacity(dimension, policies), ` with ${dimension} features${beside}`);
  } else if (domain?.box) {
    const axes = domain.box.length;
    if (resolution === undefined) atMost("options.domain.box", axes, MOST_AXES, " axes");
    else atMost("options.resolution", resolution, Math.floor((MOST_COORDINATES / axes) ** (1 / axes)), ` on each of ${axes} axes`);
  }
}

/**
 * Checks the goals of a model, which its delay-aware linear policies learn one by one. @param policies the options of each.
 * @throws {RangeError} if there are too many.
 */
export function checkGoals(goals: number, policies: readonly Sizes[]): void {
  const squares = policies.reduce((sum, { shrinkage, dimension = 0 }) => sum + (shrinkage ? dimension ** 2 : 0), 0);
  const where = ` with ${policies.map(({ dimension }) => dimension).join(" and ")} features`;
  if (squares > 0) atMost("goals", goals, Math.floor(MOST_SQUARES / squares), where);
}

/** @throws {Problem} 422 if the features of so many actions would take too much memory. */
export function checkNumbers(
  { encoder, options }: { readonly encoder: { readonly dimension: number } | null; readonly options: Sizes | object },
  actions: number,
): void {
  const { dimension = 0 } = (encoder ?? options) as Sizes;
  const most = Math.floor(MOST_SCORES / Math.max(1, dimension));
  if (actions > most) throw new Problem(422, `actions: expected at most ${most} with ${dimension} features, got ${actions}`);
}

/** @throws {Problem} 422 if the scores of so many candidates would take too much memory. */
export function checkCandidates({ draws }: { readonly draws: number }, candidates: number): void {
  const most = Math.floor(MOST_SCORES / Math.max(1, candidates));
  if (draws > most)
    throw new Problem(422, `draws: expected at most ${most} with ${candidates} candidates, got ${draws}: change the model's draws`);
}

function atMost(name: string, value: number, most: number, where = ""): void {
  if (value > most) throw new RangeError(`${name}: expected at most ${most}${where}, got ${value}: it would take too much memory`);
}
