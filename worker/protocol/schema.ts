import * as v from "valibot";
import {
  actionId,
  currency,
  fields,
  finite,
  formed,
  goal,
  isObject,
  list,
  listOr,
  modelName,
  optional,
  type Refusal,
  record,
  strictObject,
  text,
  wellFormed,
  wholeNumber,
} from "./forms.ts";
import { optionSchemas } from "./model-options.ts";
import { MOST_PLACES } from "./most.ts";
import { got } from "./sentence.ts";
import { timestamp } from "./timestamp.ts";

// Request bodies. Unknown keys are refused, so that a misspelt option is never ignored in silence. The learner checks whatever depends on
// its model.

/** A join key such as an order number or a visitor id. Only its hash is stored. */
const joinKey = text(256);
const keys = list(joinKey, 4);

const category = v.pipe(v.string(), v.maxLength(256), wellFormed);
const flag = v.boolean();
const categories = list(category, 64);
const noFeature: Refusal = v.custom<never>(
  () => false,
  ({ input }) => `expected a text, a number, true, false or a list of texts, got ${got(input)}`,
);
const featureSchemas = { string: category, number: finite, boolean: flag } as const;
const feature = v.lazy((input: unknown) => {
  if (Array.isArray(input)) return categories;
  return featureSchemas[typeof input as keyof typeof featureSchemas] ?? noFeature;
});
export const features = listOr(list(finite, 4096), record(text(64), feature, 256));
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
const catalogueActions = list(catalogueAction, MOST_ACTIONS);
/** An action by its id, or with features. */
const anyAction = v.lazy((input: unknown): typeof actionId | typeof action => (typeof input === "string" ? actionId : action));
export const modelParameter = v.object({ model: modelName });

const { window } = optionSchemas;
export const modelBody = strictObject({ ...optional(optionSchemas), window });
/** A change of a model that exists, so even the window may be left out. */
export const modelPatch = strictObject(optional(optionSchemas));

/** A list of actions, or an object with one. */
export const actionsBody = v.pipe(
  listOr(catalogueActions, strictObject({ actions: catalogueActions })),
  v.transform((body) => (Array.isArray(body) ? body : body.actions)),
);

/** Actions to add or to change, and ids of those to remove. */
export const actionsPatch = v.pipe(
  listOr(
    catalogueActions,
    strictObject({ actions: v.optional(catalogueActions, []), remove: v.optional(list(actionId, MOST_ACTIONS), []) }),
  ),
  v.transform((body) => (Array.isArray(body) ? { actions: body, remove: [] } : body)),
);

/** Place in a list, 0 for the first. */
const place = wholeNumber(0, MOST_PLACES - 1);
const numberRange = strictObject({ min: v.optional(finite), max: v.optional(finite) });
const someCategories = v.pipe(list(category, 64), v.minLength(1));
const noCondition: Refusal = v.custom<never>(
  () => false,
  ({ input }) => `expected a text, a number, true, false, a list of texts, or an object with min and max, got ${got(input)}`,
);
const condition = v.lazy((input: unknown) => {
  if (Array.isArray(input)) return someCategories;
  if (isObject(input)) return numberRange;
  return featureSchemas[typeof input as keyof typeof featureSchemas] ?? noCondition;
});
const filter = record(text(64), condition, 16);

export const recommendationsBody = strictObject({
  context: v.optional(features),
  actions: v.optional(v.pipe(actions, v.minLength(1))),
  limit: v.optional(wholeNumber(1, MOST_PLACES), 1),
  exclude: v.optional(list(actionId, 1000), []),
  filter: v.optional(filter),
  pin: v.optional(list(strictObject({ action: actionId, place }), MOST_PLACES)),
  maxPer: v.optional(strictObject({ attribute: text(64), count: wholeNumber(1, MOST_PLACES) })),
  greedy: v.optional(v.boolean()),
  defer: v.optional(v.boolean(), false),
  keys: v.optional(keys, []),
});

const probability = v.pipe(v.number(), v.gtValue(0), v.maxValue(1));
const impression = strictObject({
  id: v.optional(text(256)),
  context: v.optional(features),
  action: anyAction,
  shownAt: timestamp,
  keys: v.optional(keys, []),
  probability: v.optional(probability),
  place: v.optional(place),
});
export const impressionsBody = v.pipe(list(impression, 1000), v.minLength(1));

const item = { goal: v.optional(goal, "conversion"), timestamp: v.optional(timestamp) };
const byImpression = { ...item, impressionId: text(2048) };
/** `byPage`: a page has reported it to the sender, and its key is one that the page gave. */
const byKey = { ...item, model: modelName, key: joinKey, action: v.optional(actionId), byPage: v.optional(v.boolean(), false) };

/** A conversion that names its impression, or a join key of the impression. */
const conversionItem = <Entries extends v.ObjectEntries>(entries: Entries) => {
  const [ofImpression, ofKey] = [strictObject({ ...byImpression, ...entries }), strictObject({ ...byKey, ...entries })];
  return v.lazy((input: unknown): typeof ofImpression | typeof ofKey => (isObject(input) && "key" in input ? ofKey : ofImpression));
};
const oneOrMany = <Item extends v.GenericSchema>(schema: Item) => listOr(v.pipe(list(schema, 500), v.minLength(1)), schema);

export const rewarded = conversionItem({ reward: finite, currency: v.optional(currency) });
export const retracted = conversionItem({});
export const conversionsBody = v.variant("type", [
  fields({ type: v.picklist(["conversion", "conversion.updated"]), timestamp, data: oneOrMany(rewarded) }),
  fields({ type: v.literal("conversion.retracted"), timestamp, data: oneOrMany(retracted) }),
]);

/** Most items of a kind in a report of a page. */
const MOST_REPORTED = 100;
const reachedGoal = strictObject({ impressionId: text(2048), goal });
/** A page's report. The key is in the body, because `sendBeacon` sends no headers. */
export const beaconBody = strictObject({
  key: text(512),
  model: v.optional(modelName),
  seen: v.optional(list(text(2048), MOST_REPORTED), []),
  reached: v.optional(list(reachedGoal, MOST_REPORTED), []),
});

/** Without a version, the rollback restores the kept snapshot before the newest. */
export const rollbackBody = strictObject({ version: v.optional(wholeNumber(0, Number.MAX_SAFE_INTEGER)) });

/** A new configuration. An empty object keeps the configuration. `from`: learn the log again under what the body changes. */
const nothing = strictObject({});
const fromLog = strictObject({ from: v.literal("log"), ...optional(optionSchemas) });
export const resetBody = v.lazy((input: unknown): typeof nothing | typeof fromLog | typeof modelBody => {
  if (isObject(input) && "from" in input) return fromLog;
  return isObject(input) && Object.keys(input).length === 0 ? nothing : modelBody;
});

export const logQuery = v.object({
  after: v.optional(
    v.pipe(
      formed(/^\d{1,15}$/, "a whole number"),
      v.transform((digits) => Number(digits)),
    ),
    "0",
  ),
});

/** Names and places, such as `lines[0].price`. `$.` before them starts at the whole payload. */
export const jsonPath = formed(/^(\$\.)?[\w-]+(\[\d+\])*(\.[\w-]+(\[\d+\])*)*$/, "a path such as $.lines or price.amount");

/** How the sales of a sender become conversions. `key` and `action` are paths in the payload. */
export const hookQuery = v.object({
  goal: v.optional(goal),
  model: v.optional(modelName),
  key: v.optional(jsonPath),
  action: v.optional(jsonPath),
});
/** The payload of a sender, in the sender's own form. */
export const hookBody = v.looseObject({});

const keyHash = formed(/^[\w-]{22}$/, "a hash as an export has it");
/** Fields that only an export has. */
const exportedOnly = {
  state: v.optional(v.picklist(["live", "deferred", "void"]), "live"),
  arm: v.optional(v.picklist(["policy", "holdout", "default"]), "policy"),
  decision: v.nullish(v.object({ probability: v.optional(probability), place: v.optional(place) })),
  byPage: v.optional(v.boolean(), false),
  sampling: v.optional(wholeNumber(0, 16), 0),
  hashes: v.optional(list(keyHash, 8), []),
};

/** A line of a past log. Other fields of an export are ignored. */
export const pastLine = v.variant("type", [
  v.object({
    type: v.literal("impression"),
    id: text(256),
    action: anyAction,
    shownAt: timestamp,
    context: v.nullish(features),
    features: v.optional(list(finite, 4096)),
    probability: v.nullish(probability),
    place: v.optional(place),
    keys: v.optional(keys, []),
    ...exportedOnly,
  }),
  v.object({
    type: v.literal("conversion"),
    impression: text(256),
    goal: v.optional(goal, "conversion"),
    event: v.optional(text(256)),
    reward: v.nullable(finite),
    restates: v.optional(v.boolean()),
    at: timestamp,
    status: v.optional(v.picklist(["applied", "conflict", "late", "orphan", "void", "refused"]), "applied"),
    hash: v.optional(keyHash),
    action: v.nullish(actionId, null),
  }),
  v.object({ type: v.picklist(["model", "mark", "erased"]) }),
]);

export type Features = v.InferOutput<typeof features>;
export type Action = v.InferOutput<typeof catalogueAction>;
/** An action of a catalogue as a change names it: what it leaves out stays. */
export type ActionsPatch = v.InferOutput<typeof actionsPatch>;
export type Condition = v.InferOutput<typeof condition>;
export type Filter = v.InferOutput<typeof filter>;
export type ModelBody = v.InferOutput<typeof modelBody>;
export type ModelPatch = v.InferOutput<typeof modelPatch>;
export type RecommendationsBody = v.InferOutput<typeof recommendationsBody>;
export type ImpressionItem = v.InferOutput<typeof impression>;
export type BeaconBody = v.InferOutput<typeof beaconBody>;
export type ConversionsBody = v.InferOutput<typeof conversionsBody>;
export type HookQuery = v.InferOutput<typeof hookQuery>;
export type PastItem = v.InferOutput<typeof pastLine>;
export type ConversionItem = v.InferOutput<typeof rewarded> | v.InferOutput<typeof retracted>;
