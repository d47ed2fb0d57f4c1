// Draws of ridge posteriors in the core, as typed calls. Policies see numbers, and never a pointer.

import { allocated, check, exactly } from "./checks.ts";
import type { CoreExports } from "./exports.ts";
import type { LinearMemory } from "./linear-memory.ts";
import type { RidgeHandle } from "./ridge-handle.ts";

/** One stage of the scores of draws, see `assembly/ridge/draws.ts`. Its samples are level + <x, centre + scale L^-T z>. */
export interface DrawStage {
  readonly handle: RidgeHandle;
  readonly level: number;
  /** Value of the stage by itself, beside those after it. */
  readonly weight: number;
  /** Index of the stage before it, or -1. */
  readonly parent: number;
  /** Whether its samples are probabilities, which stay within 0 to 1. */
  readonly isProbability: boolean;
}

/** A list of actions as columns, see `assembly/ridge/catalogue.ts`. */
interface CoreCatalogue {
  readonly columns: Uint8Array;
}

/** A catalogue in the memory of a core, and the counts that its calls need room for. */
interface LoadedCatalogue {
  readonly catalogue: CoreCatalogue;
  readonly pointer: number;
  readonly dimension: number;
  /** Terms of an action at most. */
  readonly mostTerms: number;
  /** Rows behind those of the components. */
  readonly tableRows: number;
}

/** k actions of a catalogue in a context: the first ones, or those that are picked. */
export interface CoreActions {
  readonly count: number;
  readonly catalogue: CoreCatalogue | undefined;
  readonly context: Uint8Array | undefined;
  readonly picks: Uint32Array | undefined;
}

/** k candidates: actions of a catalogue, or features (k x d, row-major). */
export type CoreCandidates = CoreActions | { readonly count: number; readonly points: Float64Array };

/** The family of each candidate, or -1, and how many candidates of each family a list takes. */
interface CoreFamilies {
  readonly of: Int32Array;
  readonly room: Int32Array;
}

/** Sizes in bytes, as `assembly/ridge/draws.ts` and `assembly/ridge/rows.ts` have them. */
const STAGE = 20;
const REQUEST = 48;
const ROW = 208;
const ENTRY = 8;
/** Bytes of a context before its terms, and of a term. */
const CONTEXT = 12;
const TERM = 24;
/** Samples of a group, and bytes of their workspace and of a level of their lists. */
const GROUP = 102;
const SAMPLES = 416;
const LEVEL = 832;

/** Doubles that hold as many bytes. */
const doubles = (bytes: number): number => Math.ceil(bytes / 8);

/**
 * Draws of ridge posteriors in the memory of a core, and what they make of candidates. `assembly/ridge/draws.ts` documents each computation.
 * **Throws:** as `Core`.
 */
export class CoreDraws {
  readonly #exports: CoreExports;
  readonly #memory: LinearMemory;
  /** The catalogue of the last call, in the memory of the core. */
  #loaded: LoadedCatalogue | undefined;
  #lists = new Int32Array(0);

  constructor(exports: CoreExports, memory: LinearMemory) {
    this.#exports = exports;
    this.#memory = memory;
  }

  /** Keeps one draw per row of `normals` (m x d) for `rows`, until the factor changes. */
  draw(h: RidgeHandle, normals: Float64Array): void {
    const [z] = this.#memory.place([normals]);
    check(this.#exports.ridgeDraw(h.pointer, z, normals.length / h.dimension));
  }

  /** Makes rows of the first `pairs` draws, times `scale`, about `centre` (d), by default theta. `extra`: rows to leave free behind them. */
  rows(h: RidgeHandle, pairs: number, scale: number, extra: number, centre?: Float64Array): void {
    const at = centre ? this.#memory.put(exactly(centre, h.dimension)) : 0;
    check(this.#exports.ridgeRows(h.pointer, pairs, at, scale, extra));
  }

  /**
   * The best candidates of each sample: samples x limit indices, with -1 behind the last one. Valid until the next call. `boosts`: added to the
   * scores of each candidate (k).
   */
  lists(
    stages: readonly DrawStage[],
    candidates: CoreCandidates,
    samples: number,
    limit: number,
    families?: CoreFamilies,
    boosts?: Float64Array,
  ): Int32Array {
    const groups = Math.ceil(samples / GROUP);
    const { of: family, room } = families ?? NO_FAMILIES;
    const sizes = [groups * limit * LEVEL, family.byteLength, room.byteLength, 4 * samples * limit];
    if (boosts) sizes.push(4 * boosts.length);
    const { request, rest } = this.#request(stages, candidates, samples, sizes);
    const [lists, of, rooms, out, added] = rest;
    if (boosts) this.#memory.writeFloats(added, boosts);
    this.#memory.writeWords(of, family);
    this.#memory.writeWords(rooms, room);
    check(this.#exports.drawLists(request, limit, lists, families ? of : 0, rooms, boosts ? added : 0, out));
    // Reused, because a new buffer takes as long as the lists of few candidates.
    if (this.#lists.length !== samples * limit) this.#lists = new Int32Array(samples * limit);
    return this.#memory.readWords(out, this.#lists);
  }

  /** The scores of all candidates in all samples, samples x k, row-major, or in the sample `only`. */
  scores(stages: readonly DrawStage[], candidates: CoreCandidates, samples: number, only?: number): Float64Array {
    const { count } = candidates;
    const { request, rest } = this.#request(stages, candidates, samples, [8 * samples * count]);
    check(this.#exports.drawScores(request, rest[0]));
    return only === undefined ? this.#memory.copy(rest[0], samples * count) : this.#memory.copy(rest[0] + 8 * only * count, count);
  }

  /** The products <x, parameter> of encoded actions: k. */
  products(actions: CoreActions, parameter: Float64Array): Float64Array {
    const { loaded, context, list, picks, count } = this.#part(actions);
    const { pointer, dimension, tableRows } = loaded;
    const sizes = [dimension + tableRows, doubles(ENTRY * list), doubles(context.length), doubles(4 * picks.length), count];
    const [table, entries, record, at, out] = this.#memory.place([], sizes);
    this.#memory.write(table, exactly(parameter, dimension));
    this.#memory.writeBytes(record, context);
    this.#memory.writeWords(at, picks);
    check(this.#exports.catalogueProducts(pointer, record, context.length, picks.length > 0 ? at : 0, count, table, entries, out));
    return this.#memory.copy(out, count);
  }

  #part({ catalogue, context, picks, count }: CoreActions) {
    if (!catalogue || !context) throw new TypeError("actions: expected those of a catalogue");
    if (picks && picks.length !== count) throw new RangeError(`picks: expected ${count}, got ${picks.length}`);
    const loaded = this.#load(catalogue);
    const terms = Math.max((context.length - CONTEXT) / TERM, 1);
    return { loaded, context, picks: picks ?? NO_PICKS, count, list: 1 + Math.max(terms, loaded.mostTerms * (1 + terms)) };
  }

  /** Writes a request into the scratch area, with room of `sizes` bytes behind it. */
  #request(stages: readonly DrawStage[], candidates: CoreCandidates, samples: number, sizes: readonly number[]) {
    const part = "points" in candidates ? undefined : this.#part(candidates);
    const { context = NO_CONTEXT, picks = NO_PICKS, list = stages[0].handle.dimension } = part ?? {};
    const points = "points" in candidates ? candidates.points : NO_POINTS;
    const catalogue = part?.loaded.pointer ?? 0;
    const parts = [REQUEST, STAGE * stages.length, context.length, 4 * picks.length, ENTRY * list, ROW, SAMPLES * stages.length, ...sizes];
    for (let i = 0; i < parts.length; i++) parts[i] = doubles(parts[i]);
    const [features, request, records, record, at, entries, row, work, ...rest] = this.#memory.place([points], parts);
    const pickedAt = picks.length > 0 ? at : 0;
    const words = [records, stages.length, samples, candidates.count, features, catalogue, record, context.length, pickedAt];
    this.#memory.writeWords(request, [...words, entries, row, work]);
    this.#writeStages(records, stages);
    this.#memory.writeBytes(record, context);
    this.#memory.writeWords(at, picks);
    return { request, rest };
  }

  #writeStages(pointer: number, stages: readonly DrawStage[]): void {
    let at = pointer;
    for (const { handle, level, weight, parent, isProbability } of stages) {
      this.#memory.writeWords(at, [handle.pointer, parent, 0, 0, Number(isProbability)]);
      this.#memory.writeFloat(at + 8, level);
      this.#memory.writeFloat(at + 12, weight);
      at += STAGE;
    }
  }

  /** A catalogue in the memory of the core, instead of an earlier one. */
  #load(catalogue: CoreCatalogue): LoadedCatalogue {
    if (this.#loaded?.catalogue === catalogue) return this.#loaded;
    const { columns } = catalogue;
    const pointer = allocated(this.#exports.allocate(columns.length)) >>> 0;
    this.#memory.writeBytes(pointer, columns);
    try {
      check(this.#exports.catalogueCheck(pointer, columns.length));
    } catch (error) {
      this.#exports.release(pointer);
      throw error;
    }
    if (this.#loaded) this.#exports.release(this.#loaded.pointer);
    // Places in the header of `assembly/ridge/catalogue.ts`. They are read from the copy that is checked.
    const word = (place: number): number => this.#memory.word(pointer + 4 * place);
    this.#loaded = { catalogue, pointer, dimension: word(9), mostTerms: word(3), tableRows: word(5) + word(8) + 1 };
    return this.#loaded;
  }
}

const NO_POINTS = /* @__PURE__ */ new Float64Array(0);
const NO_CONTEXT = /* @__PURE__ */ new Uint8Array(0);
const NO_PICKS = /* @__PURE__ */ new Uint32Array(0);
const NO_FAMILIES: CoreFamilies = { of: /* @__PURE__ */ new Int32Array(0), room: /* @__PURE__ */ new Int32Array(0) };
