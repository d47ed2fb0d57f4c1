import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { parse } from "csv-parse/sync";
import { LogError } from "../../cli/replay/open-bandit.ts";

/** What a file looks like. */
export interface TableFormat {
  readonly delimiter: "," | " ";
  /** Names of the columns that are read, if the first line has names. */
  readonly columns?: readonly string[];
  /** Number of fields of a row otherwise. */
  readonly fields?: number;
}

/**
 * Reads a table, packed by `gzip` or not. With names in the first line it returns the named columns of each row in the order of `columns`,
 * otherwise all fields. Empty lines do not count.
 * @throws {LogError} naming the file, the row, and what was expected.
 */
export async function readTable(file: string, { delimiter, columns, fields }: TableFormat): Promise<string[][]> {
  const bytes = await readFile(file);
  const text = file.endsWith(".gz") ? gunzipSync(bytes) : bytes;
  const rows: string[][] = parse(text, { bom: true, delimiter, trim: true, skip_empty_lines: true, relax_column_count: true });
  const head = columns && rows.shift();
  const places = columns?.map((name) => {
    const place = head?.indexOf(name) ?? -1;
    if (place < 0) throw new LogError(`${file}: expected a column ${name} in the first line, got none`);
    return place;
  });
  const count = head?.length ?? fields;
  if (rows.length === 0) throw new LogError(`${file}: expected rows, got none`);
  return rows.map((cells, i) => {
    if (cells.length !== count) throw new LogError(`${file}, row ${i + 1}: expected ${count} fields, got ${cells.length}`);
    return places ? places.map((place) => cells[place]) : cells;
  });
}

/** A field as a finite number. @throws {LogError} */
export function numberOf(field: string, name: string, file: string): number {
  const value = Number(field);
  if (field === "" || !Number.isFinite(value)) throw new LogError(`${file}: expected ${name} to be a number, got "${field}"`);
  return value;
}
