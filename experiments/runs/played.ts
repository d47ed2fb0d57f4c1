import type { Curve, Experiment, Paper } from "./experiment.ts";
import { isTold, ratioOfSeries, type Series, seriesOf } from "./results.ts";

/** Plays one run, or finds it. */
export type PlayRun = (task: { readonly setting: string; readonly algorithm: string; readonly run: number }) => Promise<readonly Curve[]>;

interface Options {
  readonly settings: readonly string[];
  readonly algorithms: readonly string[];
  /** Number of the first run. */
  readonly from: number;
  readonly play: PlayRun;
}

/** An experiment with the runs that it has so far. Each algorithm of each setting has runs of its own, numbered without a gap. */
export class Played {
  readonly paper: Paper;
  readonly experiment: Experiment;
  readonly #from: number;
  readonly #play: PlayRun;
  readonly #series: readonly { readonly setting: string; readonly algorithm: string; readonly runs: (readonly Curve[])[] }[];
  /** Runs that are played, and that were asked for. */
  ended = 0;
  tasks = 0;
  /** Called after each further run. */
  progress: (() => void) | undefined;

  constructor(paper: Paper, experiment: Experiment, { settings, algorithms, from, play }: Options) {
    this.paper = paper;
    this.experiment = experiment;
    this.#from = from;
    this.#play = play;
    this.#series = settings.flatMap((setting) => algorithms.map((algorithm) => ({ setting, algorithm, runs: [] })));
  }

  get series(): readonly Series[] {
    return this.#series;
  }

  /** Plays more runs, of everything or of the series that `wanted` holds for. */
  async add(runs: number, wanted: (series: Series) => boolean = () => true): Promise<void> {
    const chosen = this.#series.filter(wanted);
    const places = chosen.flatMap((series) => Array.from({ length: runs }, (_, i) => ({ series, place: series.runs.length + i })));
    // The first runs of all series come first, so that a command that is stopped has played about as many of each.
    places.sort((a, b) => a.place - b.place);
    this.tasks += places.length;
    await Promise.all(
      places.map(async ({ series, place }) => {
        const { setting, algorithm } = series;
        series.runs[place] = await this.#play({ setting, algorithm, run: this.#from + place });
        this.ended++;
        this.progress?.();
      }),
    );
  }

  /** Plays one more run of each comparison that does not tell this share yet. Returns how many there were. */
  async sharpen(share: number): Promise<number> {
    const open = (this.experiment.ratios ?? []).flatMap(({ metric, of, to }) =>
      this.#series.flatMap((rival) => {
        const own = seriesOf(this.#series, rival.setting, of);
        if (!own || !to.includes(rival.algorithm)) return [];
        const ratio = ratioOfSeries(own, rival, metric);
        return !ratio || isTold(ratio, share) ? [] : [{ own, rival }];
      }),
    );
    const rivals = new Set<Series>(open.map(({ rival }) => rival));
    await this.add(1, (series) => rivals.has(series));
    // The other half of the pairs: runs of the algorithm itself that no rival had asked for before.
    const longest = (own: Series): number => Math.max(...open.filter((each) => each.own === own).map(({ rival }) => rival.runs.length));
    const behind = new Set<Series>(open.flatMap(({ own }) => (own.runs.length < longest(own) ? [own] : [])));
    await this.add(1, (series) => behind.has(series));
    return open.length;
  }
}
