/** An impression of a plain model. */
export interface Shown {
  readonly time: number;
  delay?: number;
  /** Whether its cohort is older than the span. All such cohorts count as one. */
  passed: boolean;
}

export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

/** The dyadic interval of an index. It doubles while the doubled interval ends at least `same` of its lengths before `newest`. */
export function intervalOf(index: number, newest: number, same: number): readonly [start: number, length: number] {
  let length = 1;
  while (newest - end(index, 2 * length) >= same * length) length *= 2;
  return [Math.floor(index / length) * length, length];
}

function end(index: number, length: number): number {
  return Math.floor(index / length) * length + length;
}

/** Upper ends of bins: 16 of one step, 8 of two, 8 of four and so on, until one contains `longest`. */
export function binEnds(longest: number): number[] {
  const ends: number[] = [];
  for (let width = 1, at = 0; at <= longest; width *= 2) {
    for (let i = 0; i < (width === 1 ? 16 : 8) && at <= longest; i++) {
      at += width;
      ends.push(at);
    }
  }
  return ends;
}

/**
 * The delay law from lists, by its definition: the share of conversions with delay u among those with a delay of at most u, over
 * impressions at least as old as u. The age of an impression is the mean age of its cohort.
 */
export class PlainDelays {
  readonly shown: Shown[] = [];
  readonly ends: readonly number[];
  readonly resolution: number;
  readonly unit: number;
  readonly span: number;
  newest = Number.NEGATIVE_INFINITY;

  constructor({ resolution, unit, span }: { resolution: number; unit: number; span: number }) {
    [this.resolution, this.unit, this.span] = [resolution, unit, span];
    this.ends = binEnds(Math.min(span / resolution, 2 ** 30 - 1));
  }

  show(time: number): Shown {
    this.advance(time);
    this.shown.push({ time, passed: false });
    return this.shown.at(-1) as Shown;
  }

  advance(time: number): void {
    for (const each of this.shown) {
      const [start, length] = this.#cohort(each.time);
      if ((Math.floor(time / this.unit) - start - length) * this.unit > this.span) each.passed = true;
    }
    this.newest = Math.max(this.newest, Math.floor(time / this.unit));
  }

  #cohort(time: number): readonly [number, number] {
    return intervalOf(Math.floor(time / this.unit), this.newest, 4);
  }

  /** Mean age of each impression's cohort at `now`. */
  ages(now: number): number[] {
    const cohorts = grouped(this.shown, ({ time, passed }) => (passed ? "passed" : this.#cohort(time).join()));
    const ages = new Map<Shown, number>();
    for (const [key, members] of cohorts) {
      const age = members.reduce((sum, { time }) => sum + now - time, 0) / members.length;
      for (const each of members) ages.set(each, key === "passed" ? Number.POSITIVE_INFINITY : age);
    }
    return this.shown.map((each) => ages.get(each) as number);
  }

  binOf(delay: number): number {
    const bin = this.ends.findIndex((each) => each > delay / this.resolution);
    return bin < 0 ? this.ends.length - 1 : bin;
  }

  /** P(delay < end) of each bin, and Greenwood's standard error. */
  law(now: number): { probability: number[]; error: number[] } {
    const ages = this.ages(now);
    const seen = this.shown.flatMap(({ delay }, i) => (delay === undefined ? [] : [{ bin: this.binOf(delay), age: ages[i] }]));
    const hazards = this.ends.map((end, bin) => {
      const old = seen.filter((each) => each.bin <= bin && each.age + this.resolution >= end * this.resolution);
      const events = old.filter((each) => each.bin === bin).length;
      return { events, risk: old.length + 1 };
    });
    const later = this.ends.map((_, bin) => hazards.slice(bin + 1));
    return {
      probability: later.map((all) => all.reduce((chance, { events, risk }) => chance * (1 - events / risk), 1)),
      error: later.map((all) => {
        const chance = all.reduce((product, { events, risk }) => product * (1 - events / risk), 1);
        return chance * Math.sqrt(all.reduce((sum, { events, risk }) => sum + events / (risk * (risk - events)), 0));
      }),
    };
  }

  /** P(delay < x), linear within a bin. */
  below(x: number, now: number): number {
    const steps = x / this.resolution;
    const { probability } = this.law(now);
    const knots = [[0, 0], ...this.ends.map((end, bin) => [end, probability[bin]])];
    const next = knots.findIndex(([end]) => end > steps);
    if (steps <= 0) return 0;
    if (next < 0) return 1;
    const [[from, before], [to, after]] = [knots[next - 1], knots[next]];
    return before + ((after - before) * (steps - from)) / (to - from);
  }

  /** The expected share of each impression's conversions by `now`, under the law as known at another time. */
  matured(now: number, known = now): number[] {
    const of = new Map<number, number>();
    return this.ages(now).map((age) => {
      if (age === Number.POSITIVE_INFINITY) return 1;
      if (!of.has(age)) of.set(age, this.below(Math.max(age, 0) + this.resolution, known));
      return of.get(age) as number;
    });
  }
}
