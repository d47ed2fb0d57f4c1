/** Components are multiples of 2^-12. Sums of their products are exact in float64, so they do not depend on order. */
const RESOLUTION = 4096;
/** Greatest length of a vector. */
const MOST_LENGTH = 4;

/** A sparse sum of terms. */
export class TermSum {
  readonly dimension: number;
  readonly #components: Float64Array;
  /** One bit per component, set once a term was added to it. */
  readonly #touched: Int32Array;
  /** Workspace for a list of the touched components, in order. */
  readonly #list: Int32Array;

  constructor(dimension: number) {
    this.dimension = dimension;
    this.#components = new Float64Array(dimension);
    this.#touched = new Int32Array(Math.ceil(dimension / 32));
    this.#list = new Int32Array(dimension);
  }

  add(place: number, value: number): void {
    this.#components[place] += value;
    this.#touched[place >> 5] |= 1 << place;
  }

  /**
   * Writes the sum, times `scale`, to `target`, which holds zeros from `offset` on, and clears the sum. A vector longer than 4 is brought to
   * that length: names that were chosen to share components make one, and many terms in few components. Components are rounded towards
   * zero, which makes no vector longer.
   */
  moveInto(target: Float64Array, offset: number, scale: number): void {
    const components = this.#components;
    const touched = this.#touched;
    const list = this.#list;
    let count = 0;
    let square = 0;
    for (let word = 0; word < touched.length; word++) {
      for (let bits = touched[word]; bits !== 0; bits &= bits - 1) {
        // The component of the lowest set bit.
        const j = (word << 5) + 31 - Math.clz32(bits & -bits);
        square += components[j] * components[j];
        list[count++] = j;
      }
      touched[word] = 0;
    }
    const own = scale * scale * square > MOST_LENGTH * MOST_LENGTH ? MOST_LENGTH / Math.sqrt(square) : scale;
    for (let i = 0; i < count; i++) {
      const j = list[i];
      // The reciprocal of a power of two is exact, and a product is faster than a quotient. Adding 0 turns -0 into 0.
      target[offset + j] = Math.trunc(components[j] * own * RESOLUTION) * (1 / RESOLUTION) + 0;
      components[j] = 0;
    }
  }
}
