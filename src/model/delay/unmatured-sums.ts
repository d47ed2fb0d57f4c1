import type { SnapshotReader, SnapshotWriter } from "../../snapshot.ts";
import type { ReportedDelay } from "../posterior.ts";
import { Cohorts } from "./cohorts.ts";
import { Delays } from "./delays.ts";
import { type Moment, timeOf, type Window } from "./window.ts";

/** Youngest cohorts of delays to a window, and resolutions of its delays. */
const COHORTS = 64;
const STEPS = 16384;
/** Youngest cohorts of delays to one of sums, and cohorts of sums of one length before their length doubles. */
const COARSE = 16;
const SAME = 1;

/**
 * What has not matured of sums over impressions: 1 - F(s) of an impression of age s, F the distribution of delays so far.
 *
 * Delays are counted in fine cohorts of age, sums, which may be long, in coarse ones, at most five to a window; a coarse cohort has
 * matured as far as its impressions have on average, by the fine ones, so that only what differs within it is lost.
 */
export class UnmaturedSums {
  readonly #delays: Delays;
  readonly #cohorts: Cohorts;
  readonly #size: number;
  readonly #window: Window;
  /** The latest time an impression was made at: what is matured, is so by then. */
  #now = 0;

  constructor(window: Window, size: number) {
    const { resolution, cohort, span } = scales(window);
    this.#delays = new Delays({ resolution, cohort, span });
    this.#cohorts = new Cohorts(COARSE * cohort, span, size, SAME);
    this.#size = size;
    this.#window = window;
  }

  /** Counts an impression; returns the sums to which its own are to be added, unless it is too old to be in any. */
  add(moment: Moment): Float64Array | undefined {
    const time = timeOf(this.#window, moment);
    this.#now = Math.max(this.#now, time);
    this.#delays.advance(this.#now);
    this.#delays.add(time);
    this.#cohorts.advance(this.#now);
    return this.#cohorts.add(time)?.sums;
  }

  /** All sums there are, those of each interval of time on its own. */
  get parts(): readonly Float64Array[] {
    return this.#cohorts.list.map(({ sums }) => sums);
  }

  /** Counts how late an impression converted, which had the reward `previous`: as told, or else the first time until the latest one. */
  observe(impression: Moment, previous: number | undefined, delay?: ReportedDelay): void {
    const time = timeOf(this.#window, impression);
    if (delay?.before !== undefined) this.#delays.convert(time, delay.before, -1);
    const after = delay ? delay.after : previous === undefined ? Math.max(this.#now - time, 0) : undefined;
    if (after !== undefined) this.#delays.convert(time, after);
  }

  /** What of the sums has not matured. **Cost:** O(size) for each cohort. */
  missing(): Float64Array {
    const curve = this.#delays.curve(this.#now);
    const shares = new Map(this.#cohorts.list.map((cohort) => [cohort, 0]));
    for (const fine of this.#delays.cohorts.list) {
      const cohort = this.#cohorts.at(Math.floor(fine.start / COARSE));
      if (!cohort) continue;
      const missing = 1 - this.#delays.matured(fine, curve, this.#now);
      shares.set(cohort, (shares.get(cohort) as number) + (missing * fine.count) / cohort.count);
    }
    const sums = new Float64Array(this.#size);
    for (const [cohort, share] of shares) {
      if (share > 0) for (let i = 0; i < sums.length; i++) sums[i] += share * cohort.sums[i];
    }
    return sums;
  }

  /** Halves the sums; delays count as before. */
  halve(): void {
    for (const { sums } of this.#cohorts.list) for (let i = 0; i < sums.length; i++) sums[i] /= 2;
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    writer.numbers([this.#now]);
    this.#delays.save(writer);
    this.#cohorts.save(writer);
  }

  load(reader: Pick<SnapshotReader, "numbers">): void {
    [this.#now] = reader.numbers(1);
    this.#delays.load(reader);
    this.#cohorts.load(reader);
  }
}

function scales(window: Window): { resolution: number; cohort: number; span: number } {
  if (window === "none") return { resolution: 1, cohort: 1, span: Number.MAX_VALUE };
  if ("ms" in window) return { resolution: window.ms / STEPS, cohort: window.ms / COHORTS, span: window.ms };
  return { resolution: 1, cohort: Math.max(1, Math.floor(window.rounds / COHORTS)), span: window.rounds };
}
