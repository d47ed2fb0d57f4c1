// Rounds of batch pure exploration: survivors, their queries and the bounds by which they leave.

import type { Core } from "../../core/core.ts";
import { wrongType } from "../../values/argument.ts";
import { counted, malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import { Domain, type DomainSettings } from "../domain.ts";
import { GaussianProcess } from "../gaussian-process/gaussian-process.ts";
import {
  type GaussianProcessSettings,
  type ParsedGaussianProcess,
  parseGaussianProcess,
} from "../gaussian-process/gaussian-process-settings.ts";
import type { AppendedImpression, Moments } from "../posterior.ts";
import type { RoundSchedule } from "./round-schedule.ts";

export interface PureExplorationSettings extends Pick<GaussianProcessSettings, "kernel" | "noiseVariance"> {
  readonly domain: DomainSettings;
}

export type ParsedPureExploration = Required<PureExplorationSettings>;

/** Checks domain, kernel and noise, and fills in defaults. */
export function parsePureExploration({ domain, kernel, noiseVariance }: PureExplorationSettings): ParsedPureExploration {
  if (domain == null) throw wrongType("domain", "{ points }", domain);
  const parsed = parseGaussianProcess({ domain, kernel, noiseVariance });
  return { domain: parsed.domain as DomainSettings, kernel: parsed.kernel, noiseVariance: parsed.noiseVariance };
}

/** One round: its candidates, and a process whose variance counts the queries of this round. */
interface Round {
  /** Places in the domain, increasing. */
  readonly survivors: Int32Array;
  /** Means and deviations of the survivors at the end of the previous round. In the first round: of the prior. */
  readonly entered: Moments;
  readonly queries: GaussianProcess;
}

/** Slot of a query at an eliminated point. Such a query counts for the length of its round alone. */
const ELIMINATED = 0;

/**
 * Batch pure exploration: every query goes to the most uncertain survivor, given the queries of the same round.
 *
 * A new round drops survivors with an upper confidence bound below the lower bound of another survivor, given the feedback that has
 * arrived. Feedback counts for its own round only. After the next round has begun, it is dropped.
 * **Source:** Vakili et al. 2023, Alg. 1; bounds as in Theorem 6.1, with `width` for the multiplier.
 */
export class PureExploration {
  readonly domain: Domain;
  readonly #core: Core;
  readonly #settings: ParsedPureExploration;
  readonly #schedule: RoundSchedule;
  readonly #width: number;
  #number = 1;
  /** Queries of the running round. */
  #queried = 0;
  #round: Round;
  /** For each point of the domain, in this round: queries, rewards that have arrived, and the sum of these rewards. */
  #counts: Float64Array;
  #arrived: Float64Array;
  #sums: Float64Array;
  /** Derived from the feedback, and kept until more arrives: its posterior, and the next round. */
  #evidence: GaussianProcess | null = null;
  #next: Round | null = null;

  constructor(core: Core, settings: ParsedPureExploration, schedule: RoundSchedule, width: number) {
    this.domain = new Domain(settings.domain);
    this.#core = core;
    this.#settings = settings;
    this.#schedule = schedule;
    this.#width = width;
    const { count } = this.domain;
    [this.#counts, this.#arrived, this.#sums] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
    const everywhere = Int32Array.from({ length: count }, (_, place) => place);
    const prior = this.#process(null);
    this.#round = this.#begin(everywhere, prior.moments(this.domain.points));
    prior.release();
  }

  #process(domain: DomainSettings | null): GaussianProcess {
    const settings: ParsedGaussianProcess = {
      ...this.#settings,
      dimension: this.domain.dimension,
      domain,
      capacity: this.domain.count,
      refit: null,
    };
    return new GaussianProcess(this.#core, settings);
  }

  #begin(survivors: Int32Array, entered: Moments): Round {
    const points = Array.from(survivors, (place) => Array.from(this.domain.at(place)));
    return { survivors, entered, queries: this.#process({ points }) };
  }

  /** The round of the next query: the running round, or its successor if that is full. */
  #current(): Round {
    if (this.#queried < this.#schedule.length(this.#number)) return this.#round;
    this.#next ??= this.#eliminate();
    return this.#next;
  }

  #eliminate(): Round {
    const { survivors } = this.#round;
    const points = new Float64Array(survivors.length * this.domain.dimension);
    survivors.forEach((place, i) => {
      points.set(this.domain.at(place), i * this.domain.dimension);
    });
    const { mean, deviation } = this.#learnt().moments(points);
    const lower = mean.reduce((greatest, each, i) => Math.max(greatest, each - this.#width * deviation[i]), Number.NEGATIVE_INFINITY);
    const kept = Array.from(survivors.keys()).filter((i) => mean[i] + this.#width * deviation[i] >= lower);
    const at = (values: Float64Array): Float64Array => Float64Array.from(kept, (i) => values[i]);
    const places = Int32Array.from(kept, (i) => survivors[i]);
    return this.#begin(places, { mean: at(mean), deviation: at(deviation) });
  }

  /** The posterior given the feedback of the running round. */
  #learnt(): GaussianProcess {
    if (this.#evidence) return this.#evidence;
    const evidence = this.#process(null);
    this.#arrived.forEach((count, place) => {
      if (count === 0) return;
      const features = this.domain.at(place);
      evidence.reward({ features, slot: evidence.appendGroup(features, count) }, this.#sums[place], 0);
    });
    this.#evidence = evidence;
    return evidence;
  }

  /** The most uncertain survivor. Its mean dates from the start of the round, and its score is its deviation. */
  leader() {
    const { survivors, entered, queries } = this.#current();
    const { deviation } = queries.moments((queries.domain as Domain).points);
    let most = 0;
    for (let i = 1; i < deviation.length; i++) if (deviation[i] > deviation[most]) most = i;
    const [index, score] = [survivors[most], deviation[most]];
    return { index, features: this.domain.at(index), score, mean: entered.mean[most], width: this.#width * score };
  }

  append(features: Float64Array): number {
    const place = this.domain.indexOf(features);
    const round = this.#current();
    if (round !== this.#round) this.#turnTo(round);
    this.#queried++;
    if (!round.survivors.includes(place)) return ELIMINATED;
    round.queries.append(features);
    this.#counts[place]++;
    return this.#number;
  }

  #turnTo(round: Round): void {
    this.#next = null;
    this.#forget();
    this.#round.queries.release();
    this.#round = round;
    this.#number++;
    this.#queried = 0;
    for (const each of [this.#counts, this.#arrived, this.#sums]) each.fill(0);
  }

  /** Drops the values derived from feedback. */
  #forget(): void {
    this.#evidence?.release();
    this.#evidence = null;
    this.#next?.queries.release();
    this.#next = null;
  }

  /** @throws {RangeError} for a first reward at a point with a reward for every query. */
  observe({ features, slot }: AppendedImpression, reward: number, previous: number | undefined): void {
    if (slot !== this.#number) return;
    const place = this.domain.indexOf(features);
    if (previous === undefined && this.#arrived[place] >= this.#counts[place]) {
      throw new RangeError("outcome: expected no more first rewards than queries of the point");
    }
    this.#forget();
    if (previous === undefined) this.#arrived[place]++;
    this.#sums[place] += reward - (previous ?? 0);
  }

  /** Given the feedback of the running round. */
  predict(points: Float64Array): Moments {
    return this.#learnt().moments(points);
  }

  statistics(): Float64Array {
    return Float64Array.from([this.#number, this.#queried, ...this.#round.survivors, ...this.#arrived, ...this.#sums]);
  }

  refactor(): void {
    this.#round.queries.refactor();
    this.#forget();
  }

  save(writer: SnapshotWriter): void {
    const { survivors, entered, queries } = this.#round;
    writer.numbers([this.#number, this.#queried]);
    for (const each of [survivors, entered.mean, entered.deviation, this.#counts, this.#arrived, this.#sums]) writer.numbers(each);
    queries.save(writer);
  }

  load(reader: SnapshotReader): void {
    const [number, queried] = reader.numbers(2);
    counted("queried", queried, this.#schedule.length(counted("number", number, undefined, 1)));
    const survivors = Int32Array.from(reader.numbers());
    if (survivors.length === 0 || !survivors.every((place, i) => place < this.domain.count && place > (survivors[i - 1] ?? -1))) {
      throw malformed();
    }
    const entered = { mean: reader.numbers(survivors.length), deviation: reader.numbers(survivors.length) };
    const { count } = this.domain;
    [this.#counts, this.#arrived, this.#sums] = [reader.numbers(count), reader.numbers(count), reader.numbers(count)];
    this.#arrived.forEach((each, place) => void counted("arrived", each, counted("count", this.#counts[place], queried)));
    this.#forget();
    this.#round.queries.release();
    this.#round = this.#begin(survivors, entered);
    this.#round.queries.load(reader);
    this.#number = number;
    this.#queried = queried;
  }
}
