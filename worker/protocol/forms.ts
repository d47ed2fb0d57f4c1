// Building blocks of schemas: objects, lists and choices whose refusals name the place.

import * as v from "valibot";
import { fieldSentence, got } from "./sentence.ts";

// Forms of values in requests. Numbers are finite, counts and lengths have limits.
//
// Validation of a hostile body must take little memory. Lists and records check their counts before their items, and report their
// first error only. Objects report one error for each field.
const FIRST = { abortEarly: true } as const;

export const finite = v.pipe(v.number(), v.finite());

/** Refuses an input, by its type or by one check. The description leaves out such schemas. */
export type Refusal = v.GenericSchema<never, never>;
const anything = v.custom<never>(() => true);

const noList: Refusal = v.custom<never>(
  () => false,
  ({ input }) => `expected an object, got ${got(input)}`,
);

/** A lazy schema with its forms, which the description lists. Refusals are no forms. */
export type Choice<Form extends v.GenericSchema> = v.LazySchema<Form> & { readonly forms: readonly v.GenericSchema[] };

/** Chooses a schema by the input, so that errors belong to that schema, and no other is tried. */
export const choice = <Form extends v.GenericSchema>(forms: readonly v.GenericSchema[], choose: (input: unknown) => Form): Choice<Form> =>
  Object.assign(v.lazy(choose), { forms });

export const fields = <Entries extends v.ObjectEntries>(entries: Entries) => v.strictObject(entries, fieldSentence(entries));

/** An object without unknown keys. Valibot takes an empty list as an object without entries. */
export const strictObject = <Entries extends v.ObjectEntries>(entries: Entries) => {
  const schema = fields(entries);
  return choice([schema], (input): typeof schema | Refusal => (Array.isArray(input) ? noList : schema));
};

export const list = <Item extends v.GenericSchema>(item: Item, most: number) => {
  const schema = v.pipe(v.config(v.array(item), FIRST), v.maxLength(most));
  const tooLong: Refusal = v.pipe(anything, v.maxLength(most));
  return choice([schema], (input): typeof schema | Refusal => (Array.isArray(input) && input.length > most ? tooLong : schema));
};

/** A list of finite numbers, most of which are long. Only a list at fault is checked number by number, which takes ten times as long. */
export const numbers = (most: number) => {
  const [each, whole] = [list(finite, most), v.custom<number[]>(() => true)];
  const isWhole = (input: unknown) => Array.isArray(input) && input.length <= most && input.every(Number.isFinite);
  return choice([each], (input): typeof each | typeof whole => (isWhole(input) ? whole : each));
};

type Optional<Entries extends v.ObjectEntries> = { readonly [Name in keyof Entries]: v.OptionalSchema<Entries[Name], undefined> };

/** The same entries, any of which may be left out. */
export const optional = <Entries extends v.ObjectEntries>(entries: Entries) =>
  Object.fromEntries(Object.entries(entries).map(([name, schema]) => [name, v.optional(schema)])) as unknown as Optional<Entries>;

/** Valibot drops these names of a record in silence. The encoder refuses them too. */
const RESERVED = ["constructor", "prototype", "__proto__"];
const reserved: Refusal = v.pipe(
  anything,
  v.check(() => false, `expected names other than ${RESERVED.join(", ")}`),
);

type RecordOf<Value extends v.GenericSchema> = v.RecordSchema<v.GenericSchema<string, string>, Value, undefined>;

export const record = <Value extends v.GenericSchema>(key: v.GenericSchema<string, string>, value: Value, most: number) => {
  // The number of entries has no part in the type.
  const schema = v.pipe(v.config(v.record(key, value), FIRST), v.maxEntries(most)) as unknown as RecordOf<Value>;
  const tooMany: Refusal = v.pipe(anything, v.maxEntries(most));
  const refused = (input: object): Refusal | undefined => {
    if (Array.isArray(input)) return noList;
    if (RESERVED.some((name) => Object.hasOwn(input, name))) return reserved;
    return Object.keys(input).length > most ? tooMany : undefined;
  };
  return choice([schema], (input): RecordOf<Value> | Refusal => (isObject(input) ? refused(input) : undefined) ?? schema);
};

export const isObject = (input: unknown): input is object => input !== null && typeof input === "object";

/** UTF-8 has no lone surrogates: all of them would become the same character, and different texts the same key. */
export const wellFormed = v.check(
  (value: string) => !/\p{Surrogate}/u.test(value),
  "expected well-formed Unicode, got half of a surrogate pair",
);
/** A text of a form that `expected` describes. */
export const formed = (form: RegExp, expected: string) =>
  v.pipe(
    v.string(),
    v.regex(form, ({ input }) => `expected ${expected}, got ${got(input)}`),
  );
export const text = (maxLength: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(maxLength), wellFormed);

export const listOr = <List extends v.GenericSchema, Other extends v.GenericSchema>(list: List, other: Other) =>
  choice([other, list], (input): List | Other => (Array.isArray(input) ? list : other));

export const share = (most: number) => v.pipe(v.number(), v.minValue(0), v.maxValue(most));
export const wholeNumber = (least: number, most: number) => v.pipe(v.number(), v.safeInteger(), v.minValue(least), v.maxValue(most));

export const modelName = formed(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "1 to 64 letters, digits, dots, dashes or underscores");
export const actionId = text(128);
export const goal = formed(/^[\w.:-]{1,64}$/, "1 to 64 letters, digits or . : - _");

export const currency = formed(/^[A-Z]{3}$/, "the code of a currency in capital letters, such as EUR");
