import { Problem } from "./problem.ts";
import type { Action } from "./schema.ts";

/** The actions of a model, so that a request may name ids only. */
export class Catalogue {
  readonly #actions: ReadonlyMap<string, Action>;

  /** @throws {Problem} 422 if an id is there twice. */
  constructor(actions: readonly Action[]) {
    this.#actions = byId(actions);
  }

  get size(): number {
    return this.#actions.size;
  }

  values(): Action[] {
    return Array.from(this.#actions.values());
  }

  /**
   * An action with its features: its own, or those it has here.
   * @throws {Problem} 422 if it has none of its own and there is a catalogue without it, as a misspelt id.
   */
  find(action: Action): Action {
    if (action.features !== undefined || this.size === 0) return action;
    const known = this.#actions.get(action.id);
    if (!known) throw new Problem(422, `action ${action.id}: has no features and is not in the catalogue`);
    return known;
  }

  /**
   * What there is to choose among: the given actions, or all of the catalogue, without the excluded ones.
   * @throws {Problem} 422 if that is nothing.
   */
  candidates(given: readonly Action[] | undefined, exclude: readonly string[]): Action[] {
    const excluded = new Set(exclude);
    const actions = given === undefined ? this.values() : Array.from(byId(given).values(), (action) => this.find(action));
    const candidates = actions.filter(({ id }) => !excluded.has(id));
    if (candidates.length === 0) throw new Problem(422, "actions: none to choose among; name some, or put a catalogue");
    return candidates;
  }
}

function byId(actions: readonly Action[]): ReadonlyMap<string, Action> {
  const map = new Map(actions.map((action) => [action.id, action]));
  if (map.size < actions.length) throw new Problem(422, "actions: expected each id once");
  return map;
}
