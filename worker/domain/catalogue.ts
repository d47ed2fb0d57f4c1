import { didYouMean } from "../protocol/nearest.ts";
import { Problem } from "../protocol/problem.ts";
import { type Action, MOST_ACTIONS } from "../protocol/schema.ts";

/** The candidates of a request. */
export interface Candidates {
  readonly actions: readonly Action[];
  /** Places of the actions in the catalogue. Null if an action is not in it, or differs. */
  readonly places: readonly number[] | null;
}

/** The actions of a model. A request may name them by id. */
export class Catalogue {
  readonly actions: readonly Action[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #all: Candidates;

  /** @throws {Problem} 422 if two actions have the same id. */
  constructor(actions: readonly Action[]) {
    this.actions = actions;
    this.#places = placesOf(actions);
    this.#all = { actions, places: Array.from(actions.keys()) };
  }

  get size(): number {
    return this.actions.length;
  }

  /**
   * An action with features: its own or, without any, those in the catalogue.
   * @throws {Problem} 422 if it has no features and is not in the catalogue, unless the catalogue is empty.
   */
  find(action: Action): Action {
    if (action.features !== undefined || this.size === 0) return action;
    const place = this.#places.get(action.id);
    if (place === undefined)
      throw new Problem(422, `action ${action.id}: has no features and is not in the catalogue${this.meant(action.id)}`);
    return this.actions[place];
  }

  /** The end of a refusal that names the action that was probably meant, or nothing. */
  meant(id: string): string {
    return didYouMean(id, this.#places.keys());
  }

  has(id: string): boolean {
    return this.#places.has(id);
  }

  /** The action with an id, with its features if it is in the catalogue. */
  named(id: string): Action {
    const place = this.#places.get(id);
    return place === undefined ? { id } : this.actions[place];
  }

  /**
   * All actions with these added, each at the place of an earlier one with its id or at the end.
   * @throws {Problem} 422 if an id comes twice, or there would be too many.
   */
  with(changed: readonly Action[]): Action[] {
    placesOf(changed);
    const actions = new Map([...this.actions, ...changed].map((action) => [action.id, action]));
    if (actions.size > MOST_ACTIONS)
      throw new Problem(422, `actions: expected at most ${MOST_ACTIONS} in the catalogue, got ${actions.size}`);
    return Array.from(actions.values());
  }

  /** The given actions, or the whole catalogue, without the excluded ones. There may be none. */
  candidates(given: readonly Action[] | undefined, exclude: readonly string[]): Candidates {
    if (given === undefined && exclude.length === 0) return this.#all;
    const excluded = new Set(exclude);
    if (given === undefined) {
      const places = Array.from(this.actions.keys()).filter((place) => !excluded.has(this.actions[place].id));
      return { actions: places.map((place) => this.actions[place]), places };
    }
    placesOf(given);
    const actions = given.filter(({ id }) => !excluded.has(id)).map((action) => this.find(action));
    const places = actions.map((action) => this.#places.get(action.id) ?? -1);
    return { actions, places: actions.every((action, i) => action === this.actions[places[i]]) ? places : null };
  }
}

function placesOf(actions: readonly Action[]): ReadonlyMap<string, number> {
  const places = new Map(actions.map(({ id }, place) => [id, place]));
  if (places.size < actions.length) throw new Problem(422, "actions: expected each id once");
  return places;
}

/** A change of the catalogue: its new size, and the actions that changed, by place. */
export interface CatalogueChange {
  readonly size: number;
  readonly changed: readonly (readonly [place: number, action: Action])[];
}

export function changeBetween(before: readonly Action[], after: readonly Action[]): CatalogueChange {
  const texts = before.map((action) => JSON.stringify(action));
  const changed = after.flatMap((action, place) => (JSON.stringify(action) === texts[place] ? [] : [[place, action] as const]));
  return { size: after.length, changed };
}

export function changedBy(before: readonly Action[], { size, changed }: CatalogueChange): Action[] {
  const after = before.slice(0, size);
  for (const [place, action] of changed) after[place] = action;
  return after;
}
