// The decisions of a model's log in little memory. A decision, its candidates and its features are made when they are read.

import type { LoggedConversion } from "afterclick";
import { uuidOf } from "../../worker/domain/ids/uuid.ts";
import { isPinned } from "../../worker/domain/impression/impression.ts";
import type { ImpressionLine } from "../../worker/domain/log/log-line.ts";
import { Column } from "../log/column.ts";
import { type EventLine, LogMismatch } from "../log/event-line.ts";
import { IdTable } from "../log/id-table.ts";
import { Offers } from "./offers.ts";
import type { SourceDecision } from "./source.ts";

/** A line as a decision: the number of its offer, and the place of its action among the candidates. -1 if the request gave it its place. */
export interface Decided {
  readonly line: ImpressionLine & EventLine;
  readonly offer: number;
  readonly index: number;
}

/** Texts that decisions may share. Others have their own. */
const MOST_SHARED = 100_000;
const NONE: readonly LoggedConversion[] = [];

/**
 * The decisions of a log by their number, from 0.
 *
 * **Memory:** 45 bytes per decision, those of its context unless another decision has the same, 25 per visitor, and 400 per converted decision.
 */
export class EventDecisions {
  readonly offers = new Offers();
  length = 0;
  readonly #shownAt = new Column(Float64Array);
  readonly #probability = new Column(Float64Array);
  readonly #sampling = new Column(Uint8Array);
  readonly #offer = new Column(Uint32Array);
  /** From 1. 0 for a pinned action, which is one of the texts. */
  readonly #index = new Column(Uint32Array);
  readonly #pinned = new Column(Uint32Array);
  readonly #context = new Column(Uint32Array);
  /** From 1. 0 without a key of the visitor. */
  readonly #visitor = new Column(Uint32Array);
  readonly #line = new Column(Uint32Array);
  readonly #seq = new Column(Float64Array);
  readonly #texts: string[] = [];
  readonly #shared = new Map<string, number>();
  readonly #visitors = new IdTable();
  readonly #conversions = new Map<number, readonly LoggedConversion[]>();

  /** @throws {RangeError} if the action is none of the candidates. */
  decided(line: ImpressionLine & EventLine, offer: number): Decided {
    const { ids, places } = this.offers.candidates(offer);
    const index = places.get(line.action) ?? -1;
    if (index < 0 && !isPinned(line)) throw new RangeError(`${line.action} is none of the ${ids.length} candidates of its catalogue`);
    return { line, offer, index: isPinned(line) ? -1 : index };
  }

  /** Adds a decision, and returns its number. */
  add({ line, offer, index }: Decided): number {
    const number = this.length++;
    this.#shownAt.set(number, line.shownAt);
    this.#probability.set(number, line.decision?.probability ?? 0);
    if (line.sampling) this.#sampling.set(number, line.sampling);
    this.#offer.set(number, offer);
    this.#index.set(number, index + 1);
    if (index < 0) this.#pinned.set(number, this.#textOf(line.action));
    this.#context.set(number, this.#textOf(JSON.stringify(line.context)));
    if (line.hashes.length > 0) this.#visitor.set(number, this.#visitors.add(idOf(line.hashes[0])) + 1);
    this.#line.set(number, line.line ?? 0);
    this.#seq.set(number, line.seq);
    return number;
  }

  convert(number: number, conversions: readonly LoggedConversion[]): void {
    if (conversions.length > 0) this.#conversions.set(number, conversions);
  }

  at(number: number): SourceDecision {
    const offer = this.#offer.get(number);
    const { ids, places, families, boosts } = this.offers.candidates(offer);
    const index = this.#index.get(number) - 1;
    const visitor = this.#visitor.get(number);
    const pointsOf = () => this.#pointsOf(number);
    return {
      shownAt: this.#shownAt.get(number),
      count: ids.length,
      ids,
      families,
      boosts,
      index,
      id: index < 0 ? this.#texts[this.#pinned.get(number)] : ids[index],
      pinned: index < 0 || undefined,
      visitor: visitor > 0 ? `${visitor}` : undefined,
      probability: this.#probability.get(number),
      kept: 2 ** -this.#sampling.get(number),
      conversions: this.#conversions.get(number) ?? NONE,
      indexOf: (action) => places.get(action),
      get points() {
        return pointsOf();
      },
    };
  }

  #pointsOf(number: number) {
    try {
      return this.offers.points(this.#offer.get(number), this.#texts[this.#context.get(number)]);
    } catch (error) {
      const line = this.#line.get(number);
      throw notRepeated(`${line === 0 ? "" : `line ${line}, `}event ${this.#seq.get(number)}`, error as Error);
    }
  }

  /** The number of a text. */
  #textOf(text: string): number {
    const known = this.#shared.get(text);
    if (known !== undefined) return known;
    if (this.#shared.size >= MOST_SHARED) this.#shared.clear();
    this.#shared.set(text, this.#texts.length);
    return this.#texts.push(text) - 1;
  }
}

/** A hash as a UUID, which a table of ids keeps in its 16 bytes. One with more than 16 bytes stays as it is. */
const idOf = (hash: string): string => (/[AQgw]$/.test(hash) ? uuidOf(Buffer.from(hash, "base64url")) : hash);

export function notRepeated(name: string, { message }: Error): LogMismatch {
  return new LogMismatch(`${name}: expected a decision that can be repeated, got another: ${message}`);
}
