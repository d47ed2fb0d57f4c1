// Laws of delays by product, drawn towards the common law as far as products resemble each other.

import { malformed, type SnapshotReader, type SnapshotWriter } from "../../values/snapshot.ts";
import type { AppendedImpression, ReportedDelay } from "../posterior.ts";
import type { DelayCurve } from "./delays.ts";
import { KeyDelays } from "./key-delays.ts";
import { packed, unpacked } from "./packed.ts";
import { type CommonBins, type Events, ownLaw, weightOf } from "./pooled-laws.ts";
import { countDelay, scales } from "./unmatured-sums.ts";
import { type Moment, timeOf, type Window } from "./window.ts";

/** Keys for which ratios are solved anew after each change. Of as many times more keys, after as many changes. */
const SOLVED_AT_ONCE = 16;
/** Ratios of more keys are solved once this share of the impressions has changed. Fewer changes hardly move them. */
const CHANGED = 1 / 256;

/** Rewards of the impressions of a key. */
export interface Brought {
  /** Impressions that have matured by the key's own law, by weight. */
  readonly impressions: number;
  readonly conversions: number;
  /** Conversions that the key's law rests on: its own, and those for which the common law stands in it. */
  readonly lawful: number;
  /** Sum of rewards, and of their squares. */
  readonly rewards: number;
  readonly squares: number;
}

/** The counts of a key, the common law, and the key's own. Undefined: it is the common one. */
interface Counted {
  readonly key: number;
  readonly law: KeyDelays;
  readonly common: CommonBins;
  readonly own: Float64Array | undefined;
  /** Weight of the common law in the key's own, in conversions. */
  readonly weight: number;
}

/**
 * Laws of delays that differ by product, and what each product has brought.
 *
 * The key of an impression is its first nonzero feature, counted from the component `from` on. Each key has a law F_k of its own. The
 * reverse hazard of a bin is (events + w f) / (risk + w F). F is the common law at the end of the bin, and f its share in the bin.
 * The common law hence weighs as much as w conversions, and a key without conversions has exactly the common law.
 *
 * The keys tell how much laws differ: `weightOf`. With equal laws w grows, and the laws of all keys approach the common one.
 *
 * The ratio of a key is sum n F(age) / sum n F_k(age) over all its impressions. An estimate that takes F for granted, times this
 * ratio, is an estimate by F_k. So the rewards of the key are multiplied by it.
 * **Source:** the reverse product limit of `Delays`, with the prior of a beta process (Hjort 1990) about the common law.
 */
export class OwnLaws {
  readonly #window: Window;
  readonly #dimension: number;
  readonly #from: number;
  /** By key. */
  #laws: (KeyDelays | undefined)[] = [];
  #count = 0;
  /** Time of the latest impression. */
  #now = 0;
  /** The ratio of each key, and the changes since it was solved. */
  #ratios: ReadonlyMap<number, number> = new Map();
  #changes = 0;
  readonly #corrects: boolean;
  readonly #curve: () => DelayCurve;
  readonly #impressions: () => number;

  /**
   * `corrects`: whether a regression reads the ratios. `curve`: the common law, with the ages of impressions at the time of the latest.
   * `impressions`: how many have been counted, or fewer if they are forgotten.
   */
  constructor(
    window: Window,
    options: { readonly dimension: number; readonly from: number; readonly corrects: boolean },
    curve: () => DelayCurve,
    impressions: () => number,
  ) {
    this.#window = window;
    this.#dimension = options.dimension;
    this.#from = options.from;
    this.#corrects = options.corrects;
    this.#curve = curve;
    this.#impressions = impressions;
  }

  /** The key of the features from `start` on. -1 if they are all zero. */
  keyOf(features: ArrayLike<number>, start = 0): number {
    for (let i = this.#from; i < this.#dimension; i++) if (features[start + i] !== 0) return i;
    return -1;
  }

  /** Counts `count` impressions. **Cost:** O(bins) now and then. */
  append(features: Float64Array, moment: Moment, count = 1, clock = moment): void {
    const time = timeOf(this.#window, moment);
    this.#now = Math.max(this.#now, timeOf(this.#window, clock));
    const key = this.keyOf(features);
    if (key >= 0) {
      const law = this.#laws[key] ?? this.#start(key);
      law.advance(this.#now);
      law.append(time, count);
    }
    this.#changed();
  }

  /** Undoes `append`. */
  remove({ features, ...moment }: AppendedImpression): void {
    const key = this.keyOf(features);
    this.#laws[key]?.remove(timeOf(this.#window, moment));
    if (this.#laws[key]?.isEmpty) {
      this.#laws[key] = undefined;
      this.#count--;
    }
    this.#changed();
  }

  /** Moves the clock on to a moment. */
  advance(moment: Moment): void {
    this.#now = Math.max(this.#now, timeOf(this.#window, moment));
    this.#changed();
  }

  #start(key: number): KeyDelays {
    const law = new KeyDelays(scales(this.#window));
    this.#laws[key] = law;
    this.#count++;
    return law;
  }

  /**
   * Replaces the reward `previous` of an impression that weighs `weight`, and counts how late it converted, as `UnmaturedSums.observe`.
   */
  observe(impression: AppendedImpression, weight: number, reward: number, previous: number | undefined, delay?: ReportedDelay): void {
    const law = this.#laws[this.keyOf(impression.features)];
    if (!law) return;
    law.reward(weight, reward, previous ?? 0);
    countDelay(law, timeOf(this.#window, impression), this.#now, previous, delay);
    this.#changed();
  }

  halve(): void {
    for (const law of this.#laws) law?.halve();
    this.#changed();
  }

  /** Solves many keys after some changes, whoever reads them. Few keys are solved by their next reader. */
  #changed(): void {
    if (!this.#corrects) return;
    this.#changes++;
    if (this.#count <= SOLVED_AT_ONCE || this.#changes * SOLVED_AT_ONCE < this.#count) return;
    if (this.#changes >= this.#impressions() * CHANGED) this.#solve();
  }

  /**
   * The moment of a regression, as if the conversions of each key had come by the common law: d.
   *
   * The rewards of a key are its share of the moment at its own component. They are multiplied by its ratio, at the mean features of
   * its impressions. `gram`: packed lower triangle of d x d. **Cost:** O(d) for each key.
   */
  corrected({ gram, moment }: { readonly gram: Float64Array; readonly moment: Float64Array }): Float64Array {
    const own = moment.slice();
    for (const [key, ratio] of this.#known()) {
      const square = gram[entry(key, key)];
      if (square <= 0) continue;
      const rewards = ((ratio - 1) * moment[key]) / square;
      for (let i = 0; i < own.length; i++) own[i] += rewards * gram[entry(key, i)];
    }
    return own;
  }

  /** Rewards of the impressions of each key. **Cost:** O(cohorts x bins) for each key. */
  brought(): ReadonlyMap<number, Brought> {
    const entries = this.#counted().map(({ key, law, common, own = common.below, weight }): [number, Brought] => {
      const { brought } = law;
      return [key, { ...brought, lawful: brought.conversions + weight, impressions: law.matured(this.#now, common, own).byOwn }];
    });
    return new Map(entries);
  }

  #known(): ReadonlyMap<number, number> {
    if (this.#count <= SOLVED_AT_ONCE && this.#changes > 0) this.#solve();
    return this.#ratios;
  }

  #solve(): void {
    const ratios = new Map<number, number>();
    for (const { key, law, common, own } of this.#corrects && this.#count > 1 ? this.#counted() : []) {
      if (!own) continue;
      const { byCommon, byOwn } = law.matured(this.#now, common, own);
      if (byCommon > 0 && byOwn > 0 && byCommon !== byOwn) ratios.set(key, byCommon / byOwn);
    }
    this.#ratios = ratios;
    this.#changes = 0;
  }

  #counted(): Counted[] {
    const keys: { readonly key: number; readonly law: KeyDelays; readonly common: CommonBins; readonly seen: Events }[] = [];
    let common: CommonBins | undefined;
    this.#laws.forEach((law, key) => {
      if (!law) return;
      law.advance(this.#now);
      common ??= law.common(this.#curve());
      keys.push({ key, law, common, seen: law.events(this.#now, common) });
    });
    if (!common) return [];
    const weight = weightOf(
      keys.map(({ seen }) => seen),
      common,
    );
    // All impressions of a single key follow the common law.
    const differs = ({ risk }: Events): boolean => keys.length > 1 && risk.some((each) => each > 0);
    return keys.map(({ seen, ...each }) => ({ ...each, weight, own: differs(seen) ? ownLaw(seen, each.common, weight) : undefined }));
  }

  /** Solves the ratios by all that is known now. */
  refactor(): void {
    this.#solve();
  }

  /** Adds what others with the same options have counted, which lose it. Call `refactor` afterwards. */
  merge(other: OwnLaws): void {
    this.#now = Math.max(this.#now, other.#now);
    other.#laws.forEach((law, key) => void (law && (this.#laws[key] ?? this.#start(key)).merge(law)));
    this.#changed();
  }

  save(writer: Pick<SnapshotWriter, "numbers">): void {
    const laws = this.#laws.flatMap((law, key) => (law ? [{ law, key }] : []));
    const known = this.#known();
    writer.numbers(
      [this.#now, this.#changes],
      laws.map(({ key }) => key),
      [...known.keys()],
      [...known.values()],
    );
    for (const { law } of laws) {
      law.advance(this.#now);
      writer.numbers(packed((into) => law.save(into)));
    }
  }

  load(reader: Pick<SnapshotReader, "numbers">): void {
    [this.#now, this.#changes] = reader.numbers(2);
    if (!Number.isSafeInteger(this.#changes) || this.#changes < 0) throw malformed();
    this.#laws = [];
    this.#count = 0;
    const keys = checkedKeys(reader.numbers(), this.#dimension);
    const solved = checkedKeys(reader.numbers(), this.#dimension);
    const ratios = reader.numbers(solved.length);
    if (ratios.some((each) => each <= 0)) throw malformed();
    this.#ratios = new Map(Array.from(solved, (key, i) => [key, ratios[i]]));
    for (const key of keys) this.#start(key).load(unpacked(reader.numbers()));
  }
}

/** Place of an entry in a packed lower triangle. */
function entry(i: number, j: number): number {
  return i < j ? (j * (j + 1)) / 2 + i : (i * (i + 1)) / 2 + j;
}

/** Keys in ascending order. */
function checkedKeys(keys: Float64Array, dimension: number): Float64Array {
  if (keys.some((key, i) => !Number.isInteger(key) || key < 0 || key >= dimension || (i > 0 && key <= keys[i - 1]))) throw malformed();
  return keys;
}
