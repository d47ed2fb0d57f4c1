// A catalogue in the form that the core scores: columns of terms, made once and used by each decision.

import { SnapshotError } from "../values/errors.ts";
import type { Components } from "./components.ts";
import { leadingHash } from "./hash.ts";
import { CONSTANT, ENCODER_VERSION, PRODUCT, squaresOf } from "./scale.ts";
import { isNumber, type NamedFeatures, type Term, type TermReader, type Terms } from "./terms.ts";

/** Entry of a value without one, as `assembly/ridge/catalogue.ts` has it. */
const NONE = 0xffffffff;
/** Bytes of a context before its terms, and of a term. */
const CONTEXT = 16;
const TERM = 24;

/** Version of the columns. It changes with their order or meaning, or with the encoder. */
const VERSION = 256 * ENCODER_VERSION + 1;
/** Bytes of the counts and of the columns' places. */
const HEADER = 108;
/** Bytes of the column of buckets, the last one. */
const BUCKETS = 2 * 8192;

/** A list of actions as columns, from which the core lists the rows of each candidate. `assembly/ridge/catalogue.ts` documents the columns. */
export class CatalogueColumns {
  /** The columns, for the memory of a core. */
  readonly columns: Uint8Array;
  readonly count: number;
  /** Terms of all actions together, and the most of one. */
  readonly terms: number;
  readonly mostTerms: number;
  /** Rows that candidates share, behind those of the components. */
  readonly tableRows: number;

  /**
   * @param columns of a catalogue of `count` actions under an encoder with these components.
   * @throws {SnapshotError} code `version` or `malformed`. The core checks what is behind the counts.
   */
  constructor(columns: Uint8Array, count: number, components: Components) {
    const header = new DataView(columns.buffer, columns.byteOffset, columns.byteLength);
    if (columns.length < HEADER) throw new SnapshotError("truncated", `expected a catalogue's columns, got ${columns.length} bytes`);
    const words = Array.from({ length: 12 }, (_, i) => header.getUint32(4 * i, true));
    const [version, fingerprint, actions, mostTerms, values, shared, sharedUses, numberUses, numbers, ...layout] = words;
    if (version !== VERSION) throw new SnapshotError("version", `expected columns of version ${VERSION}, got ${version}`);
    const { dimension, productCount, visitors } = components;
    const fits = fingerprint === components.fingerprint && layout.join() === [dimension, productCount, visitors.length].join();
    const length = 3 * (values + numbers + actions + 1) + sharedUses + 2 * (numberUses + actions);
    if (actions !== count || !fits || shared > values || columns.length !== HEADER + 4 * length + BUCKETS) {
      throw new SnapshotError("malformed", "the columns are those of other actions or of another encoder");
    }
    // A copy, because the bytes may begin anywhere.
    const buckets = new Uint8Array(BUCKETS);
    buckets.set(columns.subarray(-BUCKETS));
    components.adopt(new Uint16Array(buckets.buffer));
    this.columns = columns;
    this.count = count;
    this.mostTerms = mostTerms;
    this.terms = sharedUses + (values - shared) + numberUses;
    this.tableRows = shared + numbers + 1;
  }

  /** Reads actions. @throws {TypeError | RangeError} naming the feature of an action. */
  static of(actions: readonly NamedFeatures[], reader: TermReader, components: Components): CatalogueColumns {
    const [values, numbers] = [new Distinct(), new Distinct()];
    const shares: number[] = [];
    const squares = { values: new Float32Array(actions.length), factors: new Float32Array(actions.length) };
    let mostTerms = 0;
    const list: Term[] = [];
    const take = (term: Term): void => void list.push(term);
    for (let i = 0; i < actions.length; i++) {
      list.length = 0;
      reader.visit(actions[i], take);
      for (const term of list) {
        if (isNumber(term)) shares.push(term.factor);
        (isNumber(term) ? numbers : values).append(term);
      }
      values.end();
      numbers.end();
      const ofAction = squaresOf(list);
      squares.values[i] = ofAction.values;
      squares.factors[i] = ofAction.factors;
      mostTerms = Math.max(mostTerms, list.length);
    }
    const { order, shared, sharedStarts, ownStarts, sharedValues } = apart(values);
    const { dimension, productCount, visitors, buckets, fingerprint } = components;
    const uses = [sharedValues.length, shares.length, numbers.terms.length];
    const columns = columnsOf(
      [VERSION, fingerprint, actions.length, mostTerms, order.length, shared, ...uses, dimension, productCount, visitors.length],
      [
        Uint32Array.from(order, (id) => values.terms[id].hash),
        Uint32Array.from(order, (id) => values.terms[id].place),
        Uint32Array.from(order, (id) => values.terms[id].entry ?? NONE),
        Uint32Array.from(numbers.terms, ({ hash }) => hash),
        Uint32Array.from(numbers.terms, ({ place }) => place),
        Uint32Array.from(numbers.terms, ({ isExact }) => Number(isExact)),
        sharedStarts,
        ownStarts,
        Uint32Array.from([0, ...numbers.ends]),
        sharedValues,
        Uint32Array.from(numbers.ids),
        Float32Array.from(shares),
        squares.values,
        squares.factors,
        buckets,
      ],
    );
    return new CatalogueColumns(columns, actions.length, components);
  }

  /** A context, for the memory of a core. `isMultiplied`: whether each of its terms is multiplied with each term of an action. */
  context({ list }: Terms, isMultiplied: boolean): Uint8Array {
    const { values, factors } = squaresOf(list);
    const view = new DataView(new ArrayBuffer(CONTEXT + TERM * list.length));
    view.setUint32(0, list.length, true);
    view.setUint32(4, Number(isMultiplied), true);
    view.setFloat32(8, CONSTANT * CONSTANT + values, true);
    view.setFloat32(12, isMultiplied ? factors : 0, true);
    list.forEach((term, i) => {
      const at = CONTEXT + TERM * i;
      view.setUint32(at, term.place, true);
      view.setFloat32(at + 4, term.value, true);
      view.setUint32(at + 8, leadingHash(term.hash), true);
      view.setFloat32(at + 12, PRODUCT * term.factor, true);
      view.setFloat32(at + 16, PRODUCT * (2 * term.factor - 1), true);
      view.setInt32(at + 20, term.visitor ?? -1, true);
    });
    return new Uint8Array(view.buffer);
  }
}

/** Terms of one action after another, each with the number of its name. */
class Distinct {
  /** A term of each name. */
  readonly terms: Term[] = [];
  /** For each name the number of its actions. */
  readonly uses: number[] = [];
  /** The numbers of the names, one action after another, and the end of each action. */
  readonly ids: number[] = [];
  readonly ends: number[] = [];
  readonly #byStem = new Map<string, Map<string, number>>();

  append(term: Term): void {
    const { stem, rest } = term;
    let ofStem = this.#byStem.get(stem);
    if (!ofStem) {
      ofStem = new Map();
      this.#byStem.set(stem, ofStem);
    }
    let id = ofStem.get(rest);
    if (id === undefined) {
      id = this.terms.push(term) - 1;
      this.uses.push(0);
      ofStem.set(rest, id);
    }
    this.uses[id]++;
    this.ids.push(id);
  }

  end(): void {
    this.ends.push(this.ids.length);
  }
}

/** Values of several actions first, then those of one action, one action after another. */
function apart({ uses, ids, ends }: Distinct) {
  const order: number[] = [];
  const places = new Int32Array(uses.length).fill(-1);
  for (let id = 0; id < uses.length; id++) if (uses[id] > 1) places[id] = order.push(id) - 1;
  const shared = order.length;
  const [sharedStarts, ownStarts] = [new Uint32Array(ends.length + 1), new Uint32Array(ends.length + 1).fill(shared)];
  const sharedValues: number[] = [];
  for (let i = 0, at = 0; i < ends.length; i++) {
    for (; at < ends[i]; at++) {
      const id = ids[at];
      if (places[id] < 0) order.push(id);
      else sharedValues.push(places[id]);
    }
    sharedStarts[i + 1] = sharedValues.length;
    ownStarts[i + 1] = order.length;
  }
  return { order, shared, sharedStarts, ownStarts, sharedValues: Uint32Array.from(sharedValues) };
}

/** Joins counts, the distance of each column in bytes, and the columns. */
function columnsOf(counts: readonly number[], columns: readonly (Uint32Array | Float32Array | Uint16Array)[]): Uint8Array {
  let end = 4 * (counts.length + columns.length);
  const starts = columns.map(({ byteLength }) => {
    end += byteLength;
    return end - byteLength;
  });
  const bytes = new Uint8Array(end);
  bytes.set(new Uint8Array(Uint32Array.from([...counts, ...starts]).buffer));
  columns.forEach(({ buffer, byteOffset, byteLength }, i) => void bytes.set(new Uint8Array(buffer, byteOffset, byteLength), starts[i]));
  return bytes;
}
