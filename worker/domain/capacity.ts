// What a model may hold, so that at its largest, with a thousand candidates and as many draws, its WebAssembly memory and its
// snapshots stay below 64 MB together: an isolate has 128 MB for everything, and KV takes 25 MB at a time. All measured.

/** Features, and unique points of a Gaussian process. */
const MOST = 1024;
/** Features of a policy that keeps its sums for several ages: five of them beside its own. */
const MOST_BY_AGE = 512;
/** Unique points times features. */
const MOST_NUMBERS = 2 ** 18;
/** Points of a Gaussian process's own domain: it keeps up to twice as many rows, and what follows from each for each point. */
const MOST_POINTS = 512;
/** Coordinates of a grid over a box. */
const MOST_COORDINATES = 2 ** 21;
/** Of a box of balls: with more axes they may come to a quarter of a million, of as many coordinates. */
const MOST_AXES = 5;

interface Sizes {
  /** Of a Gaussian process, which has either or both. */
  readonly kernel?: object;
  readonly capacity?: number;
  /** Of a delay-aware linear policy. */
  readonly shrinkage?: string;
  readonly dimension?: number;
  readonly domain?: { readonly points?: readonly unknown[]; readonly box?: readonly unknown[] } | null;
  readonly resolution?: number;
}

/** Whether a policy with these options is one with a Gaussian process. */
export const isGaussianProcess = (options: object): boolean => "kernel" in options || "capacity" in options;

/** Beside others each may have half as much. */
const share = (policies: number): number => (policies > 1 ? 2 : 1);

/** Most unique points of a Gaussian process that is one of so many policies. */
export function mostCapacity(dimension: number, policies: number): number {
  return Math.floor(Math.min(MOST / share(policies), MOST_NUMBERS / (share(policies) ** 2 * dimension)));
}

/**
 * Checks the options of a policy that is one of so many of a model.
 * @throws {RangeError} naming the option that asks for too much memory.
 */
export function checkSize(options: Sizes, policies: number): void {
  const { shrinkage, dimension = 0, capacity, domain, resolution } = options;
  const beside = policies > 1 ? " beside another policy" : "";
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

function atMost(name: string, value: number, most: number, where = ""): void {
  if (value > most) throw new RangeError(`${name}: expected at most ${most}${where}, got ${value}: it would take too much memory`);
}
