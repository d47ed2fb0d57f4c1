// Archived files: encoded by the learner with little memory, and read back by the commands, which trust none of their bytes.

import type { AsyncBuffer, FileMetaData } from "hyparquet";
import { parquetMetadata } from "hyparquet/src/metadata.js";
import { parquetReadObjects } from "hyparquet/src/read.js";
import { ByteWriter } from "hyparquet-writer/src/bytewriter.js";
import { ParquetWriter } from "hyparquet-writer/src/parquet-writer.js";
import { type EventLine, type HeldLine, impressionOf } from "../log/log-line.ts";
import { erasedLine } from "../log/log-row.ts";
import { type ArchiveRow, COLUMNS, lineOf, rowOf, SCHEMA } from "./archive-columns.ts";
import { checkCounts, checkGroup } from "./parquet-bounds.ts";

/** Limits of a file and of its row groups, so that a learner holds few rows in memory. */
export const LIMITS = { fileRows: 50_000, fileBytes: 8_000_000, groupRows: 5000, groupCharacters: 2_000_000 };
/** Names the file's own description in its metadata. */
const KEY = "afterclick";

/** The description of a file in its metadata. All times are ms since 1970. */
export interface ArchiveHead {
  readonly model: string;
  readonly generation: number;
  /** Rows shown from this time on, before `until`. The files of one span are its parts. */
  readonly from: number;
  readonly until: number;
  /** All earlier rows of the model are archived as well: those with a number below this one. */
  readonly whole: number;
  /** The rows are in the state of this version of the model. */
  readonly version: number;
  /** Numbers of the first and the last row. */
  readonly first: number;
  readonly last: number;
  readonly rows: number;
}

export interface EncodedFile {
  readonly head: ArchiveHead;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Collects lines into one Parquet file. */
class FileWriter {
  rows = 0;
  readonly #output = new ByteWriter();
  readonly #parquet: ParquetWriter;
  #group: ArchiveRow[] = [];
  #characters = 0;
  #first = 0;
  #last = 0;

  constructor() {
    this.#parquet = new ParquetWriter({ writer: this.#output, schema: SCHEMA, createdBy: KEY });
  }

  get isFull(): boolean {
    return this.rows >= LIMITS.fileRows || this.#output.offset >= LIMITS.fileBytes;
  }

  /** Adds a line. Returns whether it completed a row group, which takes the most time. */
  append(line: EventLine): boolean {
    const row = rowOf(line);
    if (this.rows++ === 0) this.#first = line.seq;
    this.#last = line.seq;
    this.#group.push(row);
    this.#characters += sizeOf(row);
    if (this.#group.length < LIMITS.groupRows && this.#characters < LIMITS.groupCharacters) return false;
    this.#flush();
    return true;
  }

  #flush(): void {
    const rows = this.#group;
    if (rows.length === 0) return;
    const columnData = COLUMNS.map(({ name }) => ({ name, data: rows.map((row) => row[name] ?? null) }));
    void this.#parquet.write({ columnData, rowGroupSize: rows.length });
    this.#group = [];
    this.#characters = 0;
  }

  finish(head: Omit<ArchiveHead, "first" | "last" | "rows">): EncodedFile {
    this.#flush();
    const whole = { ...head, first: this.#first, last: this.#last, rows: this.rows };
    this.#parquet.kvMetadata = [{ key: KEY, value: JSON.stringify(whole) }];
    void this.#parquet.finish();
    return { head: whole, bytes: this.#output.getBytes().slice() };
  }
}

function sizeOf({ content, context, decision, features }: ArchiveRow): number {
  const texts = [content, context, decision].reduce<number>((sum, text) => sum + (typeof text === "string" ? text.length : 0), 0);
  return texts + 8 * ((features as readonly number[] | undefined)?.length ?? 0);
}

/**
 * Encodes lines until the file is full. The same lines give the same bytes.
 * @param pause is awaited between row groups. @returns undefined if there is no line.
 */
export async function encodeFile(
  head: Omit<ArchiveHead, "first" | "last" | "rows">,
  lines: Iterable<EventLine>,
  pause: () => Promise<void>,
): Promise<EncodedFile | undefined> {
  const writer = new FileWriter();
  for (const line of lines) {
    if (writer.append(line)) await pause();
    if (writer.isFull) break;
  }
  return writer.rows === 0 ? undefined : writer.finish(head);
}

/** An archived file that is missing, altered or cannot be read. The message names the file. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
}

/** An archived file, of which only the parts that are asked for are read. */
export class ArchiveFile {
  readonly head: ArchiveHead;
  readonly #name: string;
  readonly #file: AsyncBuffer;
  readonly #metadata: FileMetaData;

  private constructor(name: string, file: AsyncBuffer, metadata: FileMetaData, head: ArchiveHead) {
    this.#name = name;
    this.#file = file;
    this.#metadata = metadata;
    this.head = head;
  }

  /** Opens a file. @param name for messages. @throws {ArchiveError} if it is no archived file, or was cut short. */
  static async open(name: string, file: AsyncBuffer): Promise<ArchiveFile> {
    const metadata = await named(name, () => metadataOf(file));
    const text = metadata.key_value_metadata?.find(({ key }) => key === KEY)?.value;
    if (text === undefined) throw new ArchiveError(`${name}: expected an archived file of afterclick, got another Parquet file`);
    return named(name, async () => {
      const head: ArchiveHead = JSON.parse(text);
      checkCounts(head?.rows, metadata, file);
      return new ArchiveFile(name, file, metadata, head);
    });
  }

  /** The lines in order, a row group at a time. @param columns absent: all. @throws {ArchiveError} if the file is damaged. */
  async *groups(columns?: readonly string[]): AsyncGenerator<EventLine[]> {
    let rowStart = 0;
    for (const group of this.#metadata.row_groups) {
      const rowEnd = rowStart + Number(group.num_rows);
      const part = { file: this.#file, metadata: this.#metadata, rowStart, rowEnd, ...(columns && { columns: [...columns] }) };
      yield await named(this.#name, async () => {
        await checkGroup(this.#file, this.#metadata, group, columns);
        const lines = (await parquetReadObjects(part)).map((row) => lineOf(row as ArchiveRow));
        if (lines.length !== rowEnd - rowStart) throw new Error(`expected ${rowEnd - rowStart} rows, got ${lines.length}`);
        return lines;
      });
      rowStart = rowEnd;
    }
  }

  /** The file without the content of some rows. Their numbers and ids stay. @returns undefined if it has none of them. */
  async without(isErased: (line: HeldLine) => boolean): Promise<EncodedFile | undefined> {
    const writer = new FileWriter();
    let erased = 0;
    for await (const lines of this.groups()) {
      for (const line of lines) {
        if (line.type === "mark" || line.type === "erased" || !isErased(line)) writer.append(line);
        else {
          erased++;
          writer.append(erasedLine(line.seq, impressionOf(line)));
        }
      }
    }
    return erased === 0 ? undefined : writer.finish(this.head);
  }
}

/** Reads the end of a file, which describes it. */
async function metadataOf(file: AsyncBuffer): Promise<FileMetaData> {
  const { byteLength } = file;
  const magic = new TextDecoder();
  const isWhole = byteLength > 12 && magic.decode(await file.slice(byteLength - 4)) === "PAR1";
  if (!isWhole) throw new Error(`expected a whole Parquet file, got one that was cut short at ${byteLength} bytes`);
  const length = new DataView(await file.slice(byteLength - 8, byteLength - 4)).getUint32(0, true);
  if (length > byteLength - 12) throw new Error(`expected a description of at most ${byteLength - 12} bytes, got ${length}`);
  // Geographic columns, of which a file has none, are sought by a count that the file states.
  return parquetMetadata(await file.slice(byteLength - 8 - length), { geoparquet: false });
}

async function named<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    throw new ArchiveError(`${name}: cannot be read, download it again: ${error instanceof Error ? error.message : error}`);
  }
}
