/** One stated interval, beside the truth of its simulated world. */
export interface Stated {
  /** Names the figure where a world states several, such as "F(1 day)" or "doubly robust". */
  readonly metric: string;
  /** "below": the truth lies below the interval. */
  readonly result: "held" | "below" | "above" | "too few";
}

/** A figure that the product states with a 95 % interval, and simulated worlds whose truth is known. */
export interface StatedFigure {
  readonly id: string;
  readonly title: string;
  /** Names of the worlds: number of events, law of delays, what is special. */
  readonly settings: readonly string[];
  /** Default number of simulated worlds for each setting. */
  readonly runs: number;
  /** Simulates one world. All random numbers derive from the figure's id, the setting and the run. */
  run(setting: string, run: number): Promise<readonly Stated[]>;
}

/** Compares an interval with the truth. */
export function stated(metric: string, { low, high }: { readonly low: number; readonly high: number }, truth: number): Stated {
  return { metric, result: truth < low ? "below" : truth > high ? "above" : "held" };
}
