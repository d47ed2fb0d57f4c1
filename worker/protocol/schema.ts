import * as v from "valibot";
import { MOST_AMOUNT, MOST_BYTES, MOST_OPEN, MOST_SHARDS } from "./most.ts";
import { fieldSentence, got } from "./sentence.ts";

// Request bodies. Unknown keys are refused, so that a misspelt option is never ignored in silence. Numbers are finite, counts and
// lengths have limits. The learner checks whatever depends on its model.

const MAX_NESTING = 6;
const DAY_MS = 86_400_000;
const YEAR_MS = 366 * DAY_MS;
/** The last time that a token can state. */
export const LAST_MS = 2 ** 47;

// Validation of a hostile body must take little memory. Lists and records check their counts before their items, and report their
// first error only. Objects report one error for each field.
const FIRST = { abortEarly: true } as const;

/** Refuses an input, by its type or by one check. The description leaves out such schemas. */
type Refusal = v.GenericSchema<never, never>;
const anything = v.custom<never>(() => true);

const noList: Refusal = v.custom<never>(
  () => false,
  ({ input }) => `expected an object, got ${got(input)}`,
);

const fields = <Entries extends v.ObjectEntries>(entries: Entries) => v.strictObject(entries, fieldSentence(entries));

/** Valibot takes an empty list as an object without entries. */
const strictObject = <Entries extends v.ObjectEntries>(entries: Entries) => {
  const schema = fields(entries);
  return v.lazy((input: unknown): typeof schema | Refusal => (Array.isArray(input) ? noList : schema));
};

const list = <Item extends v.GenericSchema>(item: Item, most: number) => {
  const schema = v.pipe(v.config(v.array(item), FIRST), v.maxLength(most));
  const tooLong: Refusal = v.pipe(anything, v.maxLength(most));
  return v.lazy((input: unknown): typeof schema | Refusal => (Array.isArray(input) && input.length > most ? tooLong : schema));
};

/** Valibot drops these names of a record in silence. The encoder refuses them too. */
const RESERVED = ["constructor", "prototype", "__proto__"];
const reserved: Refusal = v.pipe(
  anything,
  v.check(() => false, `expected names other than ${RESERVED.join(", ")}`),
);

const record = <Value extends v.GenericSchema>(key: v.GenericSchema<string, string>, value: Value, most: number) => {
  const schema = v.pipe(v.config(v.record(key, value), FIRST), v.maxEntries(most));
  const tooMany: Refusal = v.pipe(anything, v.maxEntries(most));
  const refused = (input: object): Refusal | undefined => {
    if (Array.isArray(input)) return noList;
    if (RESERVED.some((name) => Object.hasOwn(input, name))) return reserved;
    return Object.keys(input).length > most ? tooMany : undefined;
  };
  return v.lazy((input: unknown) => (isObject(input) ? refused(input) : undefined) ?? schema);
};

const isObject = (input: unknown): input is object => input !== null && typeof input === "object";

const finite = v.pipe(v.number(), v.finite());
/** UTF-8 has no lone surrogates: all of them would become the same character, and different texts the same key. */
const wellFormed = v.check((value: string) => !/\p{Surrogate}/u.test(value), "expected well-formed Unicode, got half of a surrogate pair");
/** A text of a form that `expected` describes. */
const formed = (form: RegExp, expected: string) =>
  v.pipe(
    v.string(),
    v.regex(form, ({ input }) => `expected ${expected}, got ${got(input)}`),
  );
const text = (maxLength: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(maxLength), wellFormed);
const model = formed(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "1 to 64 letters, digits, dots, dashes or underscores");
const actionId = text(128);

/** A join key such as an order number or a visitor id. Only its hash is stored. */
const joinKey = text(256);
const keys = list(joinKey, 4);

/** Chooses one of two schemas by the input, so that errors belong to that schema, and no other is tried. */
const listOr = <List extends v.GenericSchema, Other extends v.GenericSchema>(list: List, other: Other) =>
  v.lazy((input: unknown): List | Other => (Array.isArray(input) ? list : other));

/** As milliseconds, these numbers are days of 1970 to 1973. As seconds, they are times since 2001. */
const isSeconds = (value: number): boolean => value >= 1e9 && value < 1e11;
const TIME = "expected milliseconds since 1970, or ISO 8601 with a zone such as 2026-01-31T12:00:00Z";
const milliseconds = v.pipe(
  finite,
  v.check(
    (value) => !isSeconds(value),
    ({ input }) => `${TIME}, got ${input}, which are seconds: multiply by 1000`,
  ),
  v.check(
    (value) => value <= LAST_MS,
    ({ input }) => `${TIME}, got ${input}, which is too large: are these microseconds?`,
  ),
);
const isoTime = v.pipe(
  v.string(),
  v.isoTimestamp(({ input }) => `${TIME}, got ${got(input)}${isLocalTime(input) ? ", which has no zone: add Z for UTC" : ""}`),
);
/** JavaScript reads no offset of hours alone, nor one after a space. */
const withMinutes = (text: string): string => text.replace(/ (?=[+-])/, "").replace(/([+-]\d\d)$/, "$1:00");
const isLocalTime = (text: string): boolean => /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text);

/** Milliseconds since 1970, or ISO 8601. A time in seconds or without a zone is refused, never guessed. */
export const timestamp = v.pipe(
  v.union([milliseconds, isoTime], ({ input }) => `${TIME}, got ${got(input)}`),
  v.transform((value) => (typeof value === "string" ? Date.parse(withMinutes(value)) : value)),
  v.safeInteger(),
  v.minValue(0),
  v.maxValue(LAST_MS),
);

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
/** Most items of a list. */
const MOST_PLACES = 100;
/** Most actions of a request, and of a catalogue. */
const MOST_CANDIDATES = 1000;
export const MOST_ACTIONS = 10_000;
const actions = list(action, MOST_CANDIDATES);
const catalogueActions = list(catalogueAction, MOST_ACTIONS);
/** An action by its id, or with features. */
const anyAction = v.lazy((input: unknown): typeof actionId | typeof action => (typeof input === "string" ? actionId : action));
/** The SDK checks the content. */
const options = v.pipe(
  record(text(64), v.unknown(), 64),
  v.check((value) => !deeperThan(value, MAX_NESTING), `expected at most ${MAX_NESTING} levels of nesting`),
);

export const modelParameter = v.object({ model });

const share = (most: number) => v.pipe(v.number(), v.minValue(0), v.maxValue(most));
const wholeNumber = (least: number, most: number) => v.pipe(v.number(), v.safeInteger(), v.minValue(least), v.maxValue(most));
const goal = formed(/^[\w.:-]{1,64}$/, "1 to 64 letters, digits or . : - _");

const windowFields = strictObject({ ms: wholeNumber(1, YEAR_MS) });
const noWindow: Refusal = v.custom<never>(
  () => false,
  ({ input }) => `expected { "ms": 604800000 } for a week, got ${got(input)}`,
);
const window = v.lazy((input: unknown): typeof windowFields | Refusal =>
  (isObject(input) && !Array.isArray(input)) || input === undefined ? windowFields : noWindow,
);
const currency = formed(/^[A-Z]{3}$/, "the code of a currency in capital letters, such as EUR");
const goalOptions = strictObject({
  weight: v.pipe(finite, v.minValue(-1000), v.maxValue(1000)),
  window: v.optional(window),
  after: v.optional(goal),
  delay: v.optional(window),
  public: v.optional(v.boolean()),
  value: v.optional(strictObject({ currency, max: v.optional(v.pipe(finite, v.gtValue(0), v.maxValue(MOST_AMOUNT))) })),
});
const modelOptions = {
  policy: v.optional(text(64)),
  options: v.optional(options),
  reward: v.optional(strictObject({ min: finite, max: finite })),
  serving: v.optional(v.picklist(["edge", "learner"])),
  encoder: v.optional(options),
  seed: v.optional(v.pipe(v.number(), v.safeInteger())),
  goals: v.optional(record(goal, goalOptions, 64)),
  examination: v.optional(v.pipe(list(v.pipe(finite, v.gtValue(0), v.maxValue(1)), MOST_PLACES), v.minLength(1))),
  shadows: v.optional(list(strictObject({ name: goal, policy: text(64), options: v.optional(options) }), 2)),
  draws: v.optional(wholeNumber(0, 1000)),
  greedy: v.optional(v.boolean()),
  holdout: v.optional(share(0.5)),
  minimumShare: v.optional(share(0.5)),
  defaultAction: v.optional(v.nullable(actionId)),
  shards: v.optional(wholeNumber(1, MOST_SHARDS)),
  limits: v.optional(
    strictObject({
      open: v.optional(wholeNumber(1, MOST_SHARDS * MOST_OPEN)),
      bytes: v.optional(wholeNumber(1_000_000, MOST_SHARDS * MOST_BYTES)),
      deferred: v.optional(wholeNumber(0, 1_000_000)),
    }),
  ),
  deferral: v.optional(strictObject({ ms: wholeNumber(1000, DAY_MS) })),
  retention: v.optional(strictObject({ ms: wholeNumber(DAY_MS, YEAR_MS) })),
  publish: v.optional(strictObject({ ms: wholeNumber(1000, DAY_MS) })),
  local: v.optional(v.boolean()),
  pageActions: v.optional(v.boolean()),
  pageKeys: v.optional(v.picklist(["own", "shared"])),
  pageLimit: v.optional(wholeNumber(1, 100)),
  pageShare: v.optional(share(1)),
  featureNorm: v.optional(v.pipe(finite, v.gtValue(0), v.maxValue(1e6))),
};
export const modelBody = strictObject({ window, ...modelOptions });
/** A change of a model that exists, so even the window may be left out. */
export const modelPatch = strictObject({ window: v.optional(window), ...modelOptions });

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
const byKey = { ...item, model, key: joinKey, action: v.optional(actionId), byPage: v.optional(v.boolean(), false) };

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
  model: v.optional(model),
  seen: v.optional(list(text(2048), MOST_REPORTED), []),
  reached: v.optional(list(reachedGoal, MOST_REPORTED), []),
});

/** Without a version, the rollback restores the kept snapshot before the newest. */
export const rollbackBody = strictObject({ version: v.optional(wholeNumber(0, Number.MAX_SAFE_INTEGER)) });

/** A new configuration. An empty object keeps the configuration. `from`: learn the log again under what the body changes. */
const nothing = strictObject({});
const fromLog = strictObject({ from: v.literal("log"), window: v.optional(window), ...modelOptions });
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
  model: v.optional(model),
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

function deeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== "object") return false;
  return levels === 0 || Object.values(value).some((inner) => deeperThan(inner, levels - 1));
}
