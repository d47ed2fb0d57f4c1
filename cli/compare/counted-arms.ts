// Counts the impressions and lists of a log by arm, with a few bytes per list.

import { gridOf } from "../../worker/domain/figures/delay-grid.ts";
import { UNASSIGNED } from "../../worker/domain/figures/holdout-share.ts";
import type { ArmCounts, LiftCounts, ReachedCounts } from "../../worker/domain/figures/lift.ts";
import { countAction } from "../../worker/domain/figures/product-group.ts";
import { listOf } from "../../worker/domain/impression/impression.ts";
import { comparedSteps } from "../../worker/domain/impression/shown-step.ts";
import type { ImpressionLine } from "../../worker/domain/log/log-line.ts";
import type { ModelConfig } from "../../worker/domain/model/model.ts";
import { Column } from "../log/column.ts";
import type { IdTable } from "../log/id-table.ts";

type Reached = { -readonly [Name in keyof ReachedCounts]: ReachedCounts[Name] };
type Groups = { groups: Record<string, number> };
type Counted = { -readonly [Name in keyof ArmCounts]: ArmCounts[Name] } & Groups;
type Cell = Pick<ShownImpression, "arm"> & { cohort: number; length: number; bin: number; count: number; delay: number } & Groups;

/** An impression that was counted. */
export interface ShownImpression extends Pick<ImpressionLine, "action"> {
  /** Empty: it was not assigned. */
  readonly arm: ImpressionLine["arm"] | typeof UNASSIGNED;
  readonly shownAt: number;
  /** Number of its list. */
  readonly list: number;
}

/** Counts the impressions of a log, in the steps of a comparison at its end. */
export class CountedArms {
  readonly #stepOf: (shownAt: number) => number;
  readonly #grids: ReadonlyMap<string, ReturnType<typeof gridOf>>;
  readonly #cells: ReadonlyMap<string, Map<string, Cell>>;
  readonly #arms: Counted[] = [];
  /** Places in `#arms`, by step, assignment and share. */
  readonly #places = new Map<string, number>();
  readonly #lists: Lists;

  /** @param ids numbers of impressions. */
  constructor(windows: ModelConfig, goals: readonly string[], { now, ids }: { readonly now: number; readonly ids: IdTable }) {
    this.#stepOf = comparedSteps(windows, now);
    this.#grids = new Map(goals.map((goal) => [goal, gridOf(windows, goal)]));
    this.#cells = new Map(goals.map((goal) => [goal, new Map()]));
    this.#lists = new Lists(ids, goals);
  }

  show(impression: ImpressionLine, share: string): ShownImpression {
    const { action, arm, shownAt } = impression;
    const step = this.#stepOf(shownAt);
    const key = `${step} ${arm} ${share}`;
    const none = { impressions: 0, elapsed: 0, lists: 0, squares: 0, groups: {} };
    const place = this.#places.get(key) ?? this.#arms.push({ arm, share, step, ...none }) - 1;
    this.#places.set(key, place);
    const counted = this.#arms[place];
    counted.impressions++;
    countAction(counted.groups, action, 1);
    if (step > 0) counted.elapsed += shownAt - step;
    if (share === UNASSIGNED) return { action, arm: UNASSIGNED, shownAt, list: NO_LIST };
    const list = this.#lists.at(listOf(impression), place, (other) => this.#arms[other].share === share);
    const size = this.#lists.size.get(list);
    if (size === 0) counted.lists++;
    counted.squares += 2 * size + 1;
    this.#lists.size.set(list, size + 1);
    return { action, arm, shownAt, list };
  }

  reach({ action, arm, shownAt, list }: ShownImpression, goal: string, delay: number): void {
    if (list !== NO_LIST) this.#lists.reach(list, goal);
    const [grid, cells] = [this.#grids.get(goal), this.#cells.get(goal)];
    if (!grid || !cells) return;
    const [cohort, bin] = [Math.floor(shownAt / grid.cohort), grid.bin(delay)];
    const cell = cells.get(`${cohort} ${bin} ${arm}`) ?? { cohort, length: 1, bin, arm, count: 0, delay: 0, groups: {} };
    cells.set(`${cohort} ${bin} ${arm}`, cell);
    cell.count++;
    cell.delay += delay;
    countAction(cell.groups, action, 1);
  }

  counts(): LiftCounts {
    const reached = new Map<string, Reached>();
    for (const { place, size, goal, count } of this.#lists.reached()) {
      const { arm, share, step } = this.#arms[place];
      const key = `${place} ${goal}`;
      const sums = reached.get(key) ?? { arm, share, step, goal, conversions: 0, converted: 0, conversionSquares: 0, products: 0 };
      reached.set(key, sums);
      sums.conversions += count;
      sums.converted++;
      sums.conversionSquares += count ** 2;
      sums.products += count * size;
    }
    // Impressions come when their last conversion has come, which does not matter to the counts.
    const ordered = (cells: ReadonlyMap<string, Cell>): Cell[] =>
      Array.from(cells.values()).sort((a, b) => a.cohort - b.cohort || a.bin - b.bin || (a.arm < b.arm ? -1 : 1));
    const delays = new Map(Array.from(this.#cells, ([goal, cells]) => [goal, ordered(cells)]));
    return { arms: this.#arms, reached: Array.from(reached.values()), delays };
  }
}

const NO_LIST = -1;

/** The lists of a log, or the parts of them with one share. 12 bytes each, and 4 for each goal. */
class Lists {
  readonly #ids: IdTable;
  readonly #goals: readonly string[];
  /** Numbers of lists from 1, by the number of their first impression. */
  readonly #numbers = new Column(Uint32Array);
  /** Numbers of parts with another share than the list's first one. */
  readonly #others = new Map<string, number>();
  /** Place of the arm in which the list was counted, and impressions. */
  readonly #places = new Column(Uint32Array);
  readonly size = new Column(Uint32Array);
  /** Impressions that have reached each goal. */
  readonly #came: readonly Column[];
  #count = 0;

  constructor(ids: IdTable, goals: readonly string[]) {
    this.#ids = ids;
    this.#goals = goals;
    this.#came = goals.map(() => new Column(Uint32Array));
  }

  /** The number of the list with this first impression. @param isOwn whether an arm has the same share as its impression. */
  at(first: string, place: number, isOwn: (place: number) => boolean): number {
    const id = this.#ids.add(first);
    const known = this.#numbers.get(id) - 1;
    if (known < 0) {
      this.#numbers.set(id, this.#count + 1);
      return this.#added(place);
    }
    if (isOwn(this.#places.get(known))) return known;
    for (let part = 0; ; part++) {
      const key = `${id} ${part}`;
      const other = this.#others.get(key);
      if (other === undefined) {
        this.#others.set(key, this.#count);
        return this.#added(place);
      }
      if (isOwn(this.#places.get(other))) return other;
    }
  }

  #added(place: number): number {
    this.#places.set(this.#count, place);
    return this.#count++;
  }

  reach(list: number, goal: string): void {
    const came = this.#came[this.#goals.indexOf(goal)];
    came.set(list, came.get(list) + 1);
  }

  /** The lists that have reached a goal, and the number of their impressions that have. */
  *reached(): Generator<{ readonly place: number; readonly size: number; readonly goal: string; readonly count: number }> {
    for (let list = 0; list < this.#count; list++) {
      for (const [i, goal] of this.#goals.entries()) {
        const count = this.#came[i].get(list);
        if (count > 0) yield { place: this.#places.get(list), size: this.size.get(list), goal, count };
      }
    }
  }
}
