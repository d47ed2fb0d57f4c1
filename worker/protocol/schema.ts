// Schemas of requests that several routes share. Unknown keys are refused, so that a misspelt option is never ignored in silence. The
// learner checks whatever depends on its model.

import * as v from "valibot";
import {
  actionId,
  choice,
  finite,
  isObject,
  list,
  listOr,
  modelName,
  numbers,
  optional,
  type Refusal,
  record,
  strictObject,
  text,
  wellFormed,
  wholeNumber,
} from "./forms.ts";
import { joinKey, keys } from "./join-key.ts";
import { optionSchemas } from "./model-options.ts";
import { MOST_PLACES } from "./most.ts";
import { got } from "./sentence.ts";

/** The user agent of a visitor, as a caller that is not the visitor's browser states it. */
export const userAgent = text(1024);

const category = v.pipe(v.string(), v.maxLength(256), wellFormed);
const flag = v.boolean();
const categories = list(category, 64);
const noFeature: Refusal = v.custom<never>(
  () => false,
  ({ input }) => `expected a text, a number, true, false or a list of texts, got ${got(input)}`,
);
const featureSchemas = { string: category, number: finite, boolean: flag } as const;
const feature = choice([category, finite, flag, categories], (input) => {
  if (Array.isArray(input)) return categories;
  return featureSchemas[typeof input as keyof typeof featureSchemas] ?? noFeature;
});
export const features = listOr(numbers(4096), record(text(64), feature, 256));
export const action = strictObject({ id: actionId, features: v.optional(features) });
/** An action of a catalogue. One that is not available is never served. */
export const catalogueAction = strictObject({
  id: actionId,
  features: v.optional(features),
  attributes: v.optional(record(text(64), feature, 64)),
  available: v.optional(flag),
});
/** Most actions of a request, and of a catalogue. */
const MOST_CANDIDATES = 1000;
export const MOST_ACTIONS = 10_000;
const actions = list(action, MOST_CANDIDATES);
export const catalogueActions = list(catalogueAction, MOST_ACTIONS);
/** An action by its id, or with features. */
export const anyAction = choice([actionId, action], (input): typeof actionId | typeof action =>
  typeof input === "string" ? actionId : action,
);
export const modelParameter = v.object({ model: modelName });

const { window } = optionSchemas;
export const modelBody = strictObject({ ...optional(optionSchemas), window });
/** A change of a model that exists, so even the window may be left out. */
export const modelPatch = strictObject(optional(optionSchemas));

/** Actions to add or to change, and ids of those to remove. */
export const actionsPatch = v.pipe(
  listOr(
    catalogueActions,
    strictObject({ actions: v.optional(catalogueActions, []), remove: v.optional(list(actionId, MOST_ACTIONS), []) }),
  ),
  v.transform((body) => (Array.isArray(body) ? { actions: body, remove: [] } : body)),
);

/** Place in a list, 0 for the first. */
export const place = wholeNumber(0, MOST_PLACES - 1);
const numberRange = strictObject({ min: v.optional(finite), max: v.optional(finite) });
const someCategories = v.pipe(list(category, 64), v.minLength(1));
const noCondition: Refusal = v.custom<never>(
  () => false,
  ({ input }) => `expected a text, a number, true, false, a list of texts, or an object with min and max, got ${got(input)}`,
);
const condition = choice([category, finite, flag, someCategories, numberRange], (input) => {
  if (Array.isArray(input)) return someCategories;
  if (isObject(input)) return numberRange;
  return featureSchemas[typeof input as keyof typeof featureSchemas] ?? noCondition;
});
/** Stated here, because the inferred type is deeper than TypeScript follows it where a request names several filters. */
const filter: v.GenericSchema<Filter> = record(text(64), condition, 16);

/** Most boosts of a request, and their greatest size. All together stay within that of the SDK. */
const MOST_BOOSTS = 16;
const MOST_BOOST = 10_000;

/** The parts of a request that say which actions it gets. */
export const restrictions = {
  actions: v.pipe(actions, v.minLength(1)),
  limit: wholeNumber(1, MOST_PLACES),
  exclude: list(actionId, 1000),
  filter,
  pin: list(strictObject({ action: actionId, place }), MOST_PLACES),
  maxPer: strictObject({ attribute: text(64), count: wholeNumber(1, MOST_PLACES) }),
  greedy: v.boolean(),
  boost: v.pipe(
    list(strictObject({ filter, by: v.pipe(finite, v.minValue(-MOST_BOOST), v.maxValue(MOST_BOOST)) }), MOST_BOOSTS),
    v.minLength(1),
  ),
};
export const recommendationsBody = strictObject({
  context: v.optional(features),
  ...optional(restrictions),
  limit: v.optional(restrictions.limit, 1),
  exclude: v.optional(restrictions.exclude, []),
  defer: v.optional(v.boolean(), false),
  learn: v.optional(v.boolean(), true),
  userAgent: v.optional(userAgent),
  requestId: v.optional(joinKey),
  keys: v.optional(keys, []),
});

export const probability = v.pipe(v.number(), v.gtValue(0), v.maxValue(1));

export type Features = v.InferOutput<typeof features>;
export type Action = v.InferOutput<typeof catalogueAction>;
/** An action of a catalogue as a change names it: what it leaves out stays. */
export type ActionsPatch = v.InferOutput<typeof actionsPatch>;
/** A condition on an attribute: equal, one of several, or within a range. */
export type Condition = string | number | boolean | string[] | { min?: number | undefined; max?: number | undefined };
export type Filter = Record<string, Condition>;
export type ModelBody = v.InferOutput<typeof modelBody>;
export type ModelPatch = v.InferOutput<typeof modelPatch>;
export type RecommendationsBody = v.InferOutput<typeof recommendationsBody>;
