// Checks a Parquet file's counts before the reader allocates by them. The reader trusts every count: one altered byte makes it loop, or
// allocate gigabytes. So the counts are compared first with the bytes that there are, and with what an archived file has at most.

import type { AsyncBuffer, ColumnMetaData, FileMetaData } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { decompressPage } from "hyparquet/src/datapage.js";
import { getMaxDefinitionLevel, getMaxRepetitionLevel, getSchemaPath } from "hyparquet/src/schema.js";
import { readVarInt } from "hyparquet/src/thrift.js";

/** Most rows, and values of a column, in a row group: about twice those of a full one. */
const MOST_VALUES = 2 ** 19;
/** Most bytes that Snappy makes of one: a copy of 64 bytes takes three. */
const EXPANSION = 22;
/** Bytes of a copy after its tag, by its kind. */
const COPY_BYTES = [0, 1, 2, 4];

/** Checks the counts that describe a whole file. @throws {Error} naming the count. */
export function checkCounts(rows: number, { row_groups }: FileMetaData, { byteLength }: AsyncBuffer): void {
  let sum = 0;
  for (const group of row_groups) sum += within("rows of a group", Number(group.num_rows), MOST_VALUES);
  within("rows", sum, byteLength);
  if (sum !== rows) throw new Error(`expected ${rows} rows, got ${sum}`);
}

/** Checks the pages of a row group. @param columns absent: all. @throws {Error} naming the count. */
export async function checkGroup(
  file: AsyncBuffer,
  metadata: FileMetaData,
  group: FileMetaData["row_groups"][number],
  columns?: readonly string[],
): Promise<void> {
  for (const { meta_data: column } of group.columns) {
    if (!column) throw new Error("expected a description of each column, got none");
    if (columns && !columns.includes(column.path_in_schema[0])) continue;
    const start = Number(column.dictionary_page_offset || column.data_page_offset);
    const end = within(
      "end of a column",
      start + Number(column.total_compressed_size),
      file.byteLength,
      within("start of a column", start),
    );
    const path = getSchemaPath(metadata.schema, column.path_in_schema);
    const levels = [getMaxRepetitionLevel(path), getMaxDefinitionLevel(path)];
    checkPages(new Uint8Array(await file.slice(start, end)), column, levels);
  }
}

function checkPages(bytes: Uint8Array, { codec }: ColumnMetaData, levels: readonly number[]): void {
  const reader = { view: new DataView(bytes.buffer), offset: 0 };
  while (reader.offset < bytes.length - 1) {
    const header = parquetHeader(reader);
    const { type, dictionary_page_header: dictionary, data_page_header_v2: data } = header;
    const size = within("bytes of a page", header.compressed_page_size, bytes.length - reader.offset);
    const whole = within("unpacked bytes of a page", header.uncompressed_page_size, EXPANSION * size);
    const page = bytes.subarray(reader.offset, reader.offset + size);
    reader.offset += size;
    if (type === "DICTIONARY_PAGE") {
      unpacked(page, whole, codec);
      within("values of a dictionary", dictionary?.num_values, whole);
    } else if (type === "DATA_PAGE_V2" && data?.is_compressed) {
      const values = within("values", data.num_values, MOST_VALUES);
      const present = values - within("nulls", data.num_nulls, values);
      let start = 0;
      for (const [i, length] of [data.repetition_levels_byte_length, data.definition_levels_byte_length].entries()) {
        if (levels[i] > 0) checkRuns(page.subarray(start), 32 - Math.clz32(levels[i]), values);
        start += within("bytes of levels", length, levels[i] > 0 ? size - start : 0);
      }
      const coded = unpacked(page.subarray(start), whole - start, codec);
      if (data.encoding === "PLAIN") continue;
      // The runs follow their width, or their length in four bytes.
      if (data.encoding === "RLE_DICTIONARY") checkRuns(coded.subarray(1), coded[0], present);
      else if (data.encoding === "RLE") checkRuns(coded.subarray(4), 1, present);
      else throw new Error(`expected values that are plain or in runs, got ${data.encoding}`);
    } else throw new Error(`expected a dictionary or compressed data, got ${type}`);
  }
}

function unpacked(bytes: Uint8Array, length: number, codec: ColumnMetaData["codec"]): Uint8Array {
  let at = 0;
  while (bytes[at++] > 127);
  while (at < bytes.length) {
    const tag = bytes[at++];
    const kind = tag & 3;
    const more = kind === 0 ? Math.max((tag >>> 2) - 59, 0) : 0;
    // The reader takes such a length for a signed number, and may go back for ever.
    if (more === 4) throw new Error("expected at most three bytes for the length of a literal, got four");
    let literal = (tag >>> 2) + 1;
    if (more > 0) literal = 1 + bytes.subarray(at, at + more).reduce((sum, byte, i) => sum + byte * 256 ** i, 0);
    at += kind === 0 ? more + literal : COPY_BYTES[kind];
  }
  return decompressPage(bytes, length, codec, undefined);
}

/** Follows runs of values as the reader does. */
function checkRuns(bytes: Uint8Array, width: number, values: number): void {
  const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset: 0 };
  for (let seen = 0; seen < values; ) {
    const header = readVarInt(reader);
    const isPacked = (header & 1) === 1;
    // Packed values come in groups of eight, of which the last is padded.
    const run = within("values of a run", (header >>> 1) * (isPacked ? 8 : 1), values - seen + 7);
    reader.offset += isPacked ? (run / 8) * width : Math.ceil(width / 8);
    seen += run;
  }
}

function within(name: string, value: number | undefined, most: number = Number.MAX_SAFE_INTEGER, least = 0): number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  throw new Error(`${name}: expected between ${least} and ${most}, got ${value}`);
}
