import { type HoldoutShare, shareName } from "../../../domain/figures/holdout-share.ts";
import type { StoredImpression } from "../../../domain/impression/impression.ts";
import type { Database } from "../database.ts";
import type { ModelStore } from "../model-store.ts";

type Row = { readonly seq: number; readonly since: number; readonly holdout: number };

/** The shares that the holdout has had: from which row of the learner's log, and from which version of the model. */
export class HoldoutStore {
  readonly #database: Pick<Database, "query">;
  readonly #model: ModelStore;
  #rows?: readonly Row[];

  constructor(database: Pick<Database, "query" | "onDrop">, model: ModelStore) {
    this.#database = database;
    this.#model = model;
    database.onDrop(() => {
      this.#rows = undefined;
    });
  }

  /** Notes a share, if it is another than before. @param since the version of the model, whose coordinator has numbers of its own. */
  note(holdout: number, seq: number, since: number): void {
    if (this.#all().at(-1)?.holdout === holdout) return;
    this.#database.query("INSERT INTO holdouts VALUES (?, ?, ?)", seq, since, holdout);
    this.#rows = undefined;
  }

  /**
   * The name of the shares by which an impression was assigned. It never changes: a learner that hears late of a share counts what it has
   * stored until then by the earlier one.
   */
  nameOf(impression: Pick<StoredImpression, "action" | "version" | "decision" | "seq">): string {
    const known = this.#all().filter(({ seq }, i) => i === 0 || seq <= impression.seq);
    // A coordinator numbers the versions of a shard.
    const stored = this.#model.state.shard > 0 ? null : known.map(({ seq, holdout }): HoldoutShare => ({ since: seq, holdout }));
    return shareName(impression, known, stored);
  }

  #all(): readonly Row[] {
    this.#rows ??= this.#database.query<Row>("SELECT seq, since, holdout FROM holdouts ORDER BY seq");
    return this.#rows;
  }
}
