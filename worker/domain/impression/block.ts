// Many impressions as the bytes of one row, from which one can be read alone.
// A block is one blob with the impressions of a batch. Layout, little-endian: version (uint32), number of impressions (uint32), length
// of the header (uint32), 4 bytes of nothing; score, mean, width and probability of each impression (float64); ids (16 bytes each);
// per impression (uint16 each) the place of what it shares, the place of its action, its place in the list, the place of the list's first
// impression in the block, and the length of its features; the header as JSON; features. Numbers come out bit for bit.

import type { Decision } from "../../protocol/decision.ts";
import { setUuid, uuidOf } from "../ids/uuid.ts";
import { featuresAt, toBlob } from "./feature-blob.ts";
import type { ImpressionRow } from "./impression.ts";

const VERSION = 1;
const HEAD_BYTES = 16;
const SCORES = 4;
const ID_BYTES = 16;
const COLUMNS = 5;
const ROW_BYTES = SCORES * 8 + ID_BYTES + COLUMNS * 2;
/** Stands for no place. */
const NOWHERE = 0xffff;
/** Most impressions of a block, so that places fit two bytes and few bytes are read for one impression. */
export const MOST_ROWS = 500;

/** An impression in a block. After an erasure only the id is left, and the action is empty. */
export interface BlockRow extends Omit<ImpressionRow, "keys"> {
  readonly sampling: number;
}

/** The values that impressions of one decision share. */
interface Shared extends Pick<BlockRow, "arm" | "version" | "context" | "byPage" | "sampling"> {
  /** Whether the impression has a name, which follows from its id. */
  readonly named: boolean;
  readonly decision: Omit<Decision, "score" | "mean" | "width" | "probability" | "place"> | null;
}

interface Header {
  readonly shared: readonly Shared[];
  readonly actions: readonly string[];
}

/** An impression for a block. The join keys are not stored in it. */
type NewRow = Omit<BlockRow, "sampling"> & Pick<ImpressionRow, "sampling">;

/** Encodes impressions: at most `MOST_ROWS`, of at most 8,191 features. */
export function encodeBlock(rows: readonly NewRow[]): Uint8Array<ArrayBuffer> {
  const shared = new Dictionary<Shared>();
  const actions = new Dictionary<string>();
  const places = new Map(rows.map(({ id }, place) => [id, place]));
  const features = rows.map((row) => (row.action === "" ? new ArrayBuffer(0) : toBlob(row.features)));
  const columns = new Uint16Array(rows.length * COLUMNS);
  const scores = new Float64Array(rows.length * SCORES);
  let last: Shared | undefined;
  rows.forEach((row, i) => {
    const { decision } = row;
    const first = decision?.first === undefined ? undefined : places.get(decision.first);
    const own = sharedOf(row, first !== undefined);
    // Rows of one decision follow each other, and comparing is faster than making text.
    last = last && isSame(last, own) ? last : own;
    const [column, score] = [i * COLUMNS, i * SCORES];
    columns[column] = row.action === "" ? NOWHERE : shared.place(last);
    columns[column + 1] = row.action === "" ? NOWHERE : actions.place(row.action);
    columns[column + 2] = decision?.place ?? 0;
    columns[column + 3] = first ?? NOWHERE;
    columns[column + 4] = features[i].byteLength;
    if (!decision) return;
    scores[score] = decision.score;
    scores[score + 1] = decision.mean;
    scores[score + 2] = decision.width;
    scores[score + 3] = decision.probability ?? Number.NaN;
  });
  const text = new TextEncoder().encode(`{"shared":${shared.json},"actions":${actions.json}}`);
  let offset = HEAD_BYTES + rows.length * ROW_BYTES;
  const bytes = new Uint8Array(features.reduce((sum, { byteLength }) => sum + byteLength, offset + text.length));
  new Uint32Array(bytes.buffer, 0, 3).set([VERSION, rows.length, text.length]);
  bytes.set(new Uint8Array(scores.buffer), HEAD_BYTES);
  rows.forEach(({ id }, i) => {
    setUuid(bytes, idAt(rows.length, i), id);
  });
  bytes.set(new Uint8Array(columns.buffer), idAt(rows.length, rows.length));
  for (const part of [text, ...features.map((blob) => new Uint8Array(blob))]) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

function sharedOf({ arm, version, context, byPage, sampling = 0, name, decision }: NewRow, isFirstInBlock: boolean): Shared {
  const common = { arm, version, context, byPage, sampling, named: name !== null };
  if (!decision) return { ...common, decision: null };
  const { score: _, mean: __, width: ___, probability: ____, place: _____, first, ...rest } = decision;
  return { ...common, decision: { ...rest, ...(first !== undefined && !isFirstInBlock && { first }) } };
}

function isSame(a: Shared, b: Shared): boolean {
  if (a.context !== b.context) return false;
  const { decision: ofA, ...restA } = a;
  const { decision: ofB, ...restB } = b;
  if (!hasSameValues(restA, restB)) return false;
  return ofA === null || ofB === null ? ofA === ofB : hasSameValues(ofA, ofB);
}

function hasSameValues(a: object, b: object): boolean {
  const values = Object.entries(a);
  return values.length === Object.keys(b).length && values.every(([name, value]) => (b as Record<string, unknown>)[name] === value);
}

/** Distinct values in the order of their first use. */
class Dictionary<Value> {
  /** Places by the JSON of the values. */
  readonly #places = new Map<string, number>();
  #last?: { readonly value: Value; readonly place: number };

  place(value: Value): number {
    if (this.#last && this.#last.value === value) return this.#last.place;
    const text = JSON.stringify(value);
    let place = this.#places.get(text);
    if (place === undefined) {
      place = this.#places.size;
      this.#places.set(text, place);
    }
    this.#last = { value, place };
    return place;
  }

  /** The list of the values as JSON. */
  get json(): string {
    return `[${Array.from(this.#places.keys()).join()}]`;
  }
}

const idAt = (count: number, i: number): number => HEAD_BYTES + count * SCORES * 8 + i * ID_BYTES;

/** A block, read impression by impression. */
export class Block {
  readonly count: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  readonly #headerLength: number;
  readonly #columns: Uint16Array;
  #header?: Header;
  /** Times of the earliest impression and of the latest. */
  #times?: { readonly first: number; readonly last: number };
  /** Where the features of each impression begin. */
  #features?: Uint32Array;

  /** @throws {Error} if another version of this module wrote the block, or a part of it is missing. */
  constructor(bytes: Uint8Array<ArrayBuffer>) {
    // Numbers are read where they lie, so they have to lie at the beginning of a buffer.
    this.bytes = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
    const content = this.bytes.buffer;
    const [version, count, length] = content.byteLength < HEAD_BYTES ? [0, 0, 0] : new Uint32Array(content, 0, 3);
    if (version !== VERSION) throw new Error(`expected a block of version ${VERSION}, got ${version}`);
    this.count = count;
    this.#view = new DataView(content);
    this.#headerLength = length;
    const end = HEAD_BYTES + count * ROW_BYTES + length;
    if (content.byteLength < end) throw cut(end, content.byteLength);
    this.#columns = new Uint16Array(content, idAt(count, count), count * COLUMNS);
    const whole = this.#columns.reduce((sum, value, i) => (i % COLUMNS === COLUMNS - 1 ? sum + value : sum), end);
    if (content.byteLength !== whole) throw cut(whole, content.byteLength);
  }

  /** Whether an impression shown at this time may be in the block. */
  mayHave(shownAt: number): boolean {
    if (!this.#times) {
      const times = this.map((i) => this.shownAt(i));
      this.#times = { first: Math.min(...times), last: Math.max(...times) };
    }
    return shownAt >= this.#times.first && shownAt <= this.#times.last;
  }

  /** Place of an impression in the block; -1 if it is not there. */
  placeOf(id: string): number {
    const sought = new Uint8Array(ID_BYTES);
    setUuid(sought, 0, id);
    for (let i = 0, at = idAt(this.count, 0); i < this.count; i++, at += ID_BYTES) {
      let same = 0;
      // Ids of one time differ in their last bytes.
      for (let byte = ID_BYTES - 1; byte >= 0 && this.bytes[at + byte] === sought[byte]; byte--) same++;
      if (same === ID_BYTES) return i;
    }
    return -1;
  }

  id(i: number): string {
    const at = idAt(this.count, i);
    return uuidOf(this.bytes.subarray(at, at + ID_BYTES));
  }

  ids(): string[] {
    return this.map((i) => this.id(i));
  }

  rows(): BlockRow[] {
    return this.map((i) => this.row(i));
  }

  /** Something of each impression, by its place in the block. */
  map<T>(read: (i: number) => T): T[] {
    return Array.from({ length: this.count }, (_, i) => read(i));
  }

  /** Places of the impressions that were not erased. */
  held(): number[] {
    return this.map((i) => i).filter((i) => !this.isErased(i));
  }

  /** When an impression was shown, in ms since 1970. */
  shownAt(i: number): number {
    const at = idAt(this.count, i);
    return this.#view.getUint16(at) * 2 ** 32 + this.#view.getUint32(at + 2);
  }

  /** Whether an impression was erased. */
  isErased(i: number): boolean {
    return this.#column(i, 0) === NOWHERE;
  }

  row(i: number): BlockRow {
    const id = this.id(i);
    if (this.isErased(i)) return { ...ERASED, id };
    const { named, decision: _, ...common } = this.#sharedOf(i);
    return {
      id,
      name: named ? id.slice(NAME_AT) : null,
      action: this.action(i),
      features: this.features(i),
      ...common,
      decision: this.decision(i),
    };
  }

  /** The values that an impression shares with others of its decision. Not for an erased one. */
  common(i: number): Pick<BlockRow, "arm" | "version" | "byPage" | "sampling"> {
    return this.#sharedOf(i);
  }

  /** What figures count of an impression. Not for an erased one. */
  counted(i: number) {
    return { ...this.common(i), id: this.id(i), action: this.action(i), decision: this.decision(i) };
  }

  /** How an impression was decided. Not for an erased one. */
  decision(i: number): Decision | null {
    const { decision } = this.#sharedOf(i);
    return decision && this.#decisionOf(i, decision);
  }

  /** Place of an impression in its list, 0 for the first. */
  listPlace(i: number): number {
    return this.#column(i, 2);
  }

  /** The action of an impression. Not for an erased one. */
  action(i: number): string {
    return this.#head().actions[this.#column(i, 1)];
  }

  #sharedOf(i: number): Shared {
    return this.#head().shared[this.#column(i, 0)];
  }

  #decisionOf(i: number, { candidates, shadows, asked, first: outside, ...more }: NonNullable<Shared["decision"]>): Decision {
    const [score, mean, width, probability] = new Float64Array(this.bytes.buffer, HEAD_BYTES + i * SCORES * 8, SCORES);
    const inside = this.#column(i, 3);
    const first = inside === NOWHERE ? outside : this.id(inside);
    return {
      ...{ score, mean, width },
      ...(!Number.isNaN(probability) && { probability }),
      ...{ place: this.listPlace(i), candidates },
      ...(shadows && { shadows }),
      ...(first !== undefined && { first }),
      ...(asked && { asked }),
      ...more,
    };
  }

  features(i: number): Float64Array<ArrayBuffer> {
    if (!this.#features) {
      this.#features = new Uint32Array(this.count);
      let at = HEAD_BYTES + this.count * ROW_BYTES + this.#headerLength;
      for (let row = 0; row < this.count; row++) {
        this.#features[row] = at;
        at += this.#column(row, 4);
      }
    }
    const from = this.#features[i];
    return featuresAt(this.bytes, from, from + this.#column(i, 4));
  }

  #column(i: number, column: number): number {
    return this.#columns[i * COLUMNS + column];
  }

  #head(): Header {
    const from = HEAD_BYTES + this.count * ROW_BYTES;
    this.#header ??= JSON.parse(new TextDecoder().decode(this.bytes.subarray(from, from + this.#headerLength))) as Header;
    return this.#header;
  }
}

/** Where the name begins in the id of a named impression. */
const NAME_AT = 14;

const ERASED = {
  ...{ name: null, action: "", features: new Float64Array(0), arm: "" as "policy", version: 0 },
  ...{ context: null, byPage: false, sampling: 0, decision: null },
};

const cut = (expected: number, got: number): Error => new Error(`expected a block of ${expected} bytes, got ${got}`);
