// Filters of a request: which actions have the attributes that it asks for.

import { didYouMean } from "../../protocol/nearest.ts";
import { Problem } from "../../protocol/problem.ts";
import type { Action, Condition, Filter } from "../../protocol/schema.ts";

type Value = string | number | boolean;
/** Attributes by name, with the types of their values: `string`, `number` or `boolean`. */
export type AttributeTypes = ReadonlyMap<string, ReadonlySet<string>>;

/** Values of an attribute: one, several of a list, or none. Without an own attribute, the feature of this name counts. */
export function valuesOf({ attributes, features }: Action, name: string): readonly Value[] {
  for (const named of [attributes, features]) {
    if (named === undefined || Array.isArray(named) || !Object.hasOwn(named, name)) continue;
    const value = (named as Readonly<Record<string, Value | readonly string[]>>)[name];
    return typeof value === "object" ? value : [value];
  }
  return [];
}

/** Adds the attributes of actions to known ones. */
export function attributeTypes(actions: readonly Action[], known?: AttributeTypes): AttributeTypes {
  const types = new Map(Array.from(known ?? [], ([name, own]) => [name, new Set(own)]));
  for (const action of actions) {
    for (const named of [action.features, action.attributes]) {
      if (named === undefined || Array.isArray(named)) continue;
      for (const name of Object.keys(named)) {
        const own = types.get(name) ?? new Set<string>();
        for (const value of valuesOf(action, name)) own.add(typeof value);
        types.set(name, own);
      }
    }
  }
  return types;
}

/** Whether a page may name an attribute. Absent for a backend, which may name all. */
export type MayName = (attribute: string) => boolean;

/** @throws {Problem} 422 naming the attribute that was probably meant. A page learns nothing of those that it may not name. */
export function checkAttribute(where: string, name: string, types: AttributeTypes, mayName?: MayName): void {
  if (mayName && !(types.has(name) && mayName(name)))
    throw new Problem(422, `${where}: pages may not choose by ${name}: add it to the model's pageAttributes, or use the secret key`);
  if (!types.has(name)) throw new Problem(422, `${where}: no action has the attribute ${name}${didYouMean(name, types.keys())}`);
}

/**
 * Whether an action meets all conditions of a filter. An action without the attribute does not; of a list, one entry has to.
 * @throws {Problem} 422 if no action has an attribute, or none of its values is of the condition's type.
 */
export function matcher(filter: Filter, types: AttributeTypes, mayName?: MayName, where = "filter"): (action: Action) => boolean {
  const conditions = Object.entries(filter);
  for (const [name, condition] of conditions) {
    checkAttribute(`${where}.${name}`, name, types, mayName);
    const wanted = isRange(condition) ? "number" : typeof [condition].flat()[0];
    const own = types.get(name) as ReadonlySet<string>;
    if (own.size > 0 && !own.has(wanted)) {
      throw new Problem(422, `${where}.${name}: expected ${FORMS[Array.from(own)[0]]}, as actions have it, got ${FORMS[wanted]}`);
    }
  }
  return (action) => conditions.every(([name, condition]) => valuesOf(action, name).some((value) => meets(value, condition)));
}

const FORMS: Readonly<Record<string, string>> = {
  string: "a text or a list of texts",
  number: "a number or a range with min and max",
  boolean: "true or false",
};

function meets(value: Value, condition: Condition): boolean {
  if (Array.isArray(condition)) return typeof value === "string" && condition.includes(value);
  if (!isRange(condition)) return value === condition;
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = condition;
  return typeof value === "number" && value >= min && value <= max;
}

function isRange(condition: Condition): condition is Extract<Condition, { readonly min?: number }> {
  return typeof condition === "object" && !Array.isArray(condition);
}
