// The actions of a model, and those of a request completed from them.

import type { NamedFeatures } from "../encoding/terms.ts";
import { finiteNumber, flag, nonEmptyString, outOfRange, record, wrongType } from "../values/argument.ts";
import { type Action, isAvailable } from "./featurizer.ts";

/** The actions that a model knows. */
export class Catalogue {
  readonly actions: readonly Action[];
  readonly available: readonly Action[];
  readonly #byId: ReadonlyMap<string, Action>;

  constructor(actions: readonly Action[]) {
    this.actions = actions;
    this.available = actions.filter(isAvailable);
    this.#byId = new Map(actions.map((action) => [action.id, action]));
  }

  /** The available ones of a request's actions. @throws {TypeError | RangeError} naming the action. */
  offered(actions: readonly Action[]): Action[] {
    return checkedActions(actions)
      .map((action) => this.completed("actions", action))
      .filter(isAvailable);
  }

  /**
   * An action with its own features, or with those of the catalogue. One that is not available there is not available here either.
   * @throws {RangeError} naming the argument, if the action has no features and the catalogue does not know it.
   */
  completed(name: string, action: Action): Action {
    const known = this.#byId.get(action.id);
    if (known && !isAvailable(known)) return known;
    if (action.features !== undefined || this.actions.length === 0) return action;
    if (!known) throw new RangeError(`${name}: ${action.id} has no features and is not in the catalogue`);
    return isAvailable(action) ? known : action;
  }
}

/** Actions, each of which has another id. @throws {TypeError | RangeError} naming the action. */
export function checkedActions(actions: readonly Action[]): Action[] {
  if (!Array.isArray(actions)) throw wrongType("actions", "an array", actions);
  const ids = new Set<string>();
  return actions.map((given, i) => {
    const action = checkedAction(`actions[${i}]`, given);
    if (ids.has(action.id)) throw outOfRange(`actions[${i}].id`, "each id once", action.id);
    ids.add(action.id);
    return action;
  });
}

/** An action without other fields. @throws {TypeError | RangeError} naming the field. */
export function checkedAction(name: string, action: Action): Action {
  record(name, action);
  const { id, features, available } = action;
  nonEmptyString(`${name}.id`, id);
  const wrong = Array.isArray(features) ? features.findIndex((value) => !Number.isFinite(value)) : -1;
  if (wrong >= 0) finiteNumber(`features of action ${id}[${wrong}]`, (features as readonly number[])[wrong]);
  if (available !== undefined) flag(`${name}.available`, available);
  return {
    id,
    ...(features !== undefined && { features }),
    ...(available !== undefined && { available }),
  };
}

/** A copy, because a caller may change its list later. `structuredClone` would refuse the proxies of a page's framework. */
export function copyOf({ features, ...action }: Action): Action {
  if (features === undefined) return action;
  if (Array.isArray(features)) return { ...action, features: features.slice() };
  const entries = Object.entries(record(`features of action ${action.id}`, features) as NamedFeatures);
  return { ...action, features: Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.slice() : value])) };
}
