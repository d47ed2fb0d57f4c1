/** One metric of one run, at some rounds. */
export interface Curve {
  readonly metric: string;
  readonly at: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

export interface Task {
  readonly setting: string;
  readonly algorithm: string;
  /** 0, 1, ...: all random numbers of a run derive from it and from the setting, not from the algorithm. */
  readonly run: number;
  /** The text of the experiment's data file. */
  readonly data?: string;
}

export interface Figure {
  readonly metric: string;
  readonly x: string;
  readonly y: string;
}

/** An experiment of a paper: every algorithm in every setting, `runs` times. */
export interface Experiment {
  readonly id: string;
  readonly title: string;
  readonly runs: number;
  readonly settings: readonly string[];
  readonly algorithms: readonly string[];
  /** One figure each: its curves are those of `metric`, on axes with these titles. */
  readonly figures: readonly Figure[];
  /** Name of a file of the data folder, without which the experiment is skipped. */
  readonly dataFile?: string;
  /** What is in the tables and in results.json: these metrics at these rounds; default: every metric at its last round. */
  readonly reported?: readonly { readonly metric: string; readonly at: number }[];
  run(task: Task): Promise<readonly Curve[]>;
  /** What the paper prints, where it prints a number. */
  paperValue?(setting: string, algorithm: string, metric: string, at: number): number | null;
}

export interface Paper {
  readonly id: string;
  readonly title: string;
  readonly experiments: readonly Experiment[];
}
