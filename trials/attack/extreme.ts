// Values at and beyond the limits of a schema, and texts that are nearly JSON.

import type { Schema } from "./description.ts";

/** Draws seeded choices. */
export interface Draws {
  below(most: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** A number in JSON that no JavaScript number prints. */
const raw = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
const nested = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);
/** With its own property of any name. */
const named = (name: string, value: unknown): object => JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);

const NAMES = [
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then", "id"],
  ...["", " ", "\u0000", "a.b", "é", "\ud800"],
];
const NUMBERS = [0, -0, -1, 1, 0.5, 1e-7, 5e-324, -5e-324, 1e308, -1e308, 2 ** 31, 2 ** 32, 2 ** 47, 2 ** 53, 2 ** 53 + 2, 1e21, -1e21];
const TEXTS = [
  ...["", " ", "\u0000", "\ud800", "\udfff x", "\ufeff", "\u202e", "👩‍👩‍👧‍👦", "ﷺ".repeat(50), "e\u0301"],
  ...["'; DROP TABLE impressions; --", "../..", "%00", "NaN", "1e999"],
];
const ODDITIES: readonly unknown[] = [
  ...[null, true, false, [], {}, [[]], [null], [{}], ...NUMBERS, ...TEXTS],
  ...["1e999", "-1e999", "1e-999", "123456789012345678901234567890"].map(raw),
  ...NAMES.map((name) => named(name, { x: 1 })),
  ...[8, 100, 2000].map(nested),
  ...["x", "é", "\ud83d"].map((character) => character.repeat(10_000)),
  Array(5000).fill(0),
  Array(5000).fill("x"),
  Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i])),
];
const LETTERS = Array.from("ab 0é漢👟\u0000\u2028");

export interface Ground {
  /** Schemas by name. */
  readonly schemas: Readonly<Record<string, Schema>>;
  /** Values that the worker knows, by the names of members. */
  readonly known: Readonly<Record<string, unknown>>;
}

/** A value of a schema, with limits taken up or just passed. */
export function grown(schema: Schema, ground: Ground, draws: Draws): unknown {
  const next = (inner: Schema) => grown(inner, ground, draws);
  if (schema.$ref) return next(ground.schemas[schema.$ref.split("/").at(-1) as string]);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return next(draws.pick(choices));
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return draws.pick(schema.enum);
  const limit = (name: string, otherwise: number) => (typeof schema[name] === "number" ? schema[name] : otherwise);
  const type = Array.isArray(schema.type) ? draws.pick(schema.type) : schema.type;
  if (type === "object" || schema.properties) return grownObject(schema, ground.known, draws, next);
  if (type === "array" && Array.isArray(schema.prefixItems)) {
    const places = schema.prefixItems.map(next);
    return draws.pick([places, places, places.slice(1), [...places, ...places.slice(-1)]]);
  }
  if (type === "array") {
    const [least, most] = [limit("minItems", 0), limit("maxItems", 3)];
    // Few lists are long, so that most bodies are below the limit.
    const length = draws.below(8) === 0 ? draws.pick([most, most + 1]) : Math.min(most, least + draws.below(3));
    const item = next(schema.items ?? {});
    return Array.from({ length }, (_, i) => (i < 3 ? next(schema.items ?? {}) : item));
  }
  if (type === "string") {
    const [least, most] = [limit("minLength", 0), limit("maxLength", 20)];
    const length = draws.pick([least, most, most + 1, least - 1, 1 + draws.below(8), 1 + draws.below(8)]);
    // A cut through the last letter leaves a lone surrogate.
    return `${draws.pick(LETTERS)}${draws.pick(LETTERS).repeat(Math.max(0, length))}`.slice(0, Math.max(0, length));
  }
  if (type === "number" || type === "integer") {
    const [least, most] = [limit("minimum", limit("exclusiveMinimum", 0)), limit("maximum", 1)];
    return draws.pick([least, most, least - 1, most + 1, (least + most) / 2, Math.floor((least + most) / 2), ...NUMBERS.slice(0, 6)]);
  }
  if (type === "boolean") return draws.below(2) === 0;
  return draws.pick(ODDITIES.slice(0, 20));
}

function grownObject(
  { properties = {}, required, additionalProperties }: Schema,
  known: Ground["known"],
  draws: Draws,
  next: (inner: Schema) => unknown,
): object {
  const must = Array.isArray(required) ? required : [];
  const chosen = Object.entries(properties).filter(([name]) => must.includes(name) || draws.below(3) === 0);
  const value = (name: string, inner: Schema) => (Object.hasOwn(known, name) && draws.below(4) > 0 ? known[name] : next(inner));
  const grown = Object.fromEntries(chosen.map(([name, inner]) => [name, value(name, inner)]));
  if (typeof additionalProperties !== "object" || additionalProperties === null) return grown;
  const names = Array.from({ length: draws.below(4) }, () =>
    draws.pick([...NAMES.slice(0, 4), "country", "price", "device", "x".repeat(64)]),
  );
  const members = names.map((name) => Object.entries(named(name, next(additionalProperties as Schema))));
  return Object.fromEntries([...Object.entries(grown), ...members.flat()]);
}

/** Replaces one part of a value by an oddity, mostly one of the same type, or adds a member with an odd name. */
export function bent(value: unknown, draws: Draws): unknown {
  const isNode = value !== null && typeof value === "object" && !("rawJSON" in value);
  const entries = isNode ? Object.entries(value) : [];
  if (entries.length === 0 || draws.below(12) === 0) {
    const like = { number: NUMBERS, string: TEXTS }[typeof value as string];
    return draws.pick<unknown>(like && draws.below(3) > 0 ? like : ODDITIES);
  }
  if (!Array.isArray(value) && draws.below(8) === 0)
    return { ...(value as object), ...named(draws.pick(NAMES), draws.pick(ODDITIES.slice(0, 20))) };
  const [place] = draws.pick(entries);
  if (Array.isArray(value)) return value.map((each, i) => (i === Number(place) ? bent(each, draws) : each));
  return { ...(value as object), [place]: bent((value as Record<string, unknown>)[place], draws) };
}

/** Damages a text, so that it is no JSON, or another one. */
export function brokenText(text: string, draws: Draws): string | Uint8Array<ArrayBuffer> {
  const place = draws.below(text.length + 1);
  const [head, tail] = [text.slice(0, place), text.slice(place)];
  const bytes = (...parts: (string | number[])[]) => Uint8Array.from(Buffer.concat(parts.map((part) => Buffer.from(part as string))));
  return draws.pick<() => string | Uint8Array<ArrayBuffer>>([
    () => head,
    () => tail,
    () => head + tail.slice(1),
    () => `${head}${draws.pick(['"', ",", "{", "[", "\\u", "\u0000", "//", "NaN"])}${tail}`,
    () => `\ufeff${text}`,
    () => `${text}${text}`,
    () => bytes(head, [0xff, 0xfe, 0xc0, 0x80], tail),
    () => bytes(head, [0xed, 0xa0, 0x80], tail),
    () => Uint8Array.from(Buffer.from(text, "utf16le")),
    () => draws.pick(["", " ", "null", "0", '""', "[]", "{}", "true", "undefined", "{'a':1}", '{"a":1,"a":2}', '{"__proto__":null}']),
    () => `${"[".repeat(100_000)}`,
    () => `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`,
    () => `${text.slice(0, -1)}${" ".repeat(200_000)}${text.slice(-1)}`,
  ])();
}
