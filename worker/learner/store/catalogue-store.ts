import { Catalogue, type CatalogueChange, changeBetween, changedBy, MOST_CHARACTERS, partsOf } from "../../domain/catalogue/catalogue.ts";
import type { Action } from "../../protocol/schema.ts";
import type { Database } from "./database.ts";

/** The catalogue of a model, and the marks of its changes. Every change needs a transaction of the database. */
export class CatalogueStore {
  readonly #database: Database;
  #newest?: Catalogue;

  constructor(database: Database) {
    this.#database = database;
    database.onDrop(() => {
      this.#newest = undefined;
    });
  }

  /** The newest catalogue. */
  get newest(): Catalogue {
    if (!this.#newest) {
      const rows = this.#database.query<{ content: string }>("SELECT content FROM actions ORDER BY place");
      const version = this.version();
      this.#newest = new Catalogue(
        rows.map(({ content }) => JSON.parse(content)),
        version,
      );
    }
    return this.#newest;
  }

  /** The catalogue at a row of the log. */
  actionsAt(seq: number): readonly Action[] {
    return actionsAfter(
      this.#database.query<{ content: string }>("SELECT content FROM marks WHERE type = 'actions' AND seq <= ? ORDER BY seq", seq),
    );
  }

  /** Version of the catalogue, or of the one that a version of the model has; 0 before the first change. */
  version(until?: number): number {
    if (this.#newest && this.#newest.version <= (until ?? Number.POSITIVE_INFINITY)) return this.#newest.version;
    const newest = "SELECT seq FROM marks WHERE type = 'actions' AND (?1 IS NULL OR seq <= ?1) ORDER BY seq DESC LIMIT 1";
    return this.#database.query<{ seq: number }>(newest, until ?? null)[0]?.seq ?? 0;
  }

  /** Replaces the catalogue. Only rows of actions that changed are written. */
  replace(actions: readonly Action[]): void {
    const change = changeBetween(this.newest.actions, actions);
    const seqs = partsOf(change).map((part) => this.#database.mark("actions", part));
    this.#database.query("DELETE FROM actions WHERE place >= ?", actions.length);
    // All before the first insertion, because actions may have exchanged their places.
    for (const [place] of change.changed) this.#database.query("DELETE FROM actions WHERE place = ?", place);
    for (const [place, action] of change.changed) {
      this.#database.query("INSERT INTO actions VALUES (?, ?, ?)", place, action.id, JSON.stringify(action));
    }
    this.#newest = new Catalogue(actions, seqs.at(-1));
  }

  /** The changes of the catalogue after a version, in their order; null if they are not known, or have more characters. */
  changes(after: number, most: number): CatalogueChange[] | null {
    const query = "SELECT content FROM marks WHERE type = 'actions' AND seq";
    const [base] = this.#database.query<{ content: string }>(`${query} = ?`, after);
    // The mark of a forgotten version may be gone, or hold a part of a later one.
    if (!base || (JSON.parse(base.content) as CatalogueChange).more) return null;
    const sizes = "SELECT total(length(content)) AS characters FROM marks WHERE type = 'actions' AND seq > ?";
    if (this.#database.query<{ characters: number }>(sizes, after)[0].characters > most) return null;
    return this.#database.query<{ content: string }>(`${query} > ? ORDER BY seq`, after).map(({ content }) => JSON.parse(content));
  }

  /** One mark each for the changes before a row, which have the catalogue of that time. @param changes the marks that are forgotten. */
  renew(changes: readonly { readonly seq: number; readonly content: string }[]): void {
    for (const [part, { seq }] of zippedAtEnd(wholeIn(actionsAfter(changes), changes.length), changes)) {
      this.#database.query("INSERT INTO marks VALUES (?, ?, ?)", seq, "actions", JSON.stringify(part));
    }
  }
}

/** The catalogue after all its changes. */
function actionsAfter(changes: readonly { readonly content: string }[]): readonly Action[] {
  return changes.reduce((actions: readonly Action[], { content }) => changedBy(actions, JSON.parse(content)), []);
}

/** A catalogue in at most so many parts. There were as many marks, and no more rows have numbers for it. */
function wholeIn(actions: readonly Action[], most: number): CatalogueChange[] {
  const whole = changeBetween([], actions);
  for (let characters = MOST_CHARACTERS; ; characters *= 2) {
    const parts = partsOf(whole, characters);
    if (parts.length <= Math.max(most, 1)) return parts;
  }
}

/** Pairs of entries, counted from the end of the second list. */
function zippedAtEnd<A, B>(parts: readonly A[], all: readonly B[]): [A, B][] {
  const start = all.length - parts.length;
  return start < 0 ? [] : parts.map((part, i) => [part, all[start + i]]);
}
