// Finds the lists that a change of impressions changes, and counts them by assignment.

import type { Delays } from "../../../domain/conversion/reward.ts";
import { UNASSIGNED } from "../../../domain/figures/holdout-share.ts";
import { shownAtOf } from "../../../domain/ids/uuid.ts";
import type { Block } from "../../../domain/impression/block.ts";
import type { ImpressionRow, StoredImpression } from "../../../domain/impression/impression.ts";
import type { Windows } from "../../../domain/model/goals.ts";
import type { Database } from "../database.ts";
import type { BlockStore } from "../impressions/block-store.ts";
import type { ArmStore, ListKey, ListState } from "./arm-store.ts";
import type { HoldoutStore } from "./holdout-store.ts";

/** The part of an impression that counts. */
export type CountedRow = Pick<StoredImpression, "id" | "arm" | "version" | "decision" | "seq">;

/** Impressions of a list that were assigned by one share. */
interface ListPart extends ListKey {
  readonly list: string;
  readonly ids: string[];
}

/** The part of an impression of a block that counts. Not for an erased one. `seq`: the number of the first. */
export function countedRow(block: Block, seq: number, i: number) {
  return { ...block.common(i), id: block.id(i), decision: block.decision(i), seq: seq + i };
}

/** The list of these impressions, by their stored outcomes. Null for none. */
function listState(database: Pick<Database, "query">, ids: readonly string[]): ListState | null {
  if (ids.length === 0) return null;
  const came = new Map<string, number>();
  const query = "SELECT delays FROM outcomes WHERE delays IS NOT NULL AND id IN (SELECT value FROM json_each(?))";
  for (const { delays } of database.query<{ delays: string }>(query, JSON.stringify(ids))) {
    for (const goal of Object.keys(JSON.parse(delays))) came.set(goal, (came.get(goal) ?? 0) + 1);
  }
  return { size: ids.length, came };
}

/** Id under which a decision's impressions share their keys: that of the list's first. */
export const listOf = ({ id, decision }: Pick<ImpressionRow, "id" | "decision">): string => decision?.first ?? id;

/** Finds out which lists a change of impressions changes, and counts it. Every change needs a transaction of the database. */
export class ListCounts {
  readonly #database: Pick<Database, "query">;
  readonly #blocks: BlockStore;
  readonly #arms: ArmStore;
  readonly #holdouts: HoldoutStore;

  constructor(database: Pick<Database, "query">, blocks: BlockStore, arms: ArmStore, holdouts: HoldoutStore) {
    this.#database = database;
    this.#blocks = blocks;
    this.#arms = arms;
    this.#holdouts = holdouts;
  }

  /** Counts the lists of new live impressions. */
  show(rows: readonly CountedRow[], windows: Windows, wereDeferred: boolean): void {
    const changes = this.#partsOf(rows).map((part) => {
      // The impressions of a list come together, unless they were deferred.
      const isWhole = part.share === UNASSIGNED || (!wereDeferred && part.ids.includes(part.list));
      const known = isWhole ? [] : this.#liveMembers(part).filter((id) => !part.ids.includes(id));
      const before = this.#stateOf(known);
      return { ...part, before, after: { size: known.length + part.ids.length, came: before?.came ?? new Map() } };
    });
    this.#arms.change(changes, windows);
  }

  /** Counts whole lists that are live and not counted, with what they have reached. */
  recount(rows: readonly CountedRow[], windows: Windows): void {
    const changes = this.#partsOf(rows).map((part) => ({ ...part, before: null, after: this.#stateOf(part.ids) }));
    this.#arms.change(changes, windows);
  }

  /** Counts that an impression has reached other goals than before. */
  reach(impression: CountedRow, { before, after }: Record<"before" | "after", Delays | null>, windows: Windows): void {
    const [was, is] = [before, after].map((delays) => Object.keys(delays ?? {}));
    if (was.length === is.length && was.every((goal) => is.includes(goal))) return;
    const [part] = this.#partsOf([impression]);
    if (part.share === UNASSIGNED) return;
    const others = this.#stateOf(this.#liveMembers(part).filter((id) => id !== impression.id));
    const withOwn = (goals: readonly string[]): ListState => {
      const came = new Map(others?.came);
      for (const goal of goals) came.set(goal, (came.get(goal) ?? 0) + 1);
      return { size: (others?.size ?? 0) + 1, came };
    };
    this.#arms.change([{ ...part, before: withOwn(was), after: withOwn(is) }], windows);
  }

  /** Counts that live impressions are live no more. Their outcomes must still be stored. */
  takeAway(gone: readonly CountedRow[], windows: Windows): void {
    const changes = this.#partsOf(gone).map((part) => {
      const left = this.#liveMembers(part).filter((id) => !part.ids.includes(id));
      return { ...part, before: this.#stateOf([...left, ...part.ids]), after: this.#stateOf(left) };
    });
    this.#arms.change(changes, windows);
  }

  /** Impressions by list and share. */
  #partsOf(rows: readonly CountedRow[]): ListPart[] {
    const parts = new Map<string, ListPart>();
    for (const row of rows) {
      const share = this.#holdouts.nameOf(row);
      const list = listOf(row);
      const key = share === UNASSIGNED ? row.id : `${list} ${share}`;
      const part = parts.get(key) ?? { list, share, arm: row.arm, shownAt: shownAtOf(row.id), ids: [] };
      part.ids.push(row.id);
      parts.set(key, part);
    }
    return Array.from(parts.values());
  }

  /** Ids of the live impressions of a list with one share. */
  #liveMembers({ list, share, shownAt }: ListPart): string[] {
    return this.#blocks.around(shownAt, shownAt).flatMap(({ state, block, seq }) => {
      if (state !== "live" || !block.mayHave(shownAt)) return [];
      return block
        .map((i) => i)
        .filter((i) => block.shownAt(i) === shownAt && !block.isErased(i))
        .map((i) => countedRow(block, seq, i))
        .filter((row) => listOf(row) === list && this.#holdouts.nameOf(row) === share)
        .map(({ id }) => id);
    });
  }

  #stateOf(ids: readonly string[]): ListState | null {
    return listState(this.#database, ids);
  }
}
