// The actions of a model, and which of them are candidates of a request. It knows no policy.

import { isAvailable } from "afterclick/research";
import { didYouMean } from "../../protocol/nearest.ts";
import { Problem } from "../../protocol/problem.ts";
import { type Action, type ActionsPatch, MOST_ACTIONS, type RecommendationsBody } from "../../protocol/schema.ts";
import { type AttributeTypes, attributeTypes, type MayName, matcher } from "./filter.ts";

/** Most characters of an action as JSON. A row of the learner's database has at most 2 MB, a line of a log 1 MiB. */
export const MOST_CHARACTERS = 2 ** 18;
/**
 * Most bytes of all actions as JSON. A value in KV has 25 MiB. A message to another shard has 32 MiB, and may take two bytes for each. An
 * isolate of 128 MB holds the text and its objects.
 */
const MOST_BYTES = 16_000_000;

/** The candidates of a request. */
export interface Candidates {
  readonly actions: readonly Action[];
  /** Places among the catalogue's available actions. Null if an action is not in it, or differs. */
  readonly places: readonly number[] | null;
}

/** The parts of a request that decide which actions are candidates. */
export type CandidateRequest = Pick<RecommendationsBody, "actions" | "exclude" | "filter">;

/** The actions of a model. A request may name them by id. */
export class Catalogue {
  /** Number of the row that made it; 0 for the empty catalogue of a new model. */
  readonly version: number;
  readonly actions: readonly Action[];
  /** The actions that may be served, and their columns from an encoder, see `Featurizer.prepare`. */
  readonly available: readonly Action[];
  readonly columns: Uint8Array | undefined;
  #byId?: ReadonlyMap<string, Action>;
  #all?: Candidates;
  #places?: ReadonlyMap<string, number>;
  #types?: AttributeTypes;
  #hidden?: ReadonlySet<string>;

  /** The actions have different ids. */
  constructor(actions: readonly Action[], version = 0, columns?: Uint8Array) {
    this.version = version;
    this.columns = columns;
    this.actions = actions;
    this.available = actions.every(isAvailable) ? actions : actions.filter(isAvailable);
  }

  get size(): number {
    return this.actions.length;
  }

  get #actionById(): ReadonlyMap<string, Action> {
    this.#byId ??= new Map(this.actions.map((action) => [action.id, action]));
    return this.#byId;
  }

  /** Attributes of its actions, by name. */
  get types(): AttributeTypes {
    this.#types ??= attributeTypes(this.actions);
    return this.#types;
  }

  /** Whether an action has an attribute of this name. Publications show features alone. */
  hides(name: string): boolean {
    this.#hidden ??= new Set(this.actions.flatMap(({ attributes }) => Object.keys(attributes ?? {})));
    return this.#hidden.has(name);
  }

  /**
   * An action with features: its own or, without any, those in the catalogue.
   * @throws {Problem} 422 if it has no features and is not in the catalogue, unless the catalogue is empty. To a page it suggests nothing.
   */
  featured(action: Action, byPage = false): Action {
    if (action.features !== undefined || this.size === 0) return action;
    const known = this.#actionById.get(action.id);
    if (known === undefined)
      throw new Problem(422, `action ${action.id}: has no features and is not in the catalogue${byPage ? "" : this.meant(action.id)}`);
    return known;
  }

  /** The end of a refusal that names the action that was probably meant, or nothing. */
  meant(id: string): string {
    return didYouMean(id, this.#actionById.keys());
  }

  has(id: string): boolean {
    return this.#actionById.has(id);
  }

  /** The action with an id, with its features if it is in the catalogue. */
  named(id: string): Action {
    return this.#actionById.get(id) ?? { id };
  }

  /** Whether an action may be served: the catalogue does not say that it is not available. */
  serves({ id }: Action): boolean {
    return isAvailable(this.named(id));
  }

  /**
   * All actions after a change. An action takes the fields that it names, and keeps its others and its place. A new one comes last. The
   * last one takes the place of one that is removed.
   *
   * @throws {Problem} 422 if an id comes twice, one to remove is unknown, or there would be too many.
   */
  with({ actions: changed, remove }: ActionsPatch): Action[] {
    checkIds("actions", changed);
    checkIds(
      "remove",
      [...remove, ...changed.map(({ id }) => id)].map((id) => ({ id })),
    );
    const actions = [...this.actions];
    const places = new Map(actions.map(({ id }, place) => [id, place]));
    for (const action of changed) {
      const place = places.get(action.id) ?? actions.length;
      actions[place] = place < this.size ? { ...actions[place], ...action } : action;
      places.set(action.id, place);
    }
    remove.forEach((id, i) => {
      const place = places.get(id);
      if (place === undefined) throw new Problem(422, `remove[${i}]: ${id} is not in the catalogue${this.meant(id)}`);
      const last = actions.pop() as Action;
      places.delete(id);
      if (place === actions.length) return;
      actions[place] = last;
      places.set(last.id, place);
    });
    if (actions.length > MOST_ACTIONS)
      throw new Problem(422, `actions: expected at most ${MOST_ACTIONS} in the catalogue, got ${actions.length}`);
    return actions;
  }

  /** The given actions, or the whole catalogue, without unavailable and excluded ones, and those that do not pass the filter. There may be none. */
  candidates({ actions: given, exclude, filter }: CandidateRequest, pinned: readonly string[] = [], mayName?: MayName): Candidates {
    this.#all ??= { actions: this.available, places: Array.from(this.available.keys()) };
    if (given === undefined && exclude.length + pinned.length === 0 && filter === undefined) return this.#all;
    const excluded = new Set([...exclude, ...pinned]);
    const found = given?.map((action) => this.featured(action, mayName !== undefined));
    const passes = filter && matcher(filter, found ? attributeTypes(found, this.types) : this.types, mayName);
    const isCandidate = (action: Action): boolean => !excluded.has(action.id) && (passes?.(action) ?? true);
    if (!found) {
      const places = this.#all.places?.filter((place) => isCandidate(this.available[place])) ?? [];
      return { actions: places.map((place) => this.available[place]), places };
    }
    checkIds("actions", found);
    this.#places ??= new Map(this.available.map(({ id }, place) => [id, place]));
    const actions = found.filter((action) => this.serves(action) && isCandidate(action));
    const places = actions.map((action) => this.#places?.get(action.id) ?? -1);
    return { actions, places: actions.every((action, i) => action === this.available[places[i]]) ? places : null };
  }
}

/** @throws {Problem} 422 if an id comes twice. */
function checkIds(what: string, actions: readonly Pick<Action, "id">[]): void {
  const ids = new Set(actions.map(({ id }) => id));
  if (ids.size < actions.length) throw new Problem(422, `${what}: expected each id once`);
}

/** @throws {Problem} 422 if an id comes twice, an action is too large, or all together are. */
export function checkActions(actions: readonly Action[]): void {
  checkIds("actions", actions);
  const encoder = new TextEncoder();
  let bytes = 0;
  for (const action of actions) {
    const text = JSON.stringify(action);
    if (text.length > MOST_CHARACTERS)
      throw new Problem(422, `action ${action.id}: expected at most ${MOST_CHARACTERS} characters of JSON, got ${text.length}`);
    bytes += encoder.encode(text).length;
  }
  if (bytes <= MOST_BYTES) return;
  const remedy = "remove actions, or shorten their features and attributes";
  throw new Problem(422, `actions: expected a catalogue of at most ${MOST_BYTES} bytes of JSON, got ${bytes}: ${remedy}`);
}

/** A change of the catalogue: its new size, and the actions that changed, by place. */
export interface CatalogueChange {
  readonly size: number;
  readonly changed: readonly (readonly [place: number, action: Action])[];
  /** Set if another part of the same change follows. */
  readonly more?: true;
}

export function changeBetween(before: readonly Action[], after: readonly Action[]): CatalogueChange {
  const isSame = (action: Action, place: number): boolean =>
    action === before[place] || (place < before.length && JSON.stringify(action) === JSON.stringify(before[place]));
  return { size: after.length, changed: after.flatMap((action, place) => (isSame(action, place) ? [] : [[place, action] as const])) };
}

export function changedBy(before: readonly Action[], { size, changed }: CatalogueChange): Action[] {
  const after = before.slice(0, size);
  for (const [place, action] of changed) after[place] = action;
  return after;
}

/** Parts of a change that each fit into a row of the learner's database. All but the last have `more`. */
export function partsOf({ size, changed }: CatalogueChange, most = MOST_CHARACTERS): CatalogueChange[] {
  const parts: (typeof changed)[number][][] = [[]];
  let characters = 0;
  for (const each of changed) {
    const { length } = JSON.stringify(each);
    if (characters > 0 && characters + length > most) {
      parts.push([]);
      characters = 0;
    }
    parts[parts.length - 1].push(each);
    characters += length;
  }
  return parts.map((part, i) => ({ size, changed: part, ...(i < parts.length - 1 && { more: true as const }) }));
}
