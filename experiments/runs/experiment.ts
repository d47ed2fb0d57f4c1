/** One metric of one run, at some rounds. */
export interface Curve {
  readonly metric: string;
  readonly at: ArrayLike<number>;
  readonly values: ArrayLike<number>;
}

export interface Task {
  readonly setting: string;
  readonly algorithm: string;
  /** 0, 1, ... All random numbers of a run derive from this number and the setting, not from the algorithm. */
  readonly run: number;
  /** Paths of the data files, in the order of `dataFiles`. */
  readonly files: readonly string[];
  /** Rounds of a shorter run. Default: all. */
  readonly rounds?: number;
}

/** The rounds that a task plays of an experiment that has so many. */
export const roundsOf = (all: number, { rounds = all }: Pick<Task, "rounds">): number => Math.min(all, rounds);

export interface Figure {
  readonly metric: string;
  readonly x: string;
  readonly y: string;
}

/** Ratios of a metric at its last round, in each setting: `of` one algorithm `to` each of the others, paired by run. */
export interface Ratios {
  readonly metric: string;
  readonly of: string;
  readonly to: readonly string[];
}

/** An experiment of a paper: every algorithm in every setting, `runs` times. */
export interface Experiment {
  readonly id: string;
  readonly title: string;
  readonly runs: number;
  readonly settings: readonly string[];
  readonly algorithms: readonly string[];
  /** One figure per entry. It shows the curves of `metric`, on axes with these titles. */
  readonly figures: readonly Figure[];
  /** Names of files in the data folder. The experiment is skipped without them. */
  readonly dataFiles?: readonly string[];
  /** Metrics and rounds of the rows in the tables and in results.json. Default: every metric at its last round. */
  readonly reported?: readonly { readonly metric: string; readonly at: number }[];
  readonly ratios?: readonly Ratios[];
  /** Rounds of the run whose trace is stated: a multiple of 100. Default: 500. */
  readonly traced?: number;
  /** The experiment of this paper in which traces of the algorithms are played, if another is cheaper. */
  readonly algorithmsIn?: string;
  run(task: Task): Promise<readonly Curve[]>;
  /** The number that the paper prints. Null if it prints none. */
  paperValue?(setting: string, algorithm: string, metric: string, at: number): number | null;
}

export interface Paper {
  readonly id: string;
  readonly title: string;
  readonly experiments: readonly Experiment[];
}
