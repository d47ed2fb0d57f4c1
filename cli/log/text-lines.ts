// Splits files into lines as they are read, packed or not, so that a log of any size needs little memory.

import { createReadStream, statSync } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { LogMismatch } from "./event-line.ts";

/** Most bytes of a line. A catalogue, which is the longest line of a log, has at most 25 MiB. */
const MOST_BYTES = 32 * 2 ** 20;
const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

/** The first bytes of files that are no UTF-8. */
const OTHERS: readonly (readonly [string, readonly number[]])[] = [
  ["UTF-16: save it as UTF-8", [0xff, 0xfe]],
  ["UTF-16: save it as UTF-8", [0xfe, 0xff]],
  ["gzip: let its name end with .gz", [0x1f, 0x8b]],
  ["zip: unpack it first", [0x50, 0x4b]],
  ["Parquet: give its folder instead of the file", [0x50, 0x41, 0x52, 0x31]],
];

/**
 * The lines of a file of text, as `linesOfBytes`. A file whose name ends with .gz is unpacked.
 * @throws {LogMismatch} for a pipe, because a log is read twice.
 */
export async function* textLines(file: string): AsyncGenerator<string> {
  if (statSync(file).isFIFO()) throw new LogMismatch("expected a file, which is read twice, got a pipe: save the log as a file first");
  const bytes = createReadStream(file);
  try {
    // The loop over the lines throws the error, so the callback ignores it.
    yield* linesOfBytes(file.endsWith(".gz") ? pipeline(bytes, createGunzip(), () => {}) : bytes);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw code?.startsWith("Z_") ? new LogMismatch(`expected a file in gzip, as its name says: ${message}`) : error;
  }
}

/**
 * The lines of a text in UTF-8, with or without a byte order mark. A line ends with a line feed, a carriage return or both. Only one line is
 * in memory.
 * @throws {LogMismatch} at a line that is too long, and for another encoding, which it names.
 */
export async function* linesOfBytes(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let [length, number] = [0, 1];
  let [begun, afterReturn] = [false, false];
  for await (const chunk of bytes) {
    if (!begun) checkEncoding(chunk);
    begun = true;
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const isFeed = chunk[at] === LINE_FEED;
      if (!isFeed && chunk[at] !== CARRIAGE_RETURN) continue;
      const endsReturn = isFeed && (at > 0 ? chunk[at - 1] === CARRIAGE_RETURN : afterReturn);
      if (!endsReturn) yield decoded([...parts, chunk.subarray(start, at)], number++);
      [parts, length, start] = [[], 0, at + 1];
    }
    afterReturn = chunk.at(-1) === CARRIAGE_RETURN;
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > MOST_BYTES) throw new LogMismatch(`line ${number}: expected at most ${MOST_BYTES} bytes, got more; export the log again`);
  }
  if (length > 0) yield decoded(parts, number);
}

function checkEncoding(chunk: Uint8Array): void {
  const [other] = OTHERS.find(([, start]) => start.every((byte, i) => chunk[i] === byte)) ?? [];
  if (other) throw new LogMismatch(`expected a text in UTF-8, got a file in ${other}`);
}

function decoded(parts: readonly Uint8Array[], number: number): string {
  try {
    // Each line may begin with a mark: files that were put together have several.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(Buffer.concat(parts));
  } catch {
    throw new LogMismatch(`line ${number}: expected a text in UTF-8, got other bytes; save the file as UTF-8`);
  }
}
