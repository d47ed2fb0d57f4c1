// Finds the lists that changes of impressions change, and counts them by assignment.

import { UNASSIGNED } from "../../../domain/figures/holdout-share.ts";
import { shownAtOf } from "../../../domain/ids/uuid.ts";
import { listOf } from "../../../domain/impression/impression.ts";
import { NOTHING, type Outcome } from "../../../domain/impression/outcome.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import type { BlockStore } from "../impressions/block-store.ts";
import type { OutcomeStore } from "../impressions/outcome-store.ts";
import type { ArmStore, ListKey, ListState } from "./arm-store.ts";
import type { HoldoutStore } from "./holdout-store.ts";
import type { Change, CountedImpression, Projection } from "./projection.ts";

/** Changes of the impressions of a list that were assigned by one share. */
interface ListPart extends ListKey {
  readonly list: string;
  readonly changes: Change[];
}

/** Tables that are read to count lists. */
interface Read {
  readonly blocks: BlockStore;
  readonly outcomes: OutcomeStore;
  readonly holdouts: HoldoutStore;
}

/** Counts the lists that changes of impressions change. */
export class ListCounts implements Projection {
  readonly #arms: ArmStore;
  readonly #read: Read;

  constructor(arms: ArmStore, read: Read) {
    this.#arms = arms;
    this.#read = read;
  }

  apply(changes: readonly Change[], windows: Windows): void {
    const parts = this.#partsOf(changes.filter(changesList));
    const others = this.#othersOf(Array.from(parts).filter(([, part]) => !isWhole(part)));
    const lists = Array.from(parts, ([key, { changes, ...list }]) => {
      const [was, is] = [changes.map(({ before }) => before), changes.map(({ after }) => after)];
      const left = others.get(key) ?? [];
      return { ...list, before: stateOf([...left, ...was]), after: stateOf([...left, ...is]), changes };
    });
    this.#arms.change(lists, windows);
  }

  rebuild(windows: Windows, before: Windows): ((changes: readonly Change[]) => void) | undefined {
    if (windows.window.ms === before.window.ms) return undefined;
    this.#arms.clear();
    return (changes) => this.apply(changes, windows);
  }

  /** The changes by list and share. */
  #partsOf(changes: readonly Change[]): Map<string, ListPart> {
    const parts = new Map<string, ListPart>();
    for (const change of changes) {
      const { id, arm } = change.impression;
      const { key, share } = this.#partOf(change.impression);
      const part = parts.get(key) ?? { list: listOf(change.impression), share, arm, shownAt: shownAtOf(id), changes: [] };
      part.changes.push(change);
      parts.set(key, part);
    }
    return parts;
  }

  /** The share by which an impression was assigned, and the key of its list there. Without a share, no list is counted. */
  #partOf(impression: CountedImpression): { readonly share: string; readonly key: string } {
    const share = this.#read.holdouts.nameOf(impression);
    return { share, key: share === UNASSIGNED ? impression.id : `${listOf(impression)} ${share}` };
  }

  /** The outcomes of the other live impressions of some lists, by the keys of these. */
  #othersOf(parts: readonly (readonly [string, ListPart])[]): Map<string, Outcome[]> {
    const times = new Set(parts.map(([, { shownAt }]) => shownAt));
    const changed = new Map(parts.map(([key, { changes }]) => [key, new Set(changes.map(({ impression }) => impression.id))]));
    const found: { readonly id: string; readonly key: string }[] = [];
    // A rollback has more times than a call takes arguments.
    let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const time of times) [first, last] = [Math.min(first, time), Math.max(last, time)];
    for (const { state, block, seq } of times.size > 0 ? this.#read.blocks.around(first, last) : []) {
      const near = state === "live" ? block.held().filter((i) => times.has(block.shownAt(i))) : [];
      for (const impression of near.map((i) => ({ ...block.counted(i), seq: seq + i }))) {
        const { key } = this.#partOf(impression);
        if (changed.get(key)?.has(impression.id) === false) found.push({ id: impression.id, key });
      }
    }
    if (found.length === 0) return new Map();
    const outcomes = this.#read.outcomes.ofAll(found.map(({ id }) => id));
    const groups = Map.groupBy(found, ({ key }) => key);
    return new Map(Array.from(groups, ([key, own]) => [key, own.map(({ id }) => outcomes.get(id) ?? NOTHING)]));
  }
}

/** Whether a change matters to its list: an impression comes, goes, or has reached other goals than before. */
function changesList({ before, after }: Change): boolean {
  if (!before || !after) return true;
  const [was, is] = [before, after].map(({ delays }) => Object.keys(delays ?? {}));
  return was.length !== is.length || was.some((goal) => !is.includes(goal));
}

/** Whether a list has no other live impression. Those of a list come together, unless they were deferred. */
function isWhole({ share, list, changes }: ListPart): boolean {
  if (share === UNASSIGNED) return true;
  return changes.every(({ before, wasDeferred }) => !before && !wasDeferred) && changes.some(({ impression }) => impression.id === list);
}

/** The list of live impressions with these outcomes. Null for none. */
function stateOf(outcomes: readonly (Outcome | null)[]): ListState | null {
  const live = outcomes.filter((outcome) => outcome !== null);
  if (live.length === 0) return null;
  const came = new Map<string, number>();
  for (const goal of live.flatMap(({ delays }) => Object.keys(delays ?? {}))) came.set(goal, (came.get(goal) ?? 0) + 1);
  return { size: live.length, came };
}
