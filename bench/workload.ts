import { estimateOf, type MedianEstimate, quantile, ratioOf, short, shown, verdictOn } from "./statistics.ts";

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
  /** Makes seeded inputs and starts the variants. Leaves out a variant whose program is not installed. */
  prepare(purpose?: Purpose): Promise<Prepared>;
}

/** The purpose for which the variants are prepared. */
export interface Purpose {
  /** Only the variant "afterclick" is needed. */
  readonly alone?: boolean;
  /** To see that it runs: warm-ups and horizons may be short. */
  readonly quick?: boolean;
}

/** A target of a variant: a ratio to a peer, or a value in the workload's unit. */
export type Target = RatioTarget | ValueTarget;

interface RatioTarget {
  readonly variant: string;
  readonly peer: string;
  readonly atLeast: number;
}

interface ValueTarget {
  readonly variant: string;
  readonly atMost: number;
}

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

/** A target or another finding, and whether it is met. */
export interface Finding {
  readonly text: string;
  readonly verdict: string;
}

/** Results of a workload. `ratios` says how many times better than the peer each variant was, as a median over rounds. */
export interface Comparison {
  readonly results: readonly Result[];
  readonly ratios: ReadonlyMap<string, MedianEstimate>;
  readonly findings: readonly Finding[];
  readonly missing: Readonly<Record<string, string>>;
}

/** The same workload with one measurement of each variant, to see that it runs. */
export const once = (workload: Workload): Workload => ({
  ...workload,
  rounds: 1,
  warmUps: 0,
  prepare: (purpose) => workload.prepare({ ...purpose, quick: true }),
});

/** Measures all variants in turn. */
export async function measure(workload: Workload, progress: (done: number, total: number) => void = () => {}): Promise<Comparison> {
  const { variants, missing = {}, findings, close } = await workload.prepare({});
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
  const ratio = (variant: string, other: string): MedianEstimate | undefined => {
    const [own, others] = [values.get(variant), values.get(other)];
    return own && others && ratioOf(own, others, unit);
  };
  const ratios = new Map<string, MedianEstimate>();
  for (const variant of values.keys()) {
    const better = ratio(variant, peer);
    if (better) ratios.set(variant, better);
  }
  const findings = targets.flatMap((target) => {
    if ("peer" in target) return foundRatio(target, ratio(target.variant, target.peer));
    const runs = values.get(target.variant);
    return runs ? [foundValue(target, runs, unit)] : [];
  });
  const before = ratio("afterclick", "before");
  if (before) findings.push({ text: `afterclick ${shown(before)} x before`, verdict: verdictOn(before, 1, ["faster", "slower"]) });
  return { results, ratios, findings, missing: {} };
}

/** Evaluates a target that is a ratio. Empty if one of its variants was not measured. */
function foundRatio({ variant, peer, atLeast }: RatioTarget, ratio: MedianEstimate | undefined): Finding[] {
  if (!ratio) return [];
  const text = `${variant} ${shown(ratio)} x ${peer}, wanted ${short(atLeast)} x`;
  return [{ text, verdict: verdictOn(ratio, atLeast, ["yes", "no"]) }];
}

/** Evaluates a target that is a value. */
function foundValue({ variant, atMost }: ValueTarget, runs: readonly number[], unit: string): Finding {
  const text = `${variant} ${shown(estimateOf(runs))} ${unit}, wanted ${atMost} ${unit}`;
  return { text, verdict: verdictOn(estimateOf(runs.map((value) => atMost / value)), 1, ["yes", "no"]) };
}
