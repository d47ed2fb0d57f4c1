/** Bins of a window. */
const BINS = 100;
/** Impressions between two estimates of the law. */
const REFRESH = 50;

interface Shown {
  readonly index: number;
  readonly at: number;
}

/**
 * The impressions of each product, each weighed by the share of conversions that come by its age. That share is the reverse product limit of
 * the delays so far (Lagakos, Barraj and De Gruttola 1988), for all products together.
 */
export class DelayWeights {
  readonly #binMs: number;
  /** Impressions whose window has closed, by product. */
  readonly #closed: Float64Array;
  #open: Shown[] = [];
  readonly #converted: { readonly delay: number; readonly shownAt: number }[] = [];
  /** The weighed impressions of each product, as of the last estimate. */
  #weighed: Float64Array;
  #since = 0;

  constructor(products: number, windowMs: number) {
    this.#binMs = windowMs / BINS;
    this.#closed = new Float64Array(products);
    this.#weighed = new Float64Array(products);
  }

  show(index: number, at: number): void {
    this.#open.push({ index, at });
  }

  convert(shownAt: number, at: number): void {
    this.#converted.push({ delay: at - shownAt, shownAt });
  }

  /** The weighed number of impressions of each product. */
  at(now: number): Float64Array {
    if (this.#since++ % REFRESH === 0) this.#weighed = this.#weigh(now);
    return this.#weighed;
  }

  #weigh(now: number): Float64Array {
    const law = this.law(now);
    const isClosed = ({ at }: Shown): boolean => now - at >= BINS * this.#binMs;
    const first = this.#open.findIndex((each) => !isClosed(each));
    const closed = first < 0 ? this.#open.splice(0) : this.#open.splice(0, first);
    for (const { index } of closed) this.#closed[index]++;
    const weighed = this.#closed.slice();
    for (const { index, at } of this.#open) {
      const age = (now - at) / this.#binMs;
      const bin = Math.floor(age);
      weighed[index] += law[bin] + (age - bin) * (law[bin + 1] - law[bin]);
    }
    return weighed;
  }

  /** The share of conversions that come by the end of each bin. The first is 0, and the last is 1. */
  law(now: number): Float64Array {
    const came = new Float64Array(BINS + 1);
    const atRisk = new Float64Array(BINS + 2);
    for (const { delay, shownAt } of this.#converted) {
      const bin = Math.min(Math.floor(delay / this.#binMs), BINS - 1);
      // A bin counts for the impressions that were followed to its end.
      const followed = Math.min(Math.floor((now - shownAt) / this.#binMs), BINS);
      if (followed <= bin) continue;
      came[bin + 1]++;
      atRisk[bin + 1]++;
      atRisk[followed + 1]--;
    }
    for (let bin = 1; bin <= BINS; bin++) atRisk[bin] += atRisk[bin - 1];
    const law = new Float64Array(BINS + 1);
    law[BINS] = 1;
    for (let bin = BINS; bin > 0; bin--) law[bin - 1] = bin === 1 ? 0 : law[bin] * (came[bin] === 0 ? 1 : 1 - came[bin] / atRisk[bin]);
    return law;
  }
}
