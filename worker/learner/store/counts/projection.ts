// What changes about an impression, and what follows such changes.

import type { StoredImpression } from "../../../domain/impression/impression.ts";
import type { Outcome } from "../../../domain/impression/outcome.ts";
import type { Windows } from "../../../domain/model/goals.ts";

/** The part of an impression that is counted. */
export type CountedImpression = Pick<StoredImpression, "id" | "action" | "arm" | "version" | "decision" | "seq" | "byPage">;

/** A change of an impression. */
export interface Change {
  readonly impression: CountedImpression;
  /** Null: it was not live. */
  readonly before: Outcome | null;
  /** Null: it is live no more. */
  readonly after: Outcome | null;
  /** Set if the impression was deferred: others of its list may be live already. */
  readonly wasDeferred?: true;
}

/** Something that follows the changes of impressions, so that nobody has to read all of them. Every change needs a transaction. */
export interface Projection {
  apply(changes: readonly Change[], windows: Windows): void;
  /** Takes back what a rollback or an erasure undoes. Default: as `apply`. */
  undo?(changes: readonly Change[], windows: Windows): void;
  /** Forgets impressions that the log forgets. Default: sums outlive them. @param changes those of impressions with an outcome. */
  forget?(changes: readonly Change[], windows: Windows): void;
  /**
   * Begins to count anew under other windows. Default: windows do not matter.
   * @param before the windows so far. @returns what counts the live impressions of the log, as changes from nothing. Undefined if it needs
   * none of them.
   */
  rebuild?(windows: Windows, before: Windows): ((changes: readonly Change[]) => void) | undefined;
}

/** All projections of a model, in the order in which they follow a change. */
export class Projections {
  readonly #all: readonly Projection[];

  constructor(all: readonly Projection[]) {
    this.#all = all;
  }

  apply(changes: readonly Change[], windows: Windows): void {
    for (const each of this.#all) each.apply(changes, windows);
  }

  undo(changes: readonly Change[], windows: Windows): void {
    for (const each of this.#all) (each.undo ?? each.apply).call(each, changes, windows);
  }

  forget(changes: readonly Change[], windows: Windows): void {
    for (const each of this.#all) each.forget?.(changes, windows);
  }

  /** @param live the live impressions of the log, as changes from nothing. @param before the windows so far. */
  rebuild(live: Iterable<readonly Change[]>, windows: Windows, before: Windows): void {
    const counting = this.#all.flatMap((each) => each.rebuild?.(windows, before) ?? []);
    if (counting.length === 0) return;
    for (const changes of live) for (const count of counting) count(changes);
  }
}
