/** One stated figure, beside the truth of its simulated world. */
export interface Stated {
  /** Names the figure where a world states several, such as "F" or "doubly robust". */
  readonly metric: string;
  /** "below": the truth lies below the interval. */
  readonly result: "held" | "below" | "above" | "too few" | "no interval";
  readonly value?: number;
  readonly low?: number;
  readonly high?: number;
  readonly truth?: number;
  /** Width of the interval over that of an ideal one, which knows every outcome. */
  readonly width?: number;
}

/** A figure that the product states with a 95 % interval, and simulated worlds whose truth is known. */
export interface StatedFigure {
  readonly id: string;
  readonly title: string;
  /** Names of the worlds: number of events, law of delays, what is special. */
  readonly settings: readonly string[];
  /** Default number of simulated worlds for each setting. */
  readonly runs: number;
  /** Cheap settings, whose first worlds give the trace of the figure. */
  readonly traced: readonly string[];
  /** Simulates one world. All random numbers derive from the figure's id, the setting and the run. */
  run(setting: string, run: number): Promise<readonly Stated[]>;
}

interface Interval {
  readonly value?: number;
  readonly low: number;
  readonly high: number;
}

/** Compares an interval with the truth. `ideal`: the width of an interval that knows every outcome. */
export function stated(metric: string, { value, low, high }: Interval, truth: number, ideal?: number): Stated {
  const result = truth < low ? "below" : truth > high ? "above" : "held";
  return {
    metric,
    result,
    ...(value !== undefined && { value }),
    low,
    high,
    truth,
    ...(ideal !== undefined && { width: (high - low) / ideal }),
  };
}

export const few = (metric: string): Stated => ({ metric, result: "too few" });
