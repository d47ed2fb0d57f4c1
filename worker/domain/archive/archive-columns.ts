import type { SchemaElement } from "hyparquet";
import { shownAtOf } from "../ids/uuid.ts";
import type { Decision } from "../impression/impression.ts";
import type { LogLine } from "./log-line.ts";

/** The columns of an archived file. A column that a line does not have is null. docs/archive.md describes them. */
export const COLUMNS = [
  ["type", "STRING"],
  ["seq", "INT64"],
  ["id", "STRING"],
  ["shown_at", "TIMESTAMP"],
  ["action", "STRING"],
  ["arm", "STRING"],
  ["state", "STRING"],
  ["round", "INT64"],
  ["place", "INT32"],
  ["candidates", "INT32"],
  ["probability", "DOUBLE"],
  ["score", "DOUBLE"],
  ["mean", "DOUBLE"],
  ["width", "DOUBLE"],
  ["model_version", "INT64"],
  ["reward", "DOUBLE"],
  ["converted", "BOOLEAN"],
  ["by_page", "BOOLEAN"],
  ["sampling", "INT32"],
  ["context", "STRING"],
  ["decision", "STRING"],
  ["features", "DOUBLES"],
  ["hashes", "STRINGS"],
  ["goal", "STRING"],
  ["event", "STRING"],
  ["at", "TIMESTAMP"],
  ["status", "STRING"],
  ["restates", "BOOLEAN"],
  ["hash", "STRING"],
  ["mark", "STRING"],
  ["content", "STRING"],
] as const satisfies readonly (readonly [string, string])[];

export type ColumnName = (typeof COLUMNS)[number][0];

/** A row of an archived file. */
export type ArchiveRow = { readonly [Name in ColumnName]?: unknown };

const STRING = { type: "BYTE_ARRAY", converted_type: "UTF8" } as const;

/** The schema of an archived file. */
export const SCHEMA: SchemaElement[] = [
  { name: "root", num_children: COLUMNS.length },
  ...COLUMNS.flatMap(([name, type]): SchemaElement[] => {
    const repetition_type = name === "type" || name === "seq" ? "REQUIRED" : "OPTIONAL";
    if (type === "DOUBLES") return listOf(name, { name: "element", type: "DOUBLE", repetition_type: "REQUIRED" });
    if (type === "STRINGS") return listOf(name, { name: "element", ...STRING, repetition_type: "REQUIRED" });
    if (type === "STRING") return [{ name, ...STRING, repetition_type }];
    if (type === "TIMESTAMP") return [{ name, type: "INT64", converted_type: "TIMESTAMP_MILLIS", repetition_type }];
    return [{ name, type, repetition_type }];
  }),
];

function listOf(name: string, element: SchemaElement): SchemaElement[] {
  return [
    { name, converted_type: "LIST", repetition_type: "OPTIONAL", num_children: 1 },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    element,
  ];
}

type Fields = Readonly<Record<string, unknown>>;

/** A line of the log as a row. `lineOf` turns it back. */
export function rowOf(line: LogLine): ArchiveRow {
  const { type, seq } = line;
  const common = { type, seq: BigInt(seq) };
  if (type === "mark") return { ...common, mark: line.mark, content: JSON.stringify(line.content) };
  const id = (line.impression ?? line.id) as string;
  const shown = { ...common, id, shown_at: new Date(shownAtOf(id)) };
  if (type === "erased") return shown;
  if (type === "conversion") {
    const { goal, event, reward, at, status, restates, hash, action } = line;
    return { ...shown, action, reward, goal, event, at: new Date(at as number), status, restates, hash };
  }
  const { action, arm, state, round, version, reward, converted, byPage, sampling, context, features, hashes } = line;
  const { score, mean, width, probability, place, candidates, ...more } = (line.decision ?? {}) as Partial<Decision>;
  return {
    ...{ ...shown, action, arm, state, round: bigOf(round), place, candidates, probability, score, mean, width },
    ...{ model_version: bigOf(version), reward, converted, by_page: byPage, sampling, context: textOf(context) },
    decision: line.decision === null || Object.keys(more).length === 0 ? null : JSON.stringify(more),
    ...{ features, hashes },
  };
}

/** The line of a row. Columns that were not read are missing or empty. */
export function lineOf(row: ArchiveRow): LogLine {
  const { type, id, action, reward, goal, event, status, restates, hash } = row as Fields & { type: string };
  const seq = Number(row.seq);
  if (type === "mark") return { type, seq, mark: row.mark, content: parsed(row.content) };
  if (type === "erased") return { type, seq, id };
  if (type === "conversion") {
    return {
      ...{ type, seq, impression: id, goal, event, reward: reward ?? null, at: Number(row.at), status },
      ...(given(restates) && { restates }),
      ...(given(hash) && { hash, action: action ?? null }),
    };
  }
  const { arm, state, converted, sampling } = row;
  return {
    ...{ type, seq, id, state, arm, action, round: numberOf(row.round), version: Number(row.model_version), reward: reward ?? null },
    ...{ context: parsed(row.context), decision: decisionOf(row), converted, shownAt: Number(row.shown_at) },
    ...{ features: row.features ?? [], hashes: row.hashes ?? [] },
    ...(given(row.by_page) && { byPage: row.by_page }),
    ...(given(sampling) && { sampling }),
  };
}

function decisionOf({ score, mean, width, probability, place, candidates, decision }: ArchiveRow): object | null {
  if (!given(score)) return null;
  const more = parsed(decision) as object | null;
  return { score, mean, width, ...(given(probability) && { probability }), place, candidates: candidates ?? null, ...more };
}

const given = (value: unknown): boolean => value !== null && value !== undefined;
const bigOf = (value: unknown): bigint | null => (typeof value === "number" ? BigInt(value) : null);
const numberOf = (value: unknown): number | null => (given(value) ? Number(value) : null);
const textOf = (value: unknown): string | null => (given(value) ? JSON.stringify(value) : null);
const parsed = (text: unknown): unknown => (typeof text === "string" ? JSON.parse(text) : null);
