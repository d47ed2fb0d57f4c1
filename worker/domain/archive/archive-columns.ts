// Turns lines of a log into rows of an archived file, and back without loss.

import type { SchemaElement } from "hyparquet";
import { shownAtOf } from "../ids/uuid.ts";
import { type ArchivedField, EVENTS, type EventLine, impressionOf } from "../log/log-line.ts";

/** Fields of a decision that have columns of their own. The others are JSON in the column `decision`. */
type Numbers = "score" | "mean" | "width" | "probability" | "place" | "candidates";

/** How the values of each field are stored, in the order of the columns. */
const FORMS = {
  type: "STRING",
  seq: "INT64",
  id: "STRING",
  shownAt: "TIMESTAMP",
  action: "STRING",
  arm: "STRING",
  state: "STRING",
  round: "INT64",
  place: "INT32",
  candidates: "INT32",
  probability: "DOUBLE",
  score: "DOUBLE",
  mean: "DOUBLE",
  width: "DOUBLE",
  version: "INT64",
  reward: "DOUBLE",
  converted: "BOOLEAN",
  byPage: "BOOLEAN",
  sampling: "INT32",
  context: "JSON",
  decision: "JSON",
  features: "DOUBLES",
  hashes: "STRINGS",
  goal: "STRING",
  event: "STRING",
  at: "TIMESTAMP",
  status: "STRING",
  restates: "BOOLEAN",
  hash: "STRING",
  mark: "STRING",
  content: "JSON",
} as const satisfies Readonly<Record<Exclude<ArchivedField, "impression"> | Numbers, string>>;

type Form = (typeof FORMS)[keyof typeof FORMS];

/** The columns of an archived file, in order. A conversion has its impression as `id`. docs/log.md describes them. */
export const COLUMNS = Object.entries(FORMS).map(([field, form]) => ({ name: columnOf(field), field, form }));

/** Name of the column of a field. */
function columnOf(field: string): string {
  return field === "version" ? "model_version" : field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A row of an archived file. A column that a line does not have is null. */
export type ArchiveRow = Readonly<Record<string, unknown>>;

const STRING = { type: "BYTE_ARRAY", converted_type: "UTF8" } as const;

/** The Parquet types of a column: those of lists and of other values. */
const ELEMENTS: Readonly<Record<Form, Omit<SchemaElement, "name">>> = {
  STRING,
  JSON: STRING,
  STRINGS: STRING,
  TIMESTAMP: { type: "INT64", converted_type: "TIMESTAMP_MILLIS" },
  INT64: { type: "INT64" },
  INT32: { type: "INT32" },
  DOUBLE: { type: "DOUBLE" },
  DOUBLES: { type: "DOUBLE" },
  BOOLEAN: { type: "BOOLEAN" },
};

/** The schema of an archived file. */
export const SCHEMA: SchemaElement[] = [
  { name: "root", num_children: COLUMNS.length },
  ...COLUMNS.flatMap(({ name, form }): SchemaElement[] => {
    if (form !== "DOUBLES" && form !== "STRINGS")
      return [{ name, ...ELEMENTS[form], repetition_type: name === "type" || name === "seq" ? "REQUIRED" : "OPTIONAL" }];
    return [
      { name, converted_type: "LIST", repetition_type: "OPTIONAL", num_children: 1 },
      { name: "list", repetition_type: "REPEATED", num_children: 1 },
      { name: "element", ...ELEMENTS[form], repetition_type: "REQUIRED" },
    ];
  }),
];

type Conversion = Partial<Record<Form, (value: never) => unknown>>;
const STORED: Conversion = {
  INT64: (value: number) => BigInt(value),
  TIMESTAMP: (value: number) => new Date(value),
  JSON: (value: object) => JSON.stringify(value),
};
const READ: Conversion = { INT64: Number, TIMESTAMP: Number, JSON: (text: string) => JSON.parse(text) };
const given = (value: unknown): boolean => value !== null && value !== undefined;
const converted = (by: Conversion, form: Form, value: unknown) => (given(value) ? (by[form]?.(value as never) ?? value) : null);

/** A line of the log as a row. `lineOf` turns it back. */
export function rowOf(line: EventLine): ArchiveRow {
  const fields: Record<string, unknown> = { ...line };
  if (line.type !== "mark") {
    fields.id = impressionOf(line);
    fields.shownAt = shownAtOf(impressionOf(line));
  }
  if (line.type === "impression" && line.decision) {
    const { score, mean, width, probability, place, candidates, ...more } = line.decision;
    Object.assign(fields, { score, mean, width, probability, place, candidates, decision: Object.keys(more).length > 0 ? more : null });
  }
  return Object.fromEntries(COLUMNS.map(({ name, field, form }) => [name, converted(STORED, form, fields[field])]));
}

/** The line of a row. Columns that were not read are missing or empty. */
export function lineOf(row: ArchiveRow): EventLine {
  const read = COLUMNS.map(({ name, field, form }) => [field, converted(READ, form, row[name])]);
  const { score, mean, width, probability, place, candidates, ...fields } = Object.fromEntries(read);
  const kind = EVENTS[fields.type as EventLine["type"]];
  if (!kind) throw new Error(`expected a row of a known type, got ${fields.type}`);
  const numbers = { score, mean, width, ...(given(probability) && { probability }), place, candidates };
  const all = {
    ...{ ...fields, impression: fields.id, features: fields.features ?? [], hashes: fields.hashes ?? [] },
    decision: given(score) ? { ...numbers, ...fields.decision } : null,
  };
  // A conversion by a key states its action, or null.
  const isStated = (name: string) => given(all[name]) || kind[name].type !== "optional" || (name === "action" && given(fields.hash));
  return Object.fromEntries(Object.keys(kind).flatMap((name) => (isStated(name) ? [[name, all[name]]] : []))) as EventLine;
}
