// Groups the decisions of a log by the list that they were shown in.

import type { LoggedItem, LoggedList } from "afterclick/research";
import { Column } from "../log/column.ts";
import type { EventDecisions } from "./event-decisions.ts";
import type { SourceDecision, SourceLists } from "./source.ts";

/** The place of a decision in its list. */
export interface Placed {
  /** Number of the list's first impression. */
  readonly first: number;
  readonly place: number;
  readonly holdout: boolean;
  readonly random: boolean;
}

/** Marks of a list. */
const [HOLDOUT, RANDOM] = [1, 2];

/** Groups decisions by list. **Memory:** 14 bytes per decision, and 13 per list. */
export class PlacedDecisions {
  readonly #decisions: EventDecisions;
  /** By the number of a first impression: that of its list, from 1. */
  readonly #numbers = new Column(Uint32Array);
  #size = 0;
  /** By list: the number of its decisions, and its marks. */
  readonly #lengths = new Column(Uint32Array);
  readonly #marks = new Column(Uint8Array);
  /** By decision: its list, and its place there. */
  readonly #lists = new Column(Uint32Array);
  readonly #places = new Column(Uint16Array);

  constructor(decisions: EventDecisions) {
    this.#decisions = decisions;
  }

  /** Places a decision. The first one of a list says whether the list is random. */
  add(decision: number, { first, place, holdout, random }: Placed): void {
    const list = (this.#numbers.get(first) || ++this.#size) - 1;
    this.#numbers.set(first, list + 1);
    const length = this.#lengths.get(list);
    this.#lengths.set(list, length + 1);
    if (length === 0) this.#marks.set(list, (holdout ? HOLDOUT : 0) | (random ? RANDOM : 0));
    this.#lists.set(decision, list);
    this.#places.set(decision, place);
  }

  /** The lists without a missing item, in the order of their first lines. */
  lists(): SourceLists {
    const starts = new Uint32Array(this.#size + 1);
    for (let list = 0; list < this.#size; list++) starts[list + 1] = starts[list] + this.#lengths.get(list);
    /** From 1. 0 where an item is missing. */
    const members = new Uint32Array(starts[this.#size]);
    for (let decision = 0; decision < members.length; decision++) {
      const [list, place] = [this.#lists.get(decision), this.#places.get(decision)];
      if (place < this.#lengths.get(list)) members[starts[list] + place] = decision + 1;
    }
    const whole: number[] = [];
    for (let list = 0; list < this.#size; list++) if (!members.subarray(starts[list], starts[list + 1]).includes(0)) whole.push(list);
    const has = (list: number, mark: number): boolean => (this.#marks.get(list) & mark) > 0;
    const random = whole.filter((list) => has(list, RANDOM));
    const decisionsOf = (list: number): SourceDecision[] =>
      Array.from(members.subarray(starts[list], starts[list + 1]), (each) => this.#decisions.at(each - 1));
    return {
      lists: { length: whole.length, at: (number) => listOf(decisionsOf(whole[number]), has(whole[number], HOLDOUT)) },
      random: { length: random.length, at: (number) => shuffledList(decisionsOf(random[number])) },
      incomplete: this.#size - whole.length,
    };
  }
}

function listOf(decisions: readonly SourceDecision[], random: boolean): LoggedList {
  const [decision] = decisions;
  const { shownAt, count, families, boosts, kept, visitor } = decision;
  return {
    ...{ shownAt, count, families, boosts, kept, visitor, random },
    items: decisions.map(itemOf),
    // Computed on access, as those of decisions.
    get points() {
      return decision.points;
    },
    get ids() {
      return decision.ids;
    },
  };
}

/** A list by the probabilities of its random order. The features of its candidates are not needed. */
function shuffledList(decisions: readonly SourceDecision[]): LoggedList {
  const [{ shownAt, count, kept, visitor }] = decisions;
  return {
    ...{ shownAt, count, kept, visitor, random: true },
    items: decisions.map((each) => ({ ...itemOf(each), probability: 1 / count })),
  };
}

function itemOf({ index, id, probability, pinned, conversions }: SourceDecision): LoggedItem {
  return { index, id, probability, pinned, conversions };
}
