import type { MedianEstimate } from "./statistics.ts";
import type { Result } from "./workload.ts";

/** The kept results of one workload. */
export interface Entry {
  readonly workload: string;
  readonly unit: string;
  readonly peer: string;
  readonly machine: string;
  /** Day of the measurement. */
  readonly day: string;
  /** Commit of the variant "before". */
  readonly before?: string;
  readonly variants: readonly KeptVariant[];
  readonly missing: Readonly<Record<string, string>>;
}

interface KeptVariant extends Pick<Result, "variant" | "median" | "p10" | "p90" | "runs"> {
  /** How many times better than the peer. Absent for the peer. */
  readonly ratio?: MedianEstimate;
}
