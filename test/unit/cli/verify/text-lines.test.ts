import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { linesOfBytes, textLines } from "../../../../cli/log/text-lines.ts";

// The lines of a log, as editors and other systems store them.

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The lines of a file that comes in chunks of a length. */
async function linesIn(bytes: Uint8Array, length = bytes.length): Promise<string[]> {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
  }
  return collected(linesOfBytes(chunks()));
}

async function collected(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

describe("the same lines", () => {
  it.each([
    ["line feeds", "one\ntwo é\u{2028}\n\nfour"],
    ["a last line feed", "one\ntwo é\u{2028}\n\nfour\n"],
    ["carriage returns and line feeds", "one\r\ntwo é\u{2028}\r\n\r\nfour\r\n"],
    ["carriage returns", "one\rtwo é\u{2028}\r\rfour\r"],
    ["a byte order mark", "\u{feff}one\ntwo é\u{2028}\n\nfour"],
  ])("with %s, wherever chunks end", async (_, text) => {
    for (const length of [1, 2, 3, 5, 100]) expect(await linesIn(bytesOf(text), length)).toEqual(["one", "two é\u{2028}", "", "four"]);
  });
});

it("an empty file has none", async () => {
  expect(await linesIn(new Uint8Array(0), 1)).toEqual([]);
});

it.each([
  ["UTF-16, little endian", Uint8Array.of(0xff, 0xfe, 0x7b, 0), "UTF-16: save it as UTF-8"],
  ["UTF-16, big endian", Uint8Array.of(0xfe, 0xff, 0, 0x7b), "UTF-16: save it as UTF-8"],
  ["gzip", Uint8Array.of(0x1f, 0x8b, 8, 0), "gzip: let its name end with .gz"],
  ["Latin-1", Uint8Array.of(0x7b, 10, 0x22, 0xe9, 0x22), "line 2: expected a text in UTF-8, got other bytes"],
])("names %s", async (_, bytes, message) => {
  await expect(linesIn(bytes)).rejects.toThrow(message);
});

describe("a file whose name ends with .gz", () => {
  const packed = gzipSync("one\ntwo\n");
  const linesOf = async (name: string, bytes: Uint8Array) => {
    const folder = await mkdtemp(join(tmpdir(), "afterclick-lines-"));
    try {
      await writeFile(join(folder, name), bytes);
      return await collected(textLines(join(folder, name)));
    } finally {
      await rm(folder, { recursive: true });
    }
  };

  it("is unpacked", async () => {
    expect(await linesOf("log.jsonl.gz", packed)).toEqual(["one", "two"]);
  });

  it.each([
    ["is no gzip", bytesOf("one\n"), "expected a file in gzip, as its name says: incorrect header check"],
    ["is cut off", packed.subarray(0, -6), "expected a file in gzip, as its name says: unexpected end of file"],
  ])("is refused if it %s", async (_, bytes, message) => {
    await expect(linesOf("log.jsonl.gz", bytes)).rejects.toThrow(message);
  });

  it("is missing by its name", async () => {
    await expect(collected(textLines("missing.jsonl.gz"))).rejects.toThrow("ENOENT");
  });
});

it("refuses a pipe, which cannot be read twice", async () => {
  const folder = await mkdtemp(join(tmpdir(), "text-lines-"));
  execFileSync("mkfifo", [join(folder, "log")]);
  await expect(collected(textLines(join(folder, "log")))).rejects.toThrow("got a pipe: save the log as a file first");
  await rm(folder, { recursive: true });
});

it("refuses a line of more than 32 MiB before it is in memory", async () => {
  const chunk = new Uint8Array(2 ** 20).fill(0x20);
  let sent = 0;
  async function* endless() {
    yield bytesOf("one\n");
    for (;;) {
      sent++;
      yield chunk;
    }
  }
  const read = async () => {
    for await (const _ of linesOfBytes(endless()));
  };
  await expect(read()).rejects.toThrow("line 2: expected at most 33554432 bytes");
  expect(sent).toBeLessThan(40);
});
