/**
 * The same work done by several variants. Each round measures every variant once, one after the other, so that drift of the machine
 * affects all of them alike.
 */
export interface Workload {
  readonly name: string;
  /** Unit of the measurements. More is better for "... per second" and ".../s", less for any other. */
  readonly unit: string;
  readonly rounds: number;
  /** The variant that the others are compared with. */
  readonly peer: string;
  /** Runs of each variant before the first measurement, so that caches and compilers are warm. Default: 2. */
  readonly warmUps?: number;
  readonly targets?: readonly Target[];
  /** Makes seeded inputs and starts the variants. Leaves out a variant whose program is not installed. @param cold warms nothing up. */
  prepare(cold?: boolean): Promise<Prepared>;
}

/** A target of a variant: a ratio to a peer, or a value in the workload's unit. */
export type Target = { readonly variant: string } & ({ readonly peer: string; readonly atLeast: number } | { readonly atMost: number });

export interface Prepared {
  /** Each function makes one measurement. */
  readonly variants: Readonly<Record<string, () => number | Promise<number>>>;
  /** Reasons, by the names of variants that cannot run here. */
  readonly missing?: Readonly<Record<string, string>>;
  /** Further findings after the last round. */
  findings?(): readonly Finding[];
  close?(): Promise<void>;
}

/** A line of the benchmark's results. */
export interface Result {
  readonly workload: string;
  readonly variant: string;
  readonly unit: string;
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  readonly runs: number;
}

/** The result of a target. */
export interface Finding {
  readonly text: string;
  readonly met: boolean;
}

/** Results of a workload. `ratios` says how many times better than the peer each variant was, as a median over rounds. */
export interface Comparison {
  readonly results: readonly Result[];
  readonly ratios: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
  readonly missing: Readonly<Record<string, string>>;
}

/** The same workload with one measurement of each variant, to see that it runs. */
export const once = (workload: Workload): Workload => ({
  ...workload,
  rounds: 1,
  warmUps: 0,
  prepare: () => workload.prepare(true),
});

/** Measures all variants in turn. */
export async function measure(workload: Workload, progress: (done: number, total: number) => void = () => {}): Promise<Comparison> {
  const { variants, missing = {}, findings, close } = await workload.prepare();
  const names = Object.keys(variants);
  const values = new Map<string, number[]>(names.map((name) => [name, []]));
  try {
    for (let i = 0; i < (workload.warmUps ?? 2); i++) for (const name of names) await variants[name]();
    for (let round = 0; round < workload.rounds; round++) {
      // Every other round runs backwards, so that no variant always follows the same one.
      for (const name of round % 2 === 0 ? names : names.toReversed()) {
        values.get(name)?.push(await variants[name]());
      }
      progress(round + 1, workload.rounds);
    }
  } finally {
    await close?.();
  }
  const comparison = compare(workload, values);
  return { ...comparison, missing, findings: [...comparison.findings, ...(findings?.() ?? [])] };
}

/** Summarises measurements. `values` has one number per round for each variant, in the order of the rounds. */
export function compare(
  { name, unit, peer, targets = [] }: Pick<Workload, "name" | "unit" | "peer" | "targets">,
  values: ReadonlyMap<string, readonly number[]>,
): Comparison {
  const results = Array.from(values, ([variant, runs]) => ({
    workload: name,
    variant,
    unit,
    median: quantile(runs, 0.5),
    p10: quantile(runs, 0.1),
    p90: quantile(runs, 0.9),
    runs: runs.length,
  }));
  const ratio = (variant: string, other: string) => ratioOf(values.get(variant), values.get(other), unit);
  const median = (of: string): number | undefined => results.find(({ variant }) => variant === of)?.median;
  const ratios = new Map<string, number>();
  for (const variant of values.keys()) {
    const better = ratio(variant, peer);
    if (better !== undefined) ratios.set(variant, better);
  }
  const findings = targets.flatMap((target) =>
    found(target, "peer" in target ? ratio(target.variant, target.peer) : median(target.variant), unit),
  );
  return { results, ratios, findings, missing: {} };
}

/** How many times better one variant was than another in the same rounds, as a median. */
function ratioOf(own: readonly number[] | undefined, others: readonly number[] | undefined, unit: string): number | undefined {
  if (!own || !others) return undefined;
  const rate = /(\/s|per second)$/.test(unit);
  const better = own.map((value, round) => (rate ? value / others[round] : others[round] / value));
  return quantile(better, 0.5);
}

/** Evaluates a target. Empty if one of its variants was not measured. */
function found(target: Target, value: number | undefined, unit: string): Finding[] {
  if (value === undefined) return [];
  if ("peer" in target) {
    const text = `${target.variant} ${short(value)} x ${target.peer}, wanted ${target.atLeast} x`;
    return [{ text, met: value >= target.atLeast }];
  }
  return [{ text: `${target.variant} ${short(value)} ${unit}, wanted ${target.atMost} ${unit}`, met: value <= target.atMost }];
}

/** Formats with three significant digits, or as an integer from 100 up. */
export function short(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

/** A quantile of at least one number, by linear interpolation. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = q * (sorted.length - 1);
  const below = Math.floor(place);
  return sorted[below] + (sorted[Math.ceil(place)] - sorted[below]) * (place - below);
}
