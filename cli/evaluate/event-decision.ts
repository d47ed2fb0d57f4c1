// A decision of a model's log in little memory. Candidates and features are made when they are read.

import type { Families, LoggedConversion } from "afterclick";
import type { Featurizer } from "../../src/publication/featurizer.ts";
import type { Catalogue } from "../../worker/domain/catalogue/catalogue.ts";
import { freeCandidates } from "../../worker/domain/decision/offer.ts";
import { isPinned } from "../../worker/domain/impression/impression.ts";
import type { ImpressionLine } from "../../worker/domain/log/log-line.ts";
import { type EventLine, LogMismatch } from "../log/event-line.ts";
import type { SourceDecision } from "./source.ts";

/** The candidates of a request, in one array for all decisions that have the same. */
interface Candidates {
  readonly actions: Catalogue["actions"];
  readonly ids: readonly string[];
  readonly places: ReadonlyMap<string, number>;
  readonly families?: Families;
}

/** A catalogue with the restrictions of a request, as JSON. */
interface Offered {
  readonly featurize: Featurizer;
  readonly catalogue: Catalogue;
  readonly asked: string;
}

/** Lists of candidates that are held at a time. */
const MOST_LISTS = 1000;
/** Texts that decisions may share. Others have their own. */
const MOST_SHARED = 100_000;

/** What decisions have in common, each once. */
export class SharedOffers {
  readonly #offered = new Map<string, Offered>();
  readonly #texts = new Map<string, string>();
  readonly #numbers = new Map<object, number>();
  readonly #candidates = new Map<Offered, Candidates>();

  offered(featurize: Featurizer, catalogue: Catalogue, asked: object): Offered {
    const text = JSON.stringify(asked);
    const key = `${this.#numberOf(featurize)} ${this.#numberOf(catalogue)} ${text}`;
    return shared(this.#offered, key, () => ({ featurize, catalogue, asked: text }));
  }

  text(text: string): string {
    return shared(this.#texts, text, () => text);
  }

  candidates(offered: Offered): Candidates {
    const known = this.#candidates.get(offered);
    if (known) return known;
    if (this.#candidates.size >= MOST_LISTS) this.#candidates.clear();
    const { catalogue, asked } = offered;
    const { candidates, bounds } = freeCandidates(catalogue, { exclude: [], limit: 1, ...JSON.parse(asked) });
    const ids = candidates.actions.map(({ id }) => id);
    const found = { actions: candidates.actions, ids, places: new Map(ids.map((id, i) => [id, i])), ...(bounds && { families: bounds }) };
    this.#candidates.set(offered, found);
    return found;
  }

  #numberOf(each: object): number {
    const number = this.#numbers.get(each) ?? this.#numbers.size;
    this.#numbers.set(each, number);
    return number;
  }
}

function shared<Value>(known: Map<string, Value>, key: string, make: () => Value): Value {
  const before = known.get(key);
  if (before !== undefined) return before;
  if (known.size >= MOST_SHARED) known.clear();
  const made = make();
  known.set(key, made);
  return made;
}

const NONE: readonly LoggedConversion[] = [];

/** A decision of a log. **Memory:** some 200 bytes, and those of its context unless another decision has the same. */
export class EventDecision implements SourceDecision {
  readonly shownAt: number;
  readonly count: number;
  readonly index: number;
  readonly probability: number;
  readonly kept: number;
  readonly id: string;
  readonly visitor?: string;
  readonly pinned?: true;
  conversions = NONE;
  /** Its list: the id of the first impression, and its place. */
  readonly list?: { readonly first: string; readonly place: number; readonly holdout: boolean; readonly random: boolean };
  readonly #shared: SharedOffers;
  readonly #offered: Offered;
  readonly #context: string;
  readonly #line: number | undefined;
  readonly #seq: number;

  constructor(
    line: ImpressionLine & EventLine,
    { shared, offered, list }: { shared: SharedOffers; offered: Offered; list: EventDecision["list"] },
  ) {
    this.#shared = shared;
    this.#offered = offered;
    this.#context = shared.text(JSON.stringify(line.context));
    [this.#line, this.#seq] = [line.line, line.seq];
    const { ids, places } = this.#candidates;
    this.shownAt = line.shownAt;
    this.count = ids.length;
    this.index = places.get(line.action) ?? -1;
    this.probability = line.decision?.probability ?? 0;
    this.id = ids[this.index] ?? line.action;
    if (line.hashes.length > 0) this.visitor = shared.text(line.hashes[0]);
    this.kept = 2 ** -(line.sampling ?? 0);
    if (isPinned(line)) this.pinned = true;
    else if (this.index < 0) throw new RangeError(`${line.action} is none of the ${ids.length} candidates of its catalogue`);
    this.list = list;
  }

  get #candidates(): Candidates {
    return this.#shared.candidates(this.#offered);
  }

  get ids(): readonly string[] {
    return this.#candidates.ids;
  }

  get families(): Families | undefined {
    return this.#candidates.families;
  }

  /** The index of an action. Undefined if it is no candidate. **Cost:** O(1). */
  indexOf(action: string): number | undefined {
    return this.#candidates.places.get(action);
  }

  get points() {
    try {
      return this.#offered.featurize.points(JSON.parse(this.#context) ?? undefined, this.#candidates.actions);
    } catch (error) {
      throw notRepeated(`${this.#line === undefined ? "" : `line ${this.#line}, `}event ${this.#seq}`, error as Error);
    }
  }
}

export function notRepeated(name: string, { message }: Error): LogMismatch {
  return new LogMismatch(`${name}: expected a decision that can be repeated, got another: ${message}`);
}
